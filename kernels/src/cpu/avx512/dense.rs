//! Rows of weights that are numbers by themselves.
//!
//! Four rows are worked on at a time, a quarter of the matrix apart, so that memory sees four long streams, a cache line of
//! each in turn. Four neighbouring rows make streams that end after a row, and a single stream keeps too few reads under way:
//! both were up to twice as slow beyond the second-level cache. There, asking for lines a few hundred bytes ahead pays: bfloat16
//! then reads at 0.98 of a plain read's rate instead of 0.92. Further ahead it pushes the inputs out of the first-level cache,
//! and within the second-level cache it costs.
//!
//! With binary16 weights it is seven rows: their inputs, in fp32, are twice as many bytes as a row and come from the second-level
//! cache again for every set of rows. Four rows reached 0.82 of a plain read, seven 0.87 to 0.93; for the other formats seven are worse.
#![expect(unsafe_code, reason = "vector loads and the call into code built for a CPU feature")]

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::super::matrix::streams;
use super::{BF16, FLOAT, as_bh, require, to_bf16};

/// Bytes of a matrix from which on lines are asked for ahead: what second-level caches hold.
const FAR: usize = 1 << 20;
/// Bytes between the line worked on and the line asked for.
const AHEAD: usize = 256;

/// Weights of which a cache line is worked on at a time.
trait Line: Copy {
    /// What the weights are multiplied with.
    type Input: Copy;
    /// What the products are summed in.
    type Sum: Copy + Default;
    /// Weights of a line.
    const COUNT: usize = 64 / size_of::<Self>();
    /// Registers of inputs that a line meets.
    type Held: Copy;
    /// Registers of sums, by lanes.
    type Lanes: Copy;
    /// Sums of nothing.
    ///
    /// # Safety
    /// The CPU has what the kernel needs.
    unsafe fn zero() -> Self::Lanes;
    /// Loads the inputs of a line; asking for lines keeps the compiler from doing it once for all rows.
    ///
    /// # Safety
    /// As many inputs as a line has weights are readable at `x`, and the CPU has what the kernel needs.
    unsafe fn hold(x: *const Self::Input) -> Self::Held;
    /// Adds the products of a line.
    ///
    /// # Safety
    /// A line is readable at `line`, and the CPU has what the kernel needs.
    unsafe fn add(sum: Self::Lanes, line: *const Self, x: Self::Held) -> Self::Lanes;
    /// Sum of the lanes.
    ///
    /// # Safety
    /// The CPU has what the kernel needs.
    unsafe fn finish(sum: Self::Lanes) -> Self::Sum;
    /// Adds the product of a weight that is not part of a line.
    fn add_one(sum: Self::Sum, w: Self, x: Self::Input) -> Self::Sum;
}

impl Line for f32 {
    type Input = f32;
    type Sum = f32;
    type Held = __m512;
    type Lanes = __m512;

    #[inline(always)]
    unsafe fn zero() -> __m512 {
        // SAFETY: the caller vouches for the feature.
        unsafe { _mm512_setzero_ps() }
    }

    #[inline(always)]
    unsafe fn hold(x: *const f32) -> __m512 {
        // SAFETY: the caller vouches for sixteen inputs and the feature.
        unsafe { _mm512_loadu_ps(x) }
    }

    #[inline(always)]
    unsafe fn add(sum: __m512, line: *const f32, x: __m512) -> __m512 {
        // SAFETY: the caller vouches for sixteen weights and the feature.
        unsafe { _mm512_fmadd_ps(_mm512_loadu_ps(line), x, sum) }
    }

    #[inline(always)]
    unsafe fn finish(sum: __m512) -> f32 {
        // SAFETY: the caller vouches for the feature.
        unsafe { _mm512_reduce_add_ps(sum) }
    }

    fn add_one(sum: f32, w: f32, x: f32) -> f32 {
        sum + w * x
    }
}

/// In registers of half the width: their conversions read memory themselves and take 2.6 cycles a line in all, those of the full
/// width 4.
impl Line for f16 {
    type Input = f32;
    type Sum = f32;
    type Held = [__m256; 4];
    type Lanes = [__m256; 2];

    #[inline(always)]
    unsafe fn zero() -> [__m256; 2] {
        // SAFETY: the caller vouches for the features.
        unsafe { [_mm256_setzero_ps(); 2] }
    }

