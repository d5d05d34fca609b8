//! Rows of 4-bit weights by dot products of bytes.
//!
//! Inputs become integers, group by group, cut into planes of signed bytes; a nibble meets each plane in one instruction of
//! 64 products, and the planes are put together by shifts. Sums within a group are exact; what is lost is lost in the inputs.
//!
//! Two planes keep 14 to 15 bits below the largest of the group: inputs stored in binary16, as the format has them, are exact
//! from a sixteenth of the largest on, and smaller ones are off by 2⁻¹⁵ of it at most. In a group whose largest is at most six
//! times its root mean square, that is in the mean half of what storing in binary16 took from the group before, or less. Where
//! one input dwarfs the others there are three planes, 21 to 22 bits, so that rows which meet it with a weight of zero still
//! see the others. Three planes everywhere cost a quarter of the speed beyond the caches. Two bfloat16 numbers for an input and a look-up for the weights took four products
//! and four shuffles where three planes take three products, and reached 0.45 of the read bandwidth.
//!
//! Three rows at a time, a third of the matrix apart: their scales are streams, too, and with more of them the CPU's own reading
//! ahead gives way (0.99 of a plain read with three rows and one plane, 0.85 with four, 0.6 with eight).
//!
//! Loops stand where arrays have `map`: that is not inlined into functions for a CPU feature, and its vectors go through memory.
#![expect(unsafe_code, reason = "vector loads and the call into code built for a CPU feature")]

use std::arch::x86_64::*;

use super::super::matrix::{GROUP, GROUP_WORDS, Int4, check_int4, streams};
use super::{VNNI, levels, require};

/// Planes of a group.
const FINE: usize = 3;
/// Those of a group without outliers.
const EVEN: usize = 2;
/// Largest magnitude over root mean square of a group without outliers.
const FLAT: f32 = 6.0;
/// 2¹⁵ over the largest integer of two planes: both digits must lie within −128…127.
const EVEN_ROOM: f32 = 32_768.0 / 32_639.0;
/// Rows worked on at a time.
const ROWS: usize = 3;
/// Bytes between the weights worked on and those asked for.
const AHEAD: usize = 384;
/// Groups whose scales are converted at a time.
const BLOCK: usize = 16;

/// Inputs of one group: most significant plane first, in the order in which nibbles lie in the words, and eight times their
/// sum in each lane, as nibbles stand for −8…7.
#[repr(C, align(64))]
struct Group {
    planes: [[i8; GROUP]; FINE],
    excess: [i32; 16],
}

/// Inputs of all groups, what the integers of each are multiples of, and the planes that are in use.
struct Inputs {
    groups: Vec<Group>,
    steps: Vec<f32>,
    depths: Vec<usize>,
}

/// `y = W·x` with 4-bit weights. Inputs are taken as multiples of 2⁻¹⁵ to 2⁻¹⁴ of the largest of their group, in groups with
/// outliers of 2⁻²² to 2⁻²¹ of it; where one is not finite, all of the product is in fp32.
pub(crate) fn gemv_int4_vnni(weights: Int4<'_>, x: &[f32], y: &mut [f32]) {
    require(VNNI);
    check_int4(weights, x, y);
    if !x.iter().all(|x| x.is_finite()) {
        return levels::gemv_int4(weights, x, y);
    }
    // SAFETY: features and lengths were checked just above.
    unsafe { gemv_rows(weights, &integers(x), y) }
}

/// So many bits above the largest magnitude's power of two, and its inverse. Groups below 2⁻¹⁰⁴ are treated like that: what is
/// lost lies below the normal numbers.
fn step_below(top: f32, bits: u32) -> (f32, f32) {
    let exponent = (top.to_bits() >> 23).clamp(23, 254);
    (f32::from_bits((254 + bits - exponent) << 23), f32::from_bits((exponent - bits) << 23))
}

/// Whether two planes are enough. Beyond 2^±60 squares might leave fp32, and three planes serve.
fn is_even(top: f32, squares: f32) -> bool {
    let limit = 2.0_f32.powi(60);
    (limit.recip()..limit).contains(&top) && top * top * GROUP as f32 <= FLAT * FLAT * squares
}

