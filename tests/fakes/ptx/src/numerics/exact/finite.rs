//! Magnitudes: their sum and their one rounding.

use std::cmp::Ordering;

use super::{Format, Rounding, Top};

/// A finite magnitude other than zero: `significand` × 2^`exponent`, and whether a little more (less than one in the last place) was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finite {
    /// Below zero.
    pub negative: bool,
    /// Not zero.
    pub significand: u128,
    /// Of the significand's last bit.
    pub exponent: i32,
    /// Something was cut off below the last bit.
    pub sticky: bool,
}

impl Finite {
    /// The significand's first bit at bit 124, which leaves room for a carry.
    pub(super) fn normalised(self) -> Finite {
        let shift = self.significand.leading_zeros() as i32 - 3;
        let significand =
            if shift < 0 { self.significand >> -shift } else { self.significand << shift };
        Finite { significand, exponent: self.exponent - shift, ..self }
    }

    /// `None` is an exact zero. Neither operand may have a sticky bit; products of 53-bit numbers fit.
    pub(super) fn plus(self, other: Finite) -> Option<Finite> {
        let (a, b) = (self.normalised(), other.normalised());
        let (a, b) = if a.exponent < b.exponent { (b, a) } else { (a, b) };
        let distance = (a.exponent - b.exponent) as u32;
        let aligned = b.significand.checked_shr(distance).unwrap_or(0);
        let sticky = distance > b.significand.trailing_zeros();
        if a.negative == b.negative {
            return Some(Finite { significand: a.significand + aligned, sticky, ..a });
        }
        match a.significand.cmp(&aligned) {
            Ordering::Equal => None,
            // Only equal exponents can turn the order round, and then nothing was cut off.
            Ordering::Less => Some(Finite {
                negative: b.negative,
                significand: aligned - a.significand,
                sticky: false,
                ..a
            }),
            Ordering::Greater => Some(Finite {
                significand: a.significand - aligned - u128::from(sticky),
                sticky,
                ..a
            }),
        }
    }

    /// The encoded magnitude.
    pub(super) fn magnitude(self, format: Format, rounding: Rounding) -> u64 {
        let first = 127 - self.significand.leading_zeros() as i32 + self.exponent;
        let place = (first - format.fraction as i32).max(format.floor());
        // The implicit bit adds one to the exponent field; subnormals have neither.
        let code = i128::from(place - format.floor()) << format.fraction;
        let magnitude = code + self.at_place(place, rounding) as i128;
        if magnitude <= i128::from(format.largest()) {
            return magnitude as u64;
        }
        let away = match rounding {
            Rounding::Nearest | Rounding::NearestAway => true,
            Rounding::Zero => false,
            Rounding::Down => self.negative,
            Rounding::Up => !self.negative,
        };
        if away && format.top == Top::Ieee { format.infinity() } else { format.largest() }
    }

    /// The magnitude in units of 2^`place`, rounded; what lies above must fit.
    pub fn at_place(self, place: i32, rounding: Rounding) -> u128 {
        let shift = place - self.exponent;
        if shift <= 0 {
            let kept = self.significand << -shift;
            return kept
                + u128::from(self.sticky && self.rounds_up(rounding, kept, Ordering::Less));
        }
        let kept = self.significand.checked_shr(shift as u32).unwrap_or(0);
        let rest = self.significand - kept.checked_shl(shift as u32).unwrap_or(0);
        if rest == 0 && !self.sticky {
            return kept;
        }
        let half = 1u128.checked_shl(shift as u32 - 1).unwrap_or(u128::MAX);
        let against_half =
            rest.cmp(&half).then(if self.sticky { Ordering::Greater } else { Ordering::Equal });
        kept + u128::from(self.rounds_up(rounding, kept, against_half))
    }

    /// Whether an inexact magnitude goes up from `kept`.
    fn rounds_up(self, rounding: Rounding, kept: u128, against_half: Ordering) -> bool {
        match rounding {
            Rounding::Nearest => against_half.is_gt() || against_half.is_eq() && kept & 1 == 1,
            Rounding::NearestAway => against_half.is_ge(),
            Rounding::Zero => false,
            Rounding::Down => self.negative,
            Rounding::Up => !self.negative,
        }
    }
}
