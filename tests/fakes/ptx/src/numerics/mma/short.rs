//! Sums of fp8 products by the tensor cores of sm_90, which keep fewer bits than `.f32` has.
//!
//! A model of what was measured, which NVIDIA documents nowhere. The 32 products of an instruction and the accumulator are aligned to the largest
//! exponent among them; of each, what lies more than 13 bits behind is cut; they are added exactly, and the sum is cut to 13 bits behind its first.
//! DeepSeek-V3 technical report, arXiv:2412.19437, 3.3.2 and 3.5.2: only the highest 14 bits of each aligned product are used, of 32 at a time, and
//! sums are kept as short. SageAttention2, arXiv:2411.10958: the last 10 of 23 bits of the accumulator are cut. MMA-Sim, arXiv:2511.10909, and its
//! table for `wgmma` of Hopper: 13 bits, 32 products, cut towards zero, an exponent of a product being the sum of those of its factors; compared
//! there with an H100 bit by bit. Not modelled: which NaN comes out, and the sign of a sum that is zero.

use super::element::{Accumulator, F32};
use super::sum::Span;

/// Bits behind the first that are kept: of aligned terms, and of a sum.
const KEPT: i32 = 13;

/// An accumulator of fp8 products: a `.f32` whose last bits are zero once something was added.
pub(super) struct Short;

impl Accumulator for Short {
    const PER_REGISTER: usize = F32::PER_REGISTER;
    const FRACTION: i32 = F32::FRACTION;

    fn unpack(register: u32, index: usize) -> f64 {
        F32::unpack(register, index)
    }

    fn pack(sum: f64) -> u32 {
        if sum == 0.0 {
            return 0;
        }
        F32::pack(if sum.is_finite() { cut(sum, exponent(sum) - KEPT) } else { sum })
    }

    /// Where no term has bits that alignment cuts, whichever of them are there.
    fn plain(row: Span, column: Span, added: f64, _: usize) -> bool {
        let added = Span::tight([added].into_iter());
        let first = (row.first + column.first).max(added.first);
        first - (row.last + column.last).min(added.last) <= KEPT
    }

    fn sum(pairs: impl Iterator<Item = (f64, f64)> + Clone, added: f64) -> f64 {
        let plain = pairs.clone().fold(added, |sum, (a, b)| sum + a * b);
        if !plain.is_finite() {
            return plain;
        }
        let there = pairs.clone().filter(|(a, b)| a * b != 0.0);
        let exponents = there.map(|(a, b)| exponent(a) + exponent(b));
        let begun = (added != 0.0).then(|| exponent(added));
        let Some(largest) = exponents.chain(begun).max() else { return 0.0 };
        let last = largest - KEPT;
        pairs.fold(cut(added, last), |sum, (a, b)| sum + cut(a * b, last))
    }
}

/// What a number has of the bits from 2^`last` on.
fn cut(value: f64, last: i32) -> f64 {
    let unit = f64::from_bits(((last + 1023) as u64) << 52);
    (value / unit).trunc() * unit
}

/// Exponent of the first bit. That of a subnormal fp8 number, which devices align by its last place, only cuts where nothing larger is added.
fn exponent(value: f64) -> i32 {
    (value.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summed(pairs: &[(f64, f64)], added: f64) -> f64 {
        f64::from(f32::from_bits(Short::pack(Short::sum(pairs.iter().copied(), added))))
    }

    /// SageAttention2: nothing is multiplied, and of the accumulator 13 bits stay.
    #[test]
    fn an_accumulator_keeps_13_bits_behind_its_first() {
        let places = |count: i32| 1.0 + 2_f64.powi(-count);
        assert_eq!(summed(&[(0.0, 0.0)], places(13)), places(13));
        assert_eq!(summed(&[(0.0, 0.0)], places(14)), 1.0);
        assert_eq!(summed(&[(0.0, 0.0)], -places(14)), -1.0);
    }

    #[test]
    fn terms_are_cut_one_by_one_before_they_are_added() {
        // 2^-14 each, two of which a sum of all would not have lost.
        let small = (2_f64.powi(-7), 2_f64.powi(-7));
        assert_eq!(summed(&[small, small], 1.0), 1.0);
        assert_eq!(summed(&[(1.0, 1.0), small, small], 0.0), 1.0);
        assert_eq!(summed(&[small, small], 0.0), 2_f64.powi(-13));
        // Towards zero, whatever the sign.
        assert_eq!(summed(&[(-small.0, small.1)], 1.0), 1.0);
        // The exponent is that of the factors: 1.5 · 1.5 is aligned as 1.
        assert_eq!(summed(&[(1.5, 1.5), (2_f64.powi(-6), 2_f64.powi(-7))], 0.0), 2.25);
        assert_eq!(
            summed(&[(1.5, 1.25), (2_f64.powi(-6), 2_f64.powi(-7))], 0.0),
            1.875 + 2_f64.powi(-13)
        );
    }

    #[test]
    fn what_is_no_number_stays_so() {
        assert!(summed(&[(f64::NAN, 1.0)], 0.0).is_nan());
        assert_eq!(summed(&[(f64::INFINITY, 1.0)], 1.0), f64::INFINITY);
        assert!(summed(&[(f64::INFINITY, 0.0)], 1.0).is_nan());
    }

    #[test]
    fn a_sum_is_plain_only_where_nothing_is_cut() {
        let span = |values: &[f64]| Span::tight(values.iter().copied());
        let plain = |a: &[f64], b: &[f64], c| Short::plain(span(a), span(b), c, a.len());
        assert!(plain(&[2.0, 1.0, 0.0], &[2.0, 1.0, 1.0], 4096.0));
        assert!(!plain(&[2.0, 1.0, 0.0], &[2.0, 1.0, 1.0], 16384.0));
        assert!(!plain(&[1.0], &[1.0], 1.0 + 2_f64.powi(-14)));
        assert!(!plain(&[f64::NAN, 1.0], &[1.0, 1.0], 0.0));
    }
}
