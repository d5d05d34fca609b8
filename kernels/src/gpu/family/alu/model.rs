//! What the kernels compute, worked out from the layouts of fragments alone: the expected digest of every thread.
//!
//! All multiplicands of a row of A are equal, likewise of a column of B, so that a sum is known without going through k; what
//! goes through k is proven by `gemm`. Layouts: PTX ISA, "Matrix Fragments for mma.m8n8k4", ".m8n8k16", ".m16n8k16" and so on.

use super::super::number::Number;
use crate::Sm;

/// Independent accumulators of a warp.
pub(super) const CHAINS: u32 = 8;

/// How numbers lie in the registers of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Each lane for itself, every number of a register for itself.
    Lane,
    /// Each lane for itself, the numbers of a register into one sum.
    Dot,
    /// Four products of 8×8×4, by groups of eight lanes.
    Quads,
    /// 8×8, so many multiplicands deep.
    Eight(u32),
    /// 16×8, so many multiplicands deep.
    Sixteen(u32),
}

/// An instruction and the entry that repeats it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    /// Entry of the kernel.
    pub entry: &'static str,
    /// Layout.
    pub form: Form,
    /// Of multiplicands.
    pub number: Number,
    /// Of accumulators.
    pub sum: Number,
}

/// From a compute capability on.
type From = (Sm, Instruction);

const fn from(sm: (u8, u8), entry: &'static str, form: Form, number: Number, sum: Number) -> From {
    (Sm::new(sm.0, sm.1), Instruction { entry, form, number, sum })
}

use Form::{Dot, Eight, Lane, Quads, Sixteen};
use Number::{Bf16, E4m3, E5m2, F16, F32, S4, S8, S32, Tf32};

pub(super) const FFMA: &[From] = &[from((6, 0), "peak_ffma", Lane, F32, F32)];
pub(super) const HFMA2: &[From] = &[from((6, 0), "peak_hfma2", Lane, F16, F16)];
pub(super) const BFMA2: &[From] = &[from((8, 0), "peak_bfma2", Lane, Bf16, Bf16)];
pub(super) const DP4A: &[From] = &[from((6, 1), "peak_dp4a", Dot, S8, S32)];
pub(super) const MMA_F16: &[From] = &[
    from((7, 0), "peak_m8n8k4_f16", Quads, F16, F32),
    from((7, 5), "peak_m16n8k8_f16", Sixteen(8), F16, F32),
    from((8, 0), "peak_m16n8k16_f16", Sixteen(16), F16, F32),
];
pub(super) const MMA_F16_ACC16: &[From] = &[
    from((7, 0), "peak_m8n8k4_f16_acc16", Quads, F16, F16),
    from((7, 5), "peak_m16n8k8_f16_acc16", Sixteen(8), F16, F16),
    from((8, 0), "peak_m16n8k16_f16_acc16", Sixteen(16), F16, F16),
];
pub(super) const MMA_BF16: &[From] = &[from((8, 0), "peak_m16n8k16_bf16", Sixteen(16), Bf16, F32)];
pub(super) const MMA_TF32: &[From] = &[from((8, 0), "peak_m16n8k8_tf32", Sixteen(8), Tf32, F32)];
pub(super) const MMA_S8: &[From] = &[
    from((7, 5), "peak_m8n8k16_s8", Eight(16), S8, S32),
    from((8, 0), "peak_m16n8k32_s8", Sixteen(32), S8, S32),
];
pub(super) const MMA_S4: &[From] = &[
    from((7, 5), "peak_m8n8k32_s4", Eight(32), S4, S32),
    from((8, 0), "peak_m16n8k64_s4", Sixteen(64), S4, S32),
];
pub(super) const MMA_E4M3: &[From] = &[from((8, 9), "peak_m16n8k32_e4m3", Sixteen(32), E4m3, F32)];
pub(super) const MMA_E5M2: &[From] = &[from((8, 9), "peak_m16n8k32_e5m2", Sixteen(32), E5m2, F32)];

/// Which of the multiplicands a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Multiplicand {
    /// Of the A of a chain.
    A(u32),
    /// Of the B of even steps.
    Even,
    /// Of the B of odd steps.
    Odd,
}

/// Where a multiplicand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// Row of A or column of B.
    pub line: u32,
    /// A number that no other of the fragment has.
    pub index: u32,
}

/// A value by where it is.
pub(super) type Values<'a> = &'a dyn Fn(Multiplicand, Spot) -> f64;

/// Multiplicands with whole and small products; what the two B add is never nothing, so that every step counts.
pub(super) fn whole(of: Multiplicand, Spot { line, .. }: Spot) -> f64 {
    let odd = if line % 3 == 0 { -1.0 } else { -3.0 };
    match of {
        Multiplicand::A(chain) => f64::from(1 + (line + chain) % 3),
        Multiplicand::Even => 2.0,
        Multiplicand::Odd => odd,
    }
}

