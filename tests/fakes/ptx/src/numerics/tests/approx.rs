//! `.approx` within the ISA's bounds, measured against `oracle/approx.txt`, and its tables of special values (PTX ISA 8.8, 9.7.3 and 9.7.4).

use super::super::approx::*;
use super::super::float::{Bf16, F16, Short};
use super::{EDGES, INFINITY, NAN, ONE, SIGN};

use Function::{Cosine, Exp2, Log2, Reciprocal, ReciprocalRoot, Sine, SquareRoot, Tanh};

const FUNCTIONS: [(&str, Function); 8] = [
    ("ex2", Exp2),
    ("lg2", Log2),
    ("rcp", Reciprocal),
    ("sqrt", SquareRoot),
    ("rsqrt", ReciprocalRoot),
    ("sin", Sine),
    ("cos", Cosine),
    ("tanh", Tanh),
];

/// How far a result may lie from `exact`: the notes of each instruction.
fn bound(function: Function, x: f64, exact: f64) -> f64 {
    let relative = |power: f64| power.exp2() * exact.abs();
    match function {
        Exp2 => relative(-22.5),
        Log2 if x > 0.5 && x < 2.0 => 2f64.powi(-22),
        Log2 => relative(-22.0),
        // An ulp is at least 2^-24 of the value.
        Reciprocal => relative(-24.0),
        SquareRoot => relative(-23.0),
        ReciprocalRoot => relative(-22.9),
        Sine | Cosine if x.abs() <= std::f64::consts::TAU => (-20.5f64).exp2(),
        Sine | Cosine => (-14.7f64).exp2(),
        Tanh => relative(-11.0),
    }
}

/// Half the distance of subnormals, which no relative bound covers.
const LEAST_HALF: f64 = 7.1e-46;

#[test]
fn every_listed_value_is_within_the_bound() {
    let mut seen = [0; FUNCTIONS.len()];
    for line in include_str!("../oracle/approx.txt").lines() {
        let [name, operand, _, exact] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let index = FUNCTIONS.iter().position(|(known, _)| *known == name).expect(line);
        let (bits, exact) =
            (u32::from_str_radix(operand, 16).expect(line), exact.parse::<f64>().expect(line));
        let function = FUNCTIONS[index].1;
        let got = f64::from(f32::from_bits(approx_f32(function, bits, false)));
        let allowed = bound(function, f32::from_bits(bits).into(), exact) + LEAST_HALF;
        assert!((got - exact).abs() <= allowed, "{line}: {got:e}");
        seen[index] += 1;
    }
    assert!(seen.iter().all(|&count| count >= 48), "{seen:?}");
}

/// −∞, −0, +0, +∞, NaN and −1, as the tables have them.
const SPECIAL: [(Function, [u32; 6]); 8] = [
    (Exp2, [0, ONE, ONE, INFINITY, NAN, 0x3f00_0000]),
    (Log2, [NAN, INFINITY | SIGN, INFINITY | SIGN, INFINITY, NAN, NAN]),
    (Reciprocal, [SIGN, INFINITY | SIGN, INFINITY, 0, NAN, ONE | SIGN]),
    (SquareRoot, [NAN, SIGN, 0, INFINITY, NAN, NAN]),
    (ReciprocalRoot, [NAN, INFINITY | SIGN, INFINITY, 0, NAN, NAN]),
    (Sine, [NAN, SIGN, 0, NAN, NAN, 0xbf57_6aa4]),
    (Cosine, [NAN, ONE, ONE, NAN, NAN, 0x3f0a_5140]),
    (Tanh, [ONE | SIGN, SIGN, 0, ONE, NAN, 0xbf42_f7d6]),
];

#[test]
fn special_operands_follow_the_tables() {
    for (function, expected) in SPECIAL {
        let operands = [INFINITY | SIGN, SIGN, 0, INFINITY, 0xffc0_0001, ONE | SIGN];
        for flush in [false, true] {
            let got = operands.map(|bits| approx_f32(function, bits, flush));
            assert_eq!(got, expected, "{function:?}, ftz {flush}");
        }
    }
}

/// With `.ftz` a subnormal is a zero of its sign; without it, a number.
#[test]
fn subnormals_are_zeros_only_where_flushed() {
    for (function, expected) in SPECIAL {
        for (bits, index) in [(1 | SIGN, 1), (0x007f_ffff | SIGN, 1), (1, 2), (0x007f_ffff, 2)] {
            assert_eq!(approx_f32(function, bits, true), expected[index], "{function:?} {bits:x}");
        }
    }
    assert_eq!(approx_f32(Log2, 1, false), (-149f32).to_bits());
    // √(2 × 2^-149) = 2^-74
    assert_eq!(approx_f32(SquareRoot, 2, false), 2f32.powi(-74).to_bits());
    assert_eq!(approx_f32(Tanh, 5, false), 5);
    assert_eq!(approx_f32(Exp2, (-149f32).to_bits(), false), 1);
    assert_eq!(approx_f32(Exp2, (-149f32).to_bits(), true), 0);
    assert_eq!(approx_f32(Reciprocal, 2f32.powi(127).to_bits(), false), 0x0040_0000);
    assert_eq!(approx_f32(Reciprocal, 2f32.powi(127).to_bits() | SIGN, true), SIGN);
}

