//! 8- and 4-bit floats against the tables of their specifications: OCP 8-bit floating point 1.0, table 1; OCP microscaling formats 1.0, table 5.

use ::half::f16;
use proptest::prelude::*;
use warpscope_kernels::nearest_f16;

use super::super::convert::*;
use super::super::exact::Format;
use super::{INFINITY, NAN, ONE, SIGN};

/// A narrow format by its specification.
struct Table {
    format: Format,
    /// Bits of the exponent, of the fraction, and the bias.
    shape: (u32, u32, i32),
    /// The code of the largest number and its value.
    largest: (u8, f64),
    /// The code NaN is converted to; `.e2m1` has none and takes its largest number.
    nan: u8,
}

const TABLES: [Table; 3] = [
    Table { format: Format::E4M3, shape: (4, 3, 7), largest: (0x7e, 448.0), nan: 0x7f },
    Table { format: Format::E5M2, shape: (5, 2, 15), largest: (0x7b, 57344.0), nan: 0x7f },
    Table { format: Format::E2M1, shape: (2, 1, 1), largest: (0x7, 6.0), nan: 0x7 },
];

impl Table {
    fn sign(&self) -> u8 {
        1 << (self.shape.0 + self.shape.1)
    }

    /// (−1)^s × 2^(e − bias) × 1.f, or × 0.f for e = 0.
    fn value(&self, code: u8) -> f64 {
        let (exponent, fraction, bias) = self.shape;
        let field = i32::from(code >> fraction) & ((1 << exponent) - 1);
        let rest = f64::from(code & ((1 << fraction) - 1)) / f64::from(1 << fraction);
        let lead = if field == 0 { 0.0 } else { 1.0 };
        let magnitude = (lead + rest) * 2f64.powi(field.max(1) - bias);
        if code & self.sign() == 0 { magnitude } else { -magnitude }
    }

    /// Every distance compared; of two the even code; beyond the largest the largest.
    fn nearest(&self, value: f64) -> u8 {
        if value.is_nan() {
            return self.nan;
        }
        let bounded = value.abs().min(self.largest.1);
        let distance = |code: u8| (self.value(code) - bounded).abs();
        let magnitude = (0..=self.largest.0)
            .min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))))
            .expect("a format has codes");
        magnitude | if value.is_sign_negative() { self.sign() } else { 0 }
    }
}

/// The specifications' own numbers, so that the formula above is not on its own.
#[test]
fn the_tables_have_the_published_numbers() {
    let [e4m3, e5m2, e2m1] = &TABLES;
    for (table, code, value) in [
        (e4m3, 0x7e, 448.0),
        (e4m3, 0x08, 2f64.powi(-6)),
        (e4m3, 0x07, 0.875 * 2f64.powi(-6)),
        (e4m3, 0x01, 2f64.powi(-9)),
        (e5m2, 0x7b, 57344.0),
        (e5m2, 0x04, 2f64.powi(-14)),
        (e5m2, 0x03, 0.75 * 2f64.powi(-14)),
        (e5m2, 0x01, 2f64.powi(-16)),
    ] {
        assert_eq!(table.value(code), value, "{:?} {code:02x}", table.format);
        assert_eq!(table.value(code | 0x80), -value);
    }
    let fours: Vec<f64> = (0..8).map(|code| e2m1.value(code)).collect();
    assert_eq!(fours, [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]);
    for table in &TABLES {
        assert_eq!(table.value(table.largest.0), table.largest.1);
        assert_eq!(table.format.largest(), table.largest.0.into());
    }
}

/// What an 8-bit code stands for, infinities and NaN of the two formats included.
fn meaning(table: &Table, code: u8) -> f64 {
    match (table.format == Format::E5M2, code & 0x7f) {
        (false, 0x7f) | (true, 0x7d..) => f64::NAN,
        (true, 0x7c) => f64::INFINITY.copysign(table.value(code)),
        _ => table.value(code),
    }
}

