//! Tensor maps, which only the driver can make.
#![expect(unsafe_code, reason = "a function of libcuda that writes through a pointer")]

use std::ffi::c_uint;

use super::driver::Driver;
use crate::gpu::{MachineError, TensorElement, TensorMap};

/// `CUtensorMap` as NVIDIA's header lays it out: 128 bytes that nobody else looks into, at a multiple of 64.
#[repr(C, align(64))]
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

#[cfg(test)]
mod tests {
    use super::*;

    /// `cuda.h`: `typedef struct CUtensorMap_st { alignas(64) cuuint64_t opaque[16]; } CUtensorMap;`
    #[test]
    fn a_map_is_as_large_as_cuda_declares_it() {
        assert_eq!((size_of::<Encoded>(), align_of::<Encoded>()), (128, 64));
    }
}
