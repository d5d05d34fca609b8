//! Kernels for AVX2 with fused multiply-add; those with binary16 weights also need F16C.
//!
//! Built like the AVX-512 kernels, in vectors of eight.
#![expect(unsafe_code, reason = "vector loads and the call into code built for a CPU feature")]

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::feature::Feature;
use super::gemm::{TILE, check_tiles};
use super::matrix::{GROUP, GROUP_WORDS, Int4, check_int4, streams};

mod narrow;

pub(crate) use narrow::gemm_bf16;

/// What most of the kernels need.
pub(crate) const AVX2: &[Feature] = &[Feature::Avx2, Feature::Fma];

fn require(features: &[Feature]) {
    assert!(features.iter().all(|f| f.is_present()), "this CPU lacks {features:?}");
}

/// Eight weights as fp32.
trait Load: Copy {
    /// # Safety
    /// Eight values are readable at `from`, and the CPU has what the kernel needs.
    unsafe fn load(from: *const Self) -> __m256;
    fn to_f32(self) -> f32;
}

impl Load for f32 {
    #[inline(always)]
    unsafe fn load(from: *const Self) -> __m256 {
        // SAFETY: the caller vouches for 32 readable bytes and the feature.
        unsafe { _mm256_loadu_ps(from) }
    }

    fn to_f32(self) -> f32 {
        self
    }
}

impl Load for f16 {
    #[inline(always)]
    unsafe fn load(from: *const Self) -> __m256 {
        // SAFETY: the caller vouches for 16 readable bytes and F16C; binary16 is two plain bytes.
        unsafe { _mm256_cvtph_ps(_mm_loadu_si128(from.cast())) }
    }

    fn to_f32(self) -> f32 {
        self.to_f32()
    }
}

impl Load for bf16 {
    #[inline(always)]
    unsafe fn load(from: *const Self) -> __m256 {
        // SAFETY: the caller vouches for 16 readable bytes and AVX2; bfloat16 is the upper half of binary32.
        unsafe {
            let halves = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.cast()));
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(halves))
        }
    }

    fn to_f32(self) -> f32 {
        self.to_f32()
    }
}

/// Sum of the eight lanes.
#[target_feature(enable = "avx2,fma")]
fn reduce(v: __m256) -> f32 {
    let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
    let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
}

/// Defines the kernel for one set of features.
macro_rules! gemv {
    ($name:ident, $dots:ident, $features:literal) => {
        /// Dot products of `R` rows with `x`.
        ///
        /// # Safety
        /// Every row is as long as `x`.
        #[target_feature(enable = $features)]
        unsafe fn $dots<W: Load, const R: usize>(rows: [&[W]; R], x: &[f32]) -> [f32; R] {
            const STEP: usize = 16;
            let whole = x.len() / STEP * STEP;
            let mut sums = [[_mm256_setzero_ps(); R]; 2];
            for i in (0..whole).step_by(STEP) {
                for (part, sums) in sums.iter_mut().enumerate() {
                    let at = i + part * 8;
                    // SAFETY: at + 8 ≤ whole ≤ length of x and of every row.
                    unsafe {
                        let x = _mm256_loadu_ps(x.as_ptr().add(at));
                        for (sum, row) in sums.iter_mut().zip(rows) {
                            *sum = _mm256_fmadd_ps(W::load(row.as_ptr().add(at)), x, *sum);
                        }
                    }
                }
            }
            std::array::from_fn(|r| {
                let tail = rows[r][whole..].iter().zip(&x[whole..]);
                let tail = tail.fold(0.0, |sum, (w, x)| sum + w.to_f32() * x);
                reduce(_mm256_add_ps(sums[0][r], sums[1][r])) + tail
            })
        }

        /// # Safety
        /// `weights` holds `y.len()` rows of `x.len()`.
        #[target_feature(enable = $features)]
        unsafe fn $name<W: Load>(weights: &[W], x: &[f32], y: &mut [f32]) {
            let row = |i: usize| &weights[i * x.len()..(i + 1) * x.len()];
            let (fours, rest) = streams::<4>(y.len());
            for at in fours {
                // SAFETY: `row` gives rows as long as x.
                let sums = unsafe { $dots(at.map(row), x) };
                at.iter().zip(sums).for_each(|(at, sum)| y[*at] = sum);
            }
            for at in rest {
                // SAFETY: as above.
                [y[at]] = unsafe { $dots([row(at)], x) };
            }
        }
    };
}

