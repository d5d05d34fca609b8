//! The element types of multiplicands and accumulators.

use super::sum::{Span, exact_sum};
use crate::numerics::half::{bf16_value, f16_nearest, f16_value, to_odd};

/// A multiplicand type: how many share a register and what they are worth.
pub(super) trait Element {
    /// Elements in one 32-bit register.
    const PER_REGISTER: usize;
    /// Fraction bits, for the bound in `sum`; 0 for integers.
    const FRACTION: i32;
    /// What an element decodes to: exact for every value of the type.
    type Value: Copy + Default;
    /// Element `index` of a register, counted from its low end.
    fn unpack(register: u32, index: usize) -> Self::Value;
}

/// An accumulator type: elements a register holds, and both ways between its bits and a wider exact value.
pub(super) trait Accumulator {
    const PER_REGISTER: usize;
    const FRACTION: i32;
    fn unpack(register: u32, index: usize) -> f64;
    /// Rounds a sum that is exact or rounded to odd.
    fn pack(sum: f64) -> u32;
    /// Whether the sum is what `f64` arithmetic makes of so many products of two spans and of what was there.
    fn plain(row: Span, column: Span, added: f64, terms: usize) -> bool {
        Span::fits(row, column, Span::of([added].into_iter(), Self::FRACTION), terms)
    }
    /// The sum of `added` and the products of pairs, where that is not so.
    fn sum(pairs: impl Iterator<Item = (f64, f64)> + Clone, added: f64) -> f64 {
        exact_sum(pairs.map(|(a, b)| a * b), added)
    }
}

pub(super) struct F16;
pub(super) struct Bf16;
pub(super) struct Tf32;
pub(super) struct E4m3;
pub(super) struct E5m2;
pub(super) struct S8;
pub(super) struct U8;
pub(super) struct S4;
pub(super) struct U4;
pub(super) struct F32;

impl Element for F16 {
    const PER_REGISTER: usize = 2;
    const FRACTION: i32 = 10;
    type Value = f64;
    fn unpack(register: u32, index: usize) -> f64 {
        f64::from(f16_value((register >> (16 * index)) as u16))
    }
}

impl Element for Bf16 {
    const PER_REGISTER: usize = 2;
    const FRACTION: i32 = 7;
    type Value = f64;
    fn unpack(register: u32, index: usize) -> f64 {
        f64::from(bf16_value((register >> (16 * index)) as u16))
    }
}

impl Element for Tf32 {
    const PER_REGISTER: usize = 1;
    const FRACTION: i32 = 10;
    type Value = f64;
    /// The low 13 bits of a `.tf32` register are not looked at. A NaN must not become an infinity by that.
    fn unpack(register: u32, _: usize) -> f64 {
        let value = f32::from_bits(register);
        f64::from(if value.is_nan() { value } else { f32::from_bits(register & !0x1fff) })
    }
}

/// OCP 8-bit floating point specification 1.0: bias 7, no infinity, NaN only where all other bits are set.
impl Element for E4m3 {
    const PER_REGISTER: usize = 4;
    const FRACTION: i32 = 3;
    type Value = f64;
    fn unpack(register: u32, index: usize) -> f64 {
        let byte = (register >> (8 * index)) as u8;
        if byte & 0x7f == 0x7f {
            return f64::NAN;
        }
        // As the upper half of an f16 of bias 15 shifted one place: worth 2^-8 as much.
        let widened = u16::from(byte & 0x80) << 8 | u16::from(byte & 0x7f) << 7;
        f64::from(f16_value(widened)) * 256.0
    }
}

/// OCP 8-bit floating point specification 1.0: the upper half of an `f16`.
impl Element for E5m2 {
    const PER_REGISTER: usize = 4;
    const FRACTION: i32 = 2;
    type Value = f64;
    fn unpack(register: u32, index: usize) -> f64 {
        f64::from(f16_value(u16::from((register >> (8 * index)) as u8) << 8))
    }
}

impl Element for S8 {
    const PER_REGISTER: usize = 4;
    const FRACTION: i32 = 0;
    type Value = i32;
    fn unpack(register: u32, index: usize) -> i32 {
        i32::from((register >> (8 * index)) as i8)
    }
}

impl Element for U8 {
    const PER_REGISTER: usize = 4;
    const FRACTION: i32 = 0;
    type Value = i32;
    fn unpack(register: u32, index: usize) -> i32 {
        i32::from((register >> (8 * index)) as u8)
    }
}

impl Element for S4 {
    const PER_REGISTER: usize = 8;
    const FRACTION: i32 = 0;
    type Value = i32;
    fn unpack(register: u32, index: usize) -> i32 {
        ((register >> (4 * index)) << 28) as i32 >> 28
    }
}

impl Element for U4 {
    const PER_REGISTER: usize = 8;
    const FRACTION: i32 = 0;
    type Value = i32;
    fn unpack(register: u32, index: usize) -> i32 {
        (register >> (4 * index) & 0xf) as i32
    }
}

impl Accumulator for F32 {
    const PER_REGISTER: usize = 1;
    const FRACTION: i32 = 23;
    fn unpack(register: u32, _: usize) -> f64 {
        f64::from(f32::from_bits(register))
    }
    fn pack(sum: f64) -> u32 {
        if sum.is_nan() {
            return 0x7fff_ffff;
        }
        let nearest = sum as f32;
        let above = f64::from(nearest).abs() > sum.abs();
        // Only a magnitude that needs exponent 128 is out of range: truncation itself never carries into it.
        let overflow = sum.abs() >= 2f64.powi(128);
        nearest.to_bits() - u32::from(above && !overflow)
    }
}

impl Accumulator for F16 {
    const PER_REGISTER: usize = 2;
    const FRACTION: i32 = 10;
    fn unpack(register: u32, index: usize) -> f64 {
        <F16 as Element>::unpack(register, index)
    }
    fn pack(sum: f64) -> u32 {
        u32::from(f16_nearest(to_odd(sum)))
    }
}
