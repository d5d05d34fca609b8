//! Integers of 64 bits, and products that become so wide.

use super::integer::s32;
use super::{Rows, lanes};

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

fn high(x: u64, y: u64) -> u64 {
    ((u128::from(x) * u128::from(y)) >> 64) as u64
}

fn high_signed(x: u64, y: u64) -> u64 {
    ((i128::from(s64(x)) * i128::from(s64(y))) >> 64) as u64
}

fn product(x: u32, y: u32) -> u64 {
    u64::from(x) * u64::from(y)
}

fn product_signed(x: u32, y: u32) -> u64 {
    (i64::from(s32(x)) * i64::from(s32(y))) as u64
}

fn extract(a: u64, position: u32, length: u32) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    if length == 0 || position > 63 {
        return 0;
    }
    let field = a >> position;
    if length >= 64 { field } else { field & ((1 << length) - 1) }
}

fn extract_signed(a: u64, position: u32, length: u32) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    if length == 0 {
        return 0;
    }
    let sign = (a >> (position + length - 1).min(63)) & 1;
    let field = extract(a, position, length);
    let width = length.min(64u32.saturating_sub(position));
    if sign == 0 || width >= 64 { field } else { field | (u64::MAX << width) }
}

fn insert(a: u64, b: u64, position: u32, length: u32) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    if length == 0 || position > 63 {
        return b;
    }
    let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    let field = ones << position;
    (b & !field) | ((a << position) & field)
}

pub(super) const ROWS: Rows = &[
    ("add.u64 add.s64", lanes!(l2 u64::wrapping_add)),
    ("sub.u64 sub.s64", lanes!(l2 u64::wrapping_sub)),
    ("mul.lo.u64 mul.lo.s64", lanes!(l2 u64::wrapping_mul)),
    ("mul.hi.u64", lanes!(l2 high)),
    ("mul.hi.s64", lanes!(l2 high_signed)),
    ("mul.wide.u32", lanes!(widen2 product)),
    ("mul.wide.s32", lanes!(widen2 product_signed)),
    ("mad.lo.u64 mad.lo.s64", lanes!(l3 |x, y, z| x.wrapping_mul(y).wrapping_add(z))),
    ("mad.hi.u64", lanes!(l3 |x, y, z| high(x, y).wrapping_add(z))),
    ("mad.hi.s64", lanes!(l3 |x, y, z| high_signed(x, y).wrapping_add(z))),
    ("mad.wide.u32", lanes!(widen3 |x, y, z| product(x, y).wrapping_add(z))),
    ("mad.wide.s32", lanes!(widen3 |x, y, z| product_signed(x, y).wrapping_add(z))),
    ("div.u64", lanes!(l2 divide)),
    ("div.s64", lanes!(l2 divide_signed)),
    ("rem.u64", lanes!(l2 |x, y| x.checked_rem(y).unwrap_or(x))),
    ("rem.s64", lanes!(l2 remainder_signed)),
    ("min.u64", lanes!(l2 |x, y| x.min(y))),
    ("max.u64", lanes!(l2 |x, y| x.max(y))),
    ("min.s64", lanes!(l2 |x, y| s64(x).min(s64(y)) as u64)),
    ("max.s64", lanes!(l2 |x, y| s64(x).max(s64(y)) as u64)),
    ("abs.s64", lanes!(l1 |x| s64(x).wrapping_abs() as u64)),
    ("neg.s64", lanes!(l1 u64::wrapping_neg)),
    ("mov.b64 mov.u64 mov.s64 mov.f64", lanes!(l1 |x| x)),
    ("and.b64", lanes!(l2 |x, y| x & y)),
    ("or.b64", lanes!(l2 |x, y| x | y)),
    ("xor.b64", lanes!(l2 |x, y| x ^ y)),
    ("not.b64", lanes!(l1 |x| !x)),
    ("cnot.b64", lanes!(l1 |x| u64::from(x == 0))),
    ("shl.b64", lanes!(shift64 |x, by| x.checked_shl(by).unwrap_or(0))),
    ("shr.u64 shr.b64", lanes!(shift64 |x, by| x.checked_shr(by).unwrap_or(0))),
    ("shr.s64", lanes!(shift64 |x, by| (s64(x) >> by.min(63)) as u64)),
    ("popc.b64", lanes!(narrow1 u64::count_ones)),
    ("clz.b64", lanes!(narrow1 u64::leading_zeros)),
    ("brev.b64", lanes!(l1 u64::reverse_bits)),
    ("bfind.u64", lanes!(narrow1 |x| x.checked_ilog2().unwrap_or(u32::MAX))),
    (
        "bfind.s64",
        lanes!(narrow1 |x| (if s64(x) < 0 { !x } else { x }).checked_ilog2().unwrap_or(u32::MAX)),
    ),
    ("bfe.u64", lanes!(extract64 extract)),
    ("bfe.s64", lanes!(extract64 extract_signed)),
    ("bfi.b64", lanes!(insert64 insert)),
];