gemv!(gemv_avx2, dots_avx2, "avx2,fma");
gemv!(gemv_f16c, dots_f16c, "avx2,fma,f16c");

/// `y = W·x` in binary32.
pub(crate) fn gemv_fp32(weights: &[f32], x: &[f32], y: &mut [f32]) {
    require(&[Feature::Avx2, Feature::Fma]);
    assert_eq!(weights.len(), x.len() * y.len());
    // SAFETY: features and lengths were checked just above.
    unsafe { gemv_avx2(weights, x, y) }
}

/// `y = W·x` with binary16 weights.
pub(crate) fn gemv_fp16(weights: &[f16], x: &[f32], y: &mut [f32]) {
    require(&[Feature::Avx2, Feature::Fma, Feature::F16c]);
    assert_eq!(weights.len(), x.len() * y.len());
    // SAFETY: features and lengths were checked just above.
    unsafe { gemv_f16c(weights, x, y) }
}

/// `y = W·x` with bfloat16 weights, widened to binary32.
pub(crate) fn gemv_bf16(weights: &[bf16], x: &[f32], y: &mut [f32]) {
    require(&[Feature::Avx2, Feature::Fma]);
    assert_eq!(weights.len(), x.len() * y.len());
    // SAFETY: features and lengths were checked just above.
    unsafe { gemv_avx2(weights, x, y) }
}

/// `y = W·x` with 4-bit weights, widened to binary32.
pub(crate) fn gemv_int4(weights: Int4<'_>, x: &[f32], y: &mut [f32]) {
    require(&[Feature::Avx2, Feature::Fma]);
    check_int4(weights, x, y);
    // SAFETY: features and lengths were checked just above.
    unsafe { gemv_int4_rows(weights, x, y) }
}

/// # Safety
/// `weights` holds `y.len()` rows of `x.len()`, in whole groups.
#[target_feature(enable = "avx2,fma")]
unsafe fn gemv_int4_rows(weights: Int4<'_>, x: &[f32], y: &mut [f32]) {
    let groups = x.len() / GROUP;
    let (low, eight) = (_mm256_set1_epi32(15), _mm256_set1_epi32(8));
    for (row, y) in y.iter_mut().enumerate() {
        let mut sum = _mm256_setzero_ps();
        for g in 0..groups {
            let at = row * groups + g;
            let mut part = [_mm256_setzero_ps(); 4];
            for (eighth, part) in part.iter_mut().enumerate() {
                // SAFETY: group `at` has 32 words and x has GROUP inputs from g · GROUP on, by this function's contract.
                unsafe {
                    let words = weights.words.as_ptr().add(at * GROUP_WORDS + eighth * 8);
                    let mut nibbles = _mm256_cvtepu16_epi32(_mm_loadu_si128(words.cast()));
                    for j in 0..4 {
                        let from = g * GROUP + j * GROUP_WORDS + eighth * 8;
                        let x = _mm256_loadu_ps(x.as_ptr().add(from));
                        let q = _mm256_sub_epi32(_mm256_and_si256(nibbles, low), eight);
                        *part = _mm256_fmadd_ps(_mm256_cvtepi32_ps(q), x, *part);
                        nibbles = _mm256_srli_epi32::<4>(nibbles);
                    }
                }
            }
            let halves = [_mm256_add_ps(part[0], part[1]), _mm256_add_ps(part[2], part[3])];
            let scale = _mm256_set1_ps(weights.scales[at].to_f32());
            sum = _mm256_fmadd_ps(_mm256_add_ps(halves[0], halves[1]), scale, sum);
        }
        *y = reduce(sum);
    }
}

