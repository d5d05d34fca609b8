//! Integers of up to 32 bits.

use super::{Rows, lanes};

/// Sign-extends the low 16 bits.
pub(super) fn s16(x: u32) -> i32 {
    i32::from(x as u16 as i16)
}

pub(super) fn s32(x: u32) -> i32 {
    x as i32
}

fn low16(x: i32) -> u32 {
    u32::from(x as u16)
}

/// What the PTX ISA leaves to the machine; NVIDIA's give all ones.
fn divide(x: u32, y: u32) -> u32 {
    x.checked_div(y).unwrap_or(u32::MAX)
}

fn divide_signed(x: u32, y: u32) -> u32 {
    if y == 0 { u32::MAX } else { s32(x).wrapping_div(s32(y)) as u32 }
}

fn remainder(x: u32, y: u32) -> u32 {
    x.checked_rem(y).unwrap_or(x)
}

fn remainder_signed(x: u32, y: u32) -> u32 {
    if y == 0 { x } else { s32(x).wrapping_rem(s32(y)) as u32 }
}

fn high(x: u32, y: u32) -> u32 {
    ((u64::from(x) * u64::from(y)) >> 32) as u32
}

fn high_signed(x: u32, y: u32) -> u32 {
    ((i64::from(s32(x)) * i64::from(s32(y))) >> 32) as u32
}

fn s24(x: u32) -> i64 {
    i64::from((x << 8) as i32 >> 8)
}

fn u24(x: u32) -> u64 {
    u64::from(x & 0xff_ffff)
}

/// Position of the leading one; of the leading bit that differs from the sign; all ones where there is none.
fn find_leading(x: u32) -> u32 {
    x.checked_ilog2().unwrap_or(u32::MAX)
}

/// Bits of `a` from a position on; the PTX ISA's definition, sign bit included.
fn extract(a: u32, position: u32, length: u32) -> u32 {
    let (position, length) = (position & 0xff, length & 0xff);
    if length == 0 || position > 31 {
        return 0;
    }
    let field = a >> position;
    if length >= 32 { field } else { field & ((1 << length) - 1) }
}

fn extract_signed(a: u32, position: u32, length: u32) -> u32 {
    let (position, length) = (position & 0xff, length & 0xff);
    if length == 0 {
        return 0;
    }
    let sign = (a >> (position + length - 1).min(31)) & 1;
    let field = extract(a, position, length);
    let width = length.min(32u32.saturating_sub(position));
    if sign == 0 || width >= 32 { field } else { field | (u32::MAX << width) }
}

fn insert(a: u32, b: u32, position: u32, length: u32) -> u32 {
    let (position, length) = (position & 0xff, length & 0xff);
    if length == 0 || position > 31 {
        return b;
    }
    let ones = if length >= 32 { u32::MAX } else { (1 << length) - 1 };
    let field = ones << position;
    (b & !field) | ((a << position) & field)
}

fn shift_left(x: u32, by: u32) -> u32 {
    x.checked_shl(by).unwrap_or(0)
}

fn shift_right(x: u32, by: u32) -> u32 {
    x.checked_shr(by).unwrap_or(0)
}

fn shift_right_signed(x: u32, by: u32) -> u32 {
    (s32(x) >> by.min(31)) as u32
}

fn funnel_left(low: u32, high: u32, by: u32) -> u32 {
    let both = (u64::from(high) << 32) | u64::from(low);
    ((both << by) >> 32) as u32
}

fn funnel_right(low: u32, high: u32, by: u32) -> u32 {
    let both = (u64::from(high) << 32) | u64::from(low);
    (both >> by) as u32
}

fn clamp(x: i64) -> u32 {
    x.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32
}

