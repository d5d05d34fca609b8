//! Bytes, fields and shifts against the ISA's loops and tables, one bit at a time (PTX ISA 8.8, 9.7.1, 9.7.8 and 9.7.9.7).

use proptest::prelude::*;

use super::super::bits::*;

/// The table of `prmt` with a mode: bytes from the highest, for selectors 0 to 3.
const PERMUTATIONS: [(Permute, [[u32; 4]; 4]); 6] = [
    (Permute::Forward4, [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]]),
    (Permute::Backward4, [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]]),
    (Permute::Replicate8, [[0; 4], [1; 4], [2; 4], [3; 4]]),
    (Permute::ClampLeft, [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]]),
    (Permute::ClampRight, [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]]),
    (Permute::Replicate16, [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]]),
];

#[test]
fn permutations_follow_the_table() {
    let (a, b) = (0x1312_1110, 0x1716_1514);
    for (mode, table) in PERMUTATIONS {
        for (selector, bytes) in (0..).zip(table) {
            let expected = bytes.iter().fold(0, |word, byte| word << 8 | 0x10 | byte);
            assert_eq!(prmt(a, b, selector, mode), expected, "{mode:?} {selector}");
            assert_eq!(prmt(a, b, selector | 0xffff_fffc, mode), expected, "only two bits count");
        }
    }
}

#[test]
fn every_selector_of_every_place_picks_its_byte_or_sign() {
    let bytes = [0x01, 0x82, 0x03, 0x84, 0xf5, 0x76, 0xf7, 0x78u8];
    let word = |four: &[u8]| u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    let (a, b) = (word(&bytes[..4]), word(&bytes[4..]));
    for selector in 0..=u16::MAX {
        let expected: Vec<u8> = (0..4)
            .map(|place| {
                let nibble = usize::from(selector >> (4 * place) & 15);
                let byte = bytes[nibble & 7];
                if nibble < 8 { byte } else { u8::from(byte >= 0x80) * 0xff }
            })
            .collect();
        assert_eq!(prmt(a, b, selector.into(), Permute::Index), word(&expected), "{selector:04x}");
    }
}

/// The ISA makes a table of a function by applying it to these three bytes.
const TA: u8 = 0xf0;
const TB: u8 = 0xcc;
const TC: u8 = 0xaa;

#[test]
fn lop3_computes_the_function_its_table_was_made_of() {
    let (a, b, c) = (0x0123_4567, 0x89ab_cdef, 0x5a5a_3c3c);
    assert_eq!(lop3(a, b, c, TA & TB & TC), a & b & c);
    assert_eq!(lop3(a, b, c, TA | TB | TC), a | b | c);
    assert_eq!(lop3(a, b, c, TA & TB & !TC), a & b & !c);
    assert_eq!(lop3(a, b, c, (TA & TB) | TC), (a & b) | c);
    assert_eq!(lop3(a, b, c, TA ^ TB ^ TC), a ^ b ^ c);
    assert_eq!(lop3(a, b, c, (TA & TB) | (!TA & TC)), (a & b) | (!a & c));
}

#[test]
fn every_truth_table_is_looked_up_bit_by_bit() {
    // Every combination of three bits is in every byte, at different places.
    let (a, b, c) = (0xf0f0_1e87, 0xcc33_5ad2, 0xaa55_9c6b);
    for table in 0..=u8::MAX {
        for place in 0..32 {
            let bit = |word: u32| word >> place & 1;
            let row = bit(a) << 2 | bit(b) << 1 | bit(c);
            let expected = u32::from(table) >> row & 1;
            assert_eq!(bit(lop3(a, b, c, table)), expected, "table {table:02x}, bit {place}");
        }
    }
}

/// `bfe` as the ISA writes it.
fn field_of(a: u64, position: u32, length: u32, signed: bool, width: u32) -> u64 {
    let (position, length, last) = (position & 0xff, length & 0xff, width - 1);
    let bit = |place: u32| a >> place & 1;
    let sign = if !signed || length == 0 { 0 } else { bit((position + length - 1).min(last)) };
    (0..width).fold(0, |field, i| {
        let kept = i < length && position + i <= last;
        field | (if kept { bit(position + i) } else { sign }) << i
    })
}

/// `bfi` as the ISA writes it.
fn inserted(a: u64, b: u64, position: u32, length: u32, width: u32) -> u64 {
    let (position, length) = (position & 0xff, length & 0xff);
    (0..length)
        .filter(|i| position + i < width)
        .fold(b, |word, i| word & !(1 << (position + i)) | (a >> i & 1) << (position + i))
}

#[test]
fn every_field_is_taken_and_put_as_the_isa_loops() {
    let edges = [0, 1, 7, 8, 15, 30, 31, 32, 33, 47, 62, 63, 64, 65, 128, 254, 255, 256, 259];
    for word in [0x8123_4567_89ab_cdef, 0x7edc_ba98_0765_4321, u64::MAX, 0] {
        for (position, length) in edges.into_iter().flat_map(|p| edges.map(|l| (p, l))) {
            for (width, a) in [(32, word & 0xffff_ffff), (64, word)] {
                for signed in [false, true] {
                    assert_eq!(
                        bfe(a, position, length, signed, width),
                        field_of(a, position, length, signed, width),
                        "{a:x} {position} {length} {signed} {width}"
                    );
                }
                let mask = if width == 32 { 0xffff_ffff } else { u64::MAX };
                let got = bfi(a, !a & mask, position, length) & mask;
                assert_eq!(got, inserted(a, !a & mask, position, length, width));
            }
        }
    }
}

