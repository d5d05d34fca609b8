//! binary32 and binary64 arithmetic. Results that are NaN are the machine's canonical NaN.
//!
//! A fused multiply-add of binary32 goes through binary64: the product is exact there, the sum is rounded to odd, and the
//! second rounding is then the right one. Rejected: `f32::mul_add`, a library call where the processor's own instruction
//! may not be assumed.

use super::{Longs, Rows, WARP, Words, lanes};

/// NaN as NVIDIA's binary32 units give it.
const NAN: u32 = 0x7fff_ffff;
const SIGN: u32 = 0x8000_0000;

fn f(x: u32) -> f32 {
    f32::from_bits(x)
}

fn b(x: f32) -> u32 {
    if x.is_nan() { NAN } else { x.to_bits() }
}

fn d(x: u64) -> f64 {
    f64::from_bits(x)
}

/// A rounding direction.
#[derive(Clone, Copy)]
pub(super) enum Toward {
    Zero,
    Down,
    Up,
}

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

/// Fused multiply-add of binary32, to nearest even.
pub(crate) fn fma32(x: f32, y: f32, z: f32) -> f32 {
    sum_to_odd(f64::from(x) * f64::from(y), f64::from(z)) as f32
}

/// binary64 to binary32 in a direction.
pub(super) fn narrow(x: f64, toward: Toward) -> f32 {
    let near = x as f32;
    let wide = f64::from(near);
    if near.is_nan() || wide == x {
        return near;
    }
    let (above, below) = (wide > x, wide < x);
    match toward {
        Toward::Down if above => near.next_down(),
        Toward::Up if below => near.next_up(),
        Toward::Zero if above && x > 0.0 => near.next_down(),
        Toward::Zero if below && x < 0.0 => near.next_up(),
        _ => near,
    }
}

/// An exact zero sum of numbers of unlike sign is −0 only where rounding goes down.
fn rounded_sum(x: f64, y: f64, toward: Toward) -> u32 {
    let sum = sum_to_odd(x, y);
    if sum == 0.0 && (x != 0.0 || x.is_sign_negative() != y.is_sign_negative()) {
        return if matches!(toward, Toward::Down) { SIGN } else { 0 };
    }
    b(narrow(sum, toward))
}

fn rounded_fma(x: u32, y: u32, z: u32, toward: Toward) -> u32 {
    rounded_sum(f64::from(f(x)) * f64::from(f(y)), f64::from(f(z)), toward)
}

fn rounded_add(x: u32, y: u32, toward: Toward) -> u32 {
    rounded_sum(f64::from(f(x)), f64::from(f(y)), toward)
}

fn rounded_mul(x: u32, y: u32, toward: Toward) -> u32 {
    b(narrow(f64::from(f(x)) * f64::from(f(y)), toward))
}

/// The smaller number; the other where one is NaN; −0 is below +0.
fn min(x: u32, y: u32) -> u32 {
    match (f(x).is_nan(), f(y).is_nan()) {
        (true, true) => NAN,
        (true, false) => y,
        (false, true) => x,
        _ if f(x) == f(y) => x | y,
        _ => if f(x) < f(y) { x } else { y },
    }
}

fn max(x: u32, y: u32) -> u32 {
    match (f(x).is_nan(), f(y).is_nan()) {
        (true, true) => NAN,
        (true, false) => y,
        (false, true) => x,
        _ if f(x) == f(y) => x & y,
        _ => if f(x) > f(y) { x } else { y },
    }
}

fn min64(x: u64, y: u64) -> u64 {
    match (d(x).is_nan(), d(y).is_nan()) {
        (true, _) => y,
        (_, true) => x,
        _ if d(x) == d(y) => x | y,
        _ => if d(x) < d(y) { x } else { y },
    }
}

fn max64(x: u64, y: u64) -> u64 {
    match (d(x).is_nan(), d(y).is_nan()) {
        (true, _) => y,
        (_, true) => x,
        _ if d(x) == d(y) => x & y,
        _ => if d(x) > d(y) { x } else { y },
    }
}

fn either_nan(x: u32, y: u32) -> bool {
    f(x).is_nan() || f(y).is_nan()
}

/// Subnormal binary32 numbers become zero of their sign.
pub(crate) fn flush(x: &mut Words) {
    for x in x {
        if *x & 0x7f80_0000 == 0 {
            *x &= SIGN;
        }
    }
}

/// Into [0, 1]; NaN becomes 0.
pub(crate) fn saturate(x: &mut Words) {
    for x in x {
        let value = f(*x);
        *x = if value > 0.0 { value.min(1.0).to_bits() } else { 0 };
    }
}

