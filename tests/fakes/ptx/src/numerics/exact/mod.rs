//! Binary floating point in integers, exact until the one rounding: every format, every rounding mode.
//!
//! The slow, plain path: what is hot (16-bit arithmetic, `.rn` of `f32` and `f64`) has a faster one in [`super::float`], tested against this.

mod finite;

pub use finite::Finite;

/// PTX rounding modifiers of floating-point results (PTX ISA 8.8, table "Floating-Point Rounding Modifiers").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounding {
    /// `.rn`: to nearest, ties to even.
    #[default]
    Nearest,
    /// `.rna`: to nearest, ties away from zero.
    NearestAway,
    /// `.rz`: towards zero.
    Zero,
    /// `.rm`: towards −∞.
    Down,
    /// `.rp`: towards +∞.
    Up,
}

/// What the topmost codes of a format stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Top {
    /// IEEE 754: the last exponent holds infinities and NaN.
    Ieee,
    /// Only the last code is NaN; no infinity.
    NanOnly,
    /// Every code is a number.
    Finite,
}

/// A binary format with an implicit leading bit and subnormals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Exponent bits.
    pub exponent: u32,
    /// Fraction bits.
    pub fraction: u32,
    /// What the topmost codes mean.
    pub top: Top,
}

impl Format {
    /// `.f64`
    pub const F64: Format = Format { exponent: 11, fraction: 52, top: Top::Ieee };
    /// `.f32`
    pub const F32: Format = Format { exponent: 8, fraction: 23, top: Top::Ieee };
    /// `.tf32`, as 19 bits; registers hold it 13 places higher.
    pub const TF32: Format = Format { exponent: 8, fraction: 10, top: Top::Ieee };
    /// `.bf16`
    pub const BF16: Format = Format { exponent: 8, fraction: 7, top: Top::Ieee };
    /// `.f16`
    pub const F16: Format = Format { exponent: 5, fraction: 10, top: Top::Ieee };
    /// `.e5m2` (OCP 8-bit floating point 1.0)
    pub const E5M2: Format = Format { exponent: 5, fraction: 2, top: Top::Ieee };
    /// `.e4m3` (OCP 8-bit floating point 1.0)
    pub const E4M3: Format = Format { exponent: 4, fraction: 3, top: Top::NanOnly };
    /// `.e2m1` (OCP microscaling formats 1.0)
    pub const E2M1: Format = Format { exponent: 2, fraction: 1, top: Top::Finite };

    const fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// Exponent of the last bit of a subnormal.
    const fn floor(self) -> i32 {
        1 - self.bias() - self.fraction as i32
    }

    const fn sign(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    /// The largest finite magnitude.
    pub const fn largest(self) -> u64 {
        match self.top {
            Top::Ieee => self.infinity() - 1,
            Top::NanOnly => self.sign() - 2,
            Top::Finite => self.sign() - 1,
        }
    }

    const fn infinity(self) -> u64 {
        self.sign() - (1 << self.fraction)
    }

    /// The canonical NaN: every bit but the sign. A format without NaN has its largest number there.
    pub const fn nan(self) -> u64 {
        self.sign() - 1
    }
}

/// A decoded value. The flag is the sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Not a number.
    Nan,
    /// ±∞
    Infinite(bool),
    /// ±0
    Zero(bool),
    /// Anything else.
    Finite(Finite),
}

impl Number {
    /// The value of `bits`.
    pub fn decode(format: Format, bits: u64) -> Number {
        let negative = bits & format.sign() != 0;
        let magnitude = bits & (format.sign() - 1);
        match format.top {
            _ if magnitude == 0 => return Number::Zero(negative),
            Top::Ieee if magnitude == format.infinity() => return Number::Infinite(negative),
            Top::Ieee if magnitude > format.infinity() => return Number::Nan,
            Top::NanOnly if magnitude == format.nan() => return Number::Nan,
            _ => {}
        }
        let field = (magnitude >> format.fraction) as i32;
        let fraction = magnitude & ((1 << format.fraction) - 1);
        let implicit = if field == 0 { 0 } else { 1 << format.fraction };
        Number::Finite(Finite {
            negative,
            significand: u128::from(fraction | implicit),
            exponent: format.floor() + (field - 1).max(0),
            sticky: false,
        })
    }

    /// The bits of this value after one rounding. Overflow goes to infinity or the largest number as IEEE 754 says; formats without infinity saturate.
    pub fn encode(self, format: Format, rounding: Rounding) -> u64 {
        let signed =
            |negative: bool, magnitude: u64| magnitude | if negative { format.sign() } else { 0 };
        match self {
            Number::Nan => format.nan(),
            Number::Infinite(negative) if format.top == Top::Ieee => {
                signed(negative, format.infinity())
            }
            Number::Infinite(negative) => signed(negative, format.largest()),
            Number::Zero(negative) => signed(negative, 0),
            Number::Finite(finite) => signed(finite.negative, finite.magnitude(format, rounding)),
        }
    }