pub(super) const ROWS: Rows = &[
    ("add.u32 add.s32", lanes!(w2 u32::wrapping_add)),
    ("sub.u32 sub.s32", lanes!(w2 u32::wrapping_sub)),
    ("add.sat.s32", lanes!(w2 |x, y| s32(x).saturating_add(s32(y)) as u32)),
    ("sub.sat.s32", lanes!(w2 |x, y| s32(x).saturating_sub(s32(y)) as u32)),
    ("add.u16 add.s16", lanes!(w2 |x, y| x.wrapping_add(y) & 0xffff)),
    ("sub.u16 sub.s16", lanes!(w2 |x, y| x.wrapping_sub(y) & 0xffff)),
    ("mul.lo.u32 mul.lo.s32", lanes!(w2 u32::wrapping_mul)),
    ("mul.lo.u16 mul.lo.s16", lanes!(w2 |x, y| x.wrapping_mul(y) & 0xffff)),
    ("mul.hi.u32", lanes!(w2 high)),
    ("mul.hi.s32", lanes!(w2 high_signed)),
    ("mul.hi.u16", lanes!(w2 |x, y| ((x & 0xffff) * (y & 0xffff)) >> 16)),
    ("mul.hi.s16", lanes!(w2 |x, y| low16((s16(x) * s16(y)) >> 16))),
    ("mul.wide.u16", lanes!(w2 |x, y| (x & 0xffff) * (y & 0xffff))),
    ("mul.wide.s16", lanes!(w2 |x, y| (s16(x) * s16(y)) as u32)),
    ("mul24.lo.u32", lanes!(w2 |x, y| (u24(x) * u24(y)) as u32)),
    ("mul24.lo.s32", lanes!(w2 |x, y| (s24(x) * s24(y)) as u32)),
    ("mul24.hi.u32", lanes!(w2 |x, y| ((u24(x) * u24(y)) >> 16) as u32)),
    ("mul24.hi.s32", lanes!(w2 |x, y| ((s24(x) * s24(y)) >> 16) as u32)),
    ("mad.lo.u32 mad.lo.s32", lanes!(w3 |x, y, z| x.wrapping_mul(y).wrapping_add(z))),
    ("mad.lo.u16 mad.lo.s16", lanes!(w3 |x, y, z| x.wrapping_mul(y).wrapping_add(z) & 0xffff)),
    ("mad.hi.u32", lanes!(w3 |x, y, z| high(x, y).wrapping_add(z))),
    ("mad.hi.s32", lanes!(w3 |x, y, z| high_signed(x, y).wrapping_add(z))),
    ("mad.wide.u16", lanes!(w3 |x, y, z| ((x & 0xffff) * (y & 0xffff)).wrapping_add(z))),
    ("mad.wide.s16", lanes!(w3 |x, y, z| ((s16(x) * s16(y)) as u32).wrapping_add(z))),
    ("mad24.lo.u32", lanes!(w3 |x, y, z| ((u24(x) * u24(y)) as u32).wrapping_add(z))),
    ("mad24.lo.s32", lanes!(w3 |x, y, z| ((s24(x) * s24(y)) as u32).wrapping_add(z))),
    ("mad.hi.sat.s32", lanes!(w3 |x, y, z| clamp(i64::from(s32(high_signed(x, y))) + i64::from(s32(z))))),
    ("div.u32", lanes!(w2 divide)),
    ("div.s32", lanes!(w2 divide_signed)),
    ("div.u16", lanes!(w2 |x, y| divide(x & 0xffff, y & 0xffff) & 0xffff)),
    ("div.s16", lanes!(w2 |x, y| divide_signed(s16(x) as u32, s16(y) as u32) & 0xffff)),
    ("rem.u32", lanes!(w2 remainder)),
    ("rem.s32", lanes!(w2 remainder_signed)),
    ("rem.u16", lanes!(w2 |x, y| remainder(x & 0xffff, y & 0xffff))),
    ("rem.s16", lanes!(w2 |x, y| remainder_signed(s16(x) as u32, s16(y) as u32) & 0xffff)),
    ("min.u32 min.u16", lanes!(w2 |x, y| x.min(y))),
    ("max.u32 max.u16", lanes!(w2 |x, y| x.max(y))),
    ("min.s32", lanes!(w2 |x, y| s32(x).min(s32(y)) as u32)),
    ("max.s32", lanes!(w2 |x, y| s32(x).max(s32(y)) as u32)),
    ("min.s16", lanes!(w2 |x, y| low16(s16(x).min(s16(y))))),
    ("max.s16", lanes!(w2 |x, y| low16(s16(x).max(s16(y))))),
    ("abs.s32", lanes!(w1 |x| s32(x).wrapping_abs() as u32)),
    ("abs.s16", lanes!(w1 |x| low16(s16(x).abs()))),
    ("neg.s32", lanes!(w1 u32::wrapping_neg)),
    ("neg.s16", lanes!(w1 |x| x.wrapping_neg() & 0xffff)),
    ("sad.u32", lanes!(w3 |x, y, z| z.wrapping_add(x.abs_diff(y)))),
    ("sad.s32", lanes!(w3 |x, y, z| z.wrapping_add(s32(x).abs_diff(s32(y))))),
    ("popc.b32", lanes!(w1 u32::count_ones)),
    ("clz.b32", lanes!(w1 u32::leading_zeros)),
    ("brev.b32", lanes!(w1 u32::reverse_bits)),
    ("bfind.u32", lanes!(w1 find_leading)),
    ("bfind.s32", lanes!(w1 |x| find_leading(if s32(x) < 0 { !x } else { x }))),
    ("bfind.shiftamt.u32", lanes!(w1 |x| if x == 0 { u32::MAX } else { x.leading_zeros() })),
    (
        "bfind.shiftamt.s32",
        lanes!(w1 |x| {
            let x = if s32(x) < 0 { !x } else { x };
            if x == 0 { u32::MAX } else { x.leading_zeros() }
        }),
    ),
    ("bmsk.clamp.b32", lanes!(w2 |position, length| insert(u32::MAX, 0, position.min(32), length.min(32)))),
];

