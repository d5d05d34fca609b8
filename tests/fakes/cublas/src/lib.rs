//! A stand-in `libcublas.so.12` for tests, on the memory of the stand-in driver. What it supports and what goes wrong is said
//! in `fake-blas`. Functions that programs here do not call are missing.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "stands in for a C library: its functions take C pointers")]
#![expect(clippy::missing_safety_doc, reason = "the contracts are cuBLAS's")]

mod handle;
mod products;

use std::ffi::{CString, c_char, c_int, c_uint};
use std::sync::LazyLock;

use blas::status::{INVALID_VALUE, STATUSES};

/// Says that nothing here is measured. A program that finds this symbol shows no speeds.
#[unsafe(no_mangle)]
pub static warpscope_simulated: u32 = 1;

/// The number of an answer.
fn status(answer: Result<(), u32>) -> c_uint {
    answer.err().unwrap_or(0)
}

/// Writes a result where the caller wants it.
unsafe fn put<T>(place: *mut T, value: T) -> Result<(), u32> {
    if place.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the caller's place, for a value of this type.
    unsafe { place.write(value) };
    Ok(())
}

static NAMES: LazyLock<Vec<(u32, CString)>> = LazyLock::new(|| {
    let named = |entry: &(u32, &str)| (entry.0, CString::new(entry.1).unwrap_or_default());
    STATUSES.iter().map(named).collect()
});

/// Name of a status.
#[unsafe(no_mangle)]
pub extern "C" fn cublasGetStatusName(code: c_uint) -> *const c_char {
    let found = NAMES.iter().find(|entry| entry.0 == code);
    found.map_or(c"CUBLAS_STATUS_UNKNOWN".as_ptr(), |entry| entry.1.as_ptr())
}

/// One part of the version: major 0, minor 1, patch 2.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasGetProperty(part: c_uint, value: *mut c_int) -> c_uint {
    let version = blas::driver::SCENARIO.version;
    let parts = [version / 10_000, version / 100 % 100, version % 100];
    let found = parts.get(part as usize).ok_or(INVALID_VALUE);
    // SAFETY: by the contract.
    status(found.and_then(|part| unsafe { put(value, *part as c_int) }))
}
