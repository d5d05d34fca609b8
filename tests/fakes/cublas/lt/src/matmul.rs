//! The product, and which way there is to compute it.

use std::ffi::{c_int, c_uint, c_void};

use blas::driver::{place, strike, submit};
use blas::kinds::Kind;
use blas::status::{INVALID_VALUE, NOT_SUPPORTED};
use blas::{Product, rules};

use crate::attributes::{DESCRIPTIONS, Description, LAYOUTS, PREFERENCES};
use crate::{check, put, status};

/// `cublasLtMatmulAlgo_t`. The first word is its number here, the next four how A, B, C and D must be aligned.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Algorithm {
    data: [u64; 8],
}

impl Algorithm {
    /// Whether operands lie as it was promised.
    fn takes(&self, places: [*const c_void; 4]) -> bool {
        places.iter().zip(&self.data[1..]).all(|(place, alignment)| {
            *alignment == 0 || (place.addr() as u64).is_multiple_of(*alignment)
        })
    }
}

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
pub(crate) struct Heuristic {
    algorithm: Algorithm,
    workspace: usize,
    state: c_uint,
    waves: f32,
    reserved: [c_int; 4],
}

/// Number of the one algorithm there is.
const ONLY: u64 = 1;

/// Places of the matrices A, B, C, D, and their layouts.
struct Operands {
    places: [*const c_void; 4],
    layouts: [*mut c_void; 4],
}

impl Operands {
    /// The product; alpha and beta are those of the caller.
    fn product(&self, it: &Description, (alpha, beta): (f64, f64)) -> Result<Product, u32> {
        let matrix =
            |at: usize| LAYOUTS.get(self.layouts[at]).ok_or(INVALID_VALUE)?.at(self.places[at]);
        let [a, b, c, d] = [matrix(0)?, matrix(1)?, matrix(2)?, matrix(3)?];
        let (ta, tb) = it.transposed;
        let (m, k) = if ta { (a.columns, a.rows) } else { (a.rows, a.columns) };
        let (terms, n) = if tb { (b.columns, b.rows) } else { (b.rows, b.columns) };
        let fits = [(d.rows, d.columns), (c.rows, c.columns)] == [(m, n); 2];
        if k != terms || !fits || c.kind != d.kind {
            return Err(INVALID_VALUE);
        }
        let (transposed, compute) = ((ta, tb), it.compute);
        Ok(Product { m, n, k, transposed, a, b, c, d, compute, alpha, beta, scales: it.scales })
    }
}

/// # Safety
///
/// The place is null or holds a number of this format.
unsafe fn scale(place: *const c_void, kind: Kind) -> Result<f64, u32> {
    if place.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: by the contract.
    Ok(kind.read(unsafe { std::slice::from_raw_parts(place.cast(), kind.bytes()) }))
}

/// Ways to compute a product, best first. There is one, or none.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulAlgoGetHeuristic(
    handle: *mut c_void,
    description: *mut c_void,
    a: *mut c_void,
    b: *mut c_void,
    c: *mut c_void,
    d: *mut c_void,
    preference: *mut c_void,
    wanted: c_int,
    results: *mut Heuristic,
    found: *mut c_int,
) -> c_uint {
    let answer = || {
        check(handle)?;
        let it = DESCRIPTIONS.get(description).ok_or(INVALID_VALUE)?;
        let [of_a, of_b, of_c, of_d] =
            PREFERENCES.get(preference).ok_or(INVALID_VALUE)?.alignments.map(u64::from);
        if wanted < 1 || results.is_null() {
            return Err(INVALID_VALUE);
        }
        // Places are not known yet: as good as any.
        let operands = Operands { places: [std::ptr::null(); 4], layouts: [a, b, c, d] };
        let product = operands.product(&it, (1.0, 0.0));
        strike("cublasLtMatmulAlgoGetHeuristic", product.as_ref().ok())?;
        rules::matmul(place()?, &product?)?;
        let algorithm = Algorithm { data: [ONLY, of_a, of_b, of_c, of_d, 0, 0, 0] };
        let only = Heuristic { algorithm, workspace: 0, state: 0, waves: 1.0, reserved: [0; 4] };
        // SAFETY: by the contract there is room for one at least.
        unsafe { put(results, only) }
    };
    let answer = answer();
    // SAFETY: by the contract.
    let counted = unsafe { put(found, c_int::from(answer.is_ok())) };
    status(answer.and(counted))
}

/// One attribute of an algorithm. Only its number is known.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulAlgoConfigGetAttribute(
    algorithm: *const Algorithm,
    attribute: c_uint,
    value: *mut c_int,
    bytes: usize,
    written: *mut usize,
) -> c_uint {
    let answer = || {
        if algorithm.is_null() || bytes < size_of::<c_int>() {
            return Err(INVALID_VALUE);
        }
        if attribute != 0 {
            return Err(NOT_SUPPORTED);
        }
        // SAFETY: it is not null, and by the contract an algorithm; the value has so many bytes.
        unsafe { put(value, (*algorithm).data[0] as c_int)? };
        // SAFETY: by the contract.
        if written.is_null() { Ok(()) } else { unsafe { put(written, size_of::<c_int>()) } }
    };
    status(answer())
}

/// D = alpha · op(A) · op(B) + beta · C.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmul(
    handle: *mut c_void,
    description: *mut c_void,
    alpha: *const c_void,
    a: *const c_void,
    a_layout: *mut c_void,
    b: *const c_void,
    b_layout: *mut c_void,
    beta: *const c_void,
    c: *const c_void,
    c_layout: *mut c_void,
    d: *mut c_void,
    d_layout: *mut c_void,
    algorithm: *const Algorithm,
    _workspace: *mut c_void,
    _workspace_bytes: usize,
    stream: *mut c_void,
) -> c_uint {
    let answer = || {
        check(handle)?;
        let it = DESCRIPTIONS.get(description).ok_or(INVALID_VALUE)?;
        let kind = it.compute.scale();
        // SAFETY: by the contract they are null or of the scale's format.
        let scales = unsafe { (scale(alpha, kind)?, scale(beta, kind)?) };
        let operands = Operands {
            places: [a, b, c, d.cast_const()],
            layouts: [a_layout, b_layout, c_layout, d_layout],
        };
        let product = operands.product(&it, scales);
        strike("cublasLtMatmul", product.as_ref().ok())?;
        let product = product?;
        // SAFETY: null, or by the contract an algorithm.
        if !algorithm.is_null() && unsafe { (*algorithm).data[0] } != ONLY {
            return Err(INVALID_VALUE);
        }
        // SAFETY: null, or by the contract an algorithm.
        if !algorithm.is_null() && !unsafe { (*algorithm).takes([a, b, c, d.cast_const()]) } {
            return Err(NOT_SUPPORTED);
        }
        rules::matmul(place()?, &product)?;
        submit(stream.addr(), product)
    };
    status(answer())
}
