//! `.f16` and `.bf16`, and their pairs.
//!
//! A result comes from an `f64` sum with its rounding error folded in as an odd last bit, so that the step down is the only rounding.

use super::Modifiers;
use crate::numerics::exact::Format;
use crate::numerics::half::{bf16_nearest, bf16_value, f16_nearest, f16_value, to_odd};

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
        () if m.relu && bits >> 15 == 1 => 0,
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

#[inline]
fn flushed_16<T: Short>(bits: u16, flush: bool) -> u16 {
    if flush && bits & T::EXPONENT == 0 { bits & 0x8000 } else { bits }
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
