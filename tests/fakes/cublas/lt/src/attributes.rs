//! Descriptions of a product, of a matrix, and of what the caller prefers: each made, changed by numbered attributes, given
//! back. An attribute that changes the product and is not simulated is refused.

use std::ffi::{c_uint, c_void};

use blas::Registry;
use blas::kinds::{Compute, Kind, transposed};
use blas::matrix::Matrix;
use blas::status::{INVALID_VALUE, NOT_SUPPORTED};

use crate::{put, status};

/// `cublasLtMatmulDesc_t`.
#[derive(Clone, Copy)]
pub(crate) struct Description {
    pub(crate) compute: Compute,
    pub(crate) transposed: (bool, bool),
    /// Addresses of factors of A and B, each one binary32 number; 0 if there is none.
    pub(crate) scales: [u64; 2],
}

/// `cublasLtMatrixLayout_t`.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    kind: Kind,
    rows: u64,
    columns: u64,
    leading: i64,
    by_rows: bool,
}

/// `cublasLtMatmulPreference_t`.
#[derive(Clone, Copy)]
pub(crate) struct Preference {
    workspace: u64,
    /// Least alignments of A, B, C and D, bytes.
    pub(crate) alignments: [u32; 4],
}

impl Default for Preference {
    /// `cublasLt.h`: what is not said is taken for 256 bytes.
    fn default() -> Self {
        Self { workspace: 0, alignments: [256; 4] }
    }
}

pub(crate) static DESCRIPTIONS: Registry<Description> = Registry::new();
pub(crate) static LAYOUTS: Registry<Layout> = Registry::new();
pub(crate) static PREFERENCES: Registry<Preference> = Registry::new();

impl Layout {
    /// The matrix at an address.
    pub(crate) fn at(self, address: *const c_void) -> Result<Matrix, u32> {
        if self.by_rows {
            return Err(NOT_SUPPORTED);
        }
        let size = |value: u64| usize::try_from(value).map_err(|_| INVALID_VALUE);
        let leading = usize::try_from(self.leading).map_err(|_| INVALID_VALUE)?;
        let (rows, columns) = (size(self.rows)?, size(self.columns)?);
        Ok(Matrix { address: address.addr() as u64, kind: self.kind, rows, columns, leading })
    }
}

/// A value that the caller passes by its place and size.
#[derive(Clone, Copy)]
struct Given {
    place: *const c_void,
    bytes: usize,
}

impl Given {
    /// # Safety
    ///
    /// The place is null or holds so many bytes; any bytes are a `T`.
    unsafe fn read<T: Copy>(self) -> Result<T, u32> {
        if self.place.is_null() || self.bytes < size_of::<T>() {
            return Err(INVALID_VALUE);
        }
        // SAFETY: by the contract.
        Ok(unsafe { self.place.cast::<T>().read_unaligned() })
    }
}

/// A description of a product.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulDescCreate(
    out: *mut *mut c_void,
    compute: c_uint,
    scale: c_uint,
) -> c_uint {
    let make = || {
        let compute = Compute::of(compute).ok_or(NOT_SUPPORTED)?;
        if Kind::of(scale) != Some(compute.scale()) {
            return Err(NOT_SUPPORTED);
        }
        let made = Description { compute, transposed: (false, false), scales: [0; 2] };
        // SAFETY: by the contract.
        unsafe { put(out, DESCRIPTIONS.insert(made)) }
    };
    status(make())
}

/// Gives a description back.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulDescDestroy(description: *mut c_void) -> c_uint {
    status(DESCRIPTIONS.remove(description).map(drop).ok_or(INVALID_VALUE))
}

