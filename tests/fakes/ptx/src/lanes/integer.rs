//! Integers of up to 32 bits.

use super::{Rows, lanes};
use crate::numerics::bits::{
    Permute, bfe, bfi, bfind, bmsk, dp2a, dp4a, lop3, mul_hi_s32, mul_hi_u32, mul24, prmt, sad_s32,
    sad_u32, shf_left, shf_right, shl32, shr_s32, shr_u32, szext,
};

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

fn clamp(x: i64) -> u32 {
    x.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32
}

pub(super) const ROWS: Rows = &[
    ("add.u32 add.s32", lanes!(w2 u32::wrapping_add)),
    ("sub.u32 sub.s32", lanes!(w2 u32::wrapping_sub)),
    ("add.sat.s32", lanes!(w2 | x, y | s32(x).saturating_add(s32(y)) as u32)),
    ("sub.sat.s32", lanes!(w2 | x, y | s32(x).saturating_sub(s32(y)) as u32)),
    ("add.u16 add.s16", lanes!(w2 | x, y | x.wrapping_add(y) & 0xffff)),
    ("sub.u16 sub.s16", lanes!(w2 | x, y | x.wrapping_sub(y) & 0xffff)),
    ("mul.lo.u32 mul.lo.s32", lanes!(w2 u32::wrapping_mul)),
    ("mul.lo.u16 mul.lo.s16", lanes!(w2 | x, y | x.wrapping_mul(y) & 0xffff)),
    ("mul.hi.u32", lanes!(w2 mul_hi_u32)),
    ("mul.hi.s32", lanes!(w2 | x, y | mul_hi_s32(s32(x), s32(y)) as u32)),
    ("mul.hi.u16", lanes!(w2 | x, y | ((x & 0xffff) * (y & 0xffff)) >> 16)),
    ("mul.hi.s16", lanes!(w2 | x, y | low16((s16(x) * s16(y)) >> 16))),
    ("mul.wide.u16", lanes!(w2 | x, y | (x & 0xffff) * (y & 0xffff))),
    ("mul.wide.s16", lanes!(w2 | x, y | (s16(x) * s16(y)) as u32)),
    ("mul24.lo.u32", lanes!(w2 | x, y | mul24(x, y, false, false))),
    ("mul24.lo.s32", lanes!(w2 | x, y | mul24(x, y, true, false))),
    ("mul24.hi.u32", lanes!(w2 | x, y | mul24(x, y, false, true))),
    ("mul24.hi.s32", lanes!(w2 | x, y | mul24(x, y, true, true))),
    ("mad.lo.u32 mad.lo.s32", lanes!(w3 | x, y, z | x.wrapping_mul(y).wrapping_add(z))),
    ("mad.lo.u16 mad.lo.s16", lanes!(w3 | x, y, z | x.wrapping_mul(y).wrapping_add(z) & 0xffff)),
    ("mad.hi.u32", lanes!(w3 | x, y, z | mul_hi_u32(x, y).wrapping_add(z))),
    ("mad.hi.s32", lanes!(w3 | x, y, z | (mul_hi_s32(s32(x), s32(y)) as u32).wrapping_add(z))),
    ("mad.wide.u16", lanes!(w3 | x, y, z | ((x & 0xffff) * (y & 0xffff)).wrapping_add(z))),
    ("mad.wide.s16", lanes!(w3 | x, y, z | ((s16(x) * s16(y)) as u32).wrapping_add(z))),
    ("mad24.lo.u32", lanes!(w3 | x, y, z | mul24(x, y, false, false).wrapping_add(z))),
    ("mad24.lo.s32", lanes!(w3 | x, y, z | mul24(x, y, true, false).wrapping_add(z))),
    (
        "mad.hi.sat.s32",
        lanes!(w3 | x, y, z | clamp(i64::from(mul_hi_s32(s32(x), s32(y))) + i64::from(s32(z)))),
    ),
    ("div.u32", lanes!(w2 divide)),
    ("div.s32", lanes!(w2 divide_signed)),
    ("div.u16", lanes!(w2 | x, y | divide(x & 0xffff, y & 0xffff) & 0xffff)),
    ("div.s16", lanes!(w2 | x, y | divide_signed(s16(x) as u32, s16(y) as u32) & 0xffff)),
    ("rem.u32", lanes!(w2 remainder)),
    ("rem.s32", lanes!(w2 remainder_signed)),
    ("rem.u16", lanes!(w2 | x, y | remainder(x & 0xffff, y & 0xffff))),
    ("rem.s16", lanes!(w2 | x, y | remainder_signed(s16(x) as u32, s16(y) as u32) & 0xffff)),
    ("min.u32 min.u16", lanes!(w2 | x, y | x.min(y))),
    ("max.u32 max.u16", lanes!(w2 | x, y | x.max(y))),
    ("min.s32", lanes!(w2 | x, y | s32(x).min(s32(y)) as u32)),
    ("max.s32", lanes!(w2 | x, y | s32(x).max(s32(y)) as u32)),
    ("min.s16", lanes!(w2 | x, y | low16(s16(x).min(s16(y))))),
    ("max.s16", lanes!(w2 | x, y | low16(s16(x).max(s16(y))))),
    ("abs.s32", lanes!(w1 | x | s32(x).wrapping_abs() as u32)),
    ("abs.s16", lanes!(w1 | x | low16(s16(x).abs()))),
    ("neg.s32", lanes!(w1 u32::wrapping_neg)),
    ("neg.s16", lanes!(w1 | x | x.wrapping_neg() & 0xffff)),
    ("sad.u32", lanes!(w3 sad_u32)),
    ("sad.s32", lanes!(w3 | x, y, z | sad_s32(s32(x), s32(y), z))),
    ("popc.b32", lanes!(w1 u32::count_ones)),
    ("clz.b32", lanes!(w1 u32::leading_zeros)),
    ("brev.b32", lanes!(w1 u32::reverse_bits)),
    ("bfind.u32", lanes!(w1 | x | bfind(x.into(), false, 32, false))),
    ("bfind.s32", lanes!(w1 | x | bfind(i64::from(s32(x)) as u64, true, 32, false))),
    ("bfind.shiftamt.u32", lanes!(w1 | x | bfind(x.into(), false, 32, true))),
    ("bfind.shiftamt.s32", lanes!(w1 | x | bfind(i64::from(s32(x)) as u64, true, 32, true))),
    ("bmsk.clamp.b32", lanes!(w2 | position, length | bmsk(position, length, false))),
    ("bmsk.wrap.b32", lanes!(w2 | position, length | bmsk(position, length, true))),
    ("szext.clamp.u32", lanes!(w2 | x, length | szext(x, length, false, false))),
    ("szext.clamp.s32", lanes!(w2 | x, length | szext(x, length, true, false))),
    ("szext.wrap.u32", lanes!(w2 | x, length | szext(x, length, false, true))),
    ("szext.wrap.s32", lanes!(w2 | x, length | szext(x, length, true, true))),
    ("dp4a.s32.s32", lanes!(w3 | x, y, z | dp4a(x, y, z, true, true))),
    ("dp4a.s32.u32", lanes!(w3 | x, y, z | dp4a(x, y, z, true, false))),
    ("dp4a.u32.s32", lanes!(w3 | x, y, z | dp4a(x, y, z, false, true))),
    ("dp4a.u32.u32", lanes!(w3 | x, y, z | dp4a(x, y, z, false, false))),
    ("dp2a.lo.s32.s32", lanes!(w3 | x, y, z | dp2a(x, y, z, true, true, false))),
    ("dp2a.hi.s32.s32", lanes!(w3 | x, y, z | dp2a(x, y, z, true, true, true))),
    ("dp2a.lo.u32.u32", lanes!(w3 | x, y, z | dp2a(x, y, z, false, false, false))),
    ("dp2a.hi.u32.u32", lanes!(w3 | x, y, z | dp2a(x, y, z, false, false, true))),
];

