//! Products and sums against 128-bit arithmetic (PTX ISA 8.8, 9.7.1).

use proptest::prelude::*;

use super::super::bits::*;

fn bytes(word: u32, signed: bool) -> [i128; 4] {
    word.to_le_bytes().map(|byte| if signed { (byte as i8).into() } else { byte.into() })
}

fn halves(word: u32, signed: bool) -> [i128; 2] {
    [word as u16, (word >> 16) as u16]
        .map(|half| if signed { (half as i16).into() } else { half.into() })
}

fn dot<const N: usize>(a: [i128; N], b: [i128; N], c: u32) -> u32 {
    (a.iter().zip(b).map(|(a, b)| a * b).sum::<i128>() + i128::from(c)) as u32
}

fn every_dot_is_the_sum_of_its_products(a: u32, b: u32, c: u32) {
    for (left, right) in [(false, false), (false, true), (true, false), (true, true)] {
        let text = format!("{a:08x} {b:08x} {c:08x} {left} {right}");
        let four = dot(bytes(a, left), bytes(b, right), c);
        assert_eq!(dp4a(a, b, c, left, right), four, "dp4a {text}");
        let [b0, b1, b2, b3] = bytes(b, right);
        let (low, high) = (dot(halves(a, left), [b0, b1], c), dot(halves(a, left), [b2, b3], c));
        assert_eq!(dp2a(a, b, c, left, right, false), low, "dp2a.lo {text}");
        assert_eq!(dp2a(a, b, c, left, right, true), high, "dp2a.hi {text}");
    }
}

#[test]
fn dot_products_of_the_extremes() {
    let edges = [0, 1, 0x0102_0304, 0x7f7f_7f7f, 0x8080_8080, 0x8000_8000, 0x7fff_7fff, u32::MAX];
    for (a, b) in edges.into_iter().flat_map(|a| edges.map(|b| (a, b))) {
        for c in [0, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
            every_dot_is_the_sum_of_its_products(a, b, c);
        }
    }
    // −128 × −128, four times.
    assert_eq!(dp4a(0x8080_8080, 0x8080_8080, 0, true, true), 65536);
    assert_eq!(dp4a(0xffff_ffff, 0xffff_ffff, 0, false, true), -1020i32 as u32);
}

fn low24(word: u32, signed: bool) -> i128 {
    let low = i128::from(word & 0x00ff_ffff);
    if signed && low >= 1 << 23 { low - (1 << 24) } else { low }
}

proptest! {
    #[test]
    fn dot_products_of_anything(a: u32, b: u32, c: u32) {
        every_dot_is_the_sum_of_its_products(a, b, c);
    }

    #[test]
    fn upper_halves_of_products(a: u64, b: u64) {
        let (x, y) = (a as u32, b as u32);
        prop_assert_eq!(mul_hi_u32(x, y), ((u128::from(x) * u128::from(y)) >> 32) as u32);
        let product = i128::from(x as i32) * i128::from(y as i32);
        prop_assert_eq!(mul_hi_s32(x as i32, y as i32), (product >> 32) as i32);
        // Schoolbook, by halves: no product of 64 bits is taken on trust.
        let (a1, a0, b1, b0) = (a >> 32, a & 0xffff_ffff, b >> 32, b & 0xffff_ffff);
        let (low, cross, other) = (a0 * b0, a1 * b0, a0 * b1);
        let middle = (low >> 32) + (cross & 0xffff_ffff) + (other & 0xffff_ffff);
        let high = a1 * b1 + (cross >> 32) + (other >> 32) + (middle >> 32);
        prop_assert_eq!(mul_hi_u64(a, b), high);
        // Each negative factor took its fellow 2^64 times too often.
        let signs = if (a as i64) < 0 { b } else { 0 }.wrapping_add(if (b as i64) < 0 { a } else { 0 });
        prop_assert_eq!(mul_hi_s64(a as i64, b as i64), high.wrapping_sub(signs) as i64);
    }

    #[test]
    fn differences_are_added_modulo_2_to_the_32(a: u32, b: u32, c: u32) {
        let unsigned = (i128::from(a) - i128::from(b)).abs() + i128::from(c);
        prop_assert_eq!(sad_u32(a, b, c), unsigned as u32);
        let signed = (i128::from(a as i32) - i128::from(b as i32)).abs() + i128::from(c);
        prop_assert_eq!(sad_s32(a as i32, b as i32, c), signed as u32);
    }

    #[test]
    fn products_of_24_bits(a: u32, b: u32, signed: bool) {
        let product = low24(a, signed) * low24(b, signed);
        prop_assert_eq!(mul24(a, b, signed, false), product as u32);
        prop_assert_eq!(mul24(a, b, signed, true), (product >> 16) as u32);
    }
}
