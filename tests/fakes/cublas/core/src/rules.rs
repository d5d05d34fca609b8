//! Which products exist, and on which devices. The tables of types are those of the cuBLAS library guide for `cublasGemmEx`
//! and `cublasLtMatmul`; limits by device are what the guide says or users of that device saw.

use crate::kinds::{Compute, Kind};
use crate::matrix::Matrix;
use crate::product::Product;
use crate::status::{ARCH_MISMATCH, Answer, INVALID_VALUE, NOT_SUPPORTED};

use Kind::{Bf16, E4m3, E5m2, F16, F32, I8, I32};

/// A version of the library, and the device it is asked to work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// `120804` for 12.8.4.
    pub version: u32,
    /// Compute capability: major, minor.
    pub cc: (u32, u32),
}

/// Compute type, format of A and B, format of C: "cublasGemmEx", table of supported types, the real ones up to binary32.
#[rustfmt::skip]
const GEMM_EX: &[(Compute, Kind, Kind)] = &[
    (Compute::F16, F16, F16),
    (Compute::I32, I8, I32),
    (Compute::F32, Bf16, Bf16), (Compute::F32, F16, F16), (Compute::F32, I8, F32), (Compute::F32, Bf16, F32),
    (Compute::F32, F16, F32), (Compute::F32, F32, F32),
    (Compute::Fast, F32, F32),
];

/// What `cublasLtMatmul` has besides: "cublasLtMatmul", table of FP8 kernels, without results of 8 bits, which are not simulated.
const FP8: &[(Kind, Kind)] = &[(E4m3, E4m3), (E4m3, E5m2), (E5m2, E4m3)];
const FP8_RESULTS: &[Kind] = &[F16, Bf16, F32];

/// Lowest and highest compute capability of a major version. 11 to 13: its `cublas` and `cublasLt` binaries; that the next
/// older device is refused when the handle is made is what users of PyTorch for CUDA 13 on V100 saw.
const DEVICES: &[(u32, (u32, u32))] = &[(11, (3, 5)), (12, (5, 0)), (13, (7, 5))];

/// Devices newer than a version: it has no kernels for them. cuBLAS 12.1 has images up to 9.0, 12.8 up to 12.0.
const NEWER: &[(u32, (u32, u32))] = &[(120_000, (8, 9)), (120_800, (9, 0))];

/// Products that devices from before a compute capability refuse, and how. bfloat16: refused on a P100 and accepted on a T4
/// (github.com/pytorch/pytorch/issues/57773). 8-bit integers: dp4a came with 6.1; the status is assumed, nobody told.
const FROM: &[(Kind, (u32, u32), u32)] =
    &[(Bf16, (7, 0), NOT_SUPPORTED), (I8, (6, 1), ARCH_MISMATCH)];

/// Whether a handle can be made.
pub fn opens(place: Place) -> Answer {
    let oldest = DEVICES.iter().find(|entry| entry.0 == place.version / 10_000);
    if oldest.is_some_and(|entry| place.cc < entry.1) { Err(ARCH_MISMATCH) } else { Ok(()) }
}

/// Whether `cublasGemmEx` and its shorter forms take a product.
pub fn gemm_ex(place: Place, product: &Product) -> Answer {
    sound(product)?;
    let kinds = (product.compute, product.a.kind, product.c.kind);
    if product.a.kind != product.b.kind || !GEMM_EX.contains(&kinds) {
        return Err(NOT_SUPPORTED);
    }
    device(place, product)?;
    if product.a.kind == I8 { integers(place, product) } else { Ok(()) }
}

/// Whether `cublasLtMatmul` takes a product.
pub fn matmul(place: Place, product: &Product) -> Answer {
    sound(product)?;
    if product.a.kind.is_f8() || product.b.kind.is_f8() {
        return fp8(place, product);
    }
    gemm_ex(place, product)?;
    // "cublasLtMatmul", int8 kernels on regular data: A transposed, B not, and sizes in steps of 4.
    let regular = product.transposed == (true, false) && in_whole(4, &[product.m, product.k]);
    if product.compute == Compute::I32 && !regular { Err(NOT_SUPPORTED) } else { Ok(()) }
}

