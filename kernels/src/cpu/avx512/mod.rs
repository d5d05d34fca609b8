//! Kernels for AVX-512, with and without its dot products of bfloat16 numbers and bytes.
//!
//! Each function of the crate's interface checks the CPU itself, so calling it is safe anywhere.
#![expect(unsafe_code, reason = "vector loads and the call into code built for a CPU feature")]

mod dense;
mod int4;
mod levels;
mod loops;
mod narrow;

use std::arch::x86_64::*;

use half::bf16;

use super::aligned::Aligned;
use super::feature::Feature;

pub(crate) use dense::{gemv_bf16, gemv_fp16, gemv_fp32};
pub(crate) use int4::gemv_int4_vnni;
pub(crate) use levels::gemv_int4;
pub(crate) use loops::{dot16, fma, gemm, read};
pub(crate) use narrow::gemm_bf16;

/// What kernels in fp32 need.
pub(crate) const FLOAT: &[Feature] = &[Feature::Avx512f, Feature::Avx512bw, Feature::Avx512vl];
/// What kernels with bfloat16 dot products need.
pub(crate) const BF16: &[Feature] =
    &[Feature::Avx512f, Feature::Avx512bw, Feature::Avx512vl, Feature::Avx512bf16];
/// What kernels with dot products of bytes need.
pub(crate) const VNNI: &[Feature] =
    &[Feature::Avx512f, Feature::Avx512bw, Feature::Avx512vl, Feature::Avx512vnni];

fn require(features: &[Feature]) {
    assert!(features.iter().all(|f| f.is_present()), "this CPU lacks {features:?}");
}

/// Inputs rounded to bfloat16, which is exact where they came from a bfloat16 buffer; subnormal numbers become zero, as
/// the dot product takes them anyway.
///
/// # Safety
/// The CPU has the features.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn to_bf16(x: &[f32]) -> Aligned<bf16> {
    let mut out = Aligned::<bf16>::collect(x.len(), []);
    for (x, out) in x.chunks(16).zip(out.chunks_mut(16)) {
        let mask = u16::MAX >> (16 - x.len());
        // SAFETY: the mask keeps both within the chunk, which is 1 to 16 long; both types are plain bytes.
        unsafe {
            let rounded = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, x.as_ptr()));
            let rounded = std::mem::transmute::<__m256bh, __m256i>(rounded);
            _mm256_mask_storeu_epi16(out.as_mut_ptr().cast(), mask, rounded);
        }
    }
    out
}

/// The bits of 32 bfloat16 numbers as their register type.
///
/// # Safety
/// The CPU has AVX-512F.
#[inline(always)]
unsafe fn as_bh(bits: __m512i) -> __m512bh {
    // SAFETY: both types are 64 plain bytes.
    unsafe { std::mem::transmute::<__m512i, __m512bh>(bits) }
}
