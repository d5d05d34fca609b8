//! Products of bytes: integer weights, and 4-bit weights with quantised inputs.
//!
//! AVX2 multiplies bytes directly only with sums that saturate at 16 bits. Nibbles are too small for that to happen; bytes
//! are widened first.
#![expect(unsafe_code, reason = "vector loads and the call into code built for a CPU feature")]

use std::arch::x86_64::*;

use super::super::int8::quantise;
use super::super::matrix::{GROUP, GROUP_WORDS, Int4};
use super::super::registry::{check_int4, streams};
use super::{AVX2, reduce, require};

/// `y = W·x` in integers; weights hold an integer plus 128.
pub(crate) fn gemv_int8(weights: &[u8], x: &[i8], y: &mut [i32]) {
    require(AVX2);
    assert_eq!(weights.len(), x.len() * y.len());
    let row = |i: usize| &weights[i * x.len()..(i + 1) * x.len()];
    let excess = x.iter().fold(0_i32, |sum, x| sum.wrapping_add(i32::from(*x) * 128));
    let (fours, rest) = streams::<4>(y.len());
    for at in fours {
        // SAFETY: the features were checked; `row` gives rows as long as x.
        let sums = unsafe { dots(at.map(row), x) };
        at.into_iter().zip(sums).for_each(|(at, sum)| y[at] = sum.wrapping_sub(excess));
    }
    for at in rest {
        // SAFETY: as above.
        let [sum] = unsafe { dots([row(at)], x) };
        y[at] = sum.wrapping_sub(excess);
    }
}

/// Dot products of `R` rows with `x`.
///
/// # Safety
/// Every row is as long as `x`.
#[target_feature(enable = "avx2,fma")]
unsafe fn dots<const R: usize>(rows: [&[u8]; R], x: &[i8]) -> [i32; R] {
    const STEP: usize = 16;
    let whole = x.len() / STEP * STEP;
    let mut sums = [_mm256_setzero_si256(); R];
    for i in (0..whole).step_by(STEP) {
        // SAFETY: i + 16 ≤ whole ≤ length of x and of every row.
        unsafe {
            let x = _mm256_cvtepi8_epi16(_mm_loadu_si128(x.as_ptr().add(i).cast()));
            for (sum, row) in sums.iter_mut().zip(rows) {
                let w = _mm256_cvtepu8_epi16(_mm_loadu_si128(row.as_ptr().add(i).cast()));
                *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(w, x));
            }
        }
    }
    std::array::from_fn(|r| {
        let rest = rows[r][whole..].iter().zip(&x[whole..]);
        let rest = rest.map(|(w, x)| i32::from(*w) * i32::from(*x));
        let mut lanes = [0; 8];
        // SAFETY: the array is 32 bytes.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), sums[r]) };
        lanes.into_iter().chain(rest).fold(0, i32::wrapping_add)
    })
}

/// Quantised inputs of one group in the order in which nibbles lie in the words, and eight times their sum lane by lane.
struct Group {
    bytes: [i8; GROUP],
    excess: [i32; 8],
    step: f32,
}

/// `y = W·x` with 4-bit weights and inputs quantised to 8 bits in groups.
pub(crate) fn gemv_w4a8(weights: Int4<'_>, x: &[f32], y: &mut [f32]) {
    require(AVX2);
    check_int4(weights, x, y);
    let groups: Vec<Group> = x.chunks_exact(GROUP).map(group).collect();
    // SAFETY: features and lengths were checked just above.
    unsafe { gemv_rows(weights, &groups, y) }
}

fn group(x: &[f32]) -> Group {
    let mut q = [0; GROUP];
    let step = quantise(x, &mut q);
    let mut group = Group { bytes: [0; GROUP], excess: [0; 8], step };
    // 32 bytes of words hold sixteen places of each quarter: low nibbles quarters 0 and 2 in turn, high ones 1 and 3.
    for (i, q) in q.into_iter().enumerate() {
        let (quarter, place) = (i / GROUP_WORDS, i % GROUP_WORDS);
        let at = place / 16 * 64 + quarter % 2 * 32 + place % 16 * 2 + quarter / 2;
        group.bytes[at] = q;
        group.excess[at % 32 / 4] += 8 * i32::from(q);
    }
    group
}

/// # Safety
/// `weights` holds `y.len()` rows of these groups.
#[target_feature(enable = "avx2,fma")]
unsafe fn gemv_rows(weights: Int4<'_>, x: &[Group], y: &mut [f32]) {
    let (low, ones) = (_mm256_set1_epi8(15), _mm256_set1_epi16(1));
    for (row, y) in y.iter_mut().enumerate() {
        let mut sum = _mm256_setzero_ps();
        for (g, group) in x.iter().enumerate() {
            let at = row * x.len() + g;
            let mut products = _mm256_setzero_si256();
            for half in 0..2 {
                // SAFETY: group `at` has 64 bytes, and the inputs of a group are 128.
                unsafe {
                    let words = weights.words.as_ptr().add(at * GROUP_WORDS + half * 16);
                    let words = _mm256_loadu_si256(words.cast());
                    for (nibbles, from) in [(words, 0), (_mm256_srli_epi16::<4>(words), 32)] {
                        let x = group.bytes.as_ptr().add(half * 64 + from).cast();
                        // At most 2 · 15 · 127 a product, four of them in a lane.
                        let both = _mm256_maddubs_epi16(
                            _mm256_and_si256(nibbles, low),
                            _mm256_loadu_si256(x),
                        );
                        products = _mm256_add_epi16(products, both);
                    }
                }
            }
            // SAFETY: the array is 32 bytes.
            let excess = unsafe { _mm256_loadu_si256(group.excess.as_ptr().cast()) };
            let integers = _mm256_sub_epi32(_mm256_madd_epi16(products, ones), excess);
            let scale = _mm256_set1_ps(weights.scales[at].to_f32() * group.step);
            sum = _mm256_fmadd_ps(_mm256_cvtepi32_ps(integers), scale, sum);
        }
        *y = reduce(sum);
    }
}

/// Ten chains of products of 16-bit numbers in registers, as bytes are multiplied here, `rounds` long; returns the operations
/// done and a value that depends on all: each lane of a sum grows by 2 a round.
pub(crate) fn dot8(rounds: u64, _: f32) -> (f64, f32) {
    require(AVX2);
    // SAFETY: the features were checked just above.
    unsafe { dot8_chains(rounds) }
}

#[target_feature(enable = "avx2,fma")]
fn dot8_chains(rounds: u64) -> (f64, f32) {
    const CHAINS: usize = 10;
    let ones = std::hint::black_box(_mm256_set1_epi16(1));
    let mut sums = [_mm256_setzero_si256(); CHAINS];
    for _ in 0..rounds {
        for sum in &mut sums {
            // The factor is hidden, or one product would serve all chains.
            let factor = std::hint::black_box(ones);
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(factor, ones));
        }
    }
    let mut total = 0.0;
    for sum in sums {
        total += reduce(_mm256_cvtepi32_ps(sum));
    }
    (rounds as f64 * (CHAINS * 16 * 2) as f64, total)
}
