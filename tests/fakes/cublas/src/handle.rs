//! Handles: a stream, and how products are computed.

use std::ffi::{c_int, c_uint, c_void};

use blas::driver::{SCENARIO, place, strike};
use blas::status::{INVALID_VALUE, NOT_INITIALIZED, NOT_SUPPORTED};
use blas::{Registry, rules};

use crate::{put, status};

/// What a handle holds.
#[derive(Clone, Copy, Default)]
pub(crate) struct Handle {
    stream: usize,
    math: c_uint,
}

impl Handle {
    /// Number of its stream.
    pub(crate) fn stream(self) -> usize {
        self.stream
    }
}

static HANDLES: Registry<Handle> = Registry::new();

pub(crate) fn of(handle: *mut c_void) -> Result<Handle, u32> {
    HANDLES.get(handle).ok_or(NOT_INITIALIZED)
}

fn change(handle: *mut c_void, act: impl FnOnce(&mut Handle)) -> c_uint {
    status(HANDLES.change(handle, act).ok_or(NOT_INITIALIZED))
}

/// A handle for the current context.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasCreate_v2(out: *mut *mut c_void) -> c_uint {
    let make = || {
        strike("cublasCreate_v2", None)?;
        rules::opens(place()?)?;
        // SAFETY: by the contract.
        unsafe { put(out, HANDLES.insert(Handle::default())) }
    };
    status(make())
}

/// Gives a handle back.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasDestroy_v2(handle: *mut c_void) -> c_uint {
    status(HANDLES.remove(handle).map(drop).ok_or(NOT_INITIALIZED))
}

/// The library's version.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasGetVersion_v2(
    handle: *mut c_void,
    version: *mut c_int,
) -> c_uint {
    // SAFETY: by the contract.
    status(of(handle).and_then(|_| unsafe { put(version, SCENARIO.version as c_int) }))
}

/// Where products run.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasSetStream_v2(
    handle: *mut c_void,
    stream: *mut c_void,
) -> c_uint {
    change(handle, |handle| handle.stream = stream.addr())
}

/// Where products run.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasGetStream_v2(
    handle: *mut c_void,
    stream: *mut *mut c_void,
) -> c_uint {
    // SAFETY: by the contract.
    status(
        of(handle).and_then(|handle| unsafe {
            put(stream, std::ptr::without_provenance_mut(handle.stream))
        }),
    )
}

/// How products may be computed: default 0, tensor cores 1, pedantic 2, TF32 3, and a flag for sums.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasSetMathMode(handle: *mut c_void, mode: c_uint) -> c_uint {
    const NO_SHORT_SUMS: c_uint = 16;
    if mode & !NO_SHORT_SUMS > 3 {
        return INVALID_VALUE;
    }
    change(handle, |handle| handle.math = mode)
}

/// How products may be computed.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasGetMathMode(
    handle: *mut c_void,
    mode: *mut c_uint,
) -> c_uint {
    // SAFETY: by the contract.
    status(of(handle).and_then(|handle| unsafe { put(mode, handle.math) }))
}

/// Where alpha and beta are: with the host 0; those on the device are not simulated.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasSetPointerMode_v2(
    handle: *mut c_void,
    mode: c_uint,
) -> c_uint {
    let mode = if mode == 0 { Ok(()) } else { Err(NOT_SUPPORTED) };
    status(of(handle).and(mode))
}

/// Memory the library may use; it needs none.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasSetWorkspace_v2(
    handle: *mut c_void,
    _workspace: *mut c_void,
    _bytes: usize,
) -> c_uint {
    status(of(handle).map(drop))
}