#[test]
fn every_code_widens_to_its_value_and_comes_back() {
    for table in &TABLES[..2] {
        for code in 0..=u8::MAX {
            let value = meaning(table, code);
            let pair = u16::from(code) << 8 | 0x38;
            let wide = widen_pair(pair, table.format, false);
            let upper = (wide >> 16) as u16;
            let expected = if value.is_nan() { 0x7fff } else { nearest_f16(value).to_bits() };
            assert_eq!(upper, expected, "{:?} {code:02x}", table.format);
            assert_eq!(f16::from_bits(wide as u16).to_f64(), table.value(0x38), "the lower half");
            let positive = if value < 0.0 || code == 0x80 { 0 } else { expected };
            let relu = widen_pair(pair, table.format, true) >> 16;
            assert_eq!(relu, positive.into(), "relu {:?} {code:02x}", table.format);
            if value.is_finite() {
                assert_eq!(narrow(value as f32, table.format, false), code);
                assert_eq!(narrow_f16_pair(wide, table.format, false), pair);
            }
        }
    }
}

#[test]
fn every_four_bit_code_widens_to_its_value_and_comes_back() {
    let table = &TABLES[2];
    for (a, b) in (0..16u8).flat_map(|a| (0..16u8).map(move |b| (a, b))) {
        let wide = widen_pair(u16::from(a) << 8 | u16::from(b), Format::E2M1, false);
        let (upper, lower) = (f16::from_bits((wide >> 16) as u16), f16::from_bits(wide as u16));
        assert_eq!((upper.to_f64(), lower.to_f64()), (table.value(a), table.value(b)));
        let [x, y] = [upper, lower].map(|half| half.to_f32().to_bits());
        assert_eq!(narrow_quads(x, y, false), a << 4 | b);
    }
}

#[test]
fn every_f16_narrows_to_the_nearest_code() {
    for table in &TABLES {
        for bits in 0..=u16::MAX {
            let value = f16::from_bits(bits);
            let expected = table.nearest(value.to_f64());
            let got = narrow(value.to_f32(), table.format, false);
            assert_eq!(got, expected, "{value:e} to {:?}", table.format);
            if table.format != Format::E2M1 {
                let pair = narrow_f16_pair(u32::from(bits) << 16, table.format, false);
                assert_eq!(pair, u16::from(expected) << 8, "{value:e} in the upper half");
            }
        }
    }
}

/// `.satfinite`: the largest number of the sign; NaN stays NaN where there is one.
#[test]
fn overflow_saturates_and_relu_clears_negatives() {
    for table in &TABLES {
        let (sign, largest) = (table.sign(), table.largest.0);
        for (value, plain, relu) in [
            (f32::INFINITY, largest, largest),
            (f32::NEG_INFINITY, sign | largest, 0),
            (f32::MAX, largest, largest),
            (f32::MIN, sign | largest, 0),
            (1.5 * table.largest.1 as f32, largest, largest),
            (-1.0, table.nearest(-1.0), 0),
            (f32::NAN, table.nan, table.nan),
            (-f32::NAN, table.nan, table.nan),
            (1e-30, 0, 0),
            (-1e-30, sign, 0),
        ] {
            let got = (narrow(value, table.format, false), narrow(value, table.format, true));
            assert_eq!(got, (plain, relu), "{value:e} to {:?}", table.format);
        }
    }
}

#[test]
fn the_first_operand_is_the_upper_part() {
    assert_eq!(narrow_pair(0x4000_0000, ONE, Format::E4M3, false), 0x4038);
    assert_eq!(narrow_pair(INFINITY | SIGN, NAN, Format::E5M2, false), 0xfb7f);
    assert_eq!(narrow_pair(ONE | SIGN, ONE, Format::E4M3, true), 0x0038);
    assert_eq!(narrow_quads(0x40c0_0000, ONE | SIGN, false), 0x7a);
    assert_eq!(narrow_quads(0x40c0_0000, ONE | SIGN, true), 0x70);
}

proptest! {
    #[test]
    fn any_f32_narrows_to_the_nearest_code(bits: u32, exponent in 100..150u32) {
        for bits in [bits, bits & !INFINITY | exponent << 23] {
            let value = f32::from_bits(bits);
            for table in &TABLES {
                prop_assert_eq!(narrow(value, table.format, false), table.nearest(value.into()), "{:e}", value);
            }
        }
    }
}
