//! binary32 and binary64 arithmetic.
//!
//! All but the fused multiply-add of binary32 is [`crate::numerics::float`]. That one goes through binary64: the product is exact there, the sum is
//! rounded to odd, and the second rounding is then the right one; so the compiler makes vectors of it, where the library call is made lane by lane.

use super::{Rows, WARP, Words, lanes};
use crate::numerics::approx::{Function, approx_f32, approx_f64, div_approx};
use crate::numerics::exact::{Format, Rounding};
use crate::numerics::float::{
    Modifiers, Selection, abs_f32, add_f32, add_f64, copysign, div_f32, div_f64, fma_f32, fma_f64,
    mul_f32, mul_f64, neg_f32, select, select_f32, sqrt_f32, sqrt_f64, sub_f32, sub_f64,
};

const NAN: u32 = 0x7fff_ffff;
const SIGN: u32 = 0x8000_0000;
const ONE: u32 = 0x3f80_0000;
const ONE_64: u64 = 0x3ff0_0000_0000_0000;

const fn toward(rounding: Rounding) -> Modifiers {
    Modifiers { rounding, flush: false, saturate: false, relu: false }
}

const RN: Modifiers = toward(Rounding::Nearest);
const RZ: Modifiers = toward(Rounding::Zero);
const RM: Modifiers = toward(Rounding::Down);
const RP: Modifiers = toward(Rounding::Up);

pub(super) const MIN: Selection =
    Selection { max: false, propagate: false, xor_sign: false, flush: false };
pub(super) const MAX: Selection = Selection { max: true, ..MIN };
pub(super) const MIN_NAN: Selection = Selection { propagate: true, ..MIN };
pub(super) const MAX_NAN: Selection = Selection { propagate: true, ..MAX };

/// `x + y` rounded to odd: the last bit tells whether anything was lost.
fn sum_to_odd(x: f64, y: f64) -> f64 {
    let sum = x + y;
    let part = sum - x;
    let lost = (x - (sum - part)) + (y - part);
    let bits = sum.to_bits();
    let adjust = u64::from(lost.abs() > 0.0) & !bits & 1;
    let away = u64::from((lost > 0.0) == (sum > 0.0));
    // One up in magnitude where the loss points away from zero, one down otherwise.
    let step = adjust.wrapping_mul(away.wrapping_mul(2).wrapping_sub(1));
    f64::from_bits(bits.wrapping_add(step))
}

fn fma_lanes(x: &Words, y: &Words, z: &Words, out: &mut Words) {
    let wide = |bits: u32| f64::from(f32::from_bits(bits));
    let sum: [f64; WARP] = std::array::from_fn(|l| sum_to_odd(wide(x[l]) * wide(y[l]), wide(z[l])));
    for (out, sum) in out.iter_mut().zip(sum) {
        let value = sum as f32;
        *out = if value.is_nan() { NAN } else { value.to_bits() };
    }
}

/// Subnormal binary32 numbers become zero of their sign.
pub(crate) fn flush(x: &mut Words) {
    for x in x {
        *x = crate::numerics::float::flushed(*x, true);
    }
}

/// Into [0, 1]; NaN becomes 0.
pub(crate) fn saturate(x: &mut Words) {
    for x in x {
        let value = f32::from_bits(*x);
        *x = if value > 0.0 { value.min(1.0).to_bits() } else { 0 };
    }
}

fn min64(x: u64, y: u64) -> u64 {
    select(Format::F64, x, y, MIN)
}

fn max64(x: u64, y: u64) -> u64 {
    select(Format::F64, x, y, MAX)
}

/// To nearest even where nothing else is said.
pub(super) const ROWS: Rows = &[
    ("add.f32", lanes!(w2 | x, y | add_f32(x, y, RN))),
    ("sub.f32", lanes!(w2 | x, y | sub_f32(x, y, RN))),
    ("mul.f32", lanes!(w2 | x, y | mul_f32(x, y, RN))),
    ("fma.f32 mad.f32", super::Lanes::Ternary32(fma_lanes)),
    ("div.f32 div.full.f32", lanes!(w2 | x, y | div_f32(x, y, RN))),
    ("rcp.f32", lanes!(w1 | x | div_f32(ONE, x, RN))),
    ("sqrt.f32", lanes!(w1 | x | sqrt_f32(x, RN))),
    ("abs.f32", lanes!(w1 | x | abs_f32(x, false))),
    ("neg.f32", lanes!(w1 | x | neg_f32(x, false))),
    ("min.f32", lanes!(w2 | x, y | select_f32(x, y, MIN))),
    ("max.f32", lanes!(w2 | x, y | select_f32(x, y, MAX))),
    ("min.NaN.f32", lanes!(w2 | x, y | select_f32(x, y, MIN_NAN))),
    ("max.NaN.f32", lanes!(w2 | x, y | select_f32(x, y, MAX_NAN))),
    ("copysign.f32", lanes!(w2 | x, y | (x & SIGN) | (y & !SIGN))),
    ("add.f64", lanes!(l2 | x, y | add_f64(x, y, Rounding::Nearest))),
    ("sub.f64", lanes!(l2 | x, y | sub_f64(x, y, Rounding::Nearest))),
    ("mul.f64", lanes!(l2 | x, y | mul_f64(x, y, Rounding::Nearest))),
    ("fma.f64 mad.f64", lanes!(l3 | x, y, z | fma_f64(x, y, z, Rounding::Nearest))),
    ("div.f64", lanes!(l2 | x, y | div_f64(x, y, Rounding::Nearest))),
    ("rcp.f64", lanes!(l1 | x | div_f64(ONE_64, x, Rounding::Nearest))),
    ("sqrt.f64", lanes!(l1 | x | sqrt_f64(x, Rounding::Nearest))),
    ("abs.f64", lanes!(l1 | x | x & !(1 << 63))),
    ("neg.f64", lanes!(l1 | x | x ^ (1 << 63))),
    ("min.f64", lanes!(l2 min64)),
    ("max.f64", lanes!(l2 max64)),
    ("copysign.f64", lanes!(l2 | x, y | copysign(Format::F64, x, y))),
];

