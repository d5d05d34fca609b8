//! Rows of 4-bit weights in groups with a scale.
#![expect(unsafe_code, reason = "vector loads and the call into code built for a CPU feature")]

use std::arch::x86_64::*;

use half::{bf16, f16};

use super::super::aligned::Aligned;
use super::super::feature::Feature;
use super::super::matrix::{GROUP, GROUP_WORDS, Int4};
use super::super::registry::{check_int4, streams};
use super::{load_bh, require, to_bf16};

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
