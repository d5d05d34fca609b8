//! Rows of weights that are numbers by themselves.
//!
//! Four rows are worked on at a time, a quarter of the matrix apart, so that memory sees four long streams. Four neighbouring
//! rows make streams that end after a row, and a single stream keeps too few reads under way: both were up to twice as slow
//! beyond the second-level cache.
#![expect(unsafe_code, reason = "vector loads and the call into code built for a CPU feature")]

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::super::feature::Feature;
use super::super::registry::streams;
use super::{load_bh, require, to_bf16};

/// Sixteen weights as fp32.
trait Load: Copy {
    /// # Safety
    /// Sixteen values are readable at `from`, and the CPU has AVX-512F.
    unsafe fn load(from: *const Self) -> __m512;
    fn to_f32(self) -> f32;
}

impl Load for f32 {
    #[inline(always)]
    unsafe fn load(from: *const Self) -> __m512 {
        // SAFETY: the caller vouches for 64 readable bytes and the feature.
        unsafe { _mm512_loadu_ps(from) }
    }

    fn to_f32(self) -> f32 {
        self
    }
}

impl Load for f16 {
    #[inline(always)]
    unsafe fn load(from: *const Self) -> __m512 {
        // SAFETY: the caller vouches for 32 readable bytes and the feature; binary16 is two plain bytes.
        unsafe { _mm512_cvtph_ps(_mm256_loadu_si256(from.cast())) }
    }

    fn to_f32(self) -> f32 {
        self.to_f32()
    }
}

/// Dot products of `R` rows with `x`.
///
/// # Safety
/// Every row is as long as `x`.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn dots<W: Load, const R: usize>(rows: [&[W]; R], x: &[f32]) -> [f32; R] {
    const STEP: usize = 32;
    let whole = x.len() / STEP * STEP;
    let mut sums = [[_mm512_setzero_ps(); R]; 2];
    for i in (0..whole).step_by(STEP) {
        for (part, sums) in sums.iter_mut().enumerate() {
            let at = i + part * 16;
            // SAFETY: at + 16 ≤ whole ≤ length of x and of every row.
            unsafe {
                let x = _mm512_loadu_ps(x.as_ptr().add(at));
                for (sum, row) in sums.iter_mut().zip(rows) {
                    *sum = _mm512_fmadd_ps(W::load(row.as_ptr().add(at)), x, *sum);
                }
            }
        }
    }
    std::array::from_fn(|r| {
        let tail = rows[r][whole..].iter().zip(&x[whole..]);
        let tail = tail.fold(0.0, |sum, (w, x)| sum + w.to_f32() * x);
        _mm512_reduce_add_ps(_mm512_add_ps(sums[0][r], sums[1][r])) + tail
    })
}

/// # Safety
/// `weights` holds `y.len()` rows of `x.len()`.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn gemv<W: Load>(weights: &[W], x: &[f32], y: &mut [f32]) {
    let row = |i: usize| &weights[i * x.len()..(i + 1) * x.len()];
    let (fours, rest) = streams(y.len());
    for at in fours {
        // SAFETY: `row` gives rows as long as x.
        let sums = unsafe { dots(at.map(row), x) };
        at.iter().zip(sums).for_each(|(at, sum)| y[*at] = sum);
    }
    for at in rest {
        // SAFETY: as above.
        [y[at]] = unsafe { dots([row(at)], x) };
    }
}

/// `y = W·x` in binary32.
pub(crate) fn gemv_fp32(weights: &[f32], x: &[f32], y: &mut [f32]) {
    require(&[Feature::Avx512f, Feature::Avx512bw]);
    assert_eq!(weights.len(), x.len() * y.len());
    // SAFETY: features and lengths were checked just above.
    unsafe { gemv(weights, x, y) }
}

/// `y = W·x` with binary16 weights.
pub(crate) fn gemv_fp16(weights: &[f16], x: &[f32], y: &mut [f32]) {
    require(&[Feature::Avx512f, Feature::Avx512bw]);
    assert_eq!(weights.len(), x.len() * y.len());
    // SAFETY: features and lengths were checked just above.
    unsafe { gemv(weights, x, y) }
}

/// Dot products of `R` bfloat16 rows with `x`.
///
/// # Safety
/// Every row is as long as `x`.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn dots_bf16<const R: usize>(rows: [&[bf16]; R], x: &[bf16]) -> [f32; R] {
    const STEP: usize = 64;
    let whole = x.len() / STEP * STEP;
    let mut sums = [[_mm512_setzero_ps(); R]; 2];
    for i in (0..whole).step_by(STEP) {
        for (part, sums) in sums.iter_mut().enumerate() {
            let at = i + part * 32;
            // SAFETY: at + 32 ≤ whole ≤ length of x and of every row.
            unsafe {
                let x = load_bh(x.as_ptr().add(at));
                for (sum, row) in sums.iter_mut().zip(rows) {
                    *sum = _mm512_dpbf16_ps(*sum, load_bh(row.as_ptr().add(at)), x);
                }
            }
        }
    }
    std::array::from_fn(|r| {
        let tail = rows[r][whole..].iter().zip(&x[whole..]);
        let tail = tail.fold(0.0, |sum, (w, x)| sum + w.to_f32() * x.to_f32());
        _mm512_reduce_add_ps(_mm512_add_ps(sums[0][r], sums[1][r])) + tail
    })
}

/// # Safety
/// `weights` holds `y.len()` rows of `x.len()`.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn gemv_bf16_rows(weights: &[bf16], x: &[bf16], y: &mut [f32]) {
    let row = |i: usize| &weights[i * x.len()..(i + 1) * x.len()];
    let (fours, rest) = streams(y.len());
    for at in fours {
        // SAFETY: `row` gives rows as long as x.
        let sums = unsafe { dots_bf16(at.map(row), x) };
        at.iter().zip(sums).for_each(|(at, sum)| y[*at] = sum);
    }
    for at in rest {
        // SAFETY: as above.
        [y[at]] = unsafe { dots_bf16([row(at)], x) };
    }
}

/// `y = W·x` with bfloat16 weights and inputs, by the dot-product instruction.
pub(crate) fn gemv_bf16(weights: &[bf16], x: &[f32], y: &mut [f32]) {
    require(&[Feature::Avx512f, Feature::Avx512bw, Feature::Avx512bf16]);
    assert_eq!(weights.len(), x.len() * y.len());
    // SAFETY: features and lengths were checked just above; to_bf16 keeps the length.
    unsafe { gemv_bf16_rows(weights, &to_bf16(x), y) }
}
