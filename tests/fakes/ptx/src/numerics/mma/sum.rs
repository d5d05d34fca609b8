//! What a floating-point `mma` adds up to.
//!
//! The ISA leaves precision and order open ("unspecified"). Measured: products are exact; the products of a block and the accumulator are aligned to
//! the largest and summed without normalising in between; what falls off is cut, not rounded; subnormals count; only the final step to an `.f16`
//! accumulator rounds to nearest. Blocks (4, 8, 16 products) and the bits kept below the last place (0 on V100, 1, 2 or more after it) differ between
//! architectures: Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 7:e330 (2021); Khattak and
//! Mikaitis, "Accurate models of NVIDIA tensor cores", arXiv:2512.07004 (2025).
//!
//! The model here is what all of those converge to with enough bits: the exact sum of the accumulator and all products of the instruction, cut once to
//! `.f32` (or rounded once to nearest `.f16`). It is within the ISA, keeps the downward bias of truncation, and gives the one answer every
//! architecture agrees on wherever sums are exact. Rejected: imitating one architecture's blocks, which would make tests pass on its accidents.
//! Left open by the sources and chosen here: an exact zero is +0 unless every term is −0, a magnitude of 2^128 or more becomes infinite, and every NaN
//! is the canonical one.

/// Least exponent of a bit in any sum: a product of two subnormal multiplicands has none below 2^-272, and 53 bits of slack hang below an `f64`'s first.
const FLOOR: i32 = -330;

/// Words of the accumulator: the largest sum of 64 products stays under 2^262, with a sign.
const WORDS: usize = 10;

/// Exponents of the first and the last bit that a set of values may have; zeros have none.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) first: i32,
    pub(super) last: i32,
}

impl Span {
    const NOTHING: Span = Span { first: -4096, last: 4096 };

    /// The span of values that carry `fraction` bits behind their first.
    pub(super) fn of(values: impl Iterator<Item = f64>, fraction: i32) -> Span {
        values.fold(Span::NOTHING, |span, value| {
            let first = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
            let zero = value == 0.0;
            Span {
                first: span.first.max(if zero { -4096 } else { first }),
                last: span.last.min(if zero { 4096 } else { first - fraction }),
            }
        })
    }

    /// The same without what lies behind the last bit of each.
    pub(super) fn tight(values: impl Iterator<Item = f64>) -> Span {
        values.fold(Span::NOTHING, |span, value| {
            let one = Span::of(
                [value].into_iter(),
                52 - value.to_bits().trailing_zeros().min(52).cast_signed(),
            );
            Span { first: span.first.max(one.first), last: span.last.min(one.last) }
        })
    }

    /// Whether `f64` holds every partial sum of `terms` products of two spans, and of a third, exactly.
    pub(super) fn fits(row: Span, column: Span, added: Span, terms: usize) -> bool {
        let carries = terms.ilog2() as i32 + 1;
        let first = (row.first + column.first + 2 + carries).max(added.first + 2);
        let last = (row.last + column.last).min(added.last);
        first - last <= 53
    }
}

/// The exact sum of `added` and the products of two sequences, as `f64` rounded to odd. Infinities and NaN go by IEEE 754.
pub(super) fn exact_sum(products: impl Iterator<Item = f64> + Clone, added: f64) -> f64 {
    let plain = products.clone().fold(added, |sum, product| sum + product);
    if !plain.is_finite() {
        return plain;
    }
    let mut wide = Wide([0; WORDS]);
    products.chain([added]).filter(|term| *term != 0.0).for_each(|term| wide.add(term));
    wide.to_odd()
}

/// A fixed-point number in two's complement, its last bit worth 2^[`FLOOR`].
struct Wide([u64; WORDS]);

impl Wide {
    fn add(&mut self, term: f64) {
        let bits = term.to_bits();
        let significand = bits & ((1 << 52) - 1) | 1 << 52;
        let place = (bits >> 52 & 0x7ff) as i32 - 1023 - 52 - FLOOR;
        let (word, offset) = (place as usize / 64, place as usize % 64);
        let shifted = u128::from(significand) << offset;
        let parts =
            [shifted as u64, (shifted >> 64) as u64].into_iter().chain(std::iter::repeat(0));
        let mut carry = false;
        for (target, part) in self.0[word..].iter_mut().zip(parts) {
            (*target, carry) = if term < 0.0 {
                target.borrowing_subtract(part, carry)
            } else {
                target.carrying_sum(part, carry)
            };
        }
    }

    fn to_odd(&self) -> f64 {
        let negative = self.0[WORDS - 1] >> 63 == 1;
        let mut magnitude = self.0;
        if negative {
            let mut carry = true;
            for word in &mut magnitude {
                (*word, carry) = (!*word).carrying_sum(0, carry);
            }
        }
        let Some(top) = magnitude.iter().rposition(|word| *word != 0) else { return 0.0 };
        let below = if top == 0 { 0 } else { magnitude[top - 1] };
        let lead = magnitude[top].leading_zeros();
        let window = ((u128::from(magnitude[top]) << 64 | u128::from(below)) << lead) >> 64;
        let lost = window as u64 & 0x7ff != 0
            || below << lead != 0
            || magnitude[..top.saturating_sub(1)].iter().any(|word| *word != 0);
        let significand = (window as u64 >> 11) | u64::from(lost);
        let exponent = 64 * top as i32 + 11 - lead as i32 + FLOOR;
        let value = significand as f64 * f64::from_bits(((exponent + 1023) as u64) << 52);
        if negative { -value } else { value }
    }
}

/// Word arithmetic with a carry.
trait Carry: Sized {
    fn carrying_sum(self, other: Self, carry: bool) -> (Self, bool);
    fn borrowing_subtract(self, other: Self, borrow: bool) -> (Self, bool);
}

impl Carry for u64 {
    fn carrying_sum(self, other: u64, carry: bool) -> (u64, bool) {
        let (sum, first) = self.overflowing_add(other);
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        (sum, first | second)
    }

    fn borrowing_subtract(self, other: u64, borrow: bool) -> (u64, bool) {
        let (difference, first) = self.overflowing_sub(other);
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        (difference, first | second)
    }
}
