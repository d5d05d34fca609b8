//! `cuGetProcAddress`: functions by name, as new as the caller's CUDA version knows them.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};

use super::{exports, put, text};
use crate::codes::{INVALID_VALUE, NOT_FOUND};
use crate::driver::Driver;

/// Names whose newer versions take other parameters: the CUDA version from which a version is meant. `cudaTypedefs.h`.
const VERSIONED: &[(&str, c_int, &str)] = &[
    ("cuCtxCreate", 12050, "cuCtxCreate_v4"),
    ("cuCtxCreate", 11040, "cuCtxCreate_v3"),
    ("cuCtxCreate", 3020, "cuCtxCreate_v2"),
    ("cuDeviceGetUuid", 11040, "cuDeviceGetUuid_v2"),
    ("cuDeviceGetUuid", 9020, "cuDeviceGetUuid"),
    ("cuEventElapsedTime", 12080, "cuEventElapsedTime_v2"),
    ("cuEventElapsedTime", 2000, "cuEventElapsedTime"),
    ("cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"),
    ("cuGraphInstantiate", 11000, "cuGraphInstantiate_v2"),
    ("cuGetProcAddress", 12000, "cuGetProcAddress_v2"),
    ("cuGetProcAddress", 11030, "cuGetProcAddress"),
];

/// Status of a lookup, `CUdriverProcAddressQueryResult`.
const FOUND: c_uint = 0;
const UNKNOWN: c_uint = 1;
const TOO_NEW: c_uint = 2;

fn find(driver: &Driver, name: &str, version: c_int) -> Result<*const (), c_uint> {
    let all = super::all();
    let address = |symbol: &str| {
        let there = all.iter().find(|export| export.0 == symbol);
        there.filter(|_| !driver.lacks(symbol) && !driver.lacks(name)).map(|export| export.1)
    };
    let mut versions = VERSIONED.iter().filter(|entry| entry.0 == name).peekable();
    if versions.peek().is_some() {
        let meant = versions.find(|entry| entry.1 <= version).ok_or(TOO_NEW)?;
        return address(meant.2).ok_or(UNKNOWN);
    }
    let newest = (2..=4).rev().find_map(|number| address(&format!("{name}_v{number}")));
    newest.or_else(|| address(name)).ok_or(UNKNOWN)
}

exports! { driver;
    // NVIDIA's own libraries ask for private tables, NVRTC as soon as it compiles, and crash where the function is missing.
    cuGetExportTable(place: *mut *const c_void, _table: *const c_void) {
        put(place, std::ptr::null())?;
        Err(NOT_FOUND)
    }
    cuGetProcAddress(symbol: *const c_char, place: *mut *mut c_void, version: c_int, _flags: c_ulonglong) {
        let found = find(driver, text(symbol)?, version);
        put(place, found.unwrap_or(std::ptr::null()).cast_mut().cast())?;
        if found.is_ok() { Ok(()) } else { Err(NOT_FOUND) }
    }
    cuGetProcAddress_v2(symbol: *const c_char, place: *mut *mut c_void, version: c_int, _flags: c_ulonglong, status: *mut c_uint) {
        if version > 99_999 {
            return Err(INVALID_VALUE);
        }
        let found = find(driver, text(symbol)?, version);
        put(place, found.unwrap_or(std::ptr::null()).cast_mut().cast())?;
        if !status.is_null() {
            put(status, found.err().unwrap_or(FOUND))?;
        }
        if found.is_ok() { Ok(()) } else { Err(NOT_FOUND) }
    }
}