pub(super) const SHIFTS: Rows = &[
    ("mov.b32 mov.u32 mov.s32 mov.f32 mov.b16 mov.u16 mov.s16 mov.f16", lanes!(w1 | x | x)),
    ("and.b32 and.b16", lanes!(w2 | x, y | x & y)),
    ("or.b32 or.b16", lanes!(w2 | x, y | x | y)),
    ("xor.b32 xor.b16", lanes!(w2 | x, y | x ^ y)),
    ("not.b32", lanes!(w1 | x | !x)),
    ("not.b16", lanes!(w1 | x | !x & 0xffff)),
    ("cnot.b32 cnot.b16", lanes!(w1 | x | u32::from(x == 0))),
    ("shl.b32", lanes!(w2 shl32)),
    ("shl.b16", lanes!(w2 | x, by | shl32(x, by) & 0xffff)),
    ("shr.u32 shr.b32 shr.u16 shr.b16", lanes!(w2 shr_u32)),
    ("shr.s32", lanes!(w2 | x, by | shr_s32(s32(x), by) as u32)),
    ("shr.s16", lanes!(w2 | x, by | shr_s32(s16(x), by) as u32 & 0xffff)),
    ("shf.l.wrap.b32", lanes!(w3 | a, b, c | shf_left(a, b, c, true))),
    ("shf.r.wrap.b32", lanes!(w3 | a, b, c | shf_right(a, b, c, true))),
    ("shf.l.clamp.b32", lanes!(w3 | a, b, c | shf_left(a, b, c, false))),
    ("shf.r.clamp.b32", lanes!(w3 | a, b, c | shf_right(a, b, c, false))),
    ("bfe.u32", lanes!(w3 | a, at, length | bfe(a.into(), at, length, false, 32) as u32)),
    ("bfe.s32", lanes!(w3 | a, at, length | bfe(a.into(), at, length, true, 32) as u32)),
    ("bfi.b32", lanes!(w4 | a, b, at, length | bfi(a.into(), b.into(), at, length) as u32)),
    ("lop3.b32", lanes!(w4 | a, b, c, table | lop3(a, b, c, table as u8))),
    ("prmt.b32", lanes!(w3 | a, b, selector | prmt(a, b, selector, Permute::Index))),
    ("prmt.b32.f4e", lanes!(w3 | a, b, selector | prmt(a, b, selector, Permute::Forward4))),
    ("prmt.b32.b4e", lanes!(w3 | a, b, selector | prmt(a, b, selector, Permute::Backward4))),
    ("prmt.b32.rc8", lanes!(w3 | a, b, selector | prmt(a, b, selector, Permute::Replicate8))),
    ("prmt.b32.ecl", lanes!(w3 | a, b, selector | prmt(a, b, selector, Permute::ClampLeft))),
    ("prmt.b32.ecr", lanes!(w3 | a, b, selector | prmt(a, b, selector, Permute::ClampRight))),
    ("prmt.b32.rc16", lanes!(w3 | a, b, selector | prmt(a, b, selector, Permute::Replicate16))),
];
