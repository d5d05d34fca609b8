//! Conversions: `cvt.<rounding>.<to>.<from>`. Integers saturate coming from floating point, and wrap coming from integers.

use super::float::{Toward, narrow};
use super::integer::{s16, s32};
use super::{Rows, lanes};

fn f(x: u32) -> f32 {
    f32::from_bits(x)
}

fn b(x: f32) -> u32 {
    if x.is_nan() { 0x7fff_ffff } else { x.to_bits() }
}

fn d(x: u64) -> f64 {
    f64::from_bits(x)
}

fn s8(x: u32) -> i32 {
    i32::from(x as u8 as i8)
}

pub(super) const ROWS: Rows = &[
    ("cvt.u64.u32 cvt.s64.u32", lanes!(widen1 u64::from)),
    ("cvt.u64.u16 cvt.s64.u16", lanes!(widen1 |x| u64::from(x & 0xffff))),
    ("cvt.u64.u8 cvt.s64.u8", lanes!(widen1 |x| u64::from(x & 0xff))),
    ("cvt.u64.s32 cvt.s64.s32", lanes!(widen1 |x| i64::from(s32(x)) as u64)),
    ("cvt.u64.s16 cvt.s64.s16", lanes!(widen1 |x| i64::from(s16(x)) as u64)),
    ("cvt.u64.s8 cvt.s64.s8", lanes!(widen1 |x| i64::from(s8(x)) as u64)),
    ("cvt.u32.u64 cvt.s32.u64 cvt.u32.s64 cvt.s32.s64", lanes!(narrow1 |x| x as u32)),
    ("cvt.u16.u64 cvt.s16.u64 cvt.u16.s64 cvt.s16.s64", lanes!(narrow1 |x| x as u32 & 0xffff)),
    ("cvt.u8.u64 cvt.u8.s64", lanes!(narrow1 |x| x as u32 & 0xff)),
    ("cvt.s8.u64 cvt.s8.s64", lanes!(narrow1 |x| s8(x as u32) as u32 & 0xffff)),
    ("cvt.u32.u32 cvt.s32.s32 cvt.u32.s32 cvt.s32.u32", lanes!(w1 |x| x)),
    ("cvt.u32.u16 cvt.s32.u16", lanes!(w1 |x| x & 0xffff)),
    ("cvt.u32.u8 cvt.s32.u8 cvt.u16.u8 cvt.s16.u8", lanes!(w1 |x| x & 0xff)),
    ("cvt.u32.s16 cvt.s32.s16", lanes!(w1 |x| s16(x) as u32)),
    ("cvt.u32.s8 cvt.s32.s8", lanes!(w1 |x| s8(x) as u32)),
    ("cvt.u16.s8 cvt.s16.s8", lanes!(w1 |x| s8(x) as u32 & 0xffff)),
    ("cvt.u16.u32 cvt.s16.u32 cvt.u16.s32 cvt.s16.s32", lanes!(w1 |x| x & 0xffff)),
    ("cvt.u16.u16 cvt.s16.s16 cvt.u16.s16 cvt.s16.u16", lanes!(w1 |x| x & 0xffff)),
    ("cvt.u8.u32 cvt.u8.s32 cvt.u8.u16 cvt.u8.s16 cvt.u8.u8 cvt.u8.s8", lanes!(w1 |x| x & 0xff)),
    ("cvt.s8.u32 cvt.s8.s32 cvt.s8.u16 cvt.s8.s16 cvt.s8.u8 cvt.s8.s8", lanes!(w1 |x| s8(x) as u32 & 0xffff)),
    ("cvt.sat.s8.s32", lanes!(w1 |x| s32(x).clamp(-128, 127) as u32 & 0xffff)),
    ("cvt.sat.u8.s32", lanes!(w1 |x| s32(x).clamp(0, 255) as u32)),
    ("cvt.sat.u8.u32", lanes!(w1 |x| x.min(255))),
    ("cvt.sat.s8.s16", lanes!(w1 |x| s16(x).clamp(-128, 127) as u32 & 0xffff)),
    ("cvt.sat.u8.s16", lanes!(w1 |x| s16(x).clamp(0, 255) as u32)),
    ("cvt.sat.s16.s32", lanes!(w1 |x| s32(x).clamp(-32768, 32767) as u32 & 0xffff)),
    ("cvt.sat.u16.s32", lanes!(w1 |x| s32(x).clamp(0, 65535) as u32)),
    ("cvt.sat.u16.u32", lanes!(w1 |x| x.min(65535))),
    ("cvt.sat.u32.s32", lanes!(w1 |x| s32(x).max(0) as u32)),
    ("cvt.sat.s32.u32", lanes!(w1 |x| x.min(0x7fff_ffff))),
    ("cvt.sat.s32.s64", lanes!(narrow1 |x| (x as i64).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32)),
    ("cvt.sat.u32.u64", lanes!(narrow1 |x| x.min(u64::from(u32::MAX)) as u32)),
];

