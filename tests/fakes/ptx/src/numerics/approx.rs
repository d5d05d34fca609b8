//! `.approx` functions: PTX ISA 8.8, 9.7.3.
//!
//! The ISA bounds their error (`ex2` 2^-22.5 relative, `rcp` and `sqrt` 1 ulp, `sin` and `cos` 2^-20.5 absolute, `tanh` 2^-11 relative …) and fixes
//! special values; the hardware's tables are not documented. What is given here is the value rounded to nearest from `f64`, which every bound allows:
//! a kernel that needs the hardware's very bits would be wrong on the next architecture too.

use super::float::{Short, flushed};

/// The functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `ex2.approx`: 2^x
    Exp2,
    /// `lg2.approx`
    Log2,
    /// `rcp.approx`: 1/x
    Reciprocal,
    /// `sqrt.approx`
    SquareRoot,
    /// `rsqrt.approx`: 1/√x
    ReciprocalRoot,
    /// `sin.approx`
    Sine,
    /// `cos.approx`
    Cosine,
    /// `tanh.approx`
    Tanh,
}

impl Function {
    /// The function itself; its special values are those of the ISA's tables, which `f64` arithmetic shares.
    #[inline]
    fn of(self, x: f64) -> f64 {
        match self {
            Function::Exp2 => x.exp2(),
            Function::Log2 => x.log2(),
            Function::Reciprocal => 1.0 / x,
            Function::SquareRoot => x.sqrt(),
            // The root of −0 is −0 and its reciprocal −∞, as the table has it.
            Function::ReciprocalRoot => 1.0 / x.sqrt(),
            Function::Sine => x.sin(),
            Function::Cosine => x.cos(),
            Function::Tanh => x.tanh(),
        }
    }
}

/// An `.approx{.ftz}.f32` function.
#[inline]
pub fn approx_f32(function: Function, a: u32, flush: bool) -> u32 {
    let value = function.of(f64::from(f32::from_bits(flushed(a, flush)))) as f32;
    if value.is_nan() { 0x7fff_ffff } else { flushed(value.to_bits(), flush) }
}

/// `tanh.approx` and `ex2.approx` of a 16-bit type.
#[inline]
pub fn approx_16<T: Short>(function: Function, a: u16, flush: bool) -> u16 {
    let flush_16 = |bits: u16| if flush && bits & T::EXPONENT == 0 { bits & 0x8000 } else { bits };
    flush_16(T::nearest(super::half::to_odd(function.of(f64::from(T::value(flush_16(a)))))))
}

/// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`: only the upper halves of operand and result count.
#[inline]
pub fn approx_f64(function: Function, a: u64) -> u64 {
    let flush = |bits: u64| if bits & 0x7ff0_0000_0000_0000 == 0 { bits & 1 << 63 } else { bits };
    let result = function.of(f64::from_bits(flush(a & !0xffff_ffff)));
    if result.is_nan() { 0x7fff_ffff_0000_0000 } else { flush(result.to_bits()) & !0xffff_ffff }
}

/// `div.approx.f32`: a × (1/b), where the reciprocal of |b| between 2^126 and 2^128 is a zero of its sign; that makes NaN of an infinite `a`.
#[inline]
pub fn div_approx(a: u32, b: u32, flush: bool) -> u32 {
    let (x, y) = (f32::from_bits(flushed(a, flush)), f32::from_bits(flushed(b, flush)));
    let far = y.abs() > 2f32.powi(126) && y.is_finite();
    let quotient = if far { x * 0f32.copysign(y) } else { x / y };
    if quotient.is_nan() { 0x7fff_ffff } else { flushed(quotient.to_bits(), flush) }
}
