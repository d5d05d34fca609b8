//! Comparisons: `<op>.<type>`. Unordered ones hold where an operand is NaN.

use super::integer::{s16, s32};
use super::{Rows, lanes};
use crate::numerics::half::{bf16_value, f16_value};

fn f(x: u32) -> f32 {
    f32::from_bits(x)
}

fn d(x: u64) -> f64 {
    f64::from_bits(x)
}

fn unordered(x: u32, y: u32) -> bool {
    f(x).is_nan() || f(y).is_nan()
}

fn unordered64(x: u64, y: u64) -> bool {
    d(x).is_nan() || d(y).is_nan()
}

pub(super) const ROWS: Rows = &[
    ("eq.b32 eq.u32 eq.s32 eq.b16 eq.u16 eq.s16", lanes!(p32 | x, y | x == y)),
    ("ne.b32 ne.u32 ne.s32 ne.b16 ne.u16 ne.s16", lanes!(p32 | x, y | x != y)),
    ("lt.u32 lt.u16 lo.u32 lo.u16", lanes!(p32 | x, y | x < y)),
    ("le.u32 le.u16 ls.u32 ls.u16", lanes!(p32 | x, y | x <= y)),
    ("gt.u32 gt.u16 hi.u32 hi.u16", lanes!(p32 | x, y | x > y)),
    ("ge.u32 ge.u16 hs.u32 hs.u16", lanes!(p32 | x, y | x >= y)),
    ("lt.s32", lanes!(p32 | x, y | s32(x) < s32(y))),
    ("le.s32", lanes!(p32 | x, y | s32(x) <= s32(y))),
    ("gt.s32", lanes!(p32 | x, y | s32(x) > s32(y))),
    ("ge.s32", lanes!(p32 | x, y | s32(x) >= s32(y))),
    ("lt.s16", lanes!(p32 | x, y | s16(x) < s16(y))),
    ("le.s16", lanes!(p32 | x, y | s16(x) <= s16(y))),
    ("gt.s16", lanes!(p32 | x, y | s16(x) > s16(y))),
    ("ge.s16", lanes!(p32 | x, y | s16(x) >= s16(y))),
    ("eq.b64 eq.u64 eq.s64", lanes!(p64 | x, y | x == y)),
    ("ne.b64 ne.u64 ne.s64", lanes!(p64 | x, y | x != y)),
    ("lt.u64 lo.u64", lanes!(p64 | x, y | x < y)),
    ("le.u64 ls.u64", lanes!(p64 | x, y | x <= y)),
    ("gt.u64 hi.u64", lanes!(p64 | x, y | x > y)),
    ("ge.u64 hs.u64", lanes!(p64 | x, y | x >= y)),
    ("lt.s64", lanes!(p64 | x, y | (x as i64) < y as i64)),
    ("le.s64", lanes!(p64 | x, y | x as i64 <= y as i64)),
    ("gt.s64", lanes!(p64 | x, y | x as i64 > y as i64)),
    ("ge.s64", lanes!(p64 | x, y | x as i64 >= y as i64)),
    ("eq.f32", lanes!(p32 | x, y | f(x) == f(y))),
    ("ne.f32", lanes!(p32 | x, y | f(x) < f(y) || f(x) > f(y))),
    ("lt.f32", lanes!(p32 | x, y | f(x) < f(y))),
    ("le.f32", lanes!(p32 | x, y | f(x) <= f(y))),
    ("gt.f32", lanes!(p32 | x, y | f(x) > f(y))),
    ("ge.f32", lanes!(p32 | x, y | f(x) >= f(y))),
    ("equ.f32", lanes!(p32 | x, y | unordered(x, y) || f(x) == f(y))),
    ("neu.f32", lanes!(p32 | x, y | f(x) != f(y))),
    ("ltu.f32", lanes!(p32 | x, y | unordered(x, y) || f(x) < f(y))),
    ("leu.f32", lanes!(p32 | x, y | unordered(x, y) || f(x) <= f(y))),
    ("gtu.f32", lanes!(p32 | x, y | unordered(x, y) || f(x) > f(y))),
    ("geu.f32", lanes!(p32 | x, y | unordered(x, y) || f(x) >= f(y))),
    ("num.f32", lanes!(p32 | x, y | !unordered(x, y))),
    ("nan.f32", lanes!(p32 unordered)),
    ("eq.f64", lanes!(p64 | x, y | d(x) == d(y))),
    ("ne.f64", lanes!(p64 | x, y | d(x) < d(y) || d(x) > d(y))),
    ("lt.f64", lanes!(p64 | x, y | d(x) < d(y))),
    ("le.f64", lanes!(p64 | x, y | d(x) <= d(y))),
    ("gt.f64", lanes!(p64 | x, y | d(x) > d(y))),
    ("ge.f64", lanes!(p64 | x, y | d(x) >= d(y))),
    ("equ.f64", lanes!(p64 | x, y | unordered64(x, y) || d(x) == d(y))),
    ("neu.f64", lanes!(p64 | x, y | d(x) != d(y))),
    ("ltu.f64", lanes!(p64 | x, y | unordered64(x, y) || d(x) < d(y))),
    ("leu.f64", lanes!(p64 | x, y | unordered64(x, y) || d(x) <= d(y))),
    ("gtu.f64", lanes!(p64 | x, y | unordered64(x, y) || d(x) > d(y))),
    ("geu.f64", lanes!(p64 | x, y | unordered64(x, y) || d(x) >= d(y))),
    ("num.f64", lanes!(p64 | x, y | !unordered64(x, y))),
    ("nan.f64", lanes!(p64 unordered64)),
];

/// A comparison of 16-bit floats by their values.
macro_rules! short {
    ($value:ident, |$x:ident, $y:ident| $holds:expr) => {
        lanes!(
            p32 | x,
            y | {
                let ($x, $y) = ($value(x as u16), $value(y as u16));
                $holds
            }
        )
    };
}

pub(super) const SHORT: Rows = &[
    ("eq.f16", short!(f16_value, |x, y| x == y)),
    ("ne.f16", short!(f16_value, |x, y| !x.is_nan() && !y.is_nan() && x != y)),
    ("lt.f16", short!(f16_value, |x, y| x < y)),
    ("le.f16", short!(f16_value, |x, y| x <= y)),
    ("gt.f16", short!(f16_value, |x, y| x > y)),
    ("ge.f16", short!(f16_value, |x, y| x >= y)),
    ("neu.f16", short!(f16_value, |x, y| x != y)),
    ("num.f16", short!(f16_value, |x, y| !x.is_nan() && !y.is_nan())),
    ("nan.f16", short!(f16_value, |x, y| x.is_nan() || y.is_nan())),
    ("eq.bf16", short!(bf16_value, |x, y| x == y)),
    ("ne.bf16", short!(bf16_value, |x, y| !x.is_nan() && !y.is_nan() && x != y)),
    ("lt.bf16", short!(bf16_value, |x, y| x < y)),
    ("le.bf16", short!(bf16_value, |x, y| x <= y)),
    ("gt.bf16", short!(bf16_value, |x, y| x > y)),
    ("ge.bf16", short!(bf16_value, |x, y| x >= y)),
    ("neu.bf16", short!(bf16_value, |x, y| x != y)),
    ("num.bf16", short!(bf16_value, |x, y| !x.is_nan() && !y.is_nan())),
    ("nan.bf16", short!(bf16_value, |x, y| x.is_nan() || y.is_nan())),
];
