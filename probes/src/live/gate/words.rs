//! Instructions whose lanes take and give a few words: what goes in, and what must come out.

use half::{bf16, f16};

/// Lanes of a warp.
const LANES: usize = 32;

/// An exchange of words with one warp.
#[derive(Clone, Copy)]
pub struct Words {
    /// What all lanes are given, one after the other.
    pub input: fn() -> Vec<u32>,
    /// What they must give.
    pub expected: fn() -> Vec<u32>,
}

/// Two halves of a word.
fn pair(low: u16, high: u16) -> u32 {
    u32::from(low) | u32::from(high) << 16
}

fn half_pair(low: f32, high: f32) -> u32 {
    pair(f16::from_f32(low).to_bits(), f16::from_f32(high).to_bits())
}

fn bf16_pair(low: f32, high: f32) -> u32 {
    pair(bf16::from_f32(low).to_bits(), bf16::from_f32(high).to_bits())
}

/// Small integers that differ from lane to lane, three of them.
fn lane_numbers(lane: usize) -> [i32; 3] {
    let lane = lane as i32;
    [lane % 7 - 3, lane % 5 - 2, lane - 16]
}

/// a·b + c on pairs, the second of each negated in a.
fn multiply_adds(of: fn(f32, f32) -> u32) -> (Vec<u32>, Vec<u32>) {
    let lane = |lane: usize| {
        let [a, b, c] = lane_numbers(lane).map(|number| number as f32);
        ([of(a, -a), of(b, b), of(c, c)], of(a * b + c, -a * b + c))
    };
    let (input, expected): (Vec<_>, Vec<_>) = (0..LANES).map(lane).unzip();
    (input.concat(), expected)
}

pub(in super::super) const FMA_F16: Words =
    Words { input: || multiply_adds(half_pair).0, expected: || multiply_adds(half_pair).1 };

pub(in super::super) const FMA_BF16: Words =
    Words { input: || multiply_adds(bf16_pair).0, expected: || multiply_adds(bf16_pair).1 };

fn dots() -> (Vec<u32>, Vec<u32>) {
    let bytes = |values: [i32; 4]| u32::from_le_bytes(values.map(|value| value as i8 as u8));
    let lane = |lane: usize| {
        let [a, b, c] = lane_numbers(lane);
        let (left, right) = ([a, -a, 127, -128], [b, 5, -c, c]);
        let dot: i32 = left.iter().zip(right).map(|(a, b)| a * b).sum();
        ([bytes(left), bytes(right), c as u32], (dot + c) as u32)
    };
    let (input, expected): (Vec<_>, Vec<_>) = (0..LANES).map(lane).unzip();
    (input.concat(), expected)
}

pub(in super::super) const DP4A: Words = Words { input: || dots().0, expected: || dots().1 };

/// Numbers that a sum of all lanes keeps exactly, in whatever order.
fn addends() -> impl Iterator<Item = f32> {
    (0..LANES).map(|lane| lane_numbers(lane)[0] as f32 + 1.0)
}

pub(in super::super) const ATOM_F16X2: Words = Words {
    input: || addends().map(|one| half_pair(one, 2.0 * one)).collect(),
    expected: || vec![half_pair(addends().sum(), 2.0 * addends().sum::<f32>())],
};

pub(in super::super) const ATOM_F16: Words = Words {
    input: || addends().map(|one| half_pair(one, 9.0)).collect(),
    expected: || vec![half_pair(addends().sum(), 0.0)],
};

pub(in super::super) const ATOM_BF16X2: Words = Words {
    input: || addends().map(|one| bf16_pair(one, 2.0 * one)).collect(),
    expected: || vec![bf16_pair(addends().sum(), 2.0 * addends().sum::<f32>())],
};

/// Any word, different from every other.
fn words(count: usize) -> Vec<u32> {
    (0..count as u32).map(|at| at.wrapping_mul(0x9e37_79b1) ^ 0x5bd1_e995).collect()
}

pub(in super::super) const SAME: Words =
    Words { input: || words(LANES), expected: || words(LANES) };

/// Four words a lane; each lane gives those of the lane beside it.
pub(in super::super) const NEIGHBOURS: Words = Words {
    input: || words(4 * LANES),
    expected: || {
        let all = words(4 * LANES);
        (0..LANES).flat_map(|lane| all[4 * (lane ^ 1)..][..4].to_vec()).collect()
    },
};

/// Row l is lane l's; lane l gets of each of the four matrices word l mod 4 of row l / 4.
pub(in super::super) const MATRICES: Words = Words {
    input: || words(4 * LANES),
    expected: || {
        let all = words(4 * LANES);
        let of = |lane: usize, matrix: usize| all[4 * (8 * matrix + lane / 4) + lane % 4];
        (0..LANES)
            .flat_map(|lane| (0..4).map(move |matrix| (lane, matrix)))
            .map(|(l, m)| of(l, m))
            .collect()
    },
};

