//! Products of many tokens with bfloat16 weights, see `cpu::narrow`.
//!
//! Eight rows and 32 tokens at a time: sixteen sums, more than the instruction's latency asks for. Twelve rows would need fewer
//! loads per product, but rows of 4096 bytes all fall into one set of the first-level cache, and it has eight places.
#![expect(unsafe_code, reason = "vector loads and the call into code built for a CPU feature")]

use std::arch::x86_64::*;

use half::bf16;

use super::super::gemm::TILE;
use super::super::narrow::{check_narrow, part};
use super::{BF16, as_bh, require};

/// Rows worked on at a time.
const ROWS: usize = 8;
/// Units of a row in a cache line.
const LINE: usize = 16;

/// Sixteen sums of products of two numbers.
///
/// # Safety
/// The CPU has what the kernel needs.
#[inline(always)]
unsafe fn dot(sum: __m512i, w: __m512i, x: __m512i) -> __m512i {
    // SAFETY: the caller vouches for the features.
    unsafe {
        let sum = _mm512_dpbf16_ps(_mm512_castsi512_ps(sum), as_bh(w), as_bh(x));
        _mm512_castps_si512(sum)
    }
}

/// Asks for the line so many bytes on: the same place in the rows that come next. Rows are too short for the CPU to guess.
#[inline(always)]
fn ask(from: *const u8, bytes: usize) {
    // SAFETY: asking reads nothing and faults nowhere, and every CPU of this architecture can.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(from.wrapping_add(bytes).cast()) }
}

/// Products of 32 bits of each of `R` rows with those of 32 tokens.
///
/// # Safety
/// The CPU has what the kernel needs.
#[inline(always)]
unsafe fn add<const R: usize>(sums: &mut [[__m512i; 2]; R], w: [i32; R], x: [__m512i; 2]) {
    for (sums, w) in sums.iter_mut().zip(w) {
        // SAFETY: the caller vouches for the features.
        unsafe {
            let w = _mm512_set1_epi32(w);
            *sums = [dot(sums[0], w, x[0]), dot(sums[1], w, x[1])];
        }
    }
}

/// `R` rows times 32 tokens, summed in registers.
///
/// # Safety
/// Rows are of one length; the tile has 32 starts and 32 units for every 32 bits of a row or part thereof; `y` has
/// `R` tiles.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn tiles<const R: usize>(rows: [&[u8]; R], tile: &[u32], y: *mut i32) {
    // SAFETY: the tile has at least 32 starts.
    let start = unsafe { load(tile.as_ptr()) };
    let mut sums = [start; R];
    let whole = rows[0].len() / 4;
    for i in 0..whole {
        // SAFETY: every row has 32 bits there, and the tile a unit.
        unsafe {
            if i % LINE == 0 {
                rows.iter().for_each(|row| ask(row.as_ptr().wrapping_add(4 * i), R * row.len()));
            }
            let read = |row: &[u8]| row.as_ptr().add(4 * i).cast::<i32>().read_unaligned();
            let x = load(tile.as_ptr().add((1 + i) * TILE));
            add(&mut sums, rows.map(read), x);
        }
    }
    if 4 * whole < rows[0].len() {
        // SAFETY: the tile has a unit for the part.
        unsafe {
            let x = load(tile.as_ptr().add((1 + whole) * TILE));
            add(&mut sums, rows.map(|row| part(&row[4 * whole..])), x);
        }
    }
    for (r, sums) in sums.iter().enumerate() {
        // SAFETY: y has R tiles of 32.
        unsafe {
            _mm512_storeu_si512(y.add(r * TILE).cast(), sums[0]);
            _mm512_storeu_si512(y.add(r * TILE + 16).cast(), sums[1]);
        }
    }
}

/// # Safety
/// `weights` are rows of `row` bytes, `y` has a tile for each, and the tile units for all of a row.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
unsafe fn all_rows(weights: &[u8], row: usize, tile: &[u32], y: *mut i32) {
    let count = weights.len() / row.max(1);
    let at = |i: usize| &weights[i * row..(i + 1) * row];
    let whole = count / ROWS * ROWS;
    // SAFETY: rows and tiles i to i + 8, then those that are left, exist.
    unsafe {
        for i in (0..whole).step_by(ROWS) {
            let rows: [&[u8]; ROWS] = std::array::from_fn(|r| at(i + r));
            tiles(rows, tile, y.add(i * TILE));
        }
        for i in whole..count {
            tiles([at(i)], tile, y.add(i * TILE));
        }
    }
}

/// 32 numbers of 32 bits.
///
/// # Safety
/// They are readable, and the CPU has AVX-512F.
#[inline(always)]
unsafe fn load(from: *const u32) -> [__m512i; 2] {
    // SAFETY: the caller vouches for 128 bytes and the feature.
    unsafe { [_mm512_loadu_si512(from.cast()), _mm512_loadu_si512(from.add(16).cast())] }
}

/// Products of a tile with rows of bfloat16 weights.
pub(crate) fn gemm_bf16(tile: &[u32], weights: &[bf16], y: &mut [f32]) {
    require(BF16);
    let k = check_narrow((2, 1), tile.len(), weights.len(), y.len());
    // SAFETY: features and lengths were checked; bfloat16 numbers are two plain bytes, and sums are 32 plain bits.
    unsafe {
        let bytes = std::slice::from_raw_parts(weights.as_ptr().cast(), size_of_val(weights));
        all_rows(bytes, 2 * k, tile, y.as_mut_ptr().cast());
    }
}
