//! `min`, `max`, `testp` and `copysign`, of any float format.

use super::Short;
use crate::numerics::exact::{Format, Number};

/// Variants of `min` and `max`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Take the larger.
    pub max: bool,
    /// `.NaN`: any NaN operand gives NaN, instead of the other operand.
    pub propagate: bool,
    /// `.xorsign.abs`: compare magnitudes, and give the result the product of the signs.
    pub xor_sign: bool,
    /// `.ftz`
    pub flush: bool,
}

/// Classes `testp` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `.finite`
    Finite,
    /// `.infinite`
    Infinite,
    /// `.number`
    Number,
    /// `.notanumber`
    NotANumber,
    /// `.normal`
    Normal,
    /// `.subnormal`
    Subnormal,
}

/// `min` and `max` of any float format. −0 is below +0; two NaN give the canonical one.
#[inline]
pub fn select(format: Format, a: u64, b: u64, s: Selection) -> u64 {
    let sign = 1 << (format.exponent + format.fraction);
    let exponent = (sign - 1) & !((1 << format.fraction) - 1);
    let flush = |bits: u64| if s.flush && bits & exponent == 0 { bits & sign } else { bits };
    let nan = |bits: u64| bits & (sign - 1) > exponent;
    let (a, b) = (flush(a), flush(b));
    let product = if s.xor_sign { (a ^ b) & sign } else { 0 };
    let magnitude = |bits: u64| if s.xor_sign { bits & !sign } else { bits };
    let (left, right) = (magnitude(a), magnitude(b));
    match (nan(a), nan(b)) {
        (true, true) => format.nan(),
        (true, false) | (false, true) if s.propagate => format.nan(),
        (true, false) => right | product,
        (false, true) => left | product,
        (false, false) => {
            let below = |bits: u64| {
                if bits & sign == 0 { bits | sign } else { !bits & (sign | (sign - 1)) }
            };
            let smaller_left = below(left) <= below(right);
            (if smaller_left == s.max { right } else { left }) | product
        }
    }
}

/// `min.f32` and `max.f32`
#[inline]
pub fn select_f32(a: u32, b: u32, s: Selection) -> u32 {
    select(Format::F32, a.into(), b.into(), s) as u32
}

/// `min` and `max` of a 16-bit type.
#[inline]
pub fn select_16<T: Short>(a: u16, b: u16, s: Selection) -> u16 {
    select(T::FORMAT, a.into(), b.into(), s) as u16
}

/// `testp`
#[inline]
pub fn is(format: Format, bits: u64, class: Class) -> bool {
    let number = Number::decode(format, bits);
    let exponent = bits >> format.fraction & ((1 << format.exponent) - 1);
    match class {
        Class::Finite => matches!(number, Number::Zero(_) | Number::Finite(_)),
        Class::Infinite => matches!(number, Number::Infinite(_)),
        Class::Number => number != Number::Nan,
        Class::NotANumber => number == Number::Nan,
        // The ISA counts zeros among the normal numbers.
        Class::Normal if exponent == 0 => matches!(number, Number::Zero(_)),
        Class::Normal => matches!(number, Number::Finite(_)),
        Class::Subnormal => matches!(number, Number::Finite(_)) && exponent == 0,
    }
}

/// `copysign`: the value of `b` with the sign of `a`.
#[inline]
pub fn copysign(format: Format, a: u64, b: u64) -> u64 {
    let sign = 1 << (format.exponent + format.fraction);
    a & sign | b & !sign
}