/// What inputs of a group are multiplied with, what their integers are multiples of, and the planes these take. The integers of two
/// planes are 256 times as large, so that the third is empty.
fn cutting(top: f32, squares: f32) -> (f32, f32, usize) {
    if is_even(top, squares) {
        let (factor, step) = step_below(top * EVEN_ROOM, 14);
        (factor, step, EVEN)
    } else {
        let (factor, step) = step_below(top, 21);
        (factor, step, FINE)
    }
}

/// Largest magnitude and sum of squares of a group. Magnitudes are compared as integers: a comparison of numbers would pass over
/// NaN.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn extent(group: &[f32]) -> (f32, f32) {
    let (mut top, mut squares) = (_mm512_setzero_si512(), _mm512_setzero_ps());
    for x in group.chunks_exact(16) {
        // SAFETY: the chunk is sixteen inputs.
        let x = unsafe { _mm512_loadu_ps(x.as_ptr()) };
        top = _mm512_max_epi32(top, _mm512_castps_si512(_mm512_abs_ps(x)));
        squares = _mm512_fmadd_ps(x, x, squares);
    }
    let top = f32::from_bits(_mm512_reduce_max_epi32(top).cast_unsigned());
    (top, _mm512_reduce_add_ps(squares))
}

/// Inputs as integers.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn integers(x: &[f32]) -> Inputs {
    let count = x.len() / GROUP;
    let mut inputs = Inputs {
        groups: Vec::with_capacity(count),
        steps: Vec::with_capacity(count),
        depths: Vec::with_capacity(count),
    };
    for group in x.chunks_exact(GROUP) {
        let (top, squares) = extent(group);
        let (factor, step, depth) = cutting(top, squares);
        let factor = _mm512_set1_ps(factor);
        let mut integers = [_mm512_setzero_si512(); 8];
        for (integer, x) in integers.iter_mut().zip(group.chunks_exact(16)) {
            // SAFETY: the chunk is sixteen inputs.
            let x = unsafe { _mm512_loadu_ps(x.as_ptr()) };
            *integer = _mm512_cvtps_epi32(_mm512_mul_ps(x, factor));
            if depth < FINE {
                *integer = _mm512_slli_epi32::<8>(*integer);
            }
        }
        inputs.groups.push(cut(integers, depth));
        inputs.steps.push(step);
        inputs.depths.push(depth);
    }
    inputs
}

/// Cuts the integers of a group into planes: the low byte with its sign, then what is left.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
fn cut(mut x: [__m512i; 8], depth: usize) -> Group {
    let mut group = Group { planes: [[0; GROUP]; FINE], excess: [0; 16] };
    let (byte, half) = (_mm512_set1_epi32(255), _mm512_set1_epi32(128));
    for plane in group.planes.iter_mut().rev() {
        for (i, out) in plane.chunks_exact_mut(32).enumerate() {
            // Low nibbles belong to the quarters 0 and 2 of a group, high ones to 1 and 3; a quarter is two registers.
            let even = (i / 2) * 2 + i % 2;
            let pair = _mm512_or_si512(
                _mm512_and_si512(x[even], byte),
                _mm512_slli_epi32::<8>(x[even + 4]),
            );
            // SAFETY: the chunk is 32 bytes.
            unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm512_cvtepi32_epi16(pair)) };
        }
        for x in &mut x {
            *x = _mm512_srai_epi32::<8>(_mm512_add_epi32(*x, half));
        }
    }
    let eights = _mm512_set1_epi8(8);
    let [excess] = products(&group, depth, [[eights; 2]]);
    // SAFETY: sixteen lanes are 64 bytes.
    unsafe { _mm512_storeu_si512(group.excess.as_mut_ptr().cast(), excess) };
    group
}

