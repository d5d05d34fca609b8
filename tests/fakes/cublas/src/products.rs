//! The products: one general function, and two short forms of it.

use std::ffi::{c_int, c_uint, c_void};

use blas::driver::{place, strike, submit};
use blas::kinds::{Compute, Kind, transposed};
use blas::matrix::Matrix;
use blas::status::{Answer, INVALID_VALUE, NOT_SUPPORTED};
use blas::{Product, rules};

use crate::{handle, status};

/// A factor or the result, as the caller names it.
#[derive(Clone, Copy)]
struct Operand {
    address: *const c_void,
    kind: c_uint,
    leading: c_int,
}

/// A call.
struct Call {
    operations: (c_uint, c_uint),
    sizes: [c_int; 3],
    scales: (*const c_void, *const c_void),
    a: Operand,
    b: Operand,
    c: Operand,
    compute: c_uint,
    algorithm: c_int,
}

/// Numbers of `cublasGemmAlgo_t`: default, 0 to 23, and those for tensor cores.
fn is_algorithm(number: c_int) -> bool {
    matches!(number, -1..=23 | 99..=115)
}

impl Operand {
    fn matrix(self, rows: usize, columns: usize) -> Result<Matrix, u32> {
        let kind = Kind::of(self.kind).ok_or(NOT_SUPPORTED)?;
        let leading = usize::try_from(self.leading).map_err(|_| INVALID_VALUE)?;
        Ok(Matrix { address: self.address.addr() as u64, kind, rows, columns, leading })
    }
}

impl Call {
    /// # Safety
    ///
    /// The scales are null or of the format that the compute type says.
    unsafe fn product(&self) -> Result<Product, u32> {
        let [m, n, k] = self.sizes.map(usize::try_from);
        let (Ok(m), Ok(n), Ok(k)) = (m, n, k) else { return Err(INVALID_VALUE) };
        let ta = transposed(self.operations.0).ok_or(INVALID_VALUE)?;
        let tb = transposed(self.operations.1).ok_or(INVALID_VALUE)?;
        let compute = Compute::of(self.compute).ok_or(NOT_SUPPORTED)?;
        if !is_algorithm(self.algorithm) {
            return Err(INVALID_VALUE);
        }
        // SAFETY: passed on from the caller.
        let alpha = unsafe { scale(self.scales.0, compute)? };
        // SAFETY: likewise.
        let beta = unsafe { scale(self.scales.1, compute)? };
        let a = if ta { self.a.matrix(k, m) } else { self.a.matrix(m, k) }?;
        let b = if tb { self.b.matrix(n, k) } else { self.b.matrix(k, n) }?;
        let c = self.c.matrix(m, n)?;
        let (transposed, scales) = ((ta, tb), [0; 2]);
        Ok(Product { m, n, k, transposed, a, b, c, d: c, compute, alpha, beta, scales })
    }
}

/// # Safety
///
/// The place is null or holds a number of the compute type's scale.
unsafe fn scale(place: *const c_void, compute: Compute) -> Result<f64, u32> {
    if place.is_null() {
        return Err(INVALID_VALUE);
    }
    let kind = compute.scale();
    // SAFETY: by the contract.
    Ok(kind.read(unsafe { std::slice::from_raw_parts(place.cast(), kind.bytes()) }))
}

/// # Safety
///
/// As `Call::product`.
unsafe fn run(function: &str, handle: *mut c_void, call: &Call) -> Answer {
    let handle = handle::of(handle)?;
    // SAFETY: passed on from the caller.
    let product = unsafe { call.product() };
    strike(function, product.as_ref().ok())?;
    let product = product?;
    rules::gemm_ex(place()?, &product)?;
    submit(handle.stream(), product)
}

/// C = alpha · op(A) · op(B) + beta · C, in the formats that are named.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasGemmEx(
    handle: *mut c_void,
    operation_a: c_uint,
    operation_b: c_uint,
    m: c_int,
    n: c_int,
    k: c_int,
    alpha: *const c_void,
    a: *const c_void,
    a_kind: c_uint,
    lda: c_int,
    b: *const c_void,
    b_kind: c_uint,
    ldb: c_int,
    beta: *const c_void,
    c: *mut c_void,
    c_kind: c_uint,
    ldc: c_int,
    compute: c_uint,
    algorithm: c_int,
) -> c_uint {
    let call = Call {
        operations: (operation_a, operation_b),
        sizes: [m, n, k],
        scales: (alpha, beta),
        a: Operand { address: a, kind: a_kind, leading: lda },
        b: Operand { address: b, kind: b_kind, leading: ldb },
        c: Operand { address: c, kind: c_kind, leading: ldc },
        compute,
        algorithm,
    };
    // SAFETY: by the contract.
    status(unsafe { run("cublasGemmEx", handle, &call) })
}

/// Declares a product of one format.
macro_rules! short {
    ($(#[$note:meta])* $name:ident, $number:ty, $kind:literal, $compute:literal) => {
        $(#[$note])*
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(
            handle: *mut c_void,
            operation_a: c_uint,
            operation_b: c_uint,
            m: c_int,
            n: c_int,
            k: c_int,
            alpha: *const $number,
            a: *const $number,
            lda: c_int,
            b: *const $number,
            ldb: c_int,
            beta: *const $number,
            c: *mut $number,
            ldc: c_int,
        ) -> c_uint {
            let operand =
                |address: *const $number, leading| Operand { address: address.cast(), kind: $kind, leading };
            let call = Call {
                operations: (operation_a, operation_b),
                sizes: [m, n, k],
                scales: (alpha.cast(), beta.cast()),
                a: operand(a, lda),
                b: operand(b, ldb),
                c: operand(c, ldc),
                compute: $compute,
                algorithm: -1,
            };
            // SAFETY: by the contract.
            status(unsafe { run(stringify!($name), handle, &call) })
        }
    };
}

short!(
    /// The product in binary32.
    cublasSgemm_v2, f32, 0, 68
);
short!(
    /// The product in binary16, sums too.
    cublasHgemm, u16, 2, 64
);
