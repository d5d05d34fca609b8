//! The conversions that kernels live on: `cvt.<rounding>.<to>.<from>`. All others are [`crate::numerics::convert`] lane by lane.

use super::integer::{s16, s32};
use super::{Rows, lanes};
use crate::numerics::convert::{
    Conversion, Scalar, narrow_f16_pair, narrow_pair, narrow_quads, pack_pair, widen_pair,
};
use crate::numerics::exact::{Format, Rounding};
use crate::numerics::half::{bf16_nearest, bf16_value, f16_nearest, f16_value};

fn canonical(value: f32) -> u32 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits() }
}

fn float(bits: u32) -> f32 {
    f32::from_bits(bits)
}

pub(super) const ROWS: Rows = &[
    ("cvt.u64.u32 cvt.s64.u32", lanes!(widen1 u64::from)),
    ("cvt.u64.s32 cvt.s64.s32", lanes!(widen1 | x | i64::from(s32(x)) as u64)),
    ("cvt.u64.u16 cvt.s64.u16", lanes!(widen1 | x | u64::from(x & 0xffff))),
    ("cvt.u32.u64 cvt.s32.u64 cvt.u32.s64 cvt.s32.s64", lanes!(narrow1 | x | x as u32)),
    ("cvt.u16.u64 cvt.s16.u64 cvt.u16.s64 cvt.s16.s64", lanes!(narrow1 | x | x as u32 & 0xffff)),
    ("cvt.u32.u32 cvt.s32.s32 cvt.u32.s32 cvt.s32.u32", lanes!(w1 | x | x)),
    ("cvt.u32.u16 cvt.s32.u16", lanes!(w1 | x | x & 0xffff)),
    ("cvt.u32.u8 cvt.s32.u8 cvt.u16.u8 cvt.s16.u8", lanes!(w1 | x | x & 0xff)),
    ("cvt.u32.s16 cvt.s32.s16", lanes!(w1 | x | s16(x) as u32)),
    ("cvt.u16.u32 cvt.u16.s32", lanes!(w1 | x | x & 0xffff)),
    ("cvt.rn.f32.u32", lanes!(w1 | x | (x as f32).to_bits())),
    ("cvt.rn.f32.s32", lanes!(w1 | x | (s32(x) as f32).to_bits())),
    ("cvt.rn.f32.u16", lanes!(w1 | x | ((x & 0xffff) as f32).to_bits())),
    ("cvt.rn.f32.s16", lanes!(w1 | x | (s16(x) as f32).to_bits())),
    ("cvt.f64.f32", lanes!(widen1 | x | f64::from(float(x)).to_bits())),
    ("cvt.rn.f64.u32", lanes!(widen1 | x | f64::from(x).to_bits())),
    ("cvt.rn.f64.s32", lanes!(widen1 | x | f64::from(s32(x)).to_bits())),
    ("cvt.rn.f32.f64", lanes!(narrow1 | x | canonical(f64::from_bits(x) as f32))),
    ("cvt.rni.s32.f32", lanes!(w1 | x | float(x).round_ties_even() as i32 as u32)),
    ("cvt.rzi.s32.f32", lanes!(w1 | x | float(x) as i32 as u32)),
    ("cvt.rzi.u32.f32", lanes!(w1 | x | float(x) as u32)),
    ("cvt.f32.f16", lanes!(w1 | x | canonical(f16_value(x as u16)))),
    ("cvt.f32.bf16", lanes!(w1 | x | canonical(bf16_value(x as u16)))),
    ("cvt.rn.f16.f32", lanes!(w1 | x | f16_nearest(float(x)).into())),
    ("cvt.rn.bf16.f32", lanes!(w1 | x | bf16_nearest(float(x)).into())),
    (
        "cvt.rn.f16x2.f32",
        lanes!(
            w2 | x,
            y | u32::from(f16_nearest(float(x))) << 16 | u32::from(f16_nearest(float(y)))
        ),
    ),
    (
        "cvt.rn.bf16x2.f32",
        lanes!(
            w2 | x,
            y | u32::from(bf16_nearest(float(x))) << 16 | u32::from(bf16_nearest(float(y)))
        ),
    ),
];

const F32: Scalar = Scalar::Float(Format::F32);
const TO_F16: Conversion = Conversion::new(Scalar::Float(Format::F16), F32);
const TO_BF16: Conversion = Conversion::new(Scalar::Float(Format::BF16), F32);
const DOWN_F16: Conversion = Conversion { rounding: Rounding::Zero, ..TO_F16 };
const DOWN_BF16: Conversion = Conversion { rounding: Rounding::Zero, ..TO_BF16 };
const RELU_F16: Conversion = Conversion { relu: true, ..TO_F16 };
const RELU_BF16: Conversion = Conversion { relu: true, ..TO_BF16 };

/// Pairs, and formats that only come in pairs.
pub(super) const PAIRS: Rows = &[
    ("cvt.rz.f16x2.f32", lanes!(w2 | x, y | pack_pair(x, y, &DOWN_F16))),
    ("cvt.rz.bf16x2.f32", lanes!(w2 | x, y | pack_pair(x, y, &DOWN_BF16))),
    ("cvt.rn.relu.f16x2.f32", lanes!(w2 | x, y | pack_pair(x, y, &RELU_F16))),
    ("cvt.rn.relu.bf16x2.f32", lanes!(w2 | x, y | pack_pair(x, y, &RELU_BF16))),
    (
        "cvt.rn.satfinite.e4m3x2.f32",
        lanes!(w2 | x, y | narrow_pair(x, y, Format::E4M3, false).into()),
    ),
    (
        "cvt.rn.satfinite.e5m2x2.f32",
        lanes!(w2 | x, y | narrow_pair(x, y, Format::E5M2, false).into()),
    ),
    (
        "cvt.rn.satfinite.relu.e4m3x2.f32",
        lanes!(w2 | x, y | narrow_pair(x, y, Format::E4M3, true).into()),
    ),
    (
        "cvt.rn.satfinite.relu.e5m2x2.f32",
        lanes!(w2 | x, y | narrow_pair(x, y, Format::E5M2, true).into()),
    ),
    ("cvt.rn.satfinite.e2m1x2.f32", lanes!(w2 | x, y | narrow_quads(x, y, false).into())),
    (
        "cvt.rn.satfinite.e4m3x2.f16x2",
        lanes!(w1 | x | narrow_f16_pair(x, Format::E4M3, false).into()),
    ),
    (
        "cvt.rn.satfinite.e5m2x2.f16x2",
        lanes!(w1 | x | narrow_f16_pair(x, Format::E5M2, false).into()),
    ),
    ("cvt.rn.f16x2.e4m3x2", lanes!(w1 | x | widen_pair(x as u16, Format::E4M3, false))),
    ("cvt.rn.f16x2.e5m2x2", lanes!(w1 | x | widen_pair(x as u16, Format::E5M2, false))),
];
