//! A stand-in `libcuda.so.1`, so that the real driver client, and the whole program, can be tested with no GPU.
//!
//! What it pretends is said in words ([`scenario::Scenario::parse`]), the same for boards as those of the stand-in NVML: one
//! scenario describes one machine to both. What goes wrong is said too ([`faults`]).
//!
//! It loads only what the board and the driver could load, runs kernels through the PTX interpreter, and keeps accounts of memory.
//! What the interpreter finds wrong with a kernel becomes what hardware would make of it, and a sentence on stderr.
//!
//! Time is simulated. The symbol [`warpscope_simulated`] says so, and no program may show such times as speeds.
//!
//! A function that an older driver lacks (`lacks:cuGraphLaunch`) is hidden from `cuGetProcAddress`, and returns
//! `CUDA_ERROR_NOT_SUPPORTED` when called: a loaded library cannot take a symbol back. Where a symbol must be truly missing, the
//! package `stage` cuts the name out of a copy; it also sets the scenario, and puts the libraries where programs look.
//!
//! Where `FAKE_LEDGER` names a folder, what the process holds and which boards it lost are written there, for the stand-in NVML.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "stands in for a C library: its functions take C pointers")]

mod api;
mod attributes;
pub mod boards;
pub mod codes;
mod context;
mod driver;
pub mod faults;
mod graph;
mod image;
mod launch;
mod library;
mod memory;
mod module;
mod program;
pub mod scenario;
mod stream;
mod table;

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Says that nothing here is measured. A program that finds this symbol shows no speeds.
#[unsafe(no_mangle)]
pub static warpscope_simulated: u32 = 1;

#[repr(C)]
struct DlInfo {
    file: *const c_char,
    base: *const c_void,
    name: *const c_char,
    at: *const c_void,
}

unsafe extern "C" {
    fn dladdr(address: *const c_void, info: *mut DlInfo) -> c_int;
}

/// Path of this library as it was loaded.
fn here() -> Option<PathBuf> {
    let mut info = DlInfo {
        file: std::ptr::null(),
        base: std::ptr::null(),
        name: std::ptr::null(),
        at: std::ptr::null(),
    };
    // SAFETY: any address may be asked for; the structure is the C library's own.
    let found = unsafe { dladdr(here as *const c_void, &raw mut info) };
    // SAFETY: on success the file name is a C string that lives as long as the library is loaded.
    (found != 0 && !info.file.is_null())
        .then(|| OsStr::from_bytes(unsafe { CStr::from_ptr(info.file) }.to_bytes()).into())
}