    #[inline(always)]
    unsafe fn hold(x: *const f32) -> [__m256; 4] {
        // SAFETY: the caller vouches for 32 inputs and the features.
        unsafe {
            [
                _mm256_loadu_ps(x),
                _mm256_loadu_ps(x.add(8)),
                _mm256_loadu_ps(x.add(16)),
                _mm256_loadu_ps(x.add(24)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn add(mut sums: [__m256; 2], line: *const f16, x: [__m256; 4]) -> [__m256; 2] {
        for (quarter, x) in x.into_iter().enumerate() {
            let sum = &mut sums[quarter % 2];
            // SAFETY: the caller vouches for 32 weights and the features; binary16 is two plain bytes.
            unsafe {
                let w = _mm256_cvtph_ps(_mm_loadu_si128(line.add(8 * quarter).cast()));
                *sum = _mm256_fmadd_ps(w, x, *sum);
            }
        }
        sums
    }

    #[inline(always)]
    unsafe fn finish([low, high]: [__m256; 2]) -> f32 {
        // SAFETY: the caller vouches for the features.
        unsafe { _mm512_reduce_add_ps(_mm512_zextps256_ps512(_mm256_add_ps(low, high))) }
    }

    fn add_one(sum: f32, w: f16, x: f32) -> f32 {
        sum + w.to_f32() * x
    }
}

impl Line for bf16 {
    type Input = bf16;
    type Sum = f32;

    type Held = __m512i;
    type Lanes = __m512;

    #[inline(always)]
    unsafe fn zero() -> __m512 {
        // SAFETY: the caller vouches for the feature.
        unsafe { _mm512_setzero_ps() }
    }

    #[inline(always)]
    unsafe fn hold(x: *const bf16) -> __m512i {
        // SAFETY: the caller vouches for 32 inputs and the feature.
        unsafe { _mm512_loadu_si512(x.cast()) }
    }

    #[inline(always)]
    unsafe fn add(sum: __m512, line: *const bf16, x: __m512i) -> __m512 {
        // SAFETY: the caller vouches for 32 weights and the features.
        unsafe { _mm512_dpbf16_ps(sum, as_bh(_mm512_loadu_si512(line.cast())), as_bh(x)) }
    }

    #[inline(always)]
    unsafe fn finish(sum: __m512) -> f32 {
        // SAFETY: the caller vouches for the feature.
        unsafe { _mm512_reduce_add_ps(sum) }
    }

    fn add_one(sum: f32, w: bf16, x: bf16) -> f32 {
        sum + w.to_f32() * x.to_f32()
    }
}

/// Defines the kernel for one set of features.
macro_rules! gemv {
    ($name:ident, $dots:ident, $features:literal) => {
        /// Dot products of `R` rows with `x`.
        ///
        /// # Safety
        /// Every row is as long as `x`.
        #[target_feature(enable = $features)]
        unsafe fn $dots<W: Line, const R: usize, const IS_FAR: bool>(
            rows: [&[W]; R],
            x: &[W::Input],
        ) -> [W::Sum; R] {
            let whole = x.len() / W::COUNT * W::COUNT;
            // SAFETY: this function's features are the kernel's.
            let mut sums = [unsafe { W::zero() }; R];
            for i in (0..whole).step_by(W::COUNT) {
                // SAFETY: i + COUNT ≤ whole ≤ length of x and of every row; asking for a line faults nowhere.
                unsafe {
                    let held = W::hold(x.as_ptr().add(i));
                    for (sum, row) in sums.iter_mut().zip(rows) {
                        let line = row.as_ptr().add(i);
                        if IS_FAR {
                            let next = line.cast::<i8>().wrapping_add(AHEAD);
                            _mm_prefetch::<_MM_HINT_T0>(next);
                        }
                        *sum = W::add(*sum, line, held);
                    }
                }
            }
            // Loops, here and below: what arrays do with functions is not inlined into code for a CPU feature.
            let mut out = [W::Sum::default(); R];
            for (out, sum) in out.iter_mut().zip(sums) {
                // SAFETY: this function's features are the kernel's.
                *out = unsafe { W::finish(sum) };
            }
            for i in whole..x.len() {
                for (out, row) in out.iter_mut().zip(rows) {
                    *out = W::add_one(*out, row[i], x[i]);
                }
            }
            out
        }

        /// # Safety
        /// `weights` holds `y.len()` rows of `x.len()`.
        #[target_feature(enable = $features)]
        unsafe fn $name<W: Line, const R: usize>(weights: &[W], x: &[W::Input], y: &mut [W::Sum]) {
            let row = |i: usize| &weights[i * x.len()..(i + 1) * x.len()];
            let is_far = size_of_val(weights) > FAR;
            let (sets, rest) = streams::<R>(y.len());
            for at in sets {
                let mut rows = [weights; R];
                rows.iter_mut().zip(at).for_each(|(out, at)| *out = row(at));
                // SAFETY: `row` gives rows as long as x.
                let sums = unsafe {
                    if is_far {
                        $dots::<W, R, true>(rows, x)
                    } else {
                        $dots::<W, R, false>(rows, x)
                    }
                };
                at.into_iter().zip(sums).for_each(|(at, sum)| y[at] = sum);
            }
            for at in rest {
                // SAFETY: as above.
                [y[at]] = unsafe { $dots::<W, 1, false>([row(at)], x) };
            }
        }
    };
}

gemv!(gemv_float, dots_float, "avx512f,avx512bw,avx512vl");
gemv!(gemv_dot16, dots_dot16, "avx512f,avx512bw,avx512vl,avx512bf16");

/// `y = W·x` in binary32.
pub(crate) fn gemv_fp32(weights: &[f32], x: &[f32], y: &mut [f32]) {
    require(FLOAT);
    assert_eq!(weights.len(), x.len() * y.len());
    // SAFETY: features and lengths were checked just above.
    unsafe { gemv_float::<_, 4>(weights, x, y) }
}

/// `y = W·x` with binary16 weights.
pub(crate) fn gemv_fp16(weights: &[f16], x: &[f32], y: &mut [f32]) {
    require(FLOAT);
    assert_eq!(weights.len(), x.len() * y.len());
    // SAFETY: features and lengths were checked just above.
    unsafe { gemv_float::<_, 7>(weights, x, y) }
}

/// `y = W·x` with bfloat16 weights and inputs, by the dot-product instruction.
pub(crate) fn gemv_bf16(weights: &[bf16], x: &[f32], y: &mut [f32]) {
    require(BF16);
    assert_eq!(weights.len(), x.len() * y.len());
    // SAFETY: features and lengths were checked just above; to_bf16 keeps the length.
    unsafe { gemv_dot16::<_, 4>(weights, &to_bf16(x), y) }
}
