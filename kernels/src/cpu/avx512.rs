//! Kernels for AVX-512, with and without bfloat16 dot products.
//!
//! Matrix-vector kernels work on four rows at a time, a quarter of the matrix apart, so that memory sees four long streams.
//! Four neighbouring rows make streams that end after a row, and a single stream keeps too few reads under way: both were up to
//! twice as slow beyond the second-level cache. Each function of the crate's interface checks the CPU itself, so calling it is safe anywhere.
#![expect(unsafe_code, reason = "vector loads and the call into code built for a CPU feature")]

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::aligned::Aligned;
use super::feature::Feature;
use super::gemm::{TILE, check_tiles};
use super::matrix::{GROUP, GROUP_WORDS, Int4};
use super::registry::{check_int4, streams};

fn require(features: &[Feature]) {
    assert!(features.iter().all(|f| f.is_present()), "this CPU lacks {features:?}");
}

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

/// −8…7 by nibble, as fp32 and, twice over, as bfloat16.
const LEVELS: [f32; 16] =
    [-8.0, -7.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
const LEVELS_BF16: [u16; 32] = {
    let mut levels = [0; 32];
    let mut i = 0;
    while i < 32 {
        levels[i] = (LEVELS[i % 16].to_bits() >> 16) as u16;
        i += 1;
    }
    levels
};

/// A scale in every lane.
#[target_feature(enable = "avx512f,avx512bw")]
fn spread(scale: f16) -> __m512 {
    _mm512_cvtph_ps(_mm256_set1_epi16(scale.to_bits().cast_signed()))
}

/// `y = W·x` with 4-bit weights: a register of sixteen levels turns nibbles into fp32.
pub(crate) fn gemv_int4(weights: Int4<'_>, x: &[f32], y: &mut [f32]) {
    require(&[Feature::Avx512f, Feature::Avx512bw]);
    check_int4(weights, x, y);
    // SAFETY: features and lengths were checked just above.
    unsafe { gemv_int4_rows(weights, x, y) }
}

/// # Safety
/// `weights` holds `y.len()` rows of `x.len()`, in whole groups.
#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn gemv_int4_rows(weights: Int4<'_>, x: &[f32], y: &mut [f32]) {
    let groups = x.len() / GROUP;
    // SAFETY: the array is 64 bytes.
    let table = unsafe { _mm512_loadu_ps(LEVELS.as_ptr()) };
    for (row, y) in y.iter_mut().enumerate() {
        let mut sum = _mm512_setzero_ps();
        for g in 0..groups {
            let at = row * groups + g;
            let mut part = [_mm512_setzero_ps(); 2];
            for (half, part) in part.iter_mut().enumerate() {
                // SAFETY: group `at` has 32 words and x has GROUP inputs from g · GROUP on, by this function's contract.
                unsafe {
                    let words = weights.words.as_ptr().add(at * GROUP_WORDS + half * 16);
                    let mut nibbles = _mm512_cvtepu16_epi32(_mm256_loadu_si256(words.cast()));
                    for j in 0..4 {
                        let from = g * GROUP + j * GROUP_WORDS + half * 16;
                        let x = _mm512_loadu_ps(x.as_ptr().add(from));
                        let w = _mm512_permutexvar_ps(nibbles, table);
                        *part = _mm512_fmadd_ps(w, x, *part);
                        nibbles = _mm512_srli_epi32::<4>(nibbles);
                    }
                }
            }
            let scale = spread(weights.scales[at]);
            sum = _mm512_fmadd_ps(_mm512_add_ps(part[0], part[1]), scale, sum);
        }
        *y = _mm512_reduce_add_ps(sum);
    }
}

/// Inputs as sums of two bfloat16 numbers: sixteen significant bits, so every binary16 value is exact.
struct Split {
    high: Aligned<bf16>,
    low: Aligned<bf16>,
}

fn split(x: &[f32]) -> Split {
    let high = to_bf16(x);
    let rest = |(x, h): (&f32, &bf16)| {
        let rest = x - h.to_f32();
        bf16::from_f32(if rest.is_finite() { rest } else { 0.0 })
    };
    Split { low: Aligned::collect(x.len(), x.iter().zip(high.iter()).map(rest)), high }
}

/// `y = W·x` with 4-bit weights by bfloat16 dot products: nibbles become bfloat16 levels, inputs a sum of two.
pub(crate) fn gemv_int4_bf16(weights: Int4<'_>, x: &[f32], y: &mut [f32]) {
    require(&[Feature::Avx512f, Feature::Avx512bw, Feature::Avx512bf16]);
    check_int4(weights, x, y);
    // SAFETY: features and lengths were checked just above; the parts of x are as long as x.
    unsafe { gemv_int4_split(weights, &split(x), y) }
}

/// # Safety
/// `weights` holds `y.len()` rows of `x`'s length, in whole groups.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn gemv_int4_split(weights: Int4<'_>, x: &Split, y: &mut [f32]) {
    let (fours, rest) = streams(y.len());
    for at in fours {
        // SAFETY: rows `at` exist, by this function's contract.
        let sums = unsafe { dots_int4(weights, at, x) };
        at.iter().zip(sums).for_each(|(at, sum)| y[*at] = sum);
    }
    for at in rest {
        // SAFETY: as above.
        [y[at]] = unsafe { dots_int4(weights, [at], x) };
    }
}

