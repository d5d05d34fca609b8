//! Products of small matrices on the tensor cores: which element of which matrix a lane holds, and what must come out.
//!
//! Fragments: PTX ISA 8.8, "Matrix fragments for mma". From Turing on they are alike in words of 32 bits, whatever the words hold;
//! Volta's are its own. Elements are small integers, so that every sum is exact in every order and format.

use half::{bf16, f16};

/// Lanes of a warp.
const LANES: usize = 32;

/// What a word of an operand holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// TF32, in the bits of binary32.
    Tf32,
    /// FP8 with four bits of exponent.
    E4m3,
    /// FP4.
    E2m1,
    /// Signed byte.
    I8,
    /// Signed 4-bit integer.
    I4,
    /// One bit.
    B1,
}

impl Element {
    fn bits(self) -> u32 {
        match self {
            Self::Tf32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::E4m3 | Self::I8 => 8,
            Self::E2m1 | Self::I4 => 4,
            Self::B1 => 1,
        }
    }

    /// Elements of a word.
    pub(super) fn per_word(self) -> usize {
        32 / self.bits() as usize
    }

    /// A number that every format holds.
    fn value(self, hash: u32) -> i32 {
        match self {
            Self::B1 => (hash & 1) as i32,
            _ => (hash % 7) as i32 - 3,
        }
    }

    /// The bits of such a number.
    fn encode(self, value: i32) -> u32 {
        // Zero to three, without a sign.
        let size = value.unsigned_abs() as usize % 4;
        let signed = |table: [u32; 4], sign: u32| table[size] | if value < 0 { sign } else { 0 };
        match self {
            Self::F16 => u32::from(f16::from_f32(value as f32).to_bits()),
            Self::Bf16 => u32::from(bf16::from_f32(value as f32).to_bits()),
            Self::Tf32 => (value as f32).to_bits(),
            Self::E4m3 => signed([0, 0x38, 0x40, 0x44], 0x80),
            Self::E2m1 => signed([0, 2, 4, 5], 8),
            Self::I8 | Self::I4 | Self::B1 => value as u32 & ((1 << self.bits()) - 1),
        }
    }

    /// Whether sums of it are integers.
    fn is_integer(self) -> bool {
        matches!(self, Self::I8 | Self::I4 | Self::B1)
    }
}

/// How the elements lie in the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// So many rows, eight columns, so many words along the inner side.
    Words {
        /// Rows: 8 or 16.
        rows: usize,
        /// Words: 4 or 8.
        inner: usize,
    },
    /// Four products of 8×8×4 at once, one per pair of quads.
    Volta,
    /// Four warps of 16 rows, 16 along the inner side, by eight columns of ones.
    WarpGroup,
}

/// A product: what it is of, and how it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Format of the operands.
    pub element: Element,
    /// How they lie.
    pub layout: Layout,
}

/// The element of the first (0) or second (1) operand in this row, or column, at this place of the inner side.
fn element(tile: Tile, operand: u32, line: usize, inner: usize) -> i32 {
    let place = (operand << 24) ^ ((line as u32) << 12) ^ inner as u32;
    // Any mixing does: what matters is that no two lines are alike.
    let hash = place.wrapping_add(1).wrapping_mul(0x9e37_79b1);
    tile.element.value((hash ^ (hash >> 15)).wrapping_mul(0x85eb_ca6b) >> 9)
}

impl Tile {
    /// Threads it runs on.
    pub fn threads(self) -> usize {
        if self.layout == Layout::WarpGroup { 4 * LANES } else { LANES }
    }

    /// Words every lane is given, one lane after the other.
    pub fn input(self) -> Vec<u32> {
        (0..self.threads()).flat_map(|lane| self.words_of(lane)).collect()
    }

    /// Words every lane must give.
    pub fn expected(self) -> Vec<u32> {
        let sums = (0..self.threads()).flat_map(|lane| self.sums_of(lane));
        let bits = |sum: i32| {
            if self.element.is_integer() { sum as u32 } else { (sum as f32).to_bits() }
        };
        sums.map(bits).collect()
    }

    fn words_of(self, lane: usize) -> Vec<u32> {
        let (group, within) = (lane % LANES / 4, lane % 4);
        let word = |operand, line, at| self.word(operand, line, at);
        match self.layout {
            Layout::Words { rows, inner } => {
                let steps = || (0..inner).step_by(4).map(|step| step + within);
                let a = steps()
                    .flat_map(|at| (0..rows).step_by(8).map(move |up| word(0, group + up, at)));
                a.chain(steps().map(|at| word(1, group, at))).collect()
            }
            Layout::Volta => {
                let pair = lane % 16 / 4;
                let line = 8 * pair + within + 4 * (lane / 16);
                [word(0, line, 0), word(0, line, 1), word(1, line, 0), word(1, line, 1)].into()
            }
            Layout::WarpGroup => {
                let row = lane / LANES * 16 + group;
                let places =
                    [(row, within), (row + 8, within), (row, within + 4), (row + 8, within + 4)];
                places.into_iter().map(|(row, at)| word(0, row, at)).collect()
            }
        }
    }