/// # Safety
///
/// As `Given::read`.
unsafe fn describe(it: &mut Description, attribute: c_uint, given: Given) -> Result<(), u32> {
    const SCALES: [c_uint; 2] = [17, 18];
    // SAFETY: passed on from the caller.
    let number = || unsafe { given.read::<u32>() };
    let flag = || transposed(number()?).ok_or(INVALID_VALUE);
    match attribute {
        0 => it.compute = Compute::of(number()?).ok_or(NOT_SUPPORTED)?,
        // Scale type; where alpha and beta are; fill; bias and its like: only what they are without being set.
        1 => {
            return if Kind::of(number()?) == Some(it.compute.scale()) {
                Ok(())
            } else {
                Err(NOT_SUPPORTED)
            };
        }
        2 | 5 | 6 => return if number()? == 0 { Ok(()) } else { Err(NOT_SUPPORTED) },
        7 => return if number()? == 1 { Ok(()) } else { Err(NOT_SUPPORTED) },
        3 => it.transposed.0 = flag()?,
        4 => it.transposed.1 = flag()?,
        // Multiprocessors to use.
        15 => {}
        // Faster and shorter sums of FP8, which are not simulated: a byte.
        25 => {
            // SAFETY: passed on from the caller.
            let _short = unsafe { given.read::<i8>()? };
        }
        _ => {
            let at = SCALES.iter().position(|scale| *scale == attribute).ok_or(NOT_SUPPORTED)?;
            // SAFETY: passed on from the caller.
            it.scales[at] = unsafe { given.read()? };
        }
    }
    Ok(())
}

/// Changes a description.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulDescSetAttribute(
    description: *mut c_void,
    attribute: c_uint,
    place: *const c_void,
    bytes: usize,
) -> c_uint {
    // SAFETY: by the contract.
    let set = |it: &mut _| unsafe { describe(it, attribute, Given { place, bytes }) };
    status(DESCRIPTIONS.change(description, set).unwrap_or(Err(INVALID_VALUE)))
}

/// A description of a matrix.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatrixLayoutCreate(
    out: *mut *mut c_void,
    kind: c_uint,
    rows: u64,
    columns: u64,
    leading: i64,
) -> c_uint {
    let make = || {
        let kind = Kind::of(kind).ok_or(NOT_SUPPORTED)?;
        let made = Layout { kind, rows, columns, leading, by_rows: false };
        // SAFETY: by the contract.
        unsafe { put(out, LAYOUTS.insert(made)) }
    };
    status(make())
}

/// Gives a description back.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatrixLayoutDestroy(layout: *mut c_void) -> c_uint {
    status(LAYOUTS.remove(layout).map(drop).ok_or(INVALID_VALUE))
}

/// Changes a description of a matrix.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatrixLayoutSetAttribute(
    layout: *mut c_void,
    attribute: c_uint,
    place: *const c_void,
    bytes: usize,
) -> c_uint {
    let given = Given { place, bytes };
    let set = |it: &mut Layout| -> Result<(), u32> {
        // SAFETY: by the contract, for each.
        unsafe {
            match attribute {
                0 => it.kind = Kind::of(given.read()?).ok_or(NOT_SUPPORTED)?,
                1 => it.by_rows = given.read::<u32>()? != 0,
                2 => it.rows = given.read()?,
                3 => it.columns = given.read()?,
                4 => it.leading = given.read()?,
                // Of batches there is only the one.
                5 if given.read::<u32>()? == 1 => {}
                6 => {}
                _ => return Err(NOT_SUPPORTED),
            }
        }
        Ok(())
    };
    status(LAYOUTS.change(layout, set).unwrap_or(Err(INVALID_VALUE)))
}

/// What the caller prefers.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulPreferenceCreate(out: *mut *mut c_void) -> c_uint {
    // SAFETY: by the contract.
    status(unsafe { put(out, PREFERENCES.insert(Preference::default())) })
}

/// Gives it back.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulPreferenceDestroy(preference: *mut c_void) -> c_uint {
    status(PREFERENCES.remove(preference).map(drop).ok_or(INVALID_VALUE))
}

/// Changes it. Of all that can be preferred only workspace and alignments are kept, and no workspace is needed.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulPreferenceSetAttribute(
    preference: *mut c_void,
    attribute: c_uint,
    place: *const c_void,
    bytes: usize,
) -> c_uint {
    let set = |it: &mut Preference| {
        let given = Given { place, bytes };
        match attribute {
            // SAFETY: by the contract.
            1 => it.workspace = unsafe { given.read()? },
            // SAFETY: by the contract.
            5..=8 => it.alignments[attribute as usize - 5] = unsafe { given.read()? },
            _ => {}
        }
        Ok(())
    };
    status(PREFERENCES.change(preference, set).unwrap_or(Err(INVALID_VALUE)))
}