/// What an accumulator starts with.
fn start(chain: u32, row: u32, column: u32) -> f64 {
    f64::from((chain + row + column) % 5)
}

/// The row of A, or column of B, that the quad-pair of a lane has in its hands.
fn line_of_quad(lane: u32) -> u32 {
    lane / 4 % 4 * 8 + lane % 4 + lane / 16 * 4
}

impl Instruction {
    fn of_lane(&self) -> bool {
        matches!(self.form, Form::Lane | Form::Dot)
    }

    /// Pairs of steps in a turn.
    fn pairs(&self) -> u32 {
        if self.of_lane() { 4 } else { 1 }
    }

    /// Different A.
    fn own(&self) -> u32 {
        if self.of_lane() { 1 } else { CHAINS }
    }

    /// Registers of A, of B and of an accumulator.
    fn registers(&self) -> (u32, u32, u32) {
        let wide = self.sum.bits() / 16;
        match self.form {
            Form::Lane | Form::Dot => (1, 1, 1),
            Form::Quads => (2, 2, 4 * wide),
            Form::Eight(_) => (1, 1, 2),
            Form::Sixteen(k) => {
                let b = k * self.number.bits() / 128;
                (2 * b, b, 2 * wide)
            }
        }
    }

    /// Numbers in a register of multiplicands.
    fn packed(&self) -> u32 {
        32 / self.number.bits()
    }

    /// Bytes that [`Self::operands`] makes.
    pub(super) fn operand_bytes(&self) -> usize {
        let (a, b, c) = self.registers();
        ((self.own() * a + 2 * b + CHAINS * c) * 128) as usize
    }

    /// Multiply-adds count as two.
    pub(super) fn operations_per_turn(&self) -> f64 {
        let products = match self.form {
            Form::Lane | Form::Dot => 32 * self.packed(),
            Form::Quads => 4 * 8 * 8 * 4,
            Form::Eight(k) => 8 * 8 * k,
            Form::Sixteen(k) => 16 * 8 * k,
        };
        f64::from(2 * products * CHAINS * 2 * self.pairs())
    }

    /// The row of A or column of B of a multiplicand: a register of a lane, and the place in it.
    fn line(&self, of: Multiplicand, lane: u32, register: u32, place: u32) -> u32 {
        match (self.form, of) {
            (Form::Lane | Form::Dot, _) => lane * self.packed() + place,
            (Form::Quads, _) => line_of_quad(lane),
            (Form::Sixteen(_), Multiplicand::A(_)) => lane / 4 + register % 2 * 8,
            (Form::Eight(_) | Form::Sixteen(_), _) => lane / 4,
        }
    }

    /// Row and column of an element of an accumulator.
    fn place(&self, lane: u32, register: u32, element: u32) -> (u32, u32) {
        let wide = self.sum.bits() == 32;
        match self.form {
            Form::Lane | Form::Dot => (lane * self.packed() + element, 0),
            Form::Quads => {
                let first = lane / 4 % 4 * 8;
                let upper = lane / 16 * 4;
                if wide {
                    let row = (lane & 1) + (register & 2) + upper;
                    (first + row, first + (register & 4) + (lane & 2) + (register & 1))
                } else {
                    (first + lane % 4 + upper, first + 2 * register + element)
                }
            }
            Form::Eight(_) => (lane / 4, lane % 4 * 2 + register),
            Form::Sixteen(_) if wide => (lane / 4 + register / 2 * 8, lane % 4 * 2 + register % 2),
            Form::Sixteen(_) => (lane / 4 + register * 8, lane % 4 * 2 + element),
        }
    }

    /// Numbers in a register of an accumulator.
    fn elements(&self) -> u32 {
        32 / self.sum.bits()
    }

    fn accumulator(&self, lane: u32, register: u32, value: impl Fn(u32, u32) -> f64) -> u32 {
        let numbers = (0..self.elements()).map(|element| {
            let (row, column) = self.place(lane, register, element);
            value(row, column)
        });
        word(self.sum, numbers)
    }

