//! Rows of 4-bit weights in fp32: a register of sixteen levels turns nibbles into numbers.
#![expect(unsafe_code, reason = "vector loads and the call into code built for a CPU feature")]

use std::arch::x86_64::*;

use super::super::matrix::{GROUP, GROUP_WORDS, Int4, check_int4};
use super::{FLOAT, require};

/// −8…7 by nibble.
const LEVELS: [f32; 16] =
    [-8.0, -7.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

/// `y = W·x` with 4-bit weights.
pub(crate) fn gemv_int4(weights: Int4<'_>, x: &[f32], y: &mut [f32]) {
    require(FLOAT);
    check_int4(weights, x, y);
    // SAFETY: features and lengths were checked just above.
    unsafe { gemv_rows(weights, x, y) }
}

/// # Safety
/// `weights` holds `y.len()` rows of `x.len()`, in whole groups.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn gemv_rows(weights: Int4<'_>, x: &[f32], y: &mut [f32]) {
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
            let scale = _mm256_set1_epi16(weights.scales[at].to_bits().cast_signed());
            let both = _mm512_add_ps(part[0], part[1]);
            sum = _mm512_fmadd_ps(both, _mm512_cvtph_ps(scale), sum);
        }
        *y = _mm512_reduce_add_ps(sum);
    }
}