fn sound(product: &Product) -> Answer {
    let all = [&product.a, &product.b, &product.c, &product.d];
    if all.iter().all(|matrix| matrix.is_sound()) { Ok(()) } else { Err(INVALID_VALUE) }
}

fn device(place: Place, product: &Product) -> Answer {
    if NEWER.iter().any(|entry| place.version < entry.0 && place.cc > entry.1) {
        return Err(NOT_SUPPORTED);
    }
    let refused = FROM.iter().find(|entry| entry.0 == product.a.kind && place.cc < entry.1);
    refused.map_or(Ok(()), |entry| Err(entry.2))
}

fn in_whole(step: usize, sizes: &[usize]) -> bool {
    sizes.iter().all(|size| size.is_multiple_of(step))
}

fn in_steps(step: usize, matrices: &[&Matrix]) -> bool {
    let even = |matrix: &&Matrix| {
        let bytes = matrix.leading * matrix.kind.bytes();
        bytes.is_multiple_of(step) && matrix.address.is_multiple_of(step as u64)
    };
    matrices.iter().all(even)
}

/// 8-bit integers come in steps of 4. cuBLAS 12.8 on 12.0 wants 16 of every size
/// (github.com/OpenNMT/CTranslate2/issues/1865).
fn integers(place: Place, product: &Product) -> Answer {
    let Product { m, n, k, .. } = *product;
    let words = in_steps(4, &[&product.a, &product.b]);
    let new = place.cc >= (12, 0);
    let whole = in_whole(16, &[m, n, k]);
    if words && (whole || !new) { Ok(()) } else { Err(NOT_SUPPORTED) }
}

