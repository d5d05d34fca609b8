//! Floating-point arithmetic: PTX ISA 8.8, 9.7.3 (`.f32`, `.f64`) and 9.7.4 (`.f16`, `.bf16` and their pairs).
//!
//! Every result is rounded once. `.rn` of `f32` and `f64` is the host's own arithmetic, which IEEE 754 fixes; the other modes go through
//! [`super::exact`]. 16-bit results come from an `f64` sum with its rounding error folded in as an odd last bit, so that the step down is the only
//! rounding. NaN results are canonical (`0x7fffffff`, `0x7fff`), as the ISA says for 32 and 16 bits; for `f64` it leaves them open.

use super::exact::{Format, Number, Rounding};
use super::half::{bf16_nearest, bf16_value, f16_nearest, f16_value, to_odd};

/// What the opcode asks for beside the operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modifiers {
    /// `.rn`, `.rz`, `.rm`, `.rp`.
    pub rounding: Rounding,
    /// `.ftz`: subnormal operands and results become zeros of their sign.
    pub flush: bool,
    /// `.sat`: the result is clamped to [0, 1], NaN to +0.
    pub saturate: bool,
    /// `.relu`: negative results become +0.
    pub relu: bool,
}

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

/// A subnormal made a zero of its sign, where `.ftz` asks for it.
#[inline]
pub fn flushed(bits: u32, flush: bool) -> u32 {
    if flush && bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

#[inline]
fn flushed_16<T: Short>(bits: u16, flush: bool) -> u16 {
    if flush && bits & T::EXPONENT == 0 { bits & 0x8000 } else { bits }
}

/// The last steps of every `f32` result.
#[inline]
fn finish(bits: u32, m: Modifiers) -> u32 {
    let value = f32::from_bits(flushed(bits, m.flush));
    let clamped = match () {
        () if value.is_nan() => return if m.saturate { 0 } else { 0x7fff_ffff },
        () if m.saturate => {
            if value > 0.0 {
                value.min(1.0)
            } else {
                0.0
            }
        }
        () if m.relu => {
            if value > 0.0 {
                value
            } else {
                0.0
            }
        }
        () => value,
    };
    clamped.to_bits()
}

/// An operation on exact numbers.
#[inline]
fn soft<const N: usize>(
    format: Format,
    rounding: Rounding,
    operands: [u64; N],
    run: impl Fn([Number; N]) -> Number,
) -> u64 {
    run(operands.map(|bits| Number::decode(format, bits))).encode(format, rounding)
}

#[inline]
fn f32_operation<const N: usize>(
    operands: [u32; N],
    m: Modifiers,
    near: impl Fn([f32; N]) -> f32,
    exact: impl Fn([Number; N]) -> Number,
) -> u32 {
    let operands = operands.map(|bits| flushed(bits, m.flush));
    let result = match m.rounding {
        Rounding::Nearest => near(operands.map(f32::from_bits)).to_bits(),
        rounding => soft(Format::F32, rounding, operands.map(u64::from), exact) as u32,
    };
    finish(result, m)
}

#[inline]
fn f64_operation<const N: usize>(
    operands: [u64; N],
    rounding: Rounding,
    near: impl Fn([f64; N]) -> f64,
    exact: impl Fn([Number; N]) -> Number,
) -> u64 {
    match rounding {
        Rounding::Nearest => near(operands.map(f64::from_bits)).to_bits(),
        rounding => soft(Format::F64, rounding, operands, exact),
    }
}

/// `add.f32`
#[inline]
pub fn add_f32(a: u32, b: u32, m: Modifiers) -> u32 {
    f32_operation([a, b], m, |[a, b]| a + b, |[a, b]| a.plus(b, m.rounding))
}

/// `sub.f32`
#[inline]
pub fn sub_f32(a: u32, b: u32, m: Modifiers) -> u32 {
    f32_operation([a, b], m, |[a, b]| a - b, |[a, b]| a.plus(b.negated(), m.rounding))
}

/// `mul.f32`
#[inline]
pub fn mul_f32(a: u32, b: u32, m: Modifiers) -> u32 {
    f32_operation([a, b], m, |[a, b]| a * b, |[a, b]| a.times(b))
}

/// `fma.f32` and `mad.f32`
#[inline]
pub fn fma_f32(a: u32, b: u32, c: u32, m: Modifiers) -> u32 {
    f32_operation(
        [a, b, c],
        m,
        |[a, b, c]| a.mul_add(b, c),
        |[a, b, c]| a.times(b).plus(c, m.rounding),
    )
}

/// `div.f32` with a rounding mode; `rcp.f32` is a quotient of 1. `div.full` and `div.approx` may be this too.
#[inline]
pub fn div_f32(a: u32, b: u32, m: Modifiers) -> u32 {
    f32_operation([a, b], m, |[a, b]| a / b, |[a, b]| a.over(b))
}

/// `sqrt.f32` with a rounding mode.
#[inline]
pub fn sqrt_f32(a: u32, m: Modifiers) -> u32 {
    f32_operation([a], m, |[a]| a.sqrt(), |[a]| a.square_root())
}

/// `add.f64`
#[inline]
pub fn add_f64(a: u64, b: u64, rounding: Rounding) -> u64 {
    f64_operation([a, b], rounding, |[a, b]| a + b, |[a, b]| a.plus(b, rounding))
}

/// `sub.f64`
#[inline]
pub fn sub_f64(a: u64, b: u64, rounding: Rounding) -> u64 {
    f64_operation([a, b], rounding, |[a, b]| a - b, |[a, b]| a.plus(b.negated(), rounding))
}

/// `mul.f64`
#[inline]
pub fn mul_f64(a: u64, b: u64, rounding: Rounding) -> u64 {
    f64_operation([a, b], rounding, |[a, b]| a * b, |[a, b]| a.times(b))
}

/// `fma.f64` and `mad.f64`
#[inline]
pub fn fma_f64(a: u64, b: u64, c: u64, rounding: Rounding) -> u64 {
    f64_operation(
        [a, b, c],
        rounding,
        |[a, b, c]| a.mul_add(b, c),
        |[a, b, c]| a.times(b).plus(c, rounding),
    )
}

/// `div.f64`; `rcp.f64` is a quotient of 1.
#[inline]
pub fn div_f64(a: u64, b: u64, rounding: Rounding) -> u64 {
    f64_operation([a, b], rounding, |[a, b]| a / b, |[a, b]| a.over(b))
}

/// `sqrt.f64`
#[inline]
pub fn sqrt_f64(a: u64, rounding: Rounding) -> u64 {
    f64_operation([a], rounding, |[a]| a.sqrt(), |[a]| a.square_root())
}

/// A 16-bit float type: [`F16`] or [`Bf16`].
pub trait Short {
    /// The bits of the exponent field.
    const EXPONENT: u16;
    /// One.
    const ONE: u16;
    /// The type's layout.
    const FORMAT: Format;
    /// Its value.
    fn value(bits: u16) -> f32;
    /// The nearest of its values.
    fn nearest(value: f32) -> u16;
}

/// `.f16`
#[derive(Clone, Copy, Debug)]
pub struct F16;

/// `.bf16`
#[derive(Clone, Copy, Debug)]
pub struct Bf16;

impl Short for F16 {
    const EXPONENT: u16 = 0x7c00;
    const ONE: u16 = 0x3c00;
    const FORMAT: Format = Format::F16;
    #[inline]
    fn value(bits: u16) -> f32 {
        f16_value(bits)
    }
    #[inline]
    fn nearest(value: f32) -> u16 {
        f16_nearest(value)
    }
}

impl Short for Bf16 {
    const EXPONENT: u16 = 0x7f80;
    const ONE: u16 = 0x3f80;
    const FORMAT: Format = Format::BF16;
    #[inline]
    fn value(bits: u16) -> f32 {
        bf16_value(bits)
    }
    #[inline]
    fn nearest(value: f32) -> u16 {
        bf16_nearest(value)
    }
}

/// The sum of two `f64` whose exact sum is far from overflow, rounded to odd. The error term is Knuth's TwoSum.
#[inline]
fn odd_sum(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let part = sum - a;
    let error = (a - (sum - part)) + (b - part);
    if error == 0.0 || !sum.is_finite() {
        return sum;
    }
    let above = (error < 0.0) == (sum > 0.0);
    f64::from_bits((sum.to_bits() - u64::from(above)) | 1)
}

#[inline]
fn finish_16<T: Short>(sum: f64, m: Modifiers) -> u16 {
    let bits = flushed_16::<T>(T::nearest(to_odd(sum)), m.flush);
    let nan = bits & 0x7fff > T::EXPONENT;
    match () {
        () if m.saturate && (nan || bits >> 15 == 1) => 0,
        () if m.saturate => bits.min(T::ONE),
        () if m.relu && !nan && bits >> 15 == 1 => 0,
        () => bits,
    }
}

#[inline]
fn wide<T: Short, const N: usize>(operands: [u16; N], m: Modifiers) -> [f64; N] {
    operands.map(|bits| f64::from(T::value(flushed_16::<T>(bits, m.flush))))
}

/// `add.f16`, `add.bf16`
#[inline]
pub fn add<T: Short>(a: u16, b: u16, m: Modifiers) -> u16 {
    let [a, b] = wide::<T, 2>([a, b], m);
    finish_16::<T>(odd_sum(a, b), m)
}

/// `sub.f16`, `sub.bf16`
#[inline]
pub fn sub<T: Short>(a: u16, b: u16, m: Modifiers) -> u16 {
    let [a, b] = wide::<T, 2>([a, b], m);
    finish_16::<T>(odd_sum(a, -b), m)
}

/// `mul.f16`, `mul.bf16`
#[inline]
pub fn mul<T: Short>(a: u16, b: u16, m: Modifiers) -> u16 {
    let [a, b] = wide::<T, 2>([a, b], m);
    finish_16::<T>(a * b, m)
}

/// `fma.rn.f16`, `fma.rn.bf16`
#[inline]
pub fn fma<T: Short>(a: u16, b: u16, c: u16, m: Modifiers) -> u16 {
    let [a, b, c] = wide::<T, 3>([a, b, c], m);
    finish_16::<T>(odd_sum(a * b, c), m)
}

/// Both halves of `.f16x2` or `.bf16x2` registers.
#[inline]
pub fn pairwise<const N: usize>(operands: [u32; N], run: impl Fn([u16; N]) -> u16) -> u32 {
    let low = run(operands.map(|register| register as u16));
    let high = run(operands.map(|register| (register >> 16) as u16));
    u32::from(low) | u32::from(high) << 16
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
        Class::Normal => matches!(number, Number::Finite(_)) && exponent != 0,
        Class::Subnormal => matches!(number, Number::Finite(_)) && exponent == 0,
    }
}

/// `copysign`: the value of `b` with the sign of `a`.
#[inline]
pub fn copysign(format: Format, a: u64, b: u64) -> u64 {
    let sign = 1 << (format.exponent + format.fraction);
    a & sign | b & !sign
}

/// `neg.f32`
#[inline]
pub fn neg_f32(a: u32, flush: bool) -> u32 {
    flushed(a, flush) ^ 0x8000_0000
}

/// `abs.f32`
#[inline]
pub fn abs_f32(a: u32, flush: bool) -> u32 {
    flushed(a, flush) & 0x7fff_ffff
}

/// `neg` of a 16-bit type.
#[inline]
pub fn neg<T: Short>(a: u16, flush: bool) -> u16 {
    flushed_16::<T>(a, flush) ^ 0x8000
}

/// `abs` of a 16-bit type.
#[inline]
pub fn abs<T: Short>(a: u16, flush: bool) -> u16 {
    flushed_16::<T>(a, flush) & 0x7fff
}
