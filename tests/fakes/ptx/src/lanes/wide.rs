//! Integers of 64 bits, and products that become so wide.

use super::integer::s32;
use super::{Rows, lanes};
use crate::numerics::bits::{bfe, bfi, bfind, mul_hi_s64, mul_hi_u64, shl64, shr_s64, shr_u64};

fn s64(x: u64) -> i64 {
    x as i64
}

fn divide(x: u64, y: u64) -> u64 {
    x.checked_div(y).unwrap_or(u64::MAX)
}

fn divide_signed(x: u64, y: u64) -> u64 {
    if y == 0 { u64::MAX } else { s64(x).wrapping_div(s64(y)) as u64 }
}

fn remainder_signed(x: u64, y: u64) -> u64 {
    if y == 0 { x } else { s64(x).wrapping_rem(s64(y)) as u64 }
}

fn product(x: u32, y: u32) -> u64 {
    u64::from(x) * u64::from(y)
}

fn product_signed(x: u32, y: u32) -> u64 {
    (i64::from(s32(x)) * i64::from(s32(y))) as u64
}

pub(super) const ROWS: Rows = &[
    ("add.u64 add.s64", lanes!(l2 u64::wrapping_add)),
    ("sub.u64 sub.s64", lanes!(l2 u64::wrapping_sub)),
    ("mul.lo.u64 mul.lo.s64", lanes!(l2 u64::wrapping_mul)),
    ("mul.hi.u64", lanes!(l2 mul_hi_u64)),
    ("mul.hi.s64", lanes!(l2 | x, y | mul_hi_s64(s64(x), s64(y)) as u64)),
    ("mul.wide.u32", lanes!(widen2 product)),
    ("mul.wide.s32", lanes!(widen2 product_signed)),
    ("mad.lo.u64 mad.lo.s64", lanes!(l3 | x, y, z | x.wrapping_mul(y).wrapping_add(z))),
    ("mad.hi.u64", lanes!(l3 | x, y, z | mul_hi_u64(x, y).wrapping_add(z))),
    ("mad.hi.s64", lanes!(l3 | x, y, z | (mul_hi_s64(s64(x), s64(y)) as u64).wrapping_add(z))),
    ("mad.wide.u32", lanes!(widen3 | x, y, z | product(x, y).wrapping_add(z))),
    ("mad.wide.s32", lanes!(widen3 | x, y, z | product_signed(x, y).wrapping_add(z))),
    ("div.u64", lanes!(l2 divide)),
    ("div.s64", lanes!(l2 divide_signed)),
    ("rem.u64", lanes!(l2 | x, y | x.checked_rem(y).unwrap_or(x))),
    ("rem.s64", lanes!(l2 remainder_signed)),
    ("min.u64", lanes!(l2 | x, y | x.min(y))),
    ("max.u64", lanes!(l2 | x, y | x.max(y))),
    ("min.s64", lanes!(l2 | x, y | s64(x).min(s64(y)) as u64)),
    ("max.s64", lanes!(l2 | x, y | s64(x).max(s64(y)) as u64)),
    ("abs.s64", lanes!(l1 | x | s64(x).wrapping_abs() as u64)),
    ("neg.s64", lanes!(l1 u64::wrapping_neg)),
    ("mov.b64 mov.u64 mov.s64 mov.f64", lanes!(l1 | x | x)),
    ("and.b64", lanes!(l2 | x, y | x & y)),
    ("or.b64", lanes!(l2 | x, y | x | y)),
    ("xor.b64", lanes!(l2 | x, y | x ^ y)),
    ("not.b64", lanes!(l1 | x | !x)),
    ("cnot.b64", lanes!(l1 | x | u64::from(x == 0))),
    ("shl.b64", lanes!(shift64 shl64)),
    ("shr.u64 shr.b64", lanes!(shift64 shr_u64)),
    ("shr.s64", lanes!(shift64 | x, by | shr_s64(s64(x), by) as u64)),
    ("popc.b64", lanes!(narrow1 u64::count_ones)),
    ("clz.b64", lanes!(narrow1 u64::leading_zeros)),
    ("brev.b64", lanes!(l1 u64::reverse_bits)),
    ("bfind.u64", lanes!(narrow1 | x | bfind(x, false, 64, false))),
    ("bfind.s64", lanes!(narrow1 | x | bfind(x, true, 64, false))),
    ("bfind.shiftamt.u64", lanes!(narrow1 | x | bfind(x, false, 64, true))),
    ("bfind.shiftamt.s64", lanes!(narrow1 | x | bfind(x, true, 64, true))),
    ("bfe.u64", lanes!(extract64 | a, at, length | bfe(a, at, length, false, 64))),
    ("bfe.s64", lanes!(extract64 | a, at, length | bfe(a, at, length, true, 64))),
    ("bfi.b64", lanes!(insert64 bfi)),
];
