//! Number formats of multiplicands and accumulators, down to 4 bits: to make operands of cases and to read them exactly.
//!
//! The 8-bit formats are those of the OCP 8-bit floating point specification 1.0. A crate for them was rejected: it takes ten lines.

use half::{bf16, f16};

use crate::{nearest_bf16, nearest_f16};

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// binary32.
    F32,
    /// The first 19 bits of binary32, in 32.
    Tf32,
    /// binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// 4 bits of exponent, 3 of mantissa; one NaN, no infinity.
    E4m3,
    /// 5 bits of exponent, 2 of mantissa: the upper half of binary16.
    E5m2,
    /// Signed 32-bit integer.
    S32,
    /// Signed byte.
    S8,
    /// −8 to 7.
    S4,
}

/// Every bit but the sign: what a NaN is that an instruction made, and the NaN of the 8-bit formats.
const fn canonical(bits: u32) -> u32 {
    u32::MAX >> (33 - bits)
}

impl Number {
    /// Bits of one.
    pub(super) const fn bits(self) -> u32 {
        match self {
            Self::F32 | Self::Tf32 | Self::S32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::E4m3 | Self::E5m2 | Self::S8 => 8,
            Self::S4 => 4,
        }
    }

    /// Whether it is an integer.
    pub(super) const fn whole(self) -> bool {
        matches!(self, Self::S32 | Self::S8 | Self::S4)
    }

    /// The least number above zero.
    pub(super) fn least(self) -> f64 {
        if self.whole() { 1.0 } else { self.decode(if self == Self::Tf32 { 1 << 13 } else { 1 }) }
    }

    /// The code of a value, rounded to nearest even. Integers wrap; every NaN is the one that instructions make.
    pub(super) fn encode(self, value: f64) -> u32 {
        match self {
            Self::S32 | Self::S8 | Self::S4 => value as i64 as u32 & u32::MAX >> (32 - self.bits()),
            _ if value.is_nan() => canonical(self.bits()),
            Self::F32 => (value as f32).to_bits(),
            Self::Tf32 => ((value as f32).to_bits() + 0x1000) & !0x1fff,
            Self::F16 => nearest_f16(value).to_bits().into(),
            Self::Bf16 => nearest_bf16(value).to_bits().into(),
            Self::E4m3 | Self::E5m2 => self.eight_bits(value),
        }
    }

    /// An 8-bit code: counted in steps of the last place from zero on, as all codes of a sign are.
    fn eight_bits(self, value: f64) -> u32 {
        let (mantissa, least, last) =
            if self == Self::E4m3 { (3, -6, 0x7e) } else { (2, -14, 0x7c) };
        let size = value.abs();
        let exponent = (size.log2().floor() as i32).clamp(least, 16);
        let steps = (size * f64::from(mantissa - exponent).exp2()).round_ties_even() as u32;
        let code = steps.saturating_add(((exponent - least) << mantissa).unsigned_abs());
        code.min(last) | u32::from(value.is_sign_negative()) << 7
    }

    /// The value of a code.
    pub(super) fn decode(self, code: u32) -> f64 {
        match self {
            Self::F32 | Self::Tf32 => f32::from_bits(code).into(),
            Self::F16 => f16::from_bits(code as u16).into(),
            Self::Bf16 => bf16::from_bits(code as u16).into(),
            Self::E5m2 => f16::from_bits((code as u16) << 8).into(),
            Self::E4m3 if code & 0x7f == 0x7f => f64::NAN,
            Self::E4m3 => {
                // Exponent and mantissa are those of a binary16 number whose exponent is 8 too small.
                let half = (code & 0x80) << 8 | (code & 0x7f) << 7;
                f64::from(f16::from_bits(half as u16)) * 256.0
            }
            Self::S32 => (code as i32).into(),
            Self::S8 => (code as i8).into(),
            Self::S4 => ((code << 28) as i32 >> 28).into(),
        }
    }

    /// Numbers as they are stored: of two in a byte, the first in the lower half.
    pub(super) fn store(self, values: impl IntoIterator<Item = f64>) -> Vec<u8> {
        let codes = values.into_iter().map(|value| self.encode(value));
        if self == Self::S4 {
            let codes: Vec<u32> = codes.collect();
            let byte =
                |pair: &[u32]| pair.iter().rev().fold(0, |byte, code| byte << 4 | *code as u8);
            return codes.chunks(2).map(byte).collect();
        }
        let size = self.bits() as usize / 8;
        codes.flat_map(|code| code.to_le_bytes().into_iter().take(size)).collect()
    }

    /// What numbers really are once they are stored.
    pub(super) fn stored(self, value: f64) -> f64 {
        self.decode(self.encode(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OCP 8-bit floating point specification 1.0, table 2: greatest and least numbers of both formats.
    #[test]
    fn eight_bit_formats_are_those_of_the_specification() {
        for (number, code, value) in [
            (Number::E4m3, 0x7e, 448.0),
            (Number::E4m3, 0x08, 2_f64.powi(-6)),
            (Number::E4m3, 0x07, 0.875 * 2_f64.powi(-6)),
            (Number::E4m3, 0x01, 2_f64.powi(-9)),
            (Number::E4m3, 0xc0, -2.0),
            (Number::E5m2, 0x7b, 57_344.0),
            (Number::E5m2, 0x7c, f64::INFINITY),
            (Number::E5m2, 0x04, 2_f64.powi(-14)),
            (Number::E5m2, 0x01, 2_f64.powi(-16)),
        ] {
            assert_eq!(number.decode(code), value, "{number:?} {code:#x}");
            assert_eq!(number.encode(value), code, "{number:?} {value}");
        }
        assert!(Number::E4m3.decode(0x7f).is_nan() && Number::E4m3.decode(0xff).is_nan());
        assert_eq!(Number::E4m3.encode(f64::NAN), 0x7f);
    }

    #[test]
    fn every_code_survives() {
        for number in
            [Number::E4m3, Number::E5m2, Number::F16, Number::Bf16, Number::S8, Number::S4]
        {
            for code in 0..1_u32 << number.bits() {
                let value = number.decode(code);
                assert!(value.is_nan() || number.encode(value) == code, "{number:?} {code:#x}");
            }
        }
    }

    #[test]
    fn ties_go_to_the_even_code() {
        // 17 lies between 16 (0x58) and 18 (0x59), 19 between 18 and 20 (0x5a).
        assert_eq!([17.0, 19.0].map(|v| Number::E4m3.encode(v)), [0x58, 0x5a]);
    }

    #[test]
    fn two_integers_share_a_byte() {
        assert_eq!(Number::S4.store([-8.0, 7.0, -1.0, 3.0]), [0x78, 0x3f]);
        assert_eq!(Number::S8.store([-128.0, 2.0]), [0x80, 2]);
        assert_eq!(Number::F16.store([1.0]), [0, 0x3c]);
    }
}
