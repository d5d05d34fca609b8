//! Tensor maps: of two dimensions, as the interpreter has them.

use std::ffi::{c_uint, c_void};

use ptx_interpreter::{TENSOR_MAP_ALIGNMENT, Tensor};

use super::{exports, put};
use crate::codes::{INVALID_VALUE, NOT_SUPPORTED};

/// Bytes of an element by `CUtensorMapDataType`.
const ELEMENTS: [u32; 13] = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4];
/// `CU_TENSOR_MAP_DATA_TYPE_TFLOAT32`
const TF32: c_uint = 11;
/// Bytes by `CUtensorMapSwizzle`.
const SWIZZLES: [u32; 4] = [0, 32, 64, 128];
/// Most dimensions.
const MOST: c_uint = 5;
/// The last of `CUtensorMapL2promotion`.
const LAST_PROMOTION: c_uint = 3;

/// Two numbers of a caller's array.
///
/// # Safety
///
/// `numbers` is null or has two.
unsafe fn pair<T: Copy>(numbers: *const T) -> Result<[T; 2], u32> {
    if numbers.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: by the contract.
    Ok(unsafe { [*numbers, *numbers.add(1)] })
}

/// What a number stands for in a table.
fn named(table: &[u32], number: c_uint) -> Result<u32, u32> {
    table.get(number as usize).copied().ok_or(INVALID_VALUE)
}

exports! { driver;
    cuTensorMapEncodeTiled(
        map: *mut c_void, element: c_uint, rank: c_uint, address: *mut c_void, sizes: *const u64, strides: *const u64, tile: *const c_uint,
        steps: *const c_uint, interleave: c_uint, swizzle: c_uint, promotion: c_uint, fill: c_uint,
    ) {
        driver.current()?;
        if !(1..=MOST).contains(&rank) || promotion > LAST_PROMOTION || !map.addr().is_multiple_of(TENSOR_MAP_ALIGNMENT) || strides.is_null() {
            return Err(INVALID_VALUE);
        }
        if rank != 2 || interleave != 0 || fill != 0 || pair(steps)? != [1; 2] {
            return Err(NOT_SUPPORTED);
        }
        let tensor = Tensor {
            address: address.addr() as u64,
            element: named(&ELEMENTS, element)?,
            size: pair(sizes)?,
            row_bytes: *strides,
            tile: pair(tile)?,
            swizzle: named(&SWIZZLES, swizzle)?,
            tf32: element == TF32,
        };
        if let Err(why) = tensor.check() {
            driver.tell(format!("no tensor map of {why}"));
            return Err(INVALID_VALUE);
        }
        put(map.cast(), tensor.encode())
    }
}