/// "For 2^126 < |b| < 2^128, if a is infinity, div.approx.f32 returns NaN, otherwise it returns a sign-preserving zero."
#[test]
fn division_by_the_largest_is_a_zero_that_keeps_its_sign() {
    let far = 2f32.powi(126).next_up();
    for (a, b, expected) in [
        (1.0, far, 0.0),
        (-1.0, far, -0.0),
        (1.0, -f32::MAX, -0.0),
        (-f32::MAX, -far, 0.0),
        (f32::MAX, far, 0.0),
        (-0.0, f32::MAX, -0.0),
        (f32::MAX, 2f32.powi(126), 4.0f32.next_down()),
        (1.0, f32::NEG_INFINITY, -0.0),
        (1.0, -0.0, f32::NEG_INFINITY),
        (6.0, 3.0, 2.0),
    ] {
        let got = div_approx(a.to_bits(), b.to_bits(), false);
        assert_eq!(got, f32::to_bits(expected), "{a:e} / {b:e}");
    }
    for (a, b) in [
        (f32::INFINITY, far),
        (f32::NEG_INFINITY, f32::MAX),
        (f32::NAN, far),
        (f32::NAN, 1.0),
        (1.0, f32::NAN),
        (f32::INFINITY, f32::INFINITY),
        (0.0, 0.0),
    ] {
        assert_eq!(div_approx(a.to_bits(), b.to_bits(), false), NAN, "{a:e} / {b:e}");
    }
    assert_eq!(div_approx(ONE, 1 | SIGN, true), INFINITY | SIGN);
    assert_eq!(div_approx(0x0080_0000 | SIGN, 0x4000_0000, true), SIGN);
}

/// Every code of a 16-bit type: `ex2` and `tanh` within `ex2_bound` (relative) and `tanh_bound` (absolute).
fn short_functions<T: Short>(ex2_bound: f64, tanh_bound: f64) {
    let least = f64::from(T::value(1));
    for bits in 0..=u16::MAX {
        let x = f64::from(T::value(bits));
        let run = |function| approx_16::<T>(function, bits, false);
        if x.is_nan() {
            assert_eq!((run(Exp2), run(Tanh)), (0x7fff, 0x7fff), "{bits:04x}");
            continue;
        }
        let (power, tangent) = (f64::from(T::value(run(Exp2))), f64::from(T::value(run(Tanh))));
        let exact = 2f64.powf(x);
        let largest = f64::from(T::value(T::EXPONENT - 1));
        assert!(
            (power - exact).abs() <= ex2_bound * exact + least / 2.0
                || exact > largest && power == f64::INFINITY,
            "2^{x:e}: {power:e}"
        );
        // (e^2x − 1) / (e^2x + 1), which is not how the host computes it.
        let e = (2.0 * x).exp_m1();
        let exact = if e.is_infinite() { 1.0 } else { e / (e + 2.0) };
        assert!((tangent - exact).abs() <= tanh_bound, "tanh {x:e}: {tangent:e}");
        assert_eq!(run(Tanh) >> 15, bits >> 15, "tanh keeps the sign of {x:e}");
    }
}

#[test]
fn every_16_bit_operand_is_within_the_bounds() {
    short_functions::<F16>((-9.9f64).exp2(), (-10.987f64).exp2());
    short_functions::<Bf16>((-7f64).exp2(), (-8f64).exp2());
}

#[test]
fn wide_functions_read_and_write_upper_halves() {
    let upper = |bits: u32| u64::from(bits) << 32;
    for (function, operand, expected) in [
        (Reciprocal, 0x4000_0000, 0x3fe0_0000),
        (Reciprocal, 0x8000_0000, 0xfff0_0000),
        (Reciprocal, 0x800f_ffff, 0xfff0_0000),
        (Reciprocal, 0x0000_0001, 0x7ff0_0000),
        (Reciprocal, 0xfff0_0000, 0x8000_0000),
        (Reciprocal, 0x7fef_ffff, 0),
        (Reciprocal, 0xfff8_0000, NAN),
        (ReciprocalRoot, 0x4010_0000, 0x3fe0_0000),
        (ReciprocalRoot, 0xbff0_0000, NAN),
        (ReciprocalRoot, 0x8000_0000, 0xfff0_0000),
        (ReciprocalRoot, 0x7ff0_0000, 0),
    ] {
        for ignored in [0, 0xffff_ffff] {
            let got = approx_f64(function, upper(operand) | ignored);
            assert_eq!(got, upper(expected), "{function:?} {operand:08x}");
        }
    }
}

#[test]
fn no_operand_gives_a_nan_but_the_canonical_one() {
    for (_, function) in FUNCTIONS {
        for bits in EDGES.into_iter().flat_map(|bits| [bits, bits | SIGN]) {
            let got = approx_f32(function, bits, false);
            assert!(!f32::from_bits(got).is_nan() || got == NAN, "{function:?} {bits:08x}");
        }
    }
}
