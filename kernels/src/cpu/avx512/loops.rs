//! Products of many tokens, and the loops that measure the ceilings.
#![expect(unsafe_code, reason = "vector loads and the call into code built for a CPU feature")]

use std::arch::x86_64::*;

use super::super::gemm::{TILE, check_tiles};
use super::{BF16, FLOAT, as_bh, require};

/// Sums at a time in the loops of the ceilings: more than the latency of any of the instructions asks for.
const CHAINS: usize = 12;

/// Products of weight rows with 32 tokens side by side; see `cpu::gemm`.
pub(crate) fn gemm(x: &[f32], weights: &[f32], y: &mut [f32]) {
    require(FLOAT);
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
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
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
    require(FLOAT);
    // SAFETY: the feature was checked just above.
    unsafe { read_streams(buffer) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
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

/// Twelve chains of multiply-adds in registers, `rounds` long; returns the operations done and a value that depends on all.
pub(crate) fn fma(rounds: u64, seed: f32) -> (f64, f32) {
    require(FLOAT);
    // SAFETY: the feature was checked just above.
    unsafe { fma_chains(rounds, seed) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn fma_chains(rounds: u64, seed: f32) -> (f64, f32) {
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

/// Twelve chains of bfloat16 dot products in registers, `rounds` long; returns the operations done and a value that depends on
/// all: each lane of a sum grows by 2 a round.
pub(crate) fn dot16(rounds: u64, _: f32) -> (f64, f32) {
    require(BF16);
    // SAFETY: the features were checked just above.
    unsafe { dot16_chains(rounds) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
fn dot16_chains(rounds: u64) -> (f64, f32) {
    let ones = std::hint::black_box(_mm512_set1_epi16(0x3f80));
    let mut sums = [_mm512_setzero_ps(); CHAINS];
    for _ in 0..rounds {
        for sum in &mut sums {
            // SAFETY: this function's features are what the conversion asks for.
            *sum = unsafe { _mm512_dpbf16_ps(*sum, as_bh(ones), as_bh(ones)) };
        }
    }
    let total = sums.iter().map(|s| _mm512_reduce_add_ps(*s)).sum();
    (rounds as f64 * (CHAINS * 32 * 2) as f64, total)
}