/// Products of a group's planes in use with the low and high nibbles of `R` rows, summed in each lane. Eight of a nibble and 22
/// bits fit.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
#[inline]
fn products<const R: usize>(
    group: &Group,
    depth: usize,
    nibbles: [[__m512i; 2]; R],
) -> [__m512i; R] {
    let mut sums = [_mm512_setzero_si512(); R];
    for (p, plane) in group.planes.iter().enumerate() {
        if p == EVEN && depth == EVEN {
            break;
        }
        // SAFETY: a plane is 128 bytes.
        let x = unsafe {
            let x = plane.as_ptr();
            [_mm512_loadu_si512(x.cast()), _mm512_loadu_si512(x.add(64).cast())]
        };
        for (sum, nibbles) in sums.iter_mut().zip(nibbles) {
            if p > 0 {
                *sum = _mm512_slli_epi32::<8>(*sum);
            }
            *sum = _mm512_dpbusd_epi32(*sum, nibbles[0], x[0]);
            *sum = _mm512_dpbusd_epi32(*sum, nibbles[1], x[1]);
        }
    }
    sums
}

/// # Safety
/// `weights` holds `y.len()` rows of the inputs' groups.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
unsafe fn gemv_rows(weights: Int4<'_>, x: &Inputs, y: &mut [f32]) {
    let (sets, rest) = streams::<ROWS>(y.len());
    for at in sets {
        // SAFETY: rows `at` exist, by this function's contract.
        let sums = unsafe { dots(weights, at, x) };
        at.into_iter().zip(sums).for_each(|(at, sum)| y[at] = sum);
    }
    for at in rest {
        // SAFETY: as above.
        [y[at]] = unsafe { dots(weights, [at], x) };
    }
}

/// Dot products of `R` rows with the inputs.
///
/// # Safety
/// `weights` holds these rows of the inputs' groups.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vnni")]
unsafe fn dots<const R: usize>(weights: Int4<'_>, rows: [usize; R], x: &Inputs) -> [f32; R] {
    let low = _mm512_set1_epi8(15);
    let count = x.groups.len();
    let mut scales = [[0.0; BLOCK]; R];
    let mut sums = [_mm512_setzero_ps(); R];
    for (g, (group, depth)) in x.groups.iter().zip(&x.depths).enumerate() {
        if g % BLOCK == 0 {
            let steps = &x.steps[g..count.min(g + BLOCK)];
            for (scales, row) in scales.iter_mut().zip(rows) {
                // SAFETY: as many scales of the row follow as there are steps.
                *scales = unsafe {
                    block_scales(weights.scales.as_ptr().add(row * count + g).cast(), steps)
                };
            }
        }
        let mut nibbles = [[_mm512_setzero_si512(); 2]; R];
        for (nibbles, row) in nibbles.iter_mut().zip(rows) {
            let at = (row * count + g) * GROUP_WORDS;
            // SAFETY: group g of the row has 64 bytes; asking for a line faults nowhere.
            let words = unsafe {
                let words = weights.words.as_ptr().add(at).cast::<i8>();
                _mm_prefetch::<_MM_HINT_T0>(words.wrapping_add(AHEAD));
                _mm512_loadu_si512(words.cast())
            };
            let high = _mm512_srli_epi16::<4>(words);
            *nibbles = [_mm512_and_si512(words, low), _mm512_and_si512(high, low)];
        }
        // SAFETY: the array is 64 bytes.
        let excess = unsafe { _mm512_loadu_si512(group.excess.as_ptr().cast()) };
        let integers = products(group, *depth, nibbles);
        for r in 0..R {
            let sum = _mm512_cvtepi32_ps(_mm512_sub_epi32(integers[r], excess));
            sums[r] = _mm512_fmadd_ps(sum, _mm512_set1_ps(scales[r][g % BLOCK]), sums[r]);
        }
    }
    let mut out = [0.0; R];
    for (out, sum) in out.iter_mut().zip(sums) {
        *out = _mm512_reduce_add_ps(sum);
    }
    out
}

/// Scales of up to sixteen groups times their steps.
///
/// # Safety
/// As many scales are readable as there are steps.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
unsafe fn block_scales(scales: *const i16, steps: &[f32]) -> [f32; BLOCK] {
    let mask = u16::MAX >> (BLOCK - steps.len());
    let mut out = [0.0; BLOCK];
    // SAFETY: the mask keeps both reads within the steps' length, by this function's contract.
    unsafe {
        let scales = _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, scales));
        let steps = _mm512_maskz_loadu_ps(mask, steps.as_ptr());
        _mm512_storeu_ps(out.as_mut_ptr(), _mm512_mul_ps(scales, steps));
    }
    out
}