#[test]
fn funnels_clamp_or_wrap_at_32() {
    let (low, high) = (0x89ab_cdef, 0x0123_4567);
    assert_eq!(shf_left(low, high, 8, true), 0x2345_6789);
    assert_eq!(shf_right(low, high, 8, true), 0x6789_abcd);
    for count in [32, 33, 64, u32::MAX] {
        assert_eq!(shf_left(low, high, count, false), low);
        assert_eq!(shf_right(low, high, count, false), high);
    }
    assert_eq!((shf_left(low, high, 32, true), shf_right(low, high, 32, true)), (high, low));
    assert_eq!(shf_left(low, high, 36, true), shf_left(low, high, 4, false));
}

#[test]
fn bfind_finds_the_first_bit_that_is_not_the_sign() {
    for (a, signed, width, place) in [
        (0, false, 32, u32::MAX),
        (0, true, 64, u32::MAX),
        (u64::MAX, true, 32, u32::MAX),
        (0xffff_ffff, false, 32, 31),
        (1, true, 32, 0),
        (i64::from(i32::MIN) as u64, true, 32, 30),
        (-2i64 as u64, true, 64, 0),
        (0x0001_0000_0000, false, 64, 32),
        (i64::MIN as u64, true, 64, 62),
        (i64::MIN as u64, false, 64, 63),
    ] {
        assert_eq!(bfind(a, signed, width, false), place, "{a:x}");
        let moved = if place == u32::MAX { place } else { width - 1 - place };
        assert_eq!(bfind(a, signed, width, true), moved, "{a:x}, .shiftamt");
    }
}

/// `fns` as the ISA writes it.
fn nth_set(mask: u32, base: u32, offset: i32) -> u32 {
    let set = |place: i32| mask >> place & 1 == 1;
    if offset == 0 {
        return if set(base as i32) { base } else { u32::MAX };
    }
    let (mut place, mut left) = (base as i32, offset.unsigned_abs() - 1);
    while (0..32).contains(&place) {
        if set(place) {
            if left == 0 {
                return place as u32;
            }
            left -= 1;
        }
        place += offset.signum();
    }
    u32::MAX
}

#[test]
fn masks_and_extensions_of_every_count() {
    for count in (0..40).chain([63, 64, u32::MAX]) {
        for wrap in [false, true] {
            let bits = if wrap { count & 31 } else { count.min(32) };
            let low = ((1u64 << bits) - 1) as u32;
            for a in [0x5a5a_a5a5u32, 0xffff_ffff, 0x8000_0001] {
                assert_eq!(szext(a, count, false, wrap), a & low);
                let sign = bits > 0 && a >> (bits - 1) & 1 == 1;
                let extended = if sign { a & low | !low } else { a & low };
                assert_eq!(szext(a, count, true, wrap), extended, "{a:x} from {bits}");
            }
            for position in (0..40).chain([u32::MAX]) {
                let place = if wrap { position & 31 } else { position.min(32) };
                let expected = (u128::from(low) << place) as u32;
                assert_eq!(bmsk(position, count, wrap), expected, "{position} {count} {wrap}");
            }
        }
    }
}

proptest! {
    #[test]
    fn funnels_are_128_bit_shifts(low: u32, high: u32, count: u32, wrap: bool) {
        let shift = if wrap { count & 31 } else { count.min(32) };
        let both = u128::from(high) << 32 | u128::from(low);
        prop_assert_eq!(shf_left(low, high, count, wrap), (both << shift >> 32) as u32);
        prop_assert_eq!(shf_right(low, high, count, wrap), (both >> shift) as u32);
    }

    /// Counts are whole registers and clamp at the width.
    #[test]
    fn shifts_clamp_at_the_width(a: u64, count in prop_oneof![0..70u32, any::<u32>()]) {
        let (n32, n64) = (count.min(32), count.min(64));
        let word = a as u32;
        prop_assert_eq!(shl32(word, count), (u128::from(word) << n32) as u32);
        prop_assert_eq!(shr_u32(word, count), (u128::from(word) >> n32) as u32);
        prop_assert_eq!(shr_s32(word as i32, count), (i128::from(word as i32) >> n32) as i32);
        prop_assert_eq!(shl64(a, count), (u128::from(a) << n64) as u64);
        prop_assert_eq!(shr_u64(a, count), (u128::from(a) >> n64) as u64);
        prop_assert_eq!(shr_s64(a as i64, count), (i128::from(a as i64) >> n64) as i64);
    }

    #[test]
    fn any_field_is_taken_and_put_as_the_isa_loops(a: u64, b: u64, position in 0..80u32, length in 0..80u32, signed: bool) {
        prop_assert_eq!(bfe(a, position, length, signed, 64), field_of(a, position, length, signed, 64));
        let (low, into) = (a & 0xffff_ffff, b & 0xffff_ffff);
        prop_assert_eq!(bfe(low, position, length, signed, 32), field_of(low, position, length, signed, 32));
        prop_assert_eq!(bfi(a, b, position, length), inserted(a, b, position, length, 64));
        prop_assert_eq!(bfi(low, into, position, length) as u32, inserted(low, into, position, length, 32) as u32);
    }

    #[test]
    fn any_set_bit_is_counted_off_as_the_isa_loops(mask: u32, base in 0..32u32, offset in -34..34i32) {
        prop_assert_eq!(fns(mask, base, offset), nth_set(mask, base, offset));
    }
}
