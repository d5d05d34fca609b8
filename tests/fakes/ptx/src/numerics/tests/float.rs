//! Zeros, NaN, `.ftz`, `.sat`, selection and classes of `f32` and `f64` (PTX ISA 8.8, 9.7.3).

use std::num::FpCategory;

use proptest::prelude::*;

use super::super::exact::{Format, Rounding};
use super::super::float::*;
use super::{INFINITY, MODES, NAN, ONE, SIGN, canonical, edges};

fn mode(rounding: Rounding) -> Modifiers {
    Modifiers { rounding, ..Modifiers::default() }
}

/// IEEE 754, 6.3: an exact zero of unlike signs is +0, but −0 towards −∞.
#[test]
fn exact_zeros_have_the_sign_of_the_mode() {
    for rounding in MODES {
        let zero = if rounding == Rounding::Down { SIGN } else { 0 };
        let wide = u64::from(zero) << 32;
        let (one, minus) = (1f64.to_bits(), (-1f64).to_bits());
        assert_eq!(add_f32(ONE, ONE | SIGN, mode(rounding)), zero);
        assert_eq!(sub_f32(ONE, ONE, mode(rounding)), zero);
        assert_eq!(add_f32(0, SIGN, mode(rounding)), zero);
        assert_eq!(add_f32(SIGN, SIGN, mode(rounding)), SIGN);
        assert_eq!(sub_f32(0, SIGN, mode(rounding)), 0);
        assert_eq!(fma_f32(ONE, ONE, ONE | SIGN, mode(rounding)), zero);
        assert_eq!(fma_f32(SIGN, ONE, SIGN, mode(rounding)), SIGN);
        assert_eq!(mul_f32(SIGN, ONE, mode(rounding)), SIGN);
        assert_eq!(add_f64(one, minus, rounding), wide);
        assert_eq!(sub_f64(one, one, rounding), wide);
        assert_eq!(fma_f64(one, one, minus, rounding), wide);
    }
}

#[test]
fn underflow_and_overflow_end_where_the_mode_says() {
    let (least, largest) = (1, 0x7f7f_ffff);
    for (rounding, below, beyond) in [
        (Rounding::Nearest, 0, INFINITY),
        (Rounding::Zero, 0, largest),
        (Rounding::Down, 0, largest),
        (Rounding::Up, least, INFINITY),
    ] {
        assert_eq!(mul_f32(least, 0x3e80_0000, mode(rounding)), below, "{rounding:?}");
        assert_eq!(mul_f32(largest, 0x4000_0000, mode(rounding)), beyond, "{rounding:?}");
    }
}

/// The host's arithmetic is IEEE 754's to nearest; only its NaN are its own.
#[test]
fn special_operands_give_what_the_host_gives() {
    let m = Modifiers::default();
    let value = f32::from_bits;
    for (a, b) in edges().flat_map(|a| edges().map(move |b| (a, b))) {
        let (x, y) = (value(a), value(b));
        assert_eq!(add_f32(a, b, m), canonical(x + y), "{x:e} + {y:e}");
        assert_eq!(sub_f32(a, b, m), canonical(x - y), "{x:e} − {y:e}");
        assert_eq!(mul_f32(a, b, m), canonical(x * y), "{x:e} × {y:e}");
        assert_eq!(div_f32(a, b, m), canonical(x / y), "{x:e} / {y:e}");
        for c in edges() {
            let sum = x.mul_add(y, value(c));
            assert_eq!(fma_f32(a, b, c, m), canonical(sum), "{x:e} × {y:e} + {:e}", value(c));
        }
    }
}

#[test]
fn subnormal_operands_are_flushed_before_and_results_after() {
    let m = Modifiers { flush: true, ..Modifiers::default() };
    let (least, largest) = (1, 0x007f_ffff);
    assert_eq!(add_f32(least, 0, m), 0);
    assert_eq!(add_f32(largest | SIGN, SIGN, m), SIGN);
    assert_eq!(add_f32(largest, 0x0080_0000, m), 0x0080_0000);
    // The product would be normal, had the operand stayed.
    assert_eq!(mul_f32(largest, 0x7f00_0000, m), 0);
    assert_eq!(mul_f32(0x0080_0000 | SIGN, 0x3f00_0000, m), SIGN);
    assert_eq!(div_f32(ONE, least | SIGN, m), INFINITY | SIGN);
    assert_eq!(sqrt_f32(largest | SIGN, m), SIGN);
    assert_eq!((neg_f32(least, true), neg_f32(least, false)), (SIGN, least | SIGN));
    assert_eq!((abs_f32(least | SIGN, true), abs_f32(least | SIGN, false)), (0, least));
}

#[test]
fn saturation_clamps_to_one_and_clears_nan() {
    let m = Modifiers { saturate: true, ..Modifiers::default() };
    for (a, expected) in [
        (NAN, 0),
        (INFINITY, ONE),
        (INFINITY | SIGN, 0),
        (0x4000_0000, ONE),
        (ONE, ONE),
        (0x3f7f_ffff, 0x3f7f_ffff),
        (1, 1),
        (1 | SIGN, 0),
        (SIGN, 0),
    ] {
        assert_eq!(add_f32(a, if a == SIGN { SIGN } else { 0 }, m), expected, "{a:08x}");
    }
}

