//! Tensor maps: 128 bytes that only the driver makes and only the copy engine reads. NVIDIA does not document them, so these are our own.
//!
//! What is checked when one is made is what the CUDA driver API documents of `cuTensorMapEncodeTiled`, for two dimensions.

use std::ops::Range;

/// Bytes of a tensor map.
pub const TENSOR_MAP_BYTES: usize = 128;
/// Their alignment.
pub const TENSOR_MAP_ALIGNMENT: usize = 64;

/// Tells ours from other bytes.
const MAGIC: u64 = u64::from_le_bytes(*b"warpmap1");

/// A matrix in device memory, and the box of it that one copy moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Where it begins.
    pub address: u64,
    /// Bytes of an element.
    pub element: u32,
    /// Elements of a row, and rows.
    pub size: [u64; 2],
    /// Bytes from a row to the next.
    pub row_bytes: u64,
    /// Elements of a row, and rows, of the box.
    pub tile: [u32; 2],
    /// Bytes within which chunks of 16 are permuted by the row: 0, 32, 64 or 128.
    pub swizzle: u32,
    /// Whether its numbers are binary32, and rounded to tf32 on their way to shared memory.
    pub tf32: bool,
}

impl Tensor {
    /// Whether the driver takes it, or why not.
    pub fn check(&self) -> Result<(), String> {
        let Self { address, element, size, row_bytes, tile, swizzle, tf32 } = *self;
        let box_row = u64::from(tile[0]) * u64::from(element);
        let within = |value: u64, range: Range<u64>| range.contains(&value);
        match () {
            () if !matches!(element, 1 | 2 | 4 | 8) => Err(format!("elements of {element} bytes")),
            () if tf32 && element != 4 => Err(format!("tf32 of {element} bytes")),
            () if address % 16 != 0 => Err(format!("a tensor at 0x{address:x}")),
            () if !size.iter().all(|size| within(*size, 1..(1 << 32) + 1)) => {
                Err(format!("a tensor of {size:?} elements"))
            }
            () if row_bytes % 16 != 0 || !within(row_bytes, 1..1 << 40) => {
                Err(format!("rows {row_bytes} bytes apart"))
            }
            () if row_bytes < size[0] * u64::from(element) => {
                Err(format!("rows of {} elements {row_bytes} bytes apart", size[0]))
            }
            () if !tile.iter().all(|size| within((*size).into(), 1..257)) => {
                Err(format!("a box of {tile:?} elements"))
            }
            () if box_row % 16 != 0 => Err(format!("rows of a box of {box_row} bytes")),
            () if !matches!(swizzle, 0 | 32 | 64 | 128) => Err(format!("a swizzle of {swizzle}")),
            () if swizzle != 0 && box_row > swizzle.into() => {
                Err(format!("rows of a box of {box_row} bytes, swizzled within {swizzle}"))
            }
            () if swizzle != 0 && box_row < swizzle.into() => Err(format!(
                "rows of a box of {box_row} bytes, swizzled within {swizzle}, which the interpreter lacks"
            )),
            () => Ok(()),
        }
    }

    /// Its bytes.
    pub fn encode(&self) -> [u8; TENSOR_MAP_BYTES] {
        let mut bytes = [0; TENSOR_MAP_BYTES];
        let [columns, rows] = self.size;
        let numbers = [
            MAGIC,
            self.address,
            self.element.into(),
            columns,
            rows,
            self.row_bytes,
            self.tile[0].into(),
            self.tile[1].into(),
            self.swizzle.into(),
            self.tf32.into(),
        ];
        for (place, number) in bytes.chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// What bytes stand for, if they are a tensor map.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let words: Vec<u64> =
            bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let &[MAGIC, address, element, columns, rows, row_bytes, x, y, swizzle, tf32, ..] =
            &words[..]
        else {
            return None;
        };
        let tensor = Self {
            address,
            element: u32::try_from(element).ok()?,
            size: [columns, rows],
            row_bytes,
            tile: [u32::try_from(x).ok()?, u32::try_from(y).ok()?],
            swizzle: u32::try_from(swizzle).ok()?,
            tf32: tf32 == 1,
        };
        tensor.check().is_ok().then_some(tensor)
    }

    /// Bytes of a row of the box.
    pub(crate) fn box_row(&self) -> usize {
        self.tile[0] as usize * self.element as usize
    }

    /// Bytes of the box.
    pub(crate) fn box_bytes(&self) -> usize {
        self.box_row() * self.tile[1] as usize
    }

    /// Of a row of the box at a column and a row of the tensor: where its bytes begin in device memory, and which of the box's row they are. Nothing of
    /// a row outside.
    pub(crate) fn inside(&self, at: [i32; 2], row: u32) -> Option<(u64, Range<usize>)> {
        let y = u64::try_from(i64::from(at[1]) + i64::from(row)).ok()?;
        let first = i64::from(at[0]).max(0);
        let last = (i64::from(at[0]) + i64::from(self.tile[0])).min(self.size[0].cast_signed());
        if y >= self.size[1] || first >= last {
            return None;
        }
        let element = i64::from(self.element);
        let begin = ((first - i64::from(at[0])) * element) as usize;
        let end = ((last - i64::from(at[0])) * element) as usize;
        Some((self.address + y * self.row_bytes + (first * element) as u64, begin..end))
    }
}

/// Rounds binary32 numbers to tf32: to the nearest, of two the one farther from zero, as `cvt.rna.tf32.f32` does. How the copy engine treats ties is not
/// documented.
pub(crate) fn round_to_tf32(bytes: &mut [u8]) {
    for word in bytes.as_chunks_mut::<4>().0 {
        let bits = u32::from_le_bytes(*word);
        if f32::from_bits(bits).is_finite() {
            *word = ((bits + 0x1000) & !0x1fff).to_le_bytes();
        }
    }
}

/// Where a byte of shared memory lies after chunks of 16 bytes are permuted: bits 4 to 6 of the address are changed by bits 7 to 9, or fewer of both
/// for narrower swizzles.
pub(crate) fn swizzled(address: u64, swizzle: u32) -> u64 {
    let mask = match swizzle {
        0 => 0,
        swizzle => u64::from(swizzle) / 16 - 1,
    };
    address ^ (address >> 7 & mask) << 4
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: tf32 has ten bits behind the first, so 1 + 3·2^-12 is nearer to 1 + 2^-10, and 1 + 2^-12 to 1.
    #[test]
    fn tf32_is_the_nearest_and_no_infinity_comes_of_a_nan() {
        let rounded = |value: f32| {
            let mut bytes = value.to_le_bytes();
            round_to_tf32(&mut bytes);
            f32::from_le_bytes(bytes)
        };
        let place = 2_f32.powi(-12);
        assert_eq!(rounded(1.0 + 3.0 * place), 1.0 + 4.0 * place);
        assert_eq!(rounded(-1.0 - place), -1.0);
        assert_eq!(rounded(f32::INFINITY), f32::INFINITY);
        assert!(rounded(f32::from_bits(0x7f80_0001)).is_nan());
    }
}
