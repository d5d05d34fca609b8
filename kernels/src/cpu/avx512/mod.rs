//! Kernels for AVX-512, with and without bfloat16 dot products.
//!
//! Each function of the crate's interface checks the CPU itself, so calling it is safe anywhere.
#![expect(unsafe_code, reason = "vector loads and the call into code built for a CPU feature")]

mod dense;
mod int4;
mod loops;

use std::arch::x86_64::*;

use half::bf16;

use super::aligned::Aligned;
use super::feature::Feature;

pub(crate) use dense::{gemv_bf16, gemv_fp16, gemv_fp32};
pub(crate) use int4::{gemv_int4, gemv_int4_bf16};
pub(crate) use loops::{fma, gemm, read};

fn require(features: &[Feature]) {
    assert!(features.iter().all(|f| f.is_present()), "this CPU lacks {features:?}");
}
/// Inputs rounded to bfloat16, which is exact where they came from a bfloat16 buffer.
fn to_bf16(x: &[f32]) -> Aligned<bf16> {
    Aligned::collect(x.len(), x.iter().map(|v| bf16::from_f32(*v)))
}

/// Thirty-two bfloat16 numbers.
///
/// # Safety
/// 64 bytes are readable at `from`, and the CPU has AVX-512F.
#[inline(always)]
unsafe fn load_bh<T>(from: *const T) -> __m512bh {
    // SAFETY: the caller vouches for the bytes; both types are 64 plain bytes.
    unsafe { std::mem::transmute::<__m512i, __m512bh>(_mm512_loadu_si512(from.cast())) }
}
