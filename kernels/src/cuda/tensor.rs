//! Tensor maps, which only the driver can make.
#![expect(unsafe_code, reason = "a function of libcuda that writes through a pointer")]

use std::ffi::c_uint;

use super::driver::Driver;
use crate::gpu::{MachineError, TensorElement, TensorMap};

/// `CUtensorMap` as NVIDIA's header lays it out: 128 bytes that nobody else looks into, at a multiple of 128 since CUDA 13.
#[repr(C, align(128))]
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Encoded([u8; 128]);

/// `CUtensorMapDataType` by its number in NVIDIA's header.
fn data_type(element: TensorElement) -> c_uint {
    match element {
        TensorElement::U8 => 0,
        TensorElement::I32 => 3,
        TensorElement::F16 => 6,
        TensorElement::F32 => 7,
        TensorElement::Bf16 => 9,
        TensorElement::Tf32 => 11,
    }
}

/// `CU_TENSOR_MAP_SWIZZLE_128B`
const SWIZZLE_128: c_uint = 3;
/// `CU_TENSOR_MAP_L2_PROMOTION_L2_128B`: as much as a row of a swizzled box.
const PROMOTE_128: c_uint = 2;
/// No interleaving, no swizzling, zeros outside.
const NONE: c_uint = 0;

impl Encoded {
    /// The map of a matrix that begins at an address.
    pub(super) fn new(
        driver: &Driver,
        map: &TensorMap,
        address: u64,
    ) -> Result<Self, MachineError> {
        if let Some(why) = refusal(map, address) {
            return Err(MachineError::Refused { why });
        }
        let mut encoded = Self([0; 128]);
        let (strides, steps) = ([map.row_bytes], [1_u32; 2]);
        let swizzle = if map.swizzled { SWIZZLE_128 } else { NONE };
        // SAFETY: 128 bytes are written to a place of that size and alignment; of the arrays, two numbers are read, and of
        // the strides one. Nothing is read at the matrix's own address.
        unsafe {
            driver.tensor_encode(
                (&raw mut encoded).cast(),
                data_type(map.element),
                2,
                address,
                map.size.as_ptr(),
                strides.as_ptr(),
                map.tile.as_ptr(),
                steps.as_ptr(),
                NONE,
                swizzle,
                PROMOTE_128,
                NONE,
            )
        }?;
        Ok(encoded)
    }

    #[cfg(test)]
    pub(super) fn of(byte: u8) -> Self {
        Self([byte; 128])
    }
}

/// What of a map cannot be, by the documentation of `cuTensorMapEncodeTiled`; the driver would say "invalid value" and not which.
fn refusal(map: &TensorMap, address: u64) -> Option<String> {
    const MOST: u64 = 1 << 32;
    let TensorMap { element, size, row_bytes, tile, swizzled, .. } = map;
    let of_tile = u64::from(tile[0]) * bytes(*element);
    let rules = [
        (address.is_multiple_of(16), format!("begins at {address:#x}, no multiple of 16")),
        (size.iter().all(|size| (1..=MOST).contains(size)), format!("is {size:?} large")),
        (
            row_bytes.is_multiple_of(16) && *row_bytes < 1 << 40,
            format!("has rows {row_bytes} bytes apart"),
        ),
        (tile.iter().all(|side| (1..=256).contains(side)), format!("has a tile of {tile:?}")),
        (of_tile.is_multiple_of(16), format!("has a tile with rows of {of_tile} bytes")),
        (
            !*swizzled || of_tile <= 128,
            format!("has a swizzled tile with rows of {of_tile} bytes, more than 128"),
        ),
    ];
    let broken = rules.into_iter().find(|(holds, _)| !holds);
    broken.map(|(_, what)| format!("a tensor map that {what} cannot be"))
}

fn bytes(element: TensorElement) -> u64 {
    match element {
        TensorElement::U8 => 1,
        TensorElement::F16 | TensorElement::Bf16 => 2,
        TensorElement::I32 | TensorElement::F32 | TensorElement::Tf32 => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::BufferId;

    #[test]
    fn a_map_that_cannot_be_is_refused_by_name() {
        let good = TensorMap {
            slot: BufferId(0).into(),
            element: TensorElement::Bf16,
            size: [4096, 1 << 32],
            row_bytes: 8192,
            tile: [64, 256],
            swizzled: true,
        };
        assert_eq!(refusal(&good, 0x1000), None);
        assert_eq!(refusal(&TensorMap { tile: [128, 256], swizzled: false, ..good }, 16), None);
        for (map, address, word) in [
            (good, 0x1008, "0x1008"),
            (TensorMap { size: [0, 64], ..good }, 0, "[0, 64]"),
            (TensorMap { size: [64, (1 << 32) + 1], ..good }, 0, "4294967297"),
            (TensorMap { row_bytes: 8200, ..good }, 0, "8200 bytes apart"),
            (TensorMap { tile: [64, 257], ..good }, 0, "[64, 257]"),
            (TensorMap { tile: [4, 64], ..good }, 0, "rows of 8 bytes"),
            (TensorMap { tile: [128, 64], ..good }, 0, "more than 128"),
        ] {
            let why = refusal(&map, address);
            assert!(why.as_ref().is_some_and(|why| why.contains(word)), "{word}: {why:?}");
        }
    }

    /// `cuda.h`: `typedef struct CUtensorMap_st { alignas(128) cuuint64_t opaque[16]; } CUtensorMap;`; 64 before CUDA 13
    #[test]
    fn a_map_is_as_large_as_cuda_declares_it() {
        assert_eq!((size_of::<Encoded>(), align_of::<Encoded>()), (128, 128));
    }
}