/// Products of weight rows with 32 tokens side by side; see `cpu::gemm`.
pub(crate) fn gemm(x: &[f32], weights: &[f32], y: &mut [f32]) {
    require(&[Feature::Avx2, Feature::Fma]);
    let k = check_tiles(x, weights, y);
    let mut blocks = y.chunks_exact_mut(2 * TILE);
    let mut rows = weights.chunks_exact(k.max(1));
    let mut next = || rows.next().unwrap_or(&[]);
    for block in &mut blocks {
        // SAFETY: the features were checked, and by `check_tiles` there are as many rows of length k as tiles.
        unsafe { tiles::<2>([next(), next()], x, block) };
    }
    for tile in blocks.into_remainder().chunks_exact_mut(TILE) {
        // SAFETY: as above.
        unsafe { tiles::<1>([next()], x, tile) };
    }
}

/// `R` rows times 32 tokens, summed in registers.
///
/// # Safety
/// Every row has one weight per tile of `x`; `y` has `R` tiles.
#[target_feature(enable = "avx2,fma")]
unsafe fn tiles<const R: usize>(rows: [&[f32]; R], x: &[f32], y: &mut [f32]) {
    let mut sums = [[_mm256_setzero_ps(); R]; 4];
    for i in 0..x.len() / TILE {
        // SAFETY: tile i lies within x, and every row has an element i.
        unsafe {
            let from = x.as_ptr().add(i * TILE);
            let w: [__m256; R] = std::array::from_fn(|r| _mm256_set1_ps(*rows[r].get_unchecked(i)));
            for (part, sums) in sums.iter_mut().enumerate() {
                let x = _mm256_loadu_ps(from.add(part * 8));
                for (sum, w) in sums.iter_mut().zip(w) {
                    *sum = _mm256_fmadd_ps(w, x, *sum);
                }
            }
        }
    }
    for (r, tile) in y.chunks_exact_mut(TILE).enumerate() {
        for (sums, part) in sums.iter().zip(tile.chunks_exact_mut(8)) {
            // SAFETY: a quarter of a tile is eight numbers.
            unsafe { _mm256_storeu_ps(part.as_mut_ptr(), sums[r]) };
        }
    }
}

/// Sum of a buffer read once from end to end; four streams keep the memory busy.
pub(crate) fn read(buffer: &[f32]) -> f32 {
    require(&[Feature::Avx2, Feature::Fma]);
    // SAFETY: the features were checked just above.
    unsafe { read_streams(buffer) }
}

#[target_feature(enable = "avx2,fma")]
fn read_streams(buffer: &[f32]) -> f32 {
    let quarter = buffer.len() / 4 / 8 * 8;
    let mut sums = [_mm256_setzero_ps(); 4];
    for i in (0..quarter).step_by(8) {
        for (s, sum) in sums.iter_mut().enumerate() {
            // SAFETY: s · quarter + i + 8 ≤ 4 · quarter ≤ length of the buffer.
            let v = unsafe { _mm256_loadu_ps(buffer.as_ptr().add(s * quarter + i)) };
            *sum = _mm256_add_ps(*sum, v);
        }
    }
    let halves = [_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3])];
    reduce(_mm256_add_ps(halves[0], halves[1]))
}

/// Ten chains of multiply-adds in registers, `rounds` long; returns the operations done and a value that depends on all.
pub(crate) fn fma(rounds: u64, seed: f32) -> (f64, f32) {
    require(&[Feature::Avx2, Feature::Fma]);
    // SAFETY: the features were checked just above.
    unsafe { fma_chains(rounds, seed) }
}

#[target_feature(enable = "avx2,fma")]
fn fma_chains(rounds: u64, seed: f32) -> (f64, f32) {
    const CHAINS: usize = 10;
    let factor = _mm256_set1_ps(seed);
    let mut sums: [__m256; CHAINS] = std::array::from_fn(|i| _mm256_set1_ps(i as f32));
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = _mm256_fmadd_ps(*sum, factor, factor);
        }
    }
    let total = sums.iter().map(|s| reduce(*s)).sum();
    (rounds as f64 * (CHAINS * 8 * 2) as f64, total)
}
