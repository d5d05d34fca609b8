//! Products of many tokens with bfloat16 weights, see `cpu::narrow`.
//!
//! 32 bits of a row become two registers: the numbers at even places and those at odd places, each as wide as the
//! arithmetic wants them. Two rows and sixteen tokens at a time.
#![expect(unsafe_code, reason = "vector loads and the call into code built for a CPU feature")]

use std::arch::x86_64::*;

use half::bf16;

use super::super::gemm::TILE;
use super::super::narrow::{check_narrow, part};
use super::{AVX2, require};

/// Tokens worked on at a time: two registers.
const PART: usize = 16;

/// Numbers at even and at odd places.
///
/// # Safety
/// The CPU has AVX2.
#[inline(always)]
unsafe fn split(w: __m256i) -> [__m256i; 2] {
    // SAFETY: the caller vouches for the feature.
    unsafe {
        let high = _mm256_set1_epi32(0xffff_0000_u32.cast_signed());
        [_mm256_slli_epi32::<16>(w), _mm256_and_si256(w, high)]
    }
}

/// Eight sums of products.
///
/// # Safety
/// The CPU has AVX2 and fused multiply-add.
#[inline(always)]
unsafe fn fma(sum: __m256i, w: __m256i, x: __m256i) -> __m256i {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let (w, x) = (_mm256_castsi256_ps(w), _mm256_castsi256_ps(x));
        _mm256_castps_si256(_mm256_fmadd_ps(w, x, _mm256_castsi256_ps(sum)))
    }
}

/// Products of 32 bits of each of `R` rows with those of sixteen tokens.
///
/// # Safety
/// Two units of inputs are readable, and the CPU has what the kernel needs.
#[inline(always)]
unsafe fn add<const R: usize>(sums: &mut [[__m256i; 2]; R], w: [i32; R], x: *const u32) {
    // SAFETY: the caller vouches for the units and the features.
    unsafe {
        let x = [load(x), load(x.add(TILE))];
        for (sums, w) in sums.iter_mut().zip(w) {
            for (w, x) in split(_mm256_set1_epi32(w)).into_iter().zip(x) {
                *sums = [fma(sums[0], w, x[0]), fma(sums[1], w, x[1])];
            }
        }
    }
}

/// `R` rows times sixteen tokens, summed in registers.
///
/// # Safety
/// Rows are of one length; the tile has 32 starts and twice 32 units for every 32 bits of a row or part thereof; `y` has
/// `R` tiles, of which sixteen sums are written.
#[target_feature(enable = "avx2,fma")]
unsafe fn tiles<const R: usize>(rows: [&[u8]; R], tile: *const u32, y: *mut i32) {
    // SAFETY: the tile has starts.
    let start = unsafe { load(tile) };
    let mut sums = [start; R];
    let whole = rows[0].len() / 4;
    for i in 0..whole {
        // SAFETY: every row has 32 bits there, and the tile two units.
        unsafe {
            let read = |row: &[u8]| row.as_ptr().add(4 * i).cast::<i32>().read_unaligned();
            add(&mut sums, rows.map(read), tile.add((1 + 2 * i) * TILE));
        }
    }
    if 4 * whole < rows[0].len() {
        // SAFETY: the tile has two units for the part.
        unsafe {
            let rest = rows.map(|row| part(&row[4 * whole..]));
            add(&mut sums, rest, tile.add((1 + 2 * whole) * TILE));
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        // SAFETY: y has sixteen sums in each of R tiles.
        unsafe {
            _mm256_storeu_si256(y.add(r * TILE).cast(), sums[0]);
            _mm256_storeu_si256(y.add(r * TILE + 8).cast(), sums[1]);
        }
    }
}

/// # Safety
/// `weights` are rows of `row` bytes, `y` has a tile for each, and the tile units for all of a row.
#[target_feature(enable = "avx2,fma")]
unsafe fn all_rows(weights: &[u8], row: usize, tile: &[u32], y: *mut i32) {
    let count = weights.len() / row.max(1);
    let at = |i: usize| &weights[i * row..(i + 1) * row];
    for part in (0..TILE).step_by(PART) {
        // SAFETY: rows and tiles i and i + 1, then the one that is left, exist.
        unsafe {
            let (tile, y) = (tile.as_ptr().add(part), y.add(part));
            for i in (0..count / 2 * 2).step_by(2) {
                tiles([at(i), at(i + 1)], tile, y.add(i * TILE));
            }
            for i in count / 2 * 2..count {
                tiles([at(i)], tile, y.add(i * TILE));
            }
        }
    }
}

/// Sixteen numbers of 32 bits.
///
/// # Safety
/// They are readable, and the CPU has AVX2.
#[inline(always)]
unsafe fn load(from: *const u32) -> [__m256i; 2] {
    // SAFETY: the caller vouches for 64 bytes and the feature.
    unsafe { [_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(8).cast())] }
}

/// Products of a tile with rows of bfloat16 weights.
pub(crate) fn gemm_bf16(tile: &[u32], weights: &[bf16], y: &mut [f32]) {
    require(AVX2);
    let k = check_narrow((2, 2), tile.len(), weights.len(), y.len());
    // SAFETY: features and lengths were checked; bfloat16 numbers are two plain bytes, and sums are 32 plain bits.
    unsafe {
        let bytes = std::slice::from_raw_parts(weights.as_ptr().cast(), size_of_val(weights));
        all_rows(bytes, 2 * k, tile, y.as_mut_ptr().cast());
    }
}