/// PTX ISA, `min` and `max`: the number beside a NaN, or with `.NaN` the canonical NaN; −0 below +0.
fn selected(a: u32, b: u32, s: Selection) -> u32 {
    let flush = |bits: u32| if s.flush && bits & INFINITY == 0 { bits & SIGN } else { bits };
    let (a, b) = (flush(a), flush(b));
    let sign = if s.xor_sign { (a ^ b) & SIGN } else { 0 };
    let (a, b) = if s.xor_sign { (a & !SIGN, b & !SIGN) } else { (a, b) };
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    match (x.is_nan(), y.is_nan()) {
        (true, true) => NAN,
        (true, false) | (false, true) if s.propagate => NAN,
        (true, false) => b | sign,
        (false, true) => a | sign,
        (false, false) => {
            let first = if s.max { x.total_cmp(&y).is_ge() } else { x.total_cmp(&y).is_le() };
            (if first { a } else { b }) | sign
        }
    }
}

fn selections() -> impl Iterator<Item = Selection> {
    (0..16).map(|bits| Selection {
        max: bits & 1 != 0,
        propagate: bits & 2 != 0,
        xor_sign: bits & 4 != 0,
        flush: bits & 8 != 0,
    })
}

#[test]
fn min_and_max_order_zeros_and_pass_over_nan() {
    let (min, max) = (Selection::default(), Selection { max: true, ..Selection::default() });
    assert_eq!((select_f32(0, SIGN, min), select_f32(SIGN, 0, min)), (SIGN, SIGN));
    assert_eq!((select_f32(0, SIGN, max), select_f32(SIGN, 0, max)), (0, 0));
    assert_eq!((select_f32(NAN, ONE, min), select_f32(ONE, 0xffc0_0001, max)), (ONE, ONE));
    assert_eq!(select_f32(0x7f80_0001, 0xffc0_0000, min), NAN);
    let propagate = Selection { propagate: true, ..min };
    assert_eq!(select_f32(ONE, 0x7f80_0001, propagate), NAN);
    let magnitude = Selection { xor_sign: true, ..max };
    assert_eq!(select_f32(0xc000_0000, ONE, magnitude), 0xc000_0000);
    assert_eq!(select_f32(0xc000_0000, ONE | SIGN, magnitude), 0x4000_0000);
    for s in selections() {
        for (a, b) in edges().flat_map(|a| edges().map(move |b| (a, b))) {
            assert_eq!(select_f32(a, b, s), selected(a, b, s), "{a:08x} {b:08x} {s:?}");
        }
    }
}

fn class_of(category: FpCategory) -> [bool; 6] {
    use FpCategory::{Infinite, Nan, Normal, Subnormal, Zero};
    // finite, infinite, number, not a number, normal, subnormal
    match category {
        Nan => [false, false, false, true, false, false],
        Infinite => [false, true, true, false, false, false],
        // "As a special case, positive and negative zero are considered normal numbers."
        Zero | Normal => [true, false, true, false, true, false],
        Subnormal => [true, false, true, false, false, true],
    }
}

const CLASSES: [Class; 6] = [
    Class::Finite,
    Class::Infinite,
    Class::Number,
    Class::NotANumber,
    Class::Normal,
    Class::Subnormal,
];

#[test]
fn zero_tests_as_a_normal_number() {
    for bits in edges() {
        let expected = class_of(f32::from_bits(bits).classify());
        let got = CLASSES.map(|class| is(Format::F32, bits.into(), class));
        assert_eq!(got, expected, "{bits:08x}");
    }
}

proptest! {
    #[test]
    fn selection_follows_the_total_order(a: u32, b: u32, which in 0..16usize) {
        let s = selections().nth(which).unwrap();
        prop_assert_eq!(select_f32(a, b, s), selected(a, b, s));
    }

    #[test]
    fn wide_selection_and_classes_follow_the_host(a: u64, b: u64, max: bool) {
        let (x, y) = (f64::from_bits(a), f64::from_bits(b));
        let got = CLASSES.map(|class| is(Format::F64, a, class));
        prop_assert_eq!(got, class_of(x.classify()));
        prop_assume!(!x.is_nan() && !y.is_nan());
        let first = x.total_cmp(&y).is_ge() == max || a == b;
        let got = select(Format::F64, a, b, Selection { max, ..Selection::default() });
        prop_assert_eq!(got, if first { a } else { b });
    }

    #[test]
    fn signs_move_and_nothing_else(a: u32, b: u32) {
        let copied = copysign(Format::F32, a.into(), b.into()) as u32;
        prop_assert_eq!(copied, f32::from_bits(b).copysign(f32::from_bits(a)).to_bits());
        prop_assert_eq!(neg_f32(a, false), (-f32::from_bits(a)).to_bits());
        prop_assert_eq!(abs_f32(a, false), f32::from_bits(a).abs().to_bits());
    }

    /// Both neighbours and the nearest of any result, in all modes at once.
    #[test]
    fn directed_results_enclose_the_nearest(a: u32, b: u32, c: u32) {
        let run = |rounding| f32::from_bits(fma_f32(a, b, c, mode(rounding)));
        let [near, zero, down, up] = MODES.map(run);
        if near.is_nan() {
            prop_assert!(zero.is_nan() && down.is_nan() && up.is_nan());
            return Ok(());
        }
        prop_assert!(down <= near && near <= up);
        prop_assert!(up == down || up == down.next_up() || up == 0.0 && down == 0.0);
        prop_assert_eq!(zero, if near > 0.0 || down >= 0.0 { down } else { up });
    }
}