/// Dot products of `R` rows with `x`.
///
/// # Safety
/// `weights` holds these rows of `x`'s length, in whole groups.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn dots_int4<const R: usize>(weights: Int4<'_>, rows: [usize; R], x: &Split) -> [f32; R] {
    let groups = x.high.len() / GROUP;
    // SAFETY: the array is 64 bytes.
    let table = unsafe { _mm512_loadu_si512(LEVELS_BF16.as_ptr().cast()) };
    let mut sums = [_mm512_setzero_ps(); R];
    for g in 0..groups {
        let mut high = [_mm512_setzero_ps(); R];
        let mut low = [_mm512_setzero_ps(); R];
        // SAFETY: group g of each of the rows has 32 words.
        let mut words = rows.map(|row| unsafe {
            let at = (row * groups + g) * GROUP_WORDS;
            _mm512_loadu_si512(weights.words.as_ptr().add(at).cast())
        });
        for j in 0..4 {
            let from = g * GROUP + j * GROUP_WORDS;
            // SAFETY: x has GROUP inputs from g · GROUP on.
            let (xh, xl) =
                unsafe { (load_bh(x.high.as_ptr().add(from)), load_bh(x.low.as_ptr().add(from))) };
            for r in 0..R {
                // The look-up takes five bits; the table repeats, so the neighbour's bit does not matter.
                let w = _mm512_permutexvar_epi16(words[r], table);
                // SAFETY: both types are 64 plain bytes.
                let w = unsafe { std::mem::transmute::<__m512i, __m512bh>(w) };
                high[r] = _mm512_dpbf16_ps(high[r], w, xh);
                low[r] = _mm512_dpbf16_ps(low[r], w, xl);
                words[r] = _mm512_srli_epi16::<4>(words[r]);
            }
        }
        for r in 0..R {
            let scale = spread(weights.scales[rows[r] * groups + g]);
            sums[r] = _mm512_fmadd_ps(_mm512_add_ps(high[r], low[r]), scale, sums[r]);
        }
    }
    sums.map(|sum| _mm512_reduce_add_ps(sum))
}

/// Products of weight rows with 32 tokens side by side; see [`super::gemm`].
pub(crate) fn gemm(x: &[f32], weights: &[f32], y: &mut [f32]) {
    require(&[Feature::Avx512f]);
    let k = check_tiles(x, weights, y);
    let mut blocks = y.chunks_exact_mut(8 * TILE);
    let mut rows = weights.chunks_exact(k.max(1));
    let mut next = || rows.next().unwrap_or(&[]);
    for block in &mut blocks {
        // SAFETY: the feature was checked, and by `check_tiles` there are as many rows of length k as tiles.
        unsafe { tiles::<8>(std::array::from_fn(|_| next()), x, block) };
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
#[target_feature(enable = "avx512f")]
unsafe fn tiles<const R: usize>(rows: [&[f32]; R], x: &[f32], y: &mut [f32]) {
    let mut sums = [[_mm512_setzero_ps(); 2]; R];
    for i in 0..x.len() / TILE {
        // SAFETY: tile i lies within x, and every row has an element i.
        unsafe {
            let from = x.as_ptr().add(i * TILE);
            let x = [_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(16))];
            for r in 0..R {
                let w = _mm512_set1_ps(*rows[r].get_unchecked(i));
                sums[r] =
                    [_mm512_fmadd_ps(w, x[0], sums[r][0]), _mm512_fmadd_ps(w, x[1], sums[r][1])];
            }
        }
    }
    for (sums, tile) in sums.iter().zip(y.chunks_exact_mut(TILE)) {
        for (sum, half) in sums.iter().zip(tile.chunks_exact_mut(16)) {
            // SAFETY: half of a tile is sixteen numbers.
            unsafe { _mm512_storeu_ps(half.as_mut_ptr(), *sum) };
        }
    }
}

/// Sum of a buffer read once from end to end; four streams keep the memory busy.
pub(crate) fn read(buffer: &[f32]) -> f32 {
    require(&[Feature::Avx512f]);
    // SAFETY: the feature was checked just above.
    unsafe { read_streams(buffer) }
}

#[target_feature(enable = "avx512f")]
fn read_streams(buffer: &[f32]) -> f32 {
    let quarter = buffer.len() / 4 / 16 * 16;
    let mut sums = [_mm512_setzero_ps(); 4];
    for i in (0..quarter).step_by(16) {
        for (s, sum) in sums.iter_mut().enumerate() {
            // SAFETY: s · quarter + i + 16 ≤ 4 · quarter ≤ length of the buffer.
            let v = unsafe { _mm512_loadu_ps(buffer.as_ptr().add(s * quarter + i)) };
            *sum = _mm512_add_ps(*sum, v);
        }
    }
    let halves = [_mm512_add_ps(sums[0], sums[1]), _mm512_add_ps(sums[2], sums[3])];
    _mm512_reduce_add_ps(_mm512_add_ps(halves[0], halves[1]))
}

/// Ten chains of multiply-adds in registers, `rounds` long; returns the operations done and a value that depends on all.
pub(crate) fn fma(rounds: u64, seed: f32) -> (f64, f32) {
    require(&[Feature::Avx512f]);
    // SAFETY: the feature was checked just above.
    unsafe { fma_chains(rounds, seed) }
}

#[target_feature(enable = "avx512f")]
fn fma_chains(rounds: u64, seed: f32) -> (f64, f32) {
    const CHAINS: usize = 10;
    let factor = _mm512_set1_ps(seed);
    let mut sums: [__m512; CHAINS] = std::array::from_fn(|i| _mm512_set1_ps(i as f32));
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = _mm512_fmadd_ps(*sum, factor, factor);
        }
    }
    let total = sums.iter().map(|s| _mm512_reduce_add_ps(*s)).sum();
    (rounds as f64 * (CHAINS * 16 * 2) as f64, total)
}
