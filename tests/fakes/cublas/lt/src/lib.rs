//! A stand-in `libcublasLt.so.12` for tests, on the memory of the stand-in driver. What it supports and what goes wrong is
//! said in `fake-blas`. Functions that programs here do not call are missing.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "stands in for a C library: its functions take C pointers")]
#![expect(clippy::missing_safety_doc, reason = "the contracts are cuBLASLt's")]

mod attributes;
mod matmul;

use std::ffi::{c_uint, c_void};

use blas::driver::{SCENARIO, place, strike};
use blas::status::{INVALID_VALUE, NOT_INITIALIZED};
use blas::{Registry, rules};

/// Says that nothing here is measured. A program that finds this symbol shows no speeds.
#[unsafe(no_mangle)]
pub static warpscope_simulated: u32 = 1;

static HANDLES: Registry<()> = Registry::new();

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

fn check(handle: *mut c_void) -> Result<(), u32> {
    HANDLES.get(handle).ok_or(NOT_INITIALIZED)
}

/// A handle for the current context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtCreate(out: *mut *mut c_void) -> c_uint {
    let make = || {
        strike("cublasLtCreate", None)?;
        rules::opens(place()?)?;
        // SAFETY: by the contract.
        unsafe { put(out, HANDLES.insert(())) }
    };
    status(make())
}

/// Gives a handle back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cublasLtDestroy(handle: *mut c_void) -> c_uint {
    status(HANDLES.remove(handle).ok_or(NOT_INITIALIZED))
}

/// The library's version.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtGetVersion() -> usize {
    SCENARIO.version as usize
}