pub(super) const FLOATS: Rows = &[
    ("cvt.rn.f32.u32", lanes!(w1 |x| (x as f32).to_bits())),
    ("cvt.rn.f32.s32", lanes!(w1 |x| (s32(x) as f32).to_bits())),
    ("cvt.rz.f32.u32", lanes!(w1 |x| narrow(f64::from(x), Toward::Zero).to_bits())),
    ("cvt.rz.f32.s32", lanes!(w1 |x| narrow(f64::from(s32(x)), Toward::Zero).to_bits())),
    ("cvt.rp.f32.u32", lanes!(w1 |x| narrow(f64::from(x), Toward::Up).to_bits())),
    ("cvt.rp.f32.s32", lanes!(w1 |x| narrow(f64::from(s32(x)), Toward::Up).to_bits())),
    ("cvt.rm.f32.u32", lanes!(w1 |x| narrow(f64::from(x), Toward::Down).to_bits())),
    ("cvt.rm.f32.s32", lanes!(w1 |x| narrow(f64::from(s32(x)), Toward::Down).to_bits())),
    ("cvt.rn.f32.u16", lanes!(w1 |x| ((x & 0xffff) as f32).to_bits())),
    ("cvt.rn.f32.s16", lanes!(w1 |x| (s16(x) as f32).to_bits())),
    ("cvt.rn.f32.u8", lanes!(w1 |x| ((x & 0xff) as f32).to_bits())),
    ("cvt.rn.f32.s8", lanes!(w1 |x| (s8(x) as f32).to_bits())),
    ("cvt.rn.f32.u64", lanes!(narrow1 |x| (x as f32).to_bits())),
    ("cvt.rn.f32.s64", lanes!(narrow1 |x| (x as i64 as f32).to_bits())),
    ("cvt.rn.f64.u32", lanes!(widen1 |x| f64::from(x).to_bits())),
    ("cvt.rn.f64.s32", lanes!(widen1 |x| f64::from(s32(x)).to_bits())),
    ("cvt.rn.f64.u16", lanes!(widen1 |x| f64::from(x & 0xffff).to_bits())),
    ("cvt.rn.f64.s16", lanes!(widen1 |x| f64::from(s16(x)).to_bits())),
    ("cvt.rn.f64.u64", lanes!(l1 |x| (x as f64).to_bits())),
    ("cvt.rn.f64.s64", lanes!(l1 |x| (x as i64 as f64).to_bits())),
    ("cvt.f64.f32", lanes!(widen1 |x| f64::from(f(x)).to_bits())),
    ("cvt.rn.f32.f64", lanes!(narrow1 |x| b(d(x) as f32))),
    ("cvt.rz.f32.f64", lanes!(narrow1 |x| b(narrow(d(x), Toward::Zero)))),
    ("cvt.rm.f32.f64", lanes!(narrow1 |x| b(narrow(d(x), Toward::Down)))),
    ("cvt.rp.f32.f64", lanes!(narrow1 |x| b(narrow(d(x), Toward::Up)))),
    ("cvt.f32.f32", lanes!(w1 |x| x)),
    ("cvt.rni.f32.f32", lanes!(w1 |x| b(f(x).round_ties_even()))),
    ("cvt.rzi.f32.f32", lanes!(w1 |x| b(f(x).trunc()))),
    ("cvt.rmi.f32.f32", lanes!(w1 |x| b(f(x).floor()))),
    ("cvt.rpi.f32.f32", lanes!(w1 |x| b(f(x).ceil()))),
    ("cvt.rni.f64.f64", lanes!(l1 |x| d(x).round_ties_even().to_bits())),
    ("cvt.rzi.f64.f64", lanes!(l1 |x| d(x).trunc().to_bits())),
    ("cvt.rmi.f64.f64", lanes!(l1 |x| d(x).floor().to_bits())),
    ("cvt.rpi.f64.f64", lanes!(l1 |x| d(x).ceil().to_bits())),
    ("cvt.rni.s32.f32", lanes!(w1 |x| f(x).round_ties_even() as i32 as u32)),
    ("cvt.rzi.s32.f32", lanes!(w1 |x| f(x) as i32 as u32)),
    ("cvt.rmi.s32.f32", lanes!(w1 |x| f(x).floor() as i32 as u32)),
    ("cvt.rpi.s32.f32", lanes!(w1 |x| f(x).ceil() as i32 as u32)),
    ("cvt.rni.u32.f32", lanes!(w1 |x| f(x).round_ties_even() as u32)),
    ("cvt.rzi.u32.f32", lanes!(w1 |x| f(x) as u32)),
    ("cvt.rmi.u32.f32", lanes!(w1 |x| f(x).floor() as u32)),
    ("cvt.rpi.u32.f32", lanes!(w1 |x| f(x).ceil() as u32)),
    ("cvt.rni.s8.f32", lanes!(w1 |x| f(x).round_ties_even() as i8 as u16 as u32)),
    ("cvt.rzi.s8.f32", lanes!(w1 |x| f(x) as i8 as u16 as u32)),
    ("cvt.rni.u8.f32", lanes!(w1 |x| f(x).round_ties_even() as u8 as u32)),
    ("cvt.rzi.u8.f32", lanes!(w1 |x| f(x) as u8 as u32)),
    ("cvt.rni.s16.f32", lanes!(w1 |x| f(x).round_ties_even() as i16 as u16 as u32)),
    ("cvt.rzi.s16.f32", lanes!(w1 |x| f(x) as i16 as u16 as u32)),
    ("cvt.rni.u16.f32", lanes!(w1 |x| f(x).round_ties_even() as u16 as u32)),
    ("cvt.rzi.u16.f32", lanes!(w1 |x| f(x) as u16 as u32)),
    ("cvt.rni.s64.f32", lanes!(widen1 |x| f(x).round_ties_even() as i64 as u64)),
    ("cvt.rzi.s64.f32", lanes!(widen1 |x| f(x) as i64 as u64)),
    ("cvt.rmi.s64.f32", lanes!(widen1 |x| f(x).floor() as i64 as u64)),
    ("cvt.rni.u64.f32", lanes!(widen1 |x| f(x).round_ties_even() as u64)),
    ("cvt.rzi.u64.f32", lanes!(widen1 |x| f(x) as u64)),
    ("cvt.rni.s32.f64", lanes!(narrow1 |x| d(x).round_ties_even() as i32 as u32)),
    ("cvt.rzi.s32.f64", lanes!(narrow1 |x| d(x) as i32 as u32)),
    ("cvt.rmi.s32.f64", lanes!(narrow1 |x| d(x).floor() as i32 as u32)),
    ("cvt.rpi.s32.f64", lanes!(narrow1 |x| d(x).ceil() as i32 as u32)),
    ("cvt.rni.u32.f64", lanes!(narrow1 |x| d(x).round_ties_even() as u32)),
    ("cvt.rzi.u32.f64", lanes!(narrow1 |x| d(x) as u32)),
    ("cvt.rni.s64.f64", lanes!(l1 |x| d(x).round_ties_even() as i64 as u64)),
    ("cvt.rzi.s64.f64", lanes!(l1 |x| d(x) as i64 as u64)),
    ("cvt.rni.u64.f64", lanes!(l1 |x| d(x).round_ties_even() as u64)),
    ("cvt.rzi.u64.f64", lanes!(l1 |x| d(x) as u64)),
];
