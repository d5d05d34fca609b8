//! `cvt` between integers and the wider floats, against the host's casts and plain integer arithmetic (PTX ISA 8.8, 9.7.9.21).

use ::half::{bf16, f16};
use proptest::prelude::*;
use warpscope_kernels::{nearest_bf16, nearest_f16};

use super::super::convert::*;
use super::super::exact::{Format, Rounding};
use super::{INFINITY, MODES, NAN, ONE, SIGN, canonical, edges};

const fn integer(signed: bool, width: u32) -> Scalar {
    Scalar::Integer { signed, width }
}

const INTEGERS: [(bool, u32); 8] = [
    (false, 8),
    (true, 8),
    (false, 16),
    (true, 16),
    (false, 32),
    (true, 32),
    (false, 64),
    (true, 64),
];

const F16: Scalar = Scalar::Float(Format::F16);
const BF16: Scalar = Scalar::Float(Format::BF16);
const TF32: Scalar = Scalar::Float(Format::TF32);
const F32: Scalar = Scalar::Float(Format::F32);
const F64: Scalar = Scalar::Float(Format::F64);

fn rounded(to: Scalar, from: Scalar, rounding: Rounding) -> Conversion {
    Conversion { rounding, ..Conversion::new(to, from) }
}

fn limits(signed: bool, width: u32) -> (i128, i128) {
    if signed { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) }
}

/// A register's value as its type reads it.
fn read(bits: u64, signed: bool, width: u32) -> i128 {
    let low = i128::from(bits) & ((1 << width) - 1);
    if signed && low >> (width - 1) == 1 { low - (1 << width) } else { low }
}

fn to_integral(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::NearestAway => value.round(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
    }
}

/// Every integer type in every mode: rounded, then clamped; the result extended as its type says.
fn integers_of(bits: u64, from: Scalar, value: f64) {
    for (signed, width) in INTEGERS {
        let (least, greatest) = limits(signed, width);
        for rounding in MODES {
            // A cast of the host saturates, and 128 bits hold every clamped value.
            let expected = (to_integral(value, rounding) as i128).clamp(least, greatest) as u64;
            let got = convert(bits, &rounded(integer(signed, width), from, rounding));
            assert_eq!(got, expected, "{value:e} to {width} bits, signed {signed}, {rounding:?}");
        }
    }
}

#[test]
fn edges_of_every_integer_type_are_clamped() {
    for exponent in [0, 7, 8, 15, 16, 31, 32, 63, 64, 65, 100, 126] {
        for offset in [-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5] {
            for sign in [1.0, -1.0] {
                let value = sign * (2f64.powi(exponent) + offset);
                integers_of(value.to_bits(), F64, value);
                let single = value as f32;
                integers_of(single.to_bits().into(), F32, single.into());
            }
        }
    }
    for bits in edges().filter(|&bits| !f32::from_bits(bits).is_nan()) {
        integers_of(bits.into(), F32, f32::from_bits(bits).into());
    }
}

#[test]
fn every_f16_becomes_every_integer() {
    for bits in (0..=u16::MAX).filter(|&bits| !f16::from_bits(bits).is_nan()) {
        integers_of(bits.into(), F16, f16::from_bits(bits).to_f64());
    }
}

/// PTX ISA, `cvt`: "Zero if source is not .f64 and destination is not .s64, .u64; otherwise 1 << (BitWidth(dst) − 1)".
#[test]
fn nan_becomes_zero_or_the_top_bit() {
    for (from, bits) in [(F16, 0x7e00), (BF16, 0xffc0), (F32, 0x7fc0_0000), (F32, 0xffff_ffff)] {
        for (signed, width) in INTEGERS {
            let expected = if width == 64 { 1 << 63 } else { 0 };
            assert_eq!(convert(bits, &Conversion::new(integer(signed, width), from)), expected);
        }
    }
    for (signed, width) in INTEGERS {
        let top = limits(true, width).0 as u64;
        let expected = if signed { top } else { 1 << (width - 1) };
        let got = convert(f64::NAN.to_bits(), &Conversion::new(integer(signed, width), F64));
        assert_eq!(got, expected, "{width} bits, signed {signed}");
    }
}

/// The float below or above the nearest, where the nearest lies on the wrong side of `value`.
fn directed(value: i128, near: f32, rounding: Rounding) -> f32 {
    let (below, above) = ((near as i128) < value, (near as i128) > value);
    match rounding {
        Rounding::Down if above => near.next_down(),
        Rounding::Up if below => near.next_up(),
        Rounding::Zero if above && value > 0 => near.next_down(),
        Rounding::Zero if below && value < 0 => near.next_up(),
        _ => near,
    }
}