    /// A word of an operand: the elements along the inner side that lie in it, the first lowest.
    fn word(self, operand: u32, line: usize, at: usize) -> u32 {
        let (count, bits) = (self.element.per_word(), self.element.bits());
        let of = |i: usize| self.element.encode(element(self, operand, line, at * count + i));
        (0..count).fold(0, |word, i| word | of(i) << (bits * i as u32))
    }

    fn sums_of(self, lane: usize) -> Vec<i32> {
        let (group, within) = (lane % LANES / 4, lane % 4);
        match self.layout {
            Layout::Words { rows, inner } => {
                let depth = inner * self.element.per_word();
                let sum = |row, column| self.sum(row, column, depth);
                let pair = |up| [sum(group + up, 2 * within), sum(group + up, 2 * within + 1)];
                (0..rows).step_by(8).flat_map(pair).collect()
            }
            Layout::Volta => {
                let pair = 8 * (lane % 16 / 4);
                let place = |i: usize| {
                    let row = (lane & 1) + (i & 2) + 4 * (lane / 16);
                    (row, (i & 4) + (lane & 2) + (i & 1))
                };
                (0..8)
                    .map(place)
                    .map(|(row, column)| self.sum(pair + row, pair + column, 4))
                    .collect()
            }
            Layout::WarpGroup => {
                let row = lane / LANES * 16 + group;
                let sum = |row| (0..16).map(|at| element(self, 0, row, at)).sum();
                [sum(row), sum(row), sum(row + 8), sum(row + 8)].into()
            }
        }
    }

    fn sum(self, row: usize, column: usize, depth: usize) -> i32 {
        (0..depth).map(|at| element(self, 0, row, at) * element(self, 1, column, at)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Element; 8] = [
        Element::F16,
        Element::Bf16,
        Element::Tf32,
        Element::E4m3,
        Element::E2m1,
        Element::I8,
        Element::I4,
        Element::B1,
    ];

    /// OCP 8-bit floating point specification, E4M3: 1 is 0x38, 3 is 0x44; OCP microscaling formats, E2M1: 1 is 2, 3 is 5; IEEE 754 and
    /// two's complement for the rest.
    #[test]
    fn numbers_have_the_bits_of_their_formats() {
        for (element, three, minus_one) in [
            (Element::F16, 0x4200, 0xbc00),
            (Element::Bf16, 0x4040, 0xbf80),
            (Element::Tf32, 0x4040_0000, 0xbf80_0000),
            (Element::E4m3, 0x44, 0xb8),
            (Element::E2m1, 5, 0xa),
            (Element::I8, 3, 0xff),
            (Element::I4, 3, 0xf),
        ] {
            assert_eq!((element.encode(3), element.encode(-1)), (three, minus_one), "{element:?}");
        }
        assert_eq!((Element::B1.encode(1), Element::B1.encode(0)), (1, 0));
    }

    /// Programming guide, "Element types and matrix sizes": words of 32 bits along the inner side.
    #[test]
    fn tiles_are_as_deep_as_the_instruction_says() {
        let depth = |element: Element, inner: usize| inner * element.per_word();
        for (element, inner, want) in [
            (Element::F16, 8, 16),
            (Element::F16, 4, 8),
            (Element::Tf32, 8, 8),
            (Element::I8, 4, 16),
            (Element::I8, 8, 32),
            (Element::I4, 4, 32),
            (Element::E2m1, 8, 64),
            (Element::B1, 8, 256),
        ] {
            assert_eq!(depth(element, inner), want, "{element:?}");
        }
    }

    /// A product whose rows and columns were mixed up would show: no two rows of the result are alike.
    #[test]
    fn no_two_rows_of_a_result_are_alike() {
        for element in ALL {
            let tile = Tile { element, layout: Layout::Words { rows: 16, inner: 8 } };
            let depth = 8 * element.per_word();
            let row = |row: usize| (0..8).map(|c| tile.sum(row, c, depth)).collect::<Vec<_>>();
            let rows: std::collections::BTreeSet<_> = (0..16).map(row).collect();
            assert_eq!(rows.len(), 16, "{element:?}");
        }
    }

    #[test]
    fn every_word_has_its_place() {
        let count = |layout| {
            let tile = Tile { element: Element::F16, layout };
            (tile.input().len() / tile.threads(), tile.expected().len() / tile.threads())
        };
        assert_eq!(count(Layout::Words { rows: 16, inner: 8 }), (6, 4));
        assert_eq!(count(Layout::Words { rows: 16, inner: 4 }), (3, 4));
        assert_eq!(count(Layout::Words { rows: 8, inner: 4 }), (2, 2));
        assert_eq!(count(Layout::Volta), (4, 8));
        assert_eq!(count(Layout::WarpGroup), (4, 4));
    }
}
