//! Floating-point arithmetic: PTX ISA 8.8, 9.7.3 (`.f32`, `.f64`) and 9.7.4 (`.f16`, `.bf16` and their pairs).
//!
//! Every result is rounded once. `.rn` of `f32` and `f64` is the host's own arithmetic, which IEEE 754 fixes; the other modes go through
//! [`super::exact`]. NaN results are canonical (`0x7fffffff`, `0x7fff`), as the ISA says for 32 and 16 bits; for `f64` it leaves them open.

mod select;
mod short;

pub use select::{Class, Selection, copysign, is, select, select_16, select_f32};
pub use short::{Bf16, F16, Short, abs, add, fma, mul, neg, pairwise, sub};

use super::exact::{Format, Number, Rounding};

/// What the opcode asks for beside the operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Modifiers {
    /// `.rn`, `.rz`, `.rm`, `.rp`.
    pub rounding: Rounding,
    /// `.ftz`: subnormal operands and results become zeros of their sign.
    pub flush: bool,
    /// `.sat`: the result is clamped to [0, 1], NaN to +0.
    pub saturate: bool,
    /// `.relu`: negative results become +0. Only 16-bit `fma` has it.
    pub relu: bool,
}

/// A subnormal made a zero of its sign, where `.ftz` asks for it.
#[inline]
pub fn flushed(bits: u32, flush: bool) -> u32 {
    if flush && bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// The last steps of every `f32` result.
#[inline]
fn finish(bits: u32, m: Modifiers) -> u32 {
    let value = f32::from_bits(flushed(bits, m.flush));
    let clamped = match m.saturate {
        _ if value.is_nan() => return if m.saturate { 0 } else { 0x7fff_ffff },
        true if value > 0.0 => value.min(1.0),
        true => 0.0,
        false => value,
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