/// In the other directions.
pub(super) const ROUNDED: Rows = &[
    ("add.rz.f32", lanes!(w2 | x, y | add_f32(x, y, RZ))),
    ("add.rm.f32", lanes!(w2 | x, y | add_f32(x, y, RM))),
    ("add.rp.f32", lanes!(w2 | x, y | add_f32(x, y, RP))),
    ("sub.rz.f32", lanes!(w2 | x, y | sub_f32(x, y, RZ))),
    ("sub.rm.f32", lanes!(w2 | x, y | sub_f32(x, y, RM))),
    ("sub.rp.f32", lanes!(w2 | x, y | sub_f32(x, y, RP))),
    ("mul.rz.f32", lanes!(w2 | x, y | mul_f32(x, y, RZ))),
    ("mul.rm.f32", lanes!(w2 | x, y | mul_f32(x, y, RM))),
    ("mul.rp.f32", lanes!(w2 | x, y | mul_f32(x, y, RP))),
    ("fma.rz.f32", lanes!(w3 | x, y, z | fma_f32(x, y, z, RZ))),
    ("fma.rm.f32", lanes!(w3 | x, y, z | fma_f32(x, y, z, RM))),
    ("fma.rp.f32", lanes!(w3 | x, y, z | fma_f32(x, y, z, RP))),
    ("div.rz.f32", lanes!(w2 | x, y | div_f32(x, y, RZ))),
    ("div.rm.f32", lanes!(w2 | x, y | div_f32(x, y, RM))),
    ("div.rp.f32", lanes!(w2 | x, y | div_f32(x, y, RP))),
    ("fma.rz.f64", lanes!(l3 | x, y, z | fma_f64(x, y, z, Rounding::Zero))),
    ("fma.rm.f64", lanes!(l3 | x, y, z | fma_f64(x, y, z, Rounding::Down))),
    ("fma.rp.f64", lanes!(l3 | x, y, z | fma_f64(x, y, z, Rounding::Up))),
];

/// What the machine only approximates.
pub(super) const APPROXIMATE: Rows = &[
    ("div.approx.f32", lanes!(w2 | x, y | div_approx(x, y, false))),
    ("rcp.approx.f32", lanes!(w1 | x | approx_f32(Function::Reciprocal, x, false))),
    ("sqrt.approx.f32", lanes!(w1 | x | approx_f32(Function::SquareRoot, x, false))),
    ("rsqrt.approx.f32", lanes!(w1 | x | approx_f32(Function::ReciprocalRoot, x, false))),
    ("ex2.approx.f32", lanes!(w1 | x | approx_f32(Function::Exp2, x, false))),
    ("lg2.approx.f32", lanes!(w1 | x | approx_f32(Function::Log2, x, false))),
    ("sin.approx.f32", lanes!(w1 | x | approx_f32(Function::Sine, x, false))),
    ("cos.approx.f32", lanes!(w1 | x | approx_f32(Function::Cosine, x, false))),
    ("tanh.approx.f32", lanes!(w1 | x | approx_f32(Function::Tanh, x, false))),
    ("rcp.approx.ftz.f64", lanes!(l1 | x | approx_f64(Function::Reciprocal, x))),
    ("rsqrt.approx.ftz.f64", lanes!(l1 | x | approx_f64(Function::ReciprocalRoot, x))),
];

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_fast_multiply_add_is_the_exact_one(x: u32, y: u32, z: u32, near in -30i32..30) {
            // Random exponents seldom meet: bring the addend near the product, too.
            let product = f32::from_bits(x) * f32::from_bits(y);
            let close = (product * 2f32.powi(near)).to_bits() ^ (z & 0x8000_0fff);
            for z in [z, close] {
                let mut out = [0; WARP];
                fma_lanes(&[x; WARP], &[y; WARP], &[z; WARP], &mut out);
                assert_eq!(out[0], fma_f32(x, y, z, RN), "{x:08x} {y:08x} {z:08x}");
            }
        }
    }
}