    /// All registers that a kernel starts with, each for 32 lanes.
    pub(super) fn operands(&self, values: Values) -> Vec<u8> {
        let (a, b, c) = self.registers();
        let multiplicands = |of: Multiplicand, count: u32| {
            let registers =
                (0..count).flat_map(|register| (0..32).map(move |lane| (register, lane)));
            let words = registers.map(move |(register, lane)| {
                let spot = |place| Spot {
                    line: self.line(of, lane, register, place),
                    index: (register * 32 + lane) * self.packed() + place,
                };
                word(self.number, (0..self.packed()).map(|place| values(of, spot(place))))
            });
            words.collect::<Vec<u32>>()
        };
        let mut words: Vec<u32> =
            (0..self.own()).flat_map(|chain| multiplicands(Multiplicand::A(chain), a)).collect();
        words.extend(multiplicands(Multiplicand::Even, b));
        words.extend(multiplicands(Multiplicand::Odd, b));
        for (chain, register) in (0..CHAINS).flat_map(|chain| (0..c).map(move |r| (chain, r))) {
            let begin = |row, column| start(chain, row, column);
            words.extend((0..32).map(|lane| self.accumulator(lane, register, begin)));
        }
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    /// What an accumulator holds after so many turns. Exact, for values that are the same along a line and whose sums are exact.
    fn sum(&self, values: Values, turns: u32, chain: u32, row: u32, column: u32) -> f64 {
        let value = |of, line| values(of, Spot { line, index: 0 });
        let both = |a, row, column| {
            value(a, row) * (value(Multiplicand::Even, column) + value(Multiplicand::Odd, column))
        };
        let steps = f64::from(turns * self.pairs());
        let chain_of_a = Multiplicand::A(if self.of_lane() { 0 } else { chain });
        let step = match self.form {
            Form::Lane => both(chain_of_a, row, row),
            Form::Dot => {
                let first = row / self.packed() * self.packed();
                (first..first + self.packed()).map(|line| both(chain_of_a, line, line)).sum()
            }
            Form::Quads => 4.0 * both(chain_of_a, row, column),
            Form::Eight(k) | Form::Sixteen(k) => f64::from(k) * both(chain_of_a, row, column),
        };
        start(chain, row, column) + steps * step
    }

    /// The digest of every lane of a warp.
    pub(super) fn digests(&self, values: Values, turns: u32) -> [u32; 32] {
        let (_, _, registers) = self.registers();
        std::array::from_fn(|lane| {
            let all = (0..CHAINS).flat_map(|chain| (0..registers).map(move |r| (chain, r)));
            all.fold(0_u32, |digest, (chain, register)| {
                let end = |row, column| self.sum(values, turns, chain, row, column);
                let word = self.accumulator(lane as u32, register, end);
                digest.wrapping_mul(31).wrapping_add(word)
            })
        })
    }
}

/// Numbers in a register, the first in the lowest bits.
fn word(number: Number, values: impl Iterator<Item = f64>) -> u32 {
    let bits = number.bits();
    values.enumerate().fold(0, |word, (i, value)| word | number.encode(value) << (bits * i as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&[From]; 12] = [
        FFMA,
        HFMA2,
        BFMA2,
        DP4A,
        MMA_F16,
        MMA_F16_ACC16,
        MMA_BF16,
        MMA_TF32,
        MMA_S8,
        MMA_S4,
        MMA_E4M3,
        MMA_E5M2,
    ];

    /// Registers a thread holds of each fragment, from the tables of the PTX ISA.
    #[test]
    fn fragments_have_as_many_registers_as_the_instructions_take() {
        for (of, sm, registers) in [
            (MMA_F16, 0, (2, 2, 8)),
            (MMA_F16_ACC16, 0, (2, 2, 4)),
            (MMA_F16, 1, (2, 1, 4)),
            (MMA_F16_ACC16, 1, (2, 1, 2)),
            (MMA_F16, 2, (4, 2, 4)),
            (MMA_F16_ACC16, 2, (4, 2, 2)),
            (MMA_TF32, 0, (4, 2, 4)),
            (MMA_S8, 0, (1, 1, 2)),
            (MMA_S8, 1, (4, 2, 4)),
            (MMA_S4, 0, (1, 1, 2)),
            (MMA_S4, 1, (4, 2, 4)),
            (MMA_E4M3, 0, (4, 2, 4)),
        ] {
            assert_eq!(of[sm].1.registers(), registers, "{}", of[sm].1.entry);
        }
    }

    #[test]
    fn every_element_of_a_tile_is_in_one_place() {
        for (_, one) in ALL.into_iter().flatten().filter(|row| !row.1.of_lane()) {
            let (_, _, registers) = one.registers();
            let mut places: Vec<(u32, u32)> = (0..32)
                .flat_map(|lane| (0..registers).map(move |register| (lane, register)))
                .flat_map(|(lane, register)| {
                    (0..one.elements()).map(move |element| one.place(lane, register, element))
                })
                .collect();
            places.sort_unstable();
            places.dedup();
            let (rows, columns) = match one.form {
                Form::Sixteen(_) => (16, 8),
                Form::Quads => (4 * 8, 8),
                _ => (8, 8),
            };
            assert_eq!(places.len(), rows * columns, "{}", one.entry);
        }
    }

    /// Two for each product of 32 lanes, or of the shape in the instruction's name.
    #[test]
    fn operations_are_counted_by_the_multiplicands_of_a_warp() {
        for (of, per_instruction) in
            [(FFMA, 64.0), (HFMA2, 128.0), (DP4A, 256.0), (MMA_BF16, 4096.0), (MMA_E4M3, 8192.0)]
        {
            let one = of[0].1;
            let instructions = f64::from(CHAINS * 2 * one.pairs());
            assert_eq!(one.operations_per_turn(), per_instruction * instructions, "{}", one.entry);
        }
    }
}
