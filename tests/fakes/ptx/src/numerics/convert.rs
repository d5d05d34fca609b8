//! `cvt` between scalar types, and to and from packed narrow floats: PTX ISA 8.8, 9.7.9.21.
//!
//! [`convert`] is exact arithmetic for every pair of types; the pairs that kernels live on have short ways through it.

use super::exact::{Format, Number, Rounding};
use super::half::{bf16_nearest, f16_nearest, f16_value};

/// A scalar type of `cvt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// `.u8` to `.u64` (unsigned) or `.s8` to `.s64`, by width in bits.
    Integer {
        /// Two's complement.
        signed: bool,
        /// 8, 16, 32 or 64.
        width: u32,
    },
    /// `.f16`, `.bf16`, `.f32`, `.f64` or `.tf32`
    Float(Format),
}

/// One form of `cvt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// Destination type.
    pub to: Scalar,
    /// Source type.
    pub from: Scalar,
    /// The rounding mode, of `.rn` … or of `.rni` …; without effect where the conversion is exact.
    pub rounding: Rounding,
    /// `.rni`, `.rzi`, `.rmi`, `.rpi`: to an integral value, also between floats.
    pub integral: bool,
    /// `.ftz`: flushes subnormal `f32` operands and results.
    pub flush: bool,
    /// `.sat`: clamps to the destination's range, for floats to [0, 1] with NaN as +0.
    pub saturate: bool,
    /// `.relu`
    pub relu: bool,
    /// `.satfinite`: overflow becomes the largest number.
    pub finite: bool,
}

impl Conversion {
    /// A conversion without modifiers.
    pub const fn new(to: Scalar, from: Scalar) -> Conversion {
        Conversion {
            to,
            from,
            rounding: Rounding::Nearest,
            integral: false,
            flush: false,
            saturate: false,
            relu: false,
            finite: false,
        }
    }
}

const F16: Scalar = Scalar::Float(Format::F16);
const BF16: Scalar = Scalar::Float(Format::BF16);
const F32: Scalar = Scalar::Float(Format::F32);

/// `cvt`. Only the source's width of `bits` is looked at. A signed result is extended to 64 bits, every other one padded with zeros: the destination register may be wider than its type.
#[inline]
pub fn convert(bits: u64, c: &Conversion) -> u64 {
    let plain = !(c.flush || c.saturate || c.relu || c.integral || c.finite);
    match (c.from, c.to) {
        (F16, F32) if plain => canonical_f32(f16_value(bits as u16)),
        (BF16, F32) if plain => canonical_f32(f32::from_bits((bits as u32) << 16)),
        (F32, F16) if plain && c.rounding == Rounding::Nearest => {
            f16_nearest(f32::from_bits(bits as u32)).into()
        }
        (F32, BF16) if plain && c.rounding == Rounding::Nearest => {
            bf16_nearest(f32::from_bits(bits as u32)).into()
        }
        (Scalar::Integer { signed, width }, Scalar::Integer { .. }) => {
            integer_to_integer(widen(bits, signed, width), c)
        }
        _ => general(bits, c),
    }
}

fn canonical_f32(value: f32) -> u64 {
    (if value.is_nan() { 0x7fff_ffff } else { value.to_bits() }).into()
}

/// An integer register's value.
#[inline]
fn widen(bits: u64, signed: bool, width: u32) -> i128 {
    let high = bits << (64 - width);
    if signed { i128::from(high as i64 >> (64 - width)) } else { i128::from(high >> (64 - width)) }
}

#[inline]
fn range(signed: bool, width: u32) -> (i128, i128) {
    if signed { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) }
}

#[inline]
fn integer_to_integer(value: i128, c: &Conversion) -> u64 {
    let Scalar::Integer { signed, width } = c.to else { return 0 };
    let (least, greatest) = range(signed, width);
    let kept = if c.saturate { value.clamp(least, greatest) } else { value };
    widen(kept as u64, signed, width) as u64
}

fn general(bits: u64, c: &Conversion) -> u64 {
    let source = match c.from {
        Scalar::Integer { signed, width } => Number::from_integer(widen(bits, signed, width)),
        Scalar::Float(format) => Number::decode(format, flush(raw(format, bits), format, c.flush)),
    };
    match c.to {
        Scalar::Integer { signed, width } => to_integer(source, signed, width, c),
        Scalar::Float(format) => to_float(source, format, c),
    }
}

/// The format's bits of a register: `.tf32` lies 13 places up.
fn raw(format: Format, bits: u64) -> u64 {
    if format == Format::TF32 { (bits & 0xffff_ffff) >> 13 } else { bits }
}

