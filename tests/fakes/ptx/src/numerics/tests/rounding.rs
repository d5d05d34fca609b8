//! `oracle/rounding.txt`, every line of it, in every mode.

use super::super::exact::{Format, Number, Rounding};
use super::super::float::*;
use super::{MODES, NAN, SIGN};

struct Line {
    text: &'static str,
    format: &'static str,
    operation: &'static str,
    operands: Vec<u64>,
    /// One a mode of [`MODES`].
    results: Vec<u64>,
}

impl Line {
    fn parse(text: &'static str) -> Line {
        let (left, right) = text.split_once(" = ").expect(text);
        let (format, rest) = left.split_once(' ').expect(text);
        let (operation, operands) = rest.split_once(' ').expect(text);
        let codes = |list: &str| {
            list.split(' ').map(|code| u64::from_str_radix(code, 16).expect(text)).collect()
        };
        let line =
            Line { text, format, operation, operands: codes(operands), results: codes(right) };
        assert_eq!(line.results.len(), MODES.len(), "{text}");
        line
    }

    fn is_short(&self) -> bool {
        matches!(self.format, "f16" | "bf16")
    }

    fn layout(&self) -> Format {
        match self.format {
            "f16" => Format::F16,
            "bf16" => Format::BF16,
            "f32" => Format::F32,
            "f64" => Format::F64,
            _ => panic!("{}", self.text),
        }
    }
}

fn lines() -> impl Iterator<Item = Line> {
    include_str!("../oracle/rounding.txt").lines().map(Line::parse)
}

fn of_f32(operation: &str, operands: &[u64], m: Modifiers) -> u64 {
    let operands: Vec<u32> = operands.iter().map(|&bits| bits as u32).collect();
    u64::from(match (operation, &operands[..]) {
        ("add", &[a, b]) => add_f32(a, b, m),
        ("sub", &[a, b]) => sub_f32(a, b, m),
        ("mul", &[a, b]) => mul_f32(a, b, m),
        ("fma", &[a, b, c]) => fma_f32(a, b, c, m),
        ("div", &[a, b]) => div_f32(a, b, m),
        ("sqrt", &[a]) => sqrt_f32(a, m),
        _ => panic!("{operation}"),
    })
}

fn of_f64(operation: &str, operands: &[u64], rounding: Rounding) -> u64 {
    match (operation, operands) {
        ("add", &[a, b]) => add_f64(a, b, rounding),
        ("sub", &[a, b]) => sub_f64(a, b, rounding),
        ("mul", &[a, b]) => mul_f64(a, b, rounding),
        ("fma", &[a, b, c]) => fma_f64(a, b, c, rounding),
        ("div", &[a, b]) => div_f64(a, b, rounding),
        ("sqrt", &[a]) => sqrt_f64(a, rounding),
        _ => panic!("{operation}"),
    }
}

fn of_short<T: Short>(operation: &str, operands: &[u64]) -> u64 {
    let operands: Vec<u16> = operands.iter().map(|&bits| bits as u16).collect();
    let m = Modifiers::default();
    u64::from(match (operation, &operands[..]) {
        ("add", &[a, b]) => add::<T>(a, b, m),
        ("sub", &[a, b]) => sub::<T>(a, b, m),
        ("mul", &[a, b]) => mul::<T>(a, b, m),
        ("fma", &[a, b, c]) => fma::<T>(a, b, c, m),
        _ => panic!("{operation}"),
    })
}

/// What the instruction gives; the 16-bit ones only round to nearest.
fn instruction(line: &Line, operation: &str, operands: &[u64], rounding: Rounding) -> u64 {
    match line.format {
        "f16" => of_short::<F16>(operation, operands),
        "bf16" => of_short::<Bf16>(operation, operands),
        "f32" => of_f32(operation, operands, Modifiers { rounding, ..Modifiers::default() }),
        _ => of_f64(operation, operands, rounding),
    }
}

#[test]
fn the_file_has_every_operation_of_every_format() {
    for (format, operations) in [
        ("f32", &["add", "mul", "fma", "div", "sqrt"][..]),
        ("f64", &["add", "mul", "fma", "div", "sqrt"]),
        ("f16", &["add", "mul", "fma"]),
        ("bf16", &["add", "mul", "fma"]),
    ] {
        for operation in operations {
            let count = lines().filter(|l| l.format == format && l.operation == *operation).count();
            assert!(count >= 38, "{format} {operation}: {count} lines");
        }
    }
}

#[test]
fn instructions_round_every_line_once() {
    for line in lines() {
        let modes = if line.is_short() { 1 } else { MODES.len() };
        for (&mode, &expected) in MODES[..modes].iter().zip(&line.results) {
            let got = instruction(&line, line.operation, &line.operands, mode);
            assert_eq!(got, expected, "{mode:?} gave {got:x}: {}", line.text);
        }
    }
}

