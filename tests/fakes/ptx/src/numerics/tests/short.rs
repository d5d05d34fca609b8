//! 16-bit arithmetic: every operand against the special ones, any operands against exact sums.

use ::half::{bf16, f16};
use proptest::prelude::*;
use warpscope_kernels::{nearest_bf16, nearest_f16};

use super::super::exact::{Number, Rounding};
use super::super::float::*;

const PLAIN: Modifiers =
    Modifiers { rounding: Rounding::Nearest, flush: false, saturate: false, relu: false };

/// Of both types: zeros, subnormals, the neighbours of one, the largest numbers, infinities, NaN.
const EDGES: [u16; 22] = [
    0, 1, 2, 0x7f, 0x80, 0x3ff, 0x400, 0x401, 0x3bff, 0x3c00, 0x3c01, 0x3f80, 0x3f81, 0x5555,
    0x7bff, 0x7c00, 0x7c01, 0x7f7f, 0x7f80, 0x7f81, 0x7fc0, 0x7fff,
];

fn edges() -> impl Iterator<Item = u16> + Clone {
    EDGES.into_iter().flat_map(|bits| [bits, bits | 0x8000])
}

fn of_f16(value: f64) -> u16 {
    if value.is_nan() { 0x7fff } else { nearest_f16(value).to_bits() }
}

fn of_bf16(value: f64) -> u16 {
    if value.is_nan() { 0x7fff } else { nearest_bf16(value).to_bits() }
}

/// Sums and products of two `f16` need 41 and 22 bits: `f64` has them exactly.
#[test]
fn every_f16_meets_every_edge() {
    let value = |bits: u16| f16::from_bits(bits).to_f64();
    for (a, b) in (0..=u16::MAX).flat_map(|a| edges().map(move |b| (a, b))) {
        let (x, y) = (value(a), value(b));
        assert_eq!(add::<F16>(a, b, PLAIN), of_f16(x + y), "{a:04x} + {b:04x}");
        assert_eq!(sub::<F16>(b, a, PLAIN), of_f16(y - x), "{b:04x} − {a:04x}");
        assert_eq!(mul::<F16>(a, b, PLAIN), of_f16(x * y), "{a:04x} × {b:04x}");
    }
}

/// Products of two `bf16` need 16 bits.
#[test]
fn every_bf16_meets_every_edge() {
    let value = |bits: u16| bf16::from_bits(bits).to_f64();
    for (a, b) in (0..=u16::MAX).flat_map(|a| edges().map(move |b| (a, b))) {
        let product = value(a) * value(b);
        assert_eq!(mul::<Bf16>(a, b, PLAIN), of_bf16(product), "{a:04x} × {b:04x}");
        let sum = exact_fma::<Bf16>(a, 0x3f80, b);
        assert_eq!(add::<Bf16>(a, b, PLAIN), sum, "{a:04x} + {b:04x}");
    }
}

/// The slow path, which `rounding.txt` proves.
fn exact_fma<T: Short>(a: u16, b: u16, c: u16) -> u16 {
    let [a, b, c] = [a, b, c].map(|bits| Number::decode(T::FORMAT, bits.into()));
    a.times(b).plus(c, Rounding::Nearest).encode(T::FORMAT, Rounding::Nearest) as u16
}

/// A finite `f16` in units of 2^-24, its least subnormal; its infinity as what would follow.
fn units(bits: u16) -> i128 {
    let (field, fraction) = (bits >> 10 & 31, i128::from(bits & 0x3ff));
    let magnitude = if field == 0 { fraction } else { (fraction + 1024) << (field - 1) };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

/// The code nearest to a number of 2^-48, found by comparing distances, the even one of two.
fn nearest_code(sum: i128) -> u16 {
    let distance = |code: u16| ((units(code) << 24) - sum.abs()).abs();
    let (mut low, mut high) = (0, 0x7c00);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if units(middle) << 24 <= sum.abs() { low = middle } else { high = middle }
    }
    let upper = match distance(low).cmp(&distance(high)) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => low % 2 == 1,
        std::cmp::Ordering::Greater => true,
    };
    (if upper { high } else { low }) | if sum < 0 { 0x8000 } else { 0 }
}

fn finite(bits: u16) -> u16 {
    if bits & 0x7c00 == 0x7c00 { bits & 0x83ff } else { bits }
}

#[test]
fn fused_edges_equal_the_exact_sum() {
    for (a, b, c) in
        edges().flat_map(|a| edges().flat_map(move |b| edges().map(move |c| (a, b, c))))
    {
        let text = format!("{a:04x} × {b:04x} + {c:04x}");
        assert_eq!(fma::<F16>(a, b, c, PLAIN), exact_fma::<F16>(a, b, c), "{text}");
        assert_eq!(fma::<Bf16>(a, b, c, PLAIN), exact_fma::<Bf16>(a, b, c), "{text}");
    }
}