/// "cublasLtMatmul", FP8 kernels: compute capability 8.9, 9.0 and up; 16 bytes; A transposed and B not, which 10.x no more asks for.
fn fp8(place: Place, product: &Product) -> Answer {
    let kinds = FP8.contains(&(product.a.kind, product.b.kind))
        && FP8_RESULTS.contains(&product.d.kind)
        && product.c.kind == product.d.kind
        && product.compute == Compute::F32;
    let any_layout = place.cc.0 == 10;
    let layout = any_layout || product.transposed == (true, false);
    let aligned = in_steps(16, &[&product.a, &product.b, &product.c, &product.d]);
    let sizes = in_whole(16, &[product.m, product.k]);
    device(place, product)?;
    if place.cc >= (8, 9) && kinds && layout && aligned && sizes {
        Ok(())
    } else {
        Err(NOT_SUPPORTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATEST: u32 = 120_804;

    fn product((m, n, k): (usize, usize, usize), kinds: (Kind, Kind, Compute)) -> Product {
        let (ab, c, compute) = kinds;
        let matrix =
            |kind, rows, columns| Matrix { address: 256, kind, rows, columns, leading: rows };
        let c = matrix(c, m, n);
        Product {
            m,
            n,
            k,
            transposed: (true, false),
            a: matrix(ab, k, m),
            b: matrix(ab, k, n),
            c,
            d: c,
            compute,
            alpha: 1.0,
            beta: 0.0,
            scales: [0; 2],
        }
    }

    #[test]
    fn a_library_opens_on_the_devices_it_was_built_for() {
        for (version, cc, want) in [
            (130_000, (7, 0), Err(ARCH_MISMATCH)),
            (130_000, (7, 5), Ok(())),
            (LATEST, (7, 0), Ok(())),
            (LATEST, (6, 0), Ok(())),
            (111_103, (6, 1), Ok(())),
        ] {
            assert_eq!(opens(Place { version, cc }), want, "{version} {cc:?}");
        }
    }

    /// Each row is a call that somebody made on such a device, or a row of the guide.
    #[test]
    fn gemm_ex_takes_what_devices_are_known_to_take() {
        let f32_ = Compute::F32;
        for (cc, shape, kinds, want) in [
            ((6, 1), (64, 64, 64), (F16, F16, f32_), Ok(())),
            ((7, 5), (4096, 120, 4096), (F16, F16, f32_), Ok(())),
            ((6, 0), (64, 64, 64), (Bf16, Bf16, f32_), Err(NOT_SUPPORTED)),
            ((6, 1), (64, 64, 64), (Bf16, Bf16, f32_), Err(NOT_SUPPORTED)),
            ((7, 5), (64, 64, 64), (Bf16, Bf16, f32_), Ok(())),
            ((6, 0), (64, 64, 64), (I8, I32, Compute::I32), Err(ARCH_MISMATCH)),
            ((6, 1), (64, 64, 64), (I8, I32, Compute::I32), Ok(())),
            ((9, 0), (20, 20, 20), (I8, I32, Compute::I32), Ok(())),
            ((9, 0), (20, 20, 21), (I8, I32, Compute::I32), Err(NOT_SUPPORTED)),
            ((12, 0), (20, 20, 20), (I8, I32, Compute::I32), Err(NOT_SUPPORTED)),
            ((12, 0), (32, 16, 48), (I8, I32, Compute::I32), Ok(())),
            ((9, 0), (64, 64, 64), (F16, F16, Compute::F16), Ok(())),
            ((9, 0), (64, 64, 64), (Bf16, Bf16, Compute::F16), Err(NOT_SUPPORTED)),
            ((9, 0), (64, 64, 64), (E4m3, F16, f32_), Err(NOT_SUPPORTED)),
        ] {
            let place = Place { version: LATEST, cc };
            assert_eq!(gemm_ex(place, &product(shape, kinds)), want, "{cc:?} {shape:?} {kinds:?}");
        }
    }

    #[test]
    fn a_library_from_before_a_device_has_no_kernels_for_it() {
        let call = product((64, 64, 64), (F16, F16, Compute::F32));
        for (version, cc, want) in [
            (120_103, (9, 0), Ok(())),
            (120_103, (10, 0), Err(NOT_SUPPORTED)),
            (LATEST, (12, 0), Ok(())),
            (111_103, (9, 0), Err(NOT_SUPPORTED)),
        ] {
            assert_eq!(gemm_ex(Place { version, cc }, &call), want, "{version} {cc:?}");
        }
    }

    #[test]
    fn floats_of_8_bits_need_the_device_the_layout_and_16_bytes() {
        let kinds = (E4m3, Bf16, Compute::F32);
        let call = |shape| product(shape, kinds);
        let nn = |shape: (usize, usize, usize)| {
            let (m, _, k) = shape;
            let a = Matrix { rows: m, columns: k, leading: m, ..call(shape).a };
            Product { transposed: (false, false), a, ..call(shape) }
        };
        for (cc, call, want) in [
            ((8, 6), call((64, 64, 64)), Err(NOT_SUPPORTED)),
            ((8, 9), call((64, 64, 64)), Ok(())),
            ((9, 0), call((64, 64, 64)), Ok(())),
            ((9, 0), call((64, 64, 72)), Err(NOT_SUPPORTED)),
            ((9, 0), nn((64, 64, 64)), Err(NOT_SUPPORTED)),
            ((10, 0), nn((64, 64, 64)), Ok(())),
            ((12, 0), nn((64, 64, 64)), Err(NOT_SUPPORTED)),
            ((12, 0), call((64, 64, 64)), Ok(())),
        ] {
            assert_eq!(matmul(Place { version: LATEST, cc }, &call), want, "{cc:?} {call:?}");
        }
    }

    #[test]
    fn columns_that_overlap_are_invalid() {
        let mut call = product((64, 64, 64), (F16, F16, Compute::F32));
        call.a.leading = 63;
        assert_eq!(gemm_ex(Place { version: LATEST, cc: (9, 0) }, &call), Err(INVALID_VALUE));
    }
}