pub(super) const SHIFTS: Rows = &[
    ("mov.b32 mov.u32 mov.s32 mov.f32 mov.b16 mov.u16 mov.s16 mov.f16", lanes!(w1 |x| x)),
    ("and.b32 and.b16", lanes!(w2 |x, y| x & y)),
    ("or.b32 or.b16", lanes!(w2 |x, y| x | y)),
    ("xor.b32 xor.b16", lanes!(w2 |x, y| x ^ y)),
    ("not.b32", lanes!(w1 |x| !x)),
    ("not.b16", lanes!(w1 |x| !x & 0xffff)),
    ("cnot.b32 cnot.b16", lanes!(w1 |x| u32::from(x == 0))),
    ("shl.b32", lanes!(w2 shift_left)),
    ("shl.b16", lanes!(w2 |x, by| shift_left(x, by) & 0xffff)),
    ("shr.u32 shr.b32 shr.u16 shr.b16", lanes!(w2 shift_right)),
    ("shr.s32", lanes!(w2 shift_right_signed)),
    ("shr.s16", lanes!(w2 |x, by| shift_right_signed(s16(x) as u32, by) & 0xffff)),
    ("shf.l.wrap.b32", lanes!(w3 |a, b, c| funnel_left(a, b, c & 31))),
    ("shf.r.wrap.b32", lanes!(w3 |a, b, c| funnel_right(a, b, c & 31))),
    ("shf.l.clamp.b32", lanes!(w3 |a, b, c| funnel_left(a, b, c.min(32)))),
    ("shf.r.clamp.b32", lanes!(w3 |a, b, c| funnel_right(a, b, c.min(32)))),
    ("bfe.u32", lanes!(w3 extract)),
    ("bfe.s32", lanes!(w3 extract_signed)),
    ("bfi.b32", lanes!(w4 insert)),
];
