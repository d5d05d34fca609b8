//! Matrices of `wgmma` in shared memory: PTX ISA 8.8, 9.7.15.5.1.2 "Shared memory matrix layout" and "Matrix descriptor format".
//!
//! In parts of 16 bytes, 8 × 8 of them in any order are a tile of eight rows; layouts differ in how far rows, parts and tiles lie apart. Offsets are
//! called leading and stride, and mean different things by the order of the matrix.

use super::engine::CHUNK;
use crate::fault::{Done, FaultKind, Trouble};
use crate::numerics::mma::{OperandRow, ROW_BYTES};
use crate::tensor::swizzled;

/// Where a matrix lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    /// Bytes within which parts are permuted; 0: none.
    swizzle: u64,
}

/// Bits that are nothing.
const UNUSED: u64 = 0x3ff1_c000_c000_c000;

impl Descriptor {
    /// What 64 bits describe.
    pub(super) fn decode(bits: u64) -> Done<Self> {
        let field = |at: u32| (bits >> at & 0x3fff) << 4;
        let swizzle = [0, 128, 64, 32][(bits >> 62) as usize];
        let descriptor = Self { start: field(0), leading: field(16), stride: field(32), swizzle };
        let wrong = |what: String| {
            let what = format!("the matrix descriptor 0x{bits:016x} {what}");
            Err(Trouble::new(FaultKind::Bounds, what))
        };
        if bits & UNUSED != 0 {
            return wrong("has bits that mean nothing".to_owned());
        }
        if bits >> 49 & 7 != 0 {
            return wrong("has a base offset, which the interpreter lacks".to_owned());
        }
        if swizzle != 0 {
            let within = descriptor.start % (8 * swizzle);
            if within >= swizzle {
                return wrong(format!("begins in row {} of a swizzled tile", within / swizzle));
            }
        }
        Ok(descriptor)
    }

    /// The parts of a matrix whose rows' depth lies together, two to a row.
    fn deep(self, rows: usize) -> Done<Vec<u32>> {
        if self.swizzle != 0 && self.start % self.swizzle + ROW_BYTES as u64 > self.swizzle {
            let what =
                format!("a matrix from byte {} of its swizzled rows on", self.start % self.swizzle);
            return Err(Trouble::new(FaultKind::Misaligned, what));
        }
        let part = |row: u64, part: u64| match self.swizzle {
            0 => self.start + row % 8 * 16 + row / 8 * self.stride + part * self.leading,
            swizzle => {
                let at = self.start + row % 8 * swizzle + row / 8 * self.stride + part * 16;
                swizzled(at, swizzle as u32)
            }
        };
        Ok((0..rows as u64)
            .flat_map(|row| [part(row, 0), part(row, 1)])
            .map(|at| at as u32)
            .collect())
    }

    /// The parts of a matrix of 16-bit numbers of which eight rows lie together: for each of 16 depths those of all rows.
    fn wide(self, rows: usize) -> Vec<u32> {
        let part = |k: u64, eight: u64| match self.swizzle {
            0 => self.start + eight * self.stride + k % 8 * 16 + k / 8 * self.leading,
            swizzle => {
                let across = swizzle / 16;
                let tile = eight / across * self.leading + k / 8 * self.stride;
                let at = self.start + tile + eight % across * 16 + k % 8 * swizzle;
                swizzled(at, swizzle as u32)
            }
        };
        let of = |k: u64| (0..rows as u64 / 8).map(move |eight| part(k, eight) as u32);
        (0..ROW_BYTES as u64 / 2).flat_map(of).collect()
    }

    /// The parts of a matrix of so many rows.
    pub(super) fn parts(self, rows: usize, turned: bool) -> Done<Vec<u32>> {
        if turned { Ok(self.wide(rows)) } else { self.deep(rows) }
    }
}

/// The rows that parts hold; `read` gives the bytes of one.
pub(super) fn rows<'a>(
    parts: &[u32],
    count: usize,
    turned: bool,
    read: impl Fn(u32) -> &'a [u8],
) -> Vec<OperandRow> {
    let mut rows = vec![[0; ROW_BYTES]; count];
    for (index, part) in parts.iter().enumerate() {
        let bytes = read(*part);
        if !turned {
            rows[index / 2][index % 2 * CHUNK..][..CHUNK].copy_from_slice(bytes);
            continue;
        }
        let (k, first) = (index / (count / 8), index % (count / 8) * 8);
        for (row, pair) in rows[first..first + 8].iter_mut().zip(bytes.as_chunks::<2>().0) {
            row[2 * k..2 * k + 2].copy_from_slice(pair);
        }
    }
    rows
}