#[test]
fn a_difference_is_the_sum_with_the_opposite() {
    for line in lines().filter(|line| line.operation == "add") {
        let format = line.layout();
        let sign = 1 << (format.exponent + format.fraction);
        let operands = [line.operands[0], line.operands[1] ^ sign];
        let modes = if line.is_short() { 1 } else { MODES.len() };
        for (&mode, &expected) in MODES[..modes].iter().zip(&line.results) {
            let got = instruction(&line, "sub", &operands, mode);
            assert_eq!(got, expected, "{mode:?} sub gave {got:x}: {}", line.text);
        }
    }
}

/// The slow path alone, to nearest too, where the instructions take the host's arithmetic.
#[test]
fn exact_numbers_round_every_line_once() {
    for line in lines() {
        let format = line.layout();
        let n: Vec<Number> =
            line.operands.iter().map(|&bits| Number::decode(format, bits)).collect();
        for (mode, &expected) in MODES.into_iter().zip(&line.results) {
            let result = match line.operation {
                "add" => n[0].plus(n[1], mode),
                "mul" => n[0].times(n[1]),
                "fma" => n[0].times(n[1]).plus(n[2], mode),
                "div" => n[0].over(n[1]),
                _ => n[0].square_root(),
            };
            let got = result.encode(format, mode);
            assert_eq!(got, expected, "{mode:?} gave {got:x}: {}", line.text);
        }
    }
}

fn subnormal(bits: u64) -> bool {
    (1..0x0080_0000).contains(&(bits as u32 & !SIGN))
}

/// `.ftz` changes subnormals and nothing else; `.sat` clamps the rounded value.
#[test]
fn flushing_and_saturation_follow_the_rounding() {
    let mut flushed_results = 0;
    for line in lines().filter(|line| line.format == "f32") {
        for (rounding, &exact) in MODES.into_iter().zip(&line.results) {
            let run = |m: Modifiers| of_f32(line.operation, &line.operands, m) as u32;
            let plain = Modifiers { rounding, ..Modifiers::default() };
            if !line.operands.iter().any(|&bits| subnormal(bits)) {
                let kept = if subnormal(exact) { exact as u32 & SIGN } else { exact as u32 };
                assert_eq!(run(Modifiers { flush: true, ..plain }), kept, "ftz: {}", line.text);
                flushed_results += u32::from(subnormal(exact));
            }
            let value = f32::from_bits(exact as u32);
            let clamped = if value > 0.0 { value.min(1.0) } else { 0.0 };
            let got = run(Modifiers { saturate: true, ..plain });
            assert_eq!(got, clamped.to_bits(), "sat: {}", line.text);
        }
    }
    assert!(flushed_results > 4, "only {flushed_results} results are subnormal");
}

/// A root whose excess over a number lies further down than any kept bit: 1 + k·2^-52 for k² a little below 2·2^52.
#[test]
fn a_root_barely_above_a_number_is_not_that_number() {
    let one = 1f64.to_bits();
    let k = (2u64 << 52).isqrt();
    let (root, square) = (one + k, one + 2 * k + 2);
    let (r, x) = (u128::from((1 << 52) + k), u128::from((1u64 << 52) + 2 * k + 2));
    assert!(r * r < x << 52 && (x << 52) - r * r < 1 << 28);
    let expected = [root, root, root, root + 1];
    assert_eq!(MODES.map(|mode| sqrt_f64(square, mode)), expected);
}

#[test]
fn no_mode_rounds_a_nan_or_an_infinity() {
    for rounding in MODES {
        let m = Modifiers { rounding, ..Modifiers::default() };
        for (operation, operands, expected) in [
            ("add", &[0x7f80_0000, 0xff80_0000][..], NAN),
            ("sub", &[0x7f80_0000, 0x7f80_0000], NAN),
            ("add", &[0x7f80_0000, 0xff7f_ffff], 0x7f80_0000),
            ("mul", &[0x7f80_0000, 0x8000_0000], NAN),
            ("mul", &[0xff80_0000, 0x0000_0001], 0xff80_0000),
            ("fma", &[0, 0x7f80_0000, 0x3f80_0000], NAN),
            ("fma", &[0x7f80_0000, 0x3f80_0000, 0xff80_0000], NAN),
            ("fma", &[0x7f7f_ffff, 0x7f7f_ffff, 0xff80_0000], 0xff80_0000),
            ("fma", &[0x3f80_0000, 0x3f80_0000, 0xffc0_0001], NAN),
            ("div", &[0, 0x8000_0000], NAN),
            ("div", &[0x7f80_0000, 0xff80_0000], NAN),
            ("div", &[0x3f80_0000, 0x8000_0000], 0xff80_0000),
            ("div", &[0xbf80_0000, 0x7f80_0000], 0x8000_0000),
            ("sqrt", &[0xbf80_0000], NAN),
            ("sqrt", &[0x8000_0000], 0x8000_0000),
            ("sqrt", &[0x7f80_0000], 0x7f80_0000),
            ("sqrt", &[0xff80_0000], NAN),
        ] {
            assert_eq!(
                of_f32(operation, operands, m) as u32,
                expected,
                "{operation} {operands:x?}"
            );
        }
    }
}