fn flush(bits: u64, format: Format, asked: bool) -> u64 {
    let magnitude = bits & 0x7fff_ffff;
    if asked && format == Format::F32 && magnitude < 0x0080_0000 {
        bits & 0x8000_0000
    } else {
        bits
    }
}

/// Out-of-range values are clamped. NaN gives 0, but 1 << (width − 1) from `.f64` or to 64 bits (PTX ISA, `cvt`, "integer notes").
fn to_integer(source: Number, signed: bool, width: u32, c: &Conversion) -> u64 {
    let (least, greatest) = range(signed, width);
    let clamped = |negative: bool| if negative { least } else { greatest };
    let value = match source {
        Number::Nan if c.from == Scalar::Float(Format::F64) || width == 64 => 1 << (width - 1),
        Number::Nan | Number::Zero(_) => 0,
        Number::Infinite(negative) => clamped(negative),
        Number::Finite(finite) if finite.exponent > 64 => clamped(finite.negative),
        Number::Finite(finite) => {
            let magnitude = finite.at_place(0, c.rounding) as i128;
            (if finite.negative { -magnitude } else { magnitude }).clamp(least, greatest)
        }
    };
    widen(value as u64, signed, width) as u64
}

fn to_float(source: Number, format: Format, c: &Conversion) -> u64 {
    let one = Number::from_integer(1);
    let source = if c.integral { source.round_to_integer(c.rounding) } else { source };
    let value = match source {
        Number::Nan if c.saturate => Number::Zero(false),
        Number::Nan => Number::Nan,
        _ if c.saturate && source.negative() => Number::Zero(false),
        Number::Infinite(_) if c.saturate => one,
        _ if c.relu && source.negative() => Number::Zero(false),
        _ => source,
    };
    let bits = value.encode(format, c.rounding);
    let bits = if c.saturate { bits.min(one.encode(format, c.rounding)) } else { bits };
    let bits = if c.finite && value != Number::Nan { bounded(bits, format) } else { bits };
    match format {
        // The canonical NaN of a tf32 register is that of an f32.
        Format::TF32 if value == Number::Nan => 0x7fff_ffff,
        Format::TF32 => bits << 13,
        _ => flush(bits, format, c.flush),
    }
}

/// Infinity replaced by the largest number.
fn bounded(bits: u64, format: Format) -> u64 {
    let sign = bits & 1 << (format.exponent + format.fraction);
    sign | (bits ^ sign).min(format.largest())
}

/// Two `f32` to `.f16x2` or `.bf16x2`: `a` to the upper half.
#[inline]
pub fn pack_pair(a: u32, b: u32, c: &Conversion) -> u32 {
    let one = |bits: u32| convert(bits.into(), c) as u32;
    one(a) << 16 | one(b)
}

/// A float to one of the narrow formats as `cvt.rn.satfinite{.relu}` does: infinities and overflow become the largest number, NaN the canonical one, which `.e2m1` has in +6.
#[inline]
pub fn narrow(value: f32, format: Format, relu: bool) -> u8 {
    let c = Conversion { relu, finite: true, ..Conversion::new(Scalar::Float(format), F32) };
    general(value.to_bits().into(), &c) as u8
}

/// `cvt.rn.satfinite{.relu}.e4m3x2.f32` and `.e5m2x2.f32`: `a` to the upper byte.
#[inline]
pub fn narrow_pair(a: u32, b: u32, format: Format, relu: bool) -> u16 {
    let one = |bits: u32| u16::from(narrow(f32::from_bits(bits), format, relu));
    one(a) << 8 | one(b)
}

/// `cvt.rn.satfinite{.relu}.e4m3x2.f16x2` and `.e5m2x2.f16x2`.
#[inline]
pub fn narrow_f16_pair(a: u32, format: Format, relu: bool) -> u16 {
    let one = |bits: u16| u16::from(narrow(f16_value(bits), format, relu));
    one((a >> 16) as u16) << 8 | one(a as u16)
}

/// `cvt.rn.satfinite{.relu}.e2m1x2.f32`: `a` to the upper four bits.
#[inline]
pub fn narrow_quads(a: u32, b: u32, relu: bool) -> u8 {
    let one = |bits: u32| narrow(f32::from_bits(bits), Format::E2M1, relu);
    one(a) << 4 | one(b)
}

/// `cvt.rn{.relu}.f16x2.e4m3x2` and `.e5m2x2`: exact; `format` is the source's. `.e2m1x2` comes as two bytes of four bits.
#[inline]
pub fn widen_pair(a: u16, format: Format, relu: bool) -> u32 {
    let c = Conversion { relu, ..Conversion::new(F16, Scalar::Float(format)) };
    let one = |bits: u16| general((bits & 0xff).into(), &c) as u32;
    one(a >> 8) << 16 | one(a)
}