#[test]
fn modifiers_act_on_operands_and_results() {
    let with = |flush, saturate, relu| Modifiers { flush, saturate, relu, ..PLAIN };
    let (flush, saturate, relu) =
        (with(true, false, false), with(false, true, false), with(false, false, true));
    assert_eq!(add::<F16>(0x3ff, 0x8000, flush), 0);
    assert_eq!(add::<F16>(0x83ff, 0x8000, flush), 0x8000);
    assert_eq!(mul::<F16>(0x0400, 0xb800, flush), 0x8000);
    assert_eq!(mul::<F16>(0x0400, 0xb800, PLAIN), 0x8200);
    for (a, clamped, positive) in [
        (0x4000, 0x3c00, 0x4000),
        (0x3bff, 0x3bff, 0x3bff),
        (0xbc00, 0, 0),
        (0x7c00, 0x3c00, 0x7c00),
        (0xfc00, 0, 0),
        (0x7e01, 0, 0x7fff),
        (0xfe01, 0, 0x7fff),
    ] {
        assert_eq!(fma::<F16>(a, 0x3c00, 0, saturate), clamped, "{a:04x}");
        assert_eq!(fma::<F16>(a, 0x3c00, 0, relu), positive, "{a:04x}");
    }
    assert_eq!(fma::<Bf16>(0x4000, 0x3f80, 0, saturate), 0x3f80);
    assert_eq!(fma::<Bf16>(0x3f7f, 0x3f80, 0, saturate), 0x3f7f);
    // Subnormal for f16, normal for bf16, and the other way round.
    assert_eq!(add::<Bf16>(0x03ff, 0, flush), 0x03ff);
    assert_eq!(add::<Bf16>(0x807f, 0x8000, flush), 0x8000);
    assert_eq!(fma::<Bf16>(0xbf80, 0x3f80, 0, relu), 0);
    assert_eq!(fma::<Bf16>(0xffc1, 0x3f80, 0, relu), 0x7fff);
}

#[test]
fn signs_of_every_code() {
    for bits in 0..=u16::MAX {
        assert_eq!(neg::<F16>(bits, false), bits ^ 0x8000);
        assert_eq!(abs::<Bf16>(bits, false), bits & 0x7fff);
        let subnormal = bits & 0x7c00 == 0;
        assert_eq!(neg::<F16>(bits, true), if subnormal { !bits & 0x8000 } else { bits ^ 0x8000 });
    }
}

/// As of `f32`: the other operand beside a NaN, −0 below +0.
#[test]
fn every_16_bit_selection_is_that_of_the_values() {
    let min = Selection::default();
    let max = Selection { max: true, ..min };
    for (a, b) in (0..=u16::MAX).flat_map(|a| edges().map(move |b| (a, b))) {
        let (x, y) = (bf16::from_bits(a), bf16::from_bits(b));
        let expected = |larger: bool| match (x.is_nan(), y.is_nan()) {
            (true, true) => 0x7fff,
            (true, false) => b,
            (false, true) => a,
            _ if x.total_cmp(&y).is_ge() == larger => a,
            _ => b,
        };
        assert_eq!(select_16::<Bf16>(a, b, max), expected(true), "max {a:04x} {b:04x}");
        assert_eq!(select_16::<Bf16>(a, b, min), expected(false), "min {a:04x} {b:04x}");
    }
}

#[test]
fn pairs_keep_their_halves_apart() {
    let sums = pairwise([0x3c00_0001, 0x4000_0002], |[a, b]| a + b);
    assert_eq!(sums, 0x7c00_0003);
    assert_eq!(pairwise([0xffff_ffff, 1], |[a, b]| a.wrapping_add(b)), 0xffff_0000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn fused_f16_is_the_nearest_of_the_exact_sum(a: u16, b: u16, c: u16) {
        let (a, b, c) = (finite(a), finite(b), finite(c));
        let sum = units(a) * units(b) + (units(c) << 24);
        prop_assume!(sum != 0);
        prop_assert_eq!(fma::<F16>(a, b, c, PLAIN), nearest_code(sum));
    }

    /// Close to cancellation, where a rounded product would show.
    #[test]
    fn fused_f16_keeps_the_low_bits_of_the_product(a in 0x3000..0x4800u16, b in 0x3000..0x4800u16) {
        let product = mul::<F16>(a, b, PLAIN);
        let left = units(a) * units(b) - (units(product) << 24);
        prop_assume!(left != 0);
        prop_assert_eq!(fma::<F16>(a, b, product ^ 0x8000, PLAIN), nearest_code(left));
    }

    #[test]
    fn any_bf16_sum_is_the_exact_one(a: u16, b: u16, c: u16) {
        prop_assert_eq!(fma::<Bf16>(a, b, c, PLAIN), exact_fma::<Bf16>(a, b, c));
        prop_assert_eq!(add::<Bf16>(a, b, PLAIN), exact_fma::<Bf16>(a, 0x3f80, b));
        prop_assert_eq!(sub::<Bf16>(a, b, PLAIN), exact_fma::<Bf16>(b, 0xbf80, a));
    }

    #[test]
    fn any_f16_operands_give_the_f64_result(a: u16, b: u16) {
        let (x, y) = (f16::from_bits(a).to_f64(), f16::from_bits(b).to_f64());
        prop_assert_eq!(add::<F16>(a, b, PLAIN), of_f16(x + y));
        prop_assert_eq!(mul::<F16>(a, b, PLAIN), of_f16(x * y));
    }
}
