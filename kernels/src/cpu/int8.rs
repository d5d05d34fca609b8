//! Integers of 8 bits: matrices, quantised inputs, and products of the two.
//!
//! Weights are kept plus 128, without sign: the dot-product instruction of x86 multiplies bytes with a sign by bytes without
//! one, and what the 128 add is known from the inputs alone.

use std::ops::Range;

use super::aligned::Aligned;
use super::feature::Feature;
use super::portable;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};

/// A matrix of integers −128…127, one row per output.
#[derive(Clone, Debug)]
pub struct Int8Matrix {
    cols: usize,
    bytes: Aligned<u8>,
}

impl Int8Matrix {
    /// A matrix whose rows have `cols` integers.
    pub fn new(cols: usize, values: &[i8]) -> Self {
        assert_eq!(values.len() % cols.max(1), 0, "rows are whole");
        let bytes = values.iter().map(|v| v.cast_unsigned() ^ 128);
        Self { cols, bytes: Aligned::collect(values.len(), bytes) }
    }

    /// Outputs.
    pub fn rows(&self) -> usize {
        self.bytes.len() / self.cols.max(1)
    }

    /// Inputs.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Integers plus 128, row by row.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Integers plus 128 of a range of rows.
    pub fn row_bytes(&self, rows: Range<usize>) -> &[u8] {
        &self.bytes[rows.start * self.cols..rows.end * self.cols]
    }
}

/// A kernel for `y = W·x` in integers, exact wherever the result fits.
pub struct Int8Gemv {
    /// Stable id: `gemv.int8.vnni`.
    pub id: &'static str,
    /// Instruction sets it uses.
    pub needs: &'static [Feature],
    /// The kernel: weights plus 128, row by row.
    pub run: fn(&[u8], &[i8], &mut [i32]),
}

/// Every kernel, best first; the last runs everywhere.
pub const INT8_GEMVS: &[Int8Gemv] = &[
    #[cfg(target_arch = "x86_64")]
    Int8Gemv { id: "gemv.int8.vnni", needs: avx512::VNNI, run: avx512::gemv_int8 },
    #[cfg(target_arch = "x86_64")]
    Int8Gemv { id: "gemv.int8.avx2", needs: avx2::AVX2, run: avx2::gemv_int8 },
    Int8Gemv { id: "gemv.int8.portable", needs: &[], run: portable::gemv_int8 },
];

impl Int8Gemv {
    /// Whether this CPU can run it.
    pub fn is_usable(&self) -> bool {
        self.needs.iter().all(|feature| feature.is_present())
    }
}

/// The best kernel this CPU can run.
pub fn pick_int8_gemv() -> &'static Int8Gemv {
    INT8_GEMVS.iter().find(|k| k.is_usable()).expect("the portable kernel runs everywhere")
}

/// 1.5 · 2²³: added to a number below 2²² it leaves the nearest integer, ties to even, in the low bits.
const ROUNDER: f32 = 12_582_912.0;

/// What inputs with this largest magnitude are multiplied by to become −127…127, and what the integers are multiples of.
/// Below 2⁻¹¹⁹ all count as zero; a NaN or an infinity makes the multiple NaN, so that it reaches every output.
pub(crate) fn step_of(top: f32) -> (f32, f32) {
    if !top.is_finite() {
        (0.0, f32::NAN)
    } else if top < 128.0 * f32::MIN_POSITIVE {
        (0.0, 0.0)
    } else {
        (127.0 / top, top / 127.0)
    }
}

/// Quantises inputs that share a scale: the largest magnitude becomes ±127, the rest is rounded to nearest, ties to even.
/// Returns what the integers are multiples of; NaN where an input is not finite.
pub fn quantise(x: &[f32], out: &mut [i8]) -> f32 {
    // As integers: a comparison of numbers would pass over NaN.
    let top = x.iter().fold(0, |top: u32, v| top.max(v.abs().to_bits()));
    let (factor, step) = step_of(f32::from_bits(top));
    for (x, out) in x.iter().zip(out) {
        *out = (x * factor + ROUNDER).to_bits() as i8;
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_becomes_127_and_the_rest_the_nearest() {
        let mut q = [99; 6];
        let step = quantise(&[-2.54, 1.28, 0.011, -0.031, 0.0, 0.029], &mut q);
        assert_eq!(q, [-127, 64, 1, -2, 0, 1]);
        assert!((step - 0.02).abs() < 1e-8);
    }

    #[test]
    fn ties_go_to_even() {
        let mut q = [99; 5];
        assert_eq!(quantise(&[127.0, 0.5, 1.5, -2.5, -3.5], &mut q), 1.0);
        assert_eq!(q, [127, 0, 2, -2, -4]);
    }

    #[test]
    fn what_is_not_finite_makes_the_step_nan_and_what_is_tiny_counts_as_zero() {
        let mut q = [0; 2];
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(quantise(&[1.0, bad], &mut q).is_nan(), "{bad}");
        }
        assert_eq!(quantise(&[1e-44, -1e-40], &mut q), 0.0);
        assert_eq!(q, [0, 0]);
        assert_eq!(quantise(&[0.0, -0.0], &mut q), 0.0);
    }

    #[test]
    fn a_matrix_keeps_its_integers_plus_128() {
        let m = Int8Matrix::new(2, &[-128, 127, 0, -1]);
        assert_eq!((m.rows(), m.cols(), m.bytes()), (2, 2, &[0, 255, 128, 127][..]));
        assert_eq!(m.row_bytes(1..2), [128, 127]);
    }
}
