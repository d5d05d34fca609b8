//! Kernels without intrinsics: what every CPU runs, and the oracle of all others.
//!
//! Sixteen running sums let the compiler use whatever vectors the build target guarantees.

use half::{bf16, f16};

use super::matrix::{GROUP, GROUP_WORDS, Int4, check_int4, unpack};

const LANES: usize = 16;

fn dot<W: Copy>(row: &[W], x: &[f32], to_f32: impl Fn(W) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    let (rows, xs) = (row.chunks_exact(LANES), x.chunks_exact(LANES));
    let tail = rows.remainder().iter().zip(xs.remainder());
    let tail = tail.fold(0.0, |sum, (w, x)| sum + to_f32(*w) * x);
    for (w, x) in rows.zip(xs) {
        for lane in 0..LANES {
            sums[lane] += to_f32(w[lane]) * x[lane];
        }
    }
    sums.iter().sum::<f32>() + tail
}

fn gemv<W: Copy>(weights: &[W], x: &[f32], y: &mut [f32], to_f32: impl Fn(W) -> f32 + Copy) {
    assert_eq!(weights.len(), x.len() * y.len());
    if x.is_empty() {
        return y.fill(0.0);
    }
    for (y, row) in y.iter_mut().zip(weights.chunks_exact(x.len())) {
        *y = dot(row, x, to_f32);
    }
}

/// `y = W·x` in binary32.
pub(crate) fn gemv_fp32(weights: &[f32], x: &[f32], y: &mut [f32]) {
    gemv(weights, x, y, |w| w);
}

/// `y = W·x` with binary16 weights.
pub(crate) fn gemv_fp16(weights: &[f16], x: &[f32], y: &mut [f32]) {
    gemv(weights, x, y, f16::to_f32);
}

/// `y = W·x` with bfloat16 weights.
pub(crate) fn gemv_bf16(weights: &[bf16], x: &[f32], y: &mut [f32]) {
    gemv(weights, x, y, bf16::to_f32);
}

/// `y = W·x` with 4-bit weights.
pub(crate) fn gemv_int4(weights: Int4<'_>, x: &[f32], y: &mut [f32]) {
    check_int4(weights, x, y);
    let groups = x.len() / GROUP;
    for (row, y) in y.iter_mut().enumerate() {
        *y = 0.0;
        for (g, x) in x.chunks_exact(GROUP).enumerate() {
            let at = row * groups + g;
            let q = unpack(&weights.words[at * GROUP_WORDS..][..GROUP_WORDS]);
            *y += dot(&q, x, f32::from) * weights.scales[at].to_f32();
        }
    }
}