pub(in super::super) const SUM: Words = Words {
    input: || words(LANES),
    expected: || vec![words(LANES).into_iter().fold(0, u32::wrapping_add); LANES],
};

/// Numbers about which conversions may differ: ties to both sides, overflow, zero with its sign, the smallest.
const ROUNDED: [(f32, u16); 8] = [
    (1.0, 0x3f80),
    (-2.5, 0xc020),
    // Half-way between 0x3f80 and 0x3f81: to the even one; and between 0x3f81 and 0x3f82.
    (1.0 + 1.0 / 256.0, 0x3f80),
    (1.0 + 3.0 / 256.0, 0x3f82),
    (-0.0, 0x8000),
    (f32::INFINITY, 0x7f80),
    (f32::MAX, 0x7f80),
    (70_331.0, 0x4789),
];

pub(in super::super) const CVT_BF16: Words = Words {
    input: || (0..LANES).map(|lane| ROUNDED[lane % 8].0.to_bits()).collect(),
    expected: || (0..LANES).map(|lane| ROUNDED[lane % 8].1.into()).collect(),
};

/// OCP 8-bit floating point specification, E4M3; beyond 448 it saturates.
const E4M3: [(f32, u8); 8] = [
    (1.0, 0x38),
    (-2.0, 0xc0),
    (3.0, 0x44),
    (448.0, 0x7e),
    (1e6, 0x7e),
    (-1e6, 0xfe),
    (0.015_625, 0x08),
    (0.0, 0),
];

pub(in super::super) const CVT_E4M3: Words = Words {
    input: || pairs_of(&E4M3).flat_map(|(low, high)| [low.0.to_bits(), high.0.to_bits()]).collect(),
    expected: || {
        pairs_of(&E4M3).map(|(low, high)| u32::from(low.1) | u32::from(high.1) << 8).collect()
    },
};

/// OCP microscaling formats, E2M1: 0, ½, 1, 1½, 2, 3, 4, 6; beyond 6 it saturates.
const E2M1: [(f32, u8); 8] =
    [(0.0, 0), (0.5, 1), (1.0, 2), (1.5, 3), (-2.0, 0xc), (3.0, 5), (4.0, 6), (-100.0, 0xf)];

pub(in super::super) const CVT_E2M1: Words = Words {
    input: || pairs_of(&E2M1).flat_map(|(low, high)| [low.0.to_bits(), high.0.to_bits()]).collect(),
    expected: || {
        pairs_of(&E2M1).map(|(low, high)| u32::from(low.1) | u32::from(high.1) << 4).collect()
    },
};

/// Two rows of a table for every lane.
fn pairs_of(table: &[(f32, u8); 8]) -> impl Iterator<Item = ((f32, u8), (f32, u8))> + '_ {
    (0..LANES).map(|lane| (table[lane % 8], table[(lane / 4 + 3) % 8]))
}

/// Two 16×16 matrices of fp16 as they lie in memory, and their product in binary32.
pub(in super::super) const SQUARES: Words = Words {
    input: || {
        let halves: Vec<u16> = (0..512).map(|at| f16::from_f32(square(at)).to_bits()).collect();
        halves.chunks_exact(2).map(|two| pair(two[0], two[1])).collect()
    },
    expected: || {
        let sum = |row: usize, column: usize| -> f32 {
            (0..16).map(|at| square(16 * row + at) * square(256 + 16 * at + column)).sum()
        };
        (0..256).map(|at| sum(at / 16, at % 16).to_bits()).collect()
    },
};

fn square(at: usize) -> f32 {
    ((at * 7 + at / 16) % 5) as f32 - 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// bfloat16 is the upper half of binary32, rounded to the even one: checked against plain integers.
    #[test]
    fn roundings_are_those_of_integers() {
        for (value, bits) in ROUNDED {
            let wide = value.to_bits();
            let rounded = (wide + 0x7fff + (wide >> 16 & 1)) >> 16;
            assert_eq!(u32::from(bits), rounded, "{value}");
        }
    }

    #[test]
    fn sums_stay_where_every_integer_is_a_number() {
        let sum: f32 = addends().map(f32::abs).sum();
        assert!(2.0 * sum <= 256.0, "bfloat16 holds every integer up to 256");
        let (_, fma) = multiply_adds(bf16_pair);
        assert_eq!(fma.len(), LANES);
    }

    /// By hand: lane 0 multiplies −3 by −2 and adds −16; its second half +3 by −2.
    #[test]
    fn the_first_lane_is_worked_out_by_hand() {
        assert_eq!((FMA_F16.expected)()[0], half_pair(-10.0, -22.0));
        // −3·−2 + 3·5 + 127·16 + −128·−16 − 16
        assert_eq!((DP4A.expected)()[0], (6 + 15 + 2032 + 2048 - 16_i32) as u32);
    }
}