fn floats_of(bits: u64) {
    for (signed, width) in INTEGERS {
        let value = read(bits, signed, width);
        let from = integer(signed, width);
        for rounding in MODES {
            let expected = directed(value, value as f32, rounding);
            let got = convert(bits, &rounded(F32, from, rounding)) as u32;
            assert_eq!(got, expected.to_bits(), "{value} to f32, {rounding:?}");
        }
        let got = convert(bits, &Conversion::new(F64, from));
        assert_eq!(got, (value as f64).to_bits(), "{value} to f64");
        let got = convert(bits, &Conversion::new(F16, from));
        let near = if value.abs() < 65520 { nearest_f16(value as f64) } else { f16::INFINITY };
        let near = if value < 0 && near.is_infinite() { f16::NEG_INFINITY } else { near };
        assert_eq!(got, near.to_bits().into(), "{value} to f16");
    }
}

#[test]
fn integers_round_once_to_floats() {
    let edges = [0, 1, 127, 128, 255, 2049, 65519, 65520, 0x0100_0001, 0x0180_0003, 0x7fff_ffff];
    let wide = [0xffff_ff7f, 0xffff_ff80, u64::MAX, 1 << 63, (1 << 63) - 1, (1 << 53) + 1];
    for bits in edges.into_iter().chain(wide) {
        floats_of(bits);
        floats_of(bits.wrapping_neg());
    }
}

/// `cvt.rni` and its kin between floats keep the sign of a zero.
#[test]
fn integral_floats_are_those_of_the_host() {
    let halves = (-9..10).map(|half| (half as f32 / 2.0).to_bits());
    for bits in edges().chain(halves) {
        for rounding in MODES {
            let c = Conversion { integral: true, ..rounded(F32, F32, rounding) };
            let value = to_integral(f32::from_bits(bits).into(), rounding) as f32;
            assert_eq!(convert(bits.into(), &c) as u32, canonical(value), "{bits:08x}");
        }
    }
    let clamped =
        Conversion { integral: true, saturate: true, ..rounded(F32, F32, Rounding::Nearest) };
    for (value, expected) in [(0.5, 0.0), (0.75, 1.0), (2.5, 1.0), (-3.0, 0.0), (f32::NAN, 0.0)] {
        assert_eq!(convert(value.to_bits().into(), &clamped) as u32, f32::to_bits(expected));
    }
}

#[test]
fn every_16_bit_float_widens_exactly() {
    for bits in 0..=u16::MAX {
        let word = u64::from(bits);
        let (half, brain) = (f16::from_bits(bits), bf16::from_bits(bits));
        let wide = |from, to| convert(word, &Conversion::new(to, from));
        assert_eq!(wide(F16, F32) as u32, canonical(half.to_f32()), "{bits:04x}");
        assert_eq!(wide(BF16, F32) as u32, canonical(brain.to_f32()), "{bits:04x}");
        if !half.is_nan() {
            assert_eq!(wide(F16, F64), half.to_f64().to_bits(), "{bits:04x}");
            let back = Conversion::new(F16, F32);
            assert_eq!(convert(half.to_f32().to_bits().into(), &back), word);
        }
    }
}

#[test]
fn saturation_relu_and_flushing_of_floats() {
    let narrow = |bits: u32, c: Conversion| convert(bits.into(), &c);
    let plain = Conversion::new(F16, F32);
    let (relu, saturate, finite) = (
        Conversion { relu: true, ..plain },
        Conversion { saturate: true, ..plain },
        Conversion { finite: true, ..plain },
    );
    for (bits, plainly, positive, clamped, bounded) in [
        (0x477f_efff, 0x7bff, 0x7bff, 0x3c00, 0x7bff),
        (0x477f_f000, 0x7c00, 0x7c00, 0x3c00, 0x7bff),
        (0xc77f_f000, 0xfc00, 0, 0, 0xfbff),
        (INFINITY | SIGN, 0xfc00, 0, 0, 0xfbff),
        (0xffc0_0001, 0x7fff, 0x7fff, 0, 0x7fff),
        (ONE | SIGN, 0xbc00, 0, 0, 0xbc00),
        (0x3f00_0000, 0x3800, 0x3800, 0x3800, 0x3800),
    ] {
        let got = [plain, relu, saturate, finite].map(|c| narrow(bits, c));
        assert_eq!(got, [plainly, positive, clamped, bounded], "{bits:08x}");
    }
    let flush = Conversion { flush: true, ..Conversion::new(F64, F32) };
    assert_eq!(narrow(0x807f_ffff, flush), 1 << 63);
    let to_f32 = Conversion { flush: true, ..Conversion::new(F32, F64) };
    assert_eq!(convert((-2f64.powi(-130)).to_bits(), &to_f32), u64::from(SIGN));
    let up = Conversion { flush: true, ..rounded(integer(true, 32), F32, Rounding::Up) };
    assert_eq!((narrow(1, up), narrow(1, Conversion { flush: false, ..up })), (0, 1));
}