    /// An integer's value.
    pub fn from_integer(value: i128) -> Number {
        match value {
            0 => Number::Zero(false),
            _ => Number::Finite(Finite {
                negative: value < 0,
                significand: value.unsigned_abs(),
                exponent: 0,
                sticky: false,
            }),
        }
    }

    /// Rounded to an integer, its sign kept even for zero: `cvt.rni` and its kin between floats.
    pub fn round_to_integer(self, rounding: Rounding) -> Number {
        match self {
            Number::Finite(finite) if finite.exponent < 0 => match finite.at_place(0, rounding) {
                0 => Number::Zero(finite.negative),
                significand => {
                    Number::Finite(Finite { significand, exponent: 0, sticky: false, ..finite })
                }
            },
            other => other,
        }
    }

    /// Whether the sign is set; NaN has none.
    pub fn negative(self) -> bool {
        match self {
            Number::Nan => false,
            Number::Infinite(negative) | Number::Zero(negative) => negative,
            Number::Finite(finite) => finite.negative,
        }
    }

    /// −x
    pub fn negated(self) -> Number {
        match self {
            Number::Nan => Number::Nan,
            Number::Infinite(negative) => Number::Infinite(!negative),
            Number::Zero(negative) => Number::Zero(!negative),
            Number::Finite(finite) => {
                Number::Finite(Finite { negative: !finite.negative, ..finite })
            }
        }
    }

    /// The exact product of two numbers of at most 64 significant bits.
    pub fn times(self, other: Number) -> Number {
        use Number::{Finite as F, Infinite, Nan, Zero};
        let negative = self.negative() != other.negative();
        match (self, other) {
            (Nan, _) | (_, Nan) | (Infinite(_), Zero(_)) | (Zero(_), Infinite(_)) => Nan,
            (Infinite(_), _) | (_, Infinite(_)) => Infinite(negative),
            (Zero(_), _) | (_, Zero(_)) => Zero(negative),
            (F(a), F(b)) => F(Finite {
                negative,
                significand: a.significand * b.significand,
                exponent: a.exponent + b.exponent,
                sticky: false,
            }),
        }
    }

    /// The sum, exact but for a sticky bit far below 64 significant ones. The rounding mode decides the sign of an exact zero.
    pub fn plus(self, other: Number, rounding: Rounding) -> Number {
        use Number::{Finite as F, Infinite, Nan, Zero};
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Infinite(a), Infinite(b)) if a != b => Nan,
            (Infinite(sign), _) | (_, Infinite(sign)) => Infinite(sign),
            (Zero(a), Zero(b)) if a == b => Zero(a),
            (Zero(_), Zero(_)) => Zero(rounding == Rounding::Down),
            (Zero(_), finite) | (finite, Zero(_)) => finite,
            (F(a), F(b)) => a.plus(b).map_or(Zero(rounding == Rounding::Down), F),
        }
    }

    /// The quotient, to at least 70 significant bits and a sticky one.
    pub fn over(self, other: Number) -> Number {
        use Number::{Finite as F, Infinite, Nan, Zero};
        let negative = self.negative() != other.negative();
        match (self, other) {
            (Nan, _) | (_, Nan) | (Infinite(_), Infinite(_)) | (Zero(_), Zero(_)) => Nan,
            (Infinite(_), _) | (_, Zero(_)) => Infinite(negative),
            (Zero(_), _) | (_, Infinite(_)) => Zero(negative),
            (F(a), F(b)) => {
                let a = a.normalised();
                F(Finite {
                    negative,
                    significand: a.significand / b.significand,
                    exponent: a.exponent - b.exponent,
                    sticky: a.significand % b.significand != 0,
                })
            }
        }
    }

    /// The square root, to at least 60 significant bits and a sticky one.
    pub fn square_root(self) -> Number {
        match self {
            Number::Zero(_) | Number::Infinite(false) => self,
            Number::Finite(finite) if !finite.negative => {
                let mut wide = finite.normalised();
                if wide.exponent % 2 != 0 {
                    wide = Finite {
                        significand: wide.significand << 1,
                        exponent: wide.exponent - 1,
                        ..wide
                    };
                }
                let root = wide.significand.isqrt();
                Number::Finite(Finite {
                    significand: root,
                    exponent: wide.exponent / 2,
                    sticky: root * root != wide.significand,
                    negative: false,
                })
            }
            _ => Number::Nan,
        }
    }
}