fn fma_lanes(x: &Words, y: &Words, z: &Words, out: &mut Words) {
    let product: [f64; WARP] = std::array::from_fn(|l| f64::from(f(x[l])) * f64::from(f(y[l])));
    let sum: [f64; WARP] = std::array::from_fn(|l| sum_to_odd(product[l], f64::from(f(z[l]))));
    for (out, sum) in out.iter_mut().zip(sum) {
        *out = b(sum as f32);
    }
}

fn fma64_lanes(x: &Longs, y: &Longs, z: &Longs, out: &mut Longs) {
    for (l, out) in out.iter_mut().enumerate() {
        *out = d(x[l]).mul_add(d(y[l]), d(z[l])).to_bits();
    }
}

/// To nearest even where nothing else is said.
pub(super) const ROWS: Rows = &[
    ("add.f32", lanes!(w2 |x, y| b(f(x) + f(y)))),
    ("sub.f32", lanes!(w2 |x, y| b(f(x) - f(y)))),
    ("mul.f32", lanes!(w2 |x, y| b(f(x) * f(y)))),
    ("fma.f32 mad.f32", super::Lanes::Ternary32(fma_lanes)),
    ("div.f32 div.full.f32 div.approx.f32", lanes!(w2 |x, y| b(f(x) / f(y)))),
    ("rcp.f32", lanes!(w1 |x| b(1.0 / f(x)))),
    ("sqrt.f32", lanes!(w1 |x| b(f(x).sqrt()))),
    ("abs.f32", lanes!(w1 |x| x & !SIGN)),
    ("neg.f32", lanes!(w1 |x| x ^ SIGN)),
    ("min.f32", lanes!(w2 min)),
    ("max.f32", lanes!(w2 max)),
    ("min.NaN.f32", lanes!(w2 |x, y| if either_nan(x, y) { NAN } else { min(x, y) })),
    ("max.NaN.f32", lanes!(w2 |x, y| if either_nan(x, y) { NAN } else { max(x, y) })),
    ("copysign.f32", lanes!(w2 |x, y| (x & SIGN) | (y & !SIGN))),
    ("add.f64", lanes!(l2 |x, y| (d(x) + d(y)).to_bits())),
    ("sub.f64", lanes!(l2 |x, y| (d(x) - d(y)).to_bits())),
    ("mul.f64", lanes!(l2 |x, y| (d(x) * d(y)).to_bits())),
    ("fma.f64 mad.f64", super::Lanes::Ternary64(fma64_lanes)),
    ("div.f64", lanes!(l2 |x, y| (d(x) / d(y)).to_bits())),
    ("rcp.f64", lanes!(l1 |x| d(x).recip().to_bits())),
    ("sqrt.f64", lanes!(l1 |x| d(x).sqrt().to_bits())),
    ("abs.f64", lanes!(l1 |x| d(x).abs().to_bits())),
    ("neg.f64", lanes!(l1 |x| (-d(x)).to_bits())),
    ("min.f64", lanes!(l2 min64)),
    ("max.f64", lanes!(l2 max64)),
    ("copysign.f64", lanes!(l2 |x, y| d(y).copysign(d(x)).to_bits())),
];

/// In the other directions.
pub(super) const ROUNDED: Rows = &[
    ("add.rz.f32", lanes!(w2 |x, y| rounded_add(x, y, Toward::Zero))),
    ("add.rm.f32", lanes!(w2 |x, y| rounded_add(x, y, Toward::Down))),
    ("add.rp.f32", lanes!(w2 |x, y| rounded_add(x, y, Toward::Up))),
    ("sub.rz.f32", lanes!(w2 |x, y| rounded_add(x, y ^ SIGN, Toward::Zero))),
    ("sub.rm.f32", lanes!(w2 |x, y| rounded_add(x, y ^ SIGN, Toward::Down))),
    ("sub.rp.f32", lanes!(w2 |x, y| rounded_add(x, y ^ SIGN, Toward::Up))),
    ("mul.rz.f32", lanes!(w2 |x, y| rounded_mul(x, y, Toward::Zero))),
    ("mul.rm.f32", lanes!(w2 |x, y| rounded_mul(x, y, Toward::Down))),
    ("mul.rp.f32", lanes!(w2 |x, y| rounded_mul(x, y, Toward::Up))),
    ("fma.rz.f32", lanes!(w3 |x, y, z| rounded_fma(x, y, z, Toward::Zero))),
    ("fma.rm.f32", lanes!(w3 |x, y, z| rounded_fma(x, y, z, Toward::Down))),
    ("fma.rp.f32", lanes!(w3 |x, y, z| rounded_fma(x, y, z, Toward::Up))),
];