/// In integers: half of the last kept place is added, or what `.rn` adds, and the rest cut off.
fn tf32_of(bits: u32, rounding: Rounding) -> u32 {
    if f32::from_bits(bits).is_nan() {
        return NAN;
    }
    let added = match rounding {
        Rounding::Nearest => 0xfff + (bits >> 13 & 1),
        Rounding::NearestAway => 0x1000,
        _ => 0,
    };
    (if bits & INFINITY == INFINITY { bits } else { bits + added }) & !0x1fff
}

const TF32_MODES: [Rounding; 3] = [Rounding::NearestAway, Rounding::Nearest, Rounding::Zero];

#[test]
fn ties_of_every_tf32_go_away_from_zero_only_for_rna() {
    for upper in 0..=u16::MAX {
        for lower in [0, 0xfff, 0x1000, 0x1001, 0x2fff, 0x3000, 0x3001, 0xffff] {
            let bits = u32::from(upper) << 16 | lower;
            for rounding in TF32_MODES {
                let got = convert(bits.into(), &rounded(TF32, F32, rounding)) as u32;
                assert_eq!(got, tf32_of(bits, rounding), "{bits:08x} {rounding:?}");
            }
        }
    }
}

#[test]
fn the_first_operand_of_a_pair_is_its_upper_half() {
    let (two, half) = (0x4000_0000, 0x3f00_0000);
    assert_eq!(pack_pair(two, half, &Conversion::new(F16, F32)), 0x4000_3800);
    assert_eq!(pack_pair(two, half, &Conversion::new(BF16, F32)), 0x4000_3f00);
    let relu = Conversion { relu: true, ..Conversion::new(BF16, F32) };
    assert_eq!(pack_pair(ONE | SIGN, ONE, &relu), 0x0000_3f80);
    let towards_zero = rounded(F16, F32, Rounding::Zero);
    assert_eq!(pack_pair(0x7f00_0000, 0x3f80_1fff, &towards_zero), 0x7bff_3c00);
}

proptest! {
    #[test]
    fn any_float_becomes_every_integer(bits: u32, exponent in -3..70i32, fraction: u64) {
        let single = f32::from_bits(bits);
        prop_assume!(!single.is_nan());
        integers_of(bits.into(), F32, single.into());
        let value = (fraction as f64 / 2f64.powi(63) - 1.0) * 2f64.powi(exponent);
        integers_of(value.to_bits(), F64, value);
    }

    #[test]
    fn any_integer_becomes_every_float(bits: u64, shift in 0..64u32) {
        floats_of(bits >> shift);
    }

    #[test]
    fn any_integer_becomes_every_integer(bits: u64, from in 0..8usize, to in 0..8usize, saturate: bool) {
        let ((from_signed, from_width), (signed, width)) = (INTEGERS[from], INTEGERS[to]);
        let c = Conversion { saturate, ..Conversion::new(integer(signed, width), integer(from_signed, from_width)) };
        let value = read(bits, from_signed, from_width);
        let (least, greatest) = limits(signed, width);
        let kept = if saturate { value.clamp(least, greatest) } else { read(value as u64, signed, width) };
        prop_assert_eq!(convert(bits, &c), kept as u64);
    }

    #[test]
    fn any_f64_narrows_to_its_neighbours(bits: u64, exponent in 0x360..0x490u64) {
        let value = f64::from_bits(bits & !(0x7ff << 52) | exponent << 52);
        let near = value as f32;
        let (below, above) = (f64::from(near) < value, f64::from(near) > value);
        let down = if above { near.next_down() } else { near };
        let up = if below { near.next_up() } else { near };
        let zero = if value > 0.0 { down } else { up };
        let got = MODES.map(|mode| convert(value.to_bits(), &rounded(F32, F64, mode)) as u32);
        prop_assert_eq!(got, [near, zero, down, up].map(f32::to_bits));
        let short = |to| convert(value.to_bits(), &Conversion::new(to, F64)) as u16;
        prop_assert_eq!(short(F16), nearest_f16(value).to_bits());
        prop_assert_eq!(short(BF16), nearest_bf16(value).to_bits());
    }

    /// Cutting bits off is what `.rz` means.
    #[test]
    fn any_f32_towards_zero_is_cut(bits: u32) {
        let value = f32::from_bits(bits);
        prop_assume!(!value.is_nan());
        let got = convert(bits.into(), &rounded(BF16, F32, Rounding::Zero)) as u32;
        prop_assert_eq!(got, bits >> 16);
        let half = f16::from_bits(convert(bits.into(), &rounded(F16, F32, Rounding::Zero)) as u16);
        let size = value.abs();
        prop_assert!(half.to_f32().abs() <= size);
        let above = f16::from_bits((half.to_bits() & 0x7fff) + 1);
        prop_assert!(value.is_infinite() || above.to_f32() > size);
        prop_assert_eq!(half.is_sign_negative(), value.is_sign_negative());
    }

    #[test]
    fn any_tf32_is_its_nearest(bits: u32) {
        for rounding in TF32_MODES {
            prop_assert_eq!(convert(bits.into(), &rounded(TF32, F32, rounding)) as u32, tf32_of(bits, rounding));
        }
    }
}
