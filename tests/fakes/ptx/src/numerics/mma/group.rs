//! `wgmma.mma_async`: 64 rows of D = A × B + D by a warpgroup. PTX ISA 8.8, 9.7.15.5 "Asynchronous wgmma.mma_async".
//!
//! Operands come as rows of 32 bytes, whatever lay in between in shared memory: 64 rows of A, and one of B for each column of D. That is a depth of 16
//! of 16-bit numbers, 32 of bytes, 8 of tf32.
//!
//! Sums are those of `sum`: exact, then cut once to `.f32`; of fp8 those of `short`, which keep 13 bits behind the first.

use super::Register;
use super::element::{Accumulator, Bf16, E4m3, E5m2, Element, F16, F32, S8, Tf32, U8};
use super::short::Short;
use super::sum::Span;

/// Rows of A and D.
pub const ROWS: usize = 64;
/// Bytes of a row of an operand.
pub const ROW_BYTES: usize = 32;

/// A row of A, or a column of B.
pub type OperandRow = [u8; ROW_BYTES];

/// Accumulators of the four warps, register first.
pub type Accumulators = [Vec<Register>; 4];

/// A and B to the accumulators; whether products are negated.
type Run = fn(&[OperandRow], &[OperandRow], &mut Accumulators, bool);

/// One form of `wgmma.mma_async.sync.aligned`, without its shape.
#[derive(Debug)]
pub struct GroupMma {
    /// Types of D, A and B.
    pub name: &'static str,
    /// Depth.
    pub k: usize,
    /// Accumulators of a lane for 8 columns, in registers.
    registers: usize,
    /// Whether operands may be negated.
    pub scales: bool,
    /// Whether operands may be transposed: those of 16 bits.
    pub turns: bool,
    run: Run,
}

impl GroupMma {
    /// Registers a lane needs for so many columns of D.
    pub fn registers(&self, columns: usize) -> usize {
        self.registers * columns / 8
    }

    /// Bytes of an element of an operand.
    pub fn element_bytes(&self) -> usize {
        ROW_BYTES / self.k
    }

    /// Adds `a × b` to the accumulators, or subtracts it.
    pub fn run(&self, a: &[OperandRow], b: &[OperandRow], d: &mut Accumulators, negate: bool) {
        (self.run)(a, b, d, negate);
    }
}

const fn float(name: &'static str, k: usize, registers: usize, run: Run) -> GroupMma {
    GroupMma { name, k, registers, scales: true, turns: k == 16, run }
}

const fn integer(name: &'static str, run: Run) -> GroupMma {
    GroupMma { name, k: 32, registers: 4, scales: false, turns: false, run }
}

/// Every form there is here.
pub static GROUP_MMAS: &[GroupMma] = &[
    float("f32.f16.f16", 16, 4, sums::<F16, F16, F32>),
    float("f16.f16.f16", 16, 2, sums::<F16, F16, F16>),
    float("f32.bf16.bf16", 16, 4, sums::<Bf16, Bf16, F32>),
    float("f32.tf32.tf32", 8, 4, sums::<Tf32, Tf32, F32>),
    float("f32.e4m3.e4m3", 32, 4, sums::<E4m3, E4m3, Short>),
    float("f32.e4m3.e5m2", 32, 4, sums::<E4m3, E5m2, Short>),
    float("f32.e5m2.e4m3", 32, 4, sums::<E5m2, E4m3, Short>),
    float("f32.e5m2.e5m2", 32, 4, sums::<E5m2, E5m2, Short>),
    integer("s32.s8.s8", whole::<S8, S8>),
    integer("s32.s8.u8", whole::<S8, U8>),
    integer("s32.u8.s8", whole::<U8, S8>),
    integer("s32.u8.u8", whole::<U8, U8>),
];

/// The form and the columns of D that `m64n128k16.f32.f16.f16` names.
pub fn find_group(name: &str) -> Option<(&'static GroupMma, usize)> {
    let (shape, types) = name.split_once('.')?;
    let (columns, k) = shape.strip_prefix("m64n")?.split_once('k')?;
    let (columns, k): (usize, usize) = (columns.parse().ok()?, k.parse().ok()?);
    let form = GROUP_MMAS.iter().find(|form| (form.name, form.k) == (types, k))?;
    // Integers have fewer: 8, 16, 24 and 32, then multiples of 16.
    let whole = form.scales || columns <= 32 || columns % 16 == 0;
    let known = (8..=256).contains(&columns) && columns % 8 == 0 && whole;
    known.then_some((form, columns))
}

/// Rows of A as registers of the four warps hold them: register r of lane l has four bytes of row l / 4, plus 8 for odd r, from byte 4·(l mod 4) on,
/// plus 16 from r = 2 on.
pub fn rows_of_registers(fragments: [[Register; 4]; 4]) -> Vec<OperandRow> {
    let mut rows = vec![[0; ROW_BYTES]; ROWS];
    for (warp, registers) in fragments.iter().enumerate() {
        for (r, register) in registers.iter().enumerate() {
            for (lane, word) in register.iter().enumerate() {
                let row = 16 * warp + 8 * (r % 2) + lane / 4;
                let at = 16 * (r / 2) + 4 * (lane % 4);
                rows[row][at..at + 4].copy_from_slice(&word.to_le_bytes());
            }
        }
    }
    rows
}

/// Where an element of D is: warp, register of 32 bits if it had one to itself, lane.
fn place(row: usize, column: usize) -> (usize, usize, usize) {
    let element = 4 * (column / 8) + 2 * (row % 16 / 8) + column % 2;
    (row / 16, element, 4 * (row % 8) + column % 8 / 2)
}

fn element<E: Element>(row: &OperandRow, index: usize) -> E::Value {
    let word = index / E::PER_REGISTER * 4;
    let bytes = [row[word], row[word + 1], row[word + 2], row[word + 3]];
    E::unpack(u32::from_le_bytes(bytes), index % E::PER_REGISTER)
}

fn values<E: Element>(row: &OperandRow) -> Vec<E::Value> {
    (0..ROW_BYTES / 4 * E::PER_REGISTER).map(|index| element::<E>(row, index)).collect()
}

/// B by depth, so that its columns lie together.
fn by_depth<E: Element>(columns: &[OperandRow]) -> Vec<Vec<E::Value>> {
    let depth = ROW_BYTES / 4 * E::PER_REGISTER;
    let at = |k: usize| columns.iter().map(|column| element::<E>(column, k)).collect();
    (0..depth).map(at).collect()
}

fn sums<X: Element<Value = f64>, Y: Element<Value = f64>, A: Accumulator>(
    a: &[OperandRow],
    b: &[OperandRow],
    d: &mut Accumulators,
    negate: bool,
) {
    let lines = by_depth::<Y>(b);
    let span = |column: &OperandRow| Span::of(values::<Y>(column).into_iter(), Y::FRACTION);
    let spans: Vec<Span> = b.iter().map(span).collect();
    for (row, operand) in a.iter().enumerate() {
        let mut left = values::<X>(operand);
        if negate {
            left.iter_mut().for_each(|value| *value = -*value);
        }
        let held = |column: usize| {
            let (warp, element, lane) = place(row, column);
            A::unpack(d[warp][element / A::PER_REGISTER][lane], element % A::PER_REGISTER)
        };
        let started: Vec<f64> = (0..b.len()).map(held).collect();
        let mut totals = started.clone();
        for (value, line) in left.iter().zip(&lines) {
            for (total, right) in totals.iter_mut().zip(line) {
                *total += value * right;
            }
        }
        let of_row = Span::of(left.iter().copied(), X::FRACTION);
        for (column, total) in totals.iter_mut().enumerate() {
            if !A::plain(of_row, spans[column], started[column], left.len()) {
                let pairs = left.iter().zip(&lines).map(|(value, line)| (*value, line[column]));
                *total = A::sum(pairs, started[column]);
            }
            let (warp, element, lane) = place(row, column);
            let bits = 32 / A::PER_REGISTER;
            let shift = bits * (element % A::PER_REGISTER);
            let keep = !((u64::from(u32::MAX) >> (32 - bits)) << shift) as u32;
            let word = &mut d[warp][element / A::PER_REGISTER][lane];
            *word = *word & keep | A::pack(*total) << shift;
        }
    }
}

fn whole<X: Element<Value = i32>, Y: Element<Value = i32>>(
    a: &[OperandRow],
    b: &[OperandRow],
    d: &mut Accumulators,
    _: bool,
) {
    let lines = by_depth::<Y>(b);
    for (row, operand) in a.iter().enumerate() {
        let mut totals = vec![0_i32; b.len()];
        for (value, line) in values::<X>(operand).iter().zip(&lines) {
            for (total, right) in totals.iter_mut().zip(line) {
                *total += value * right;
            }
        }
        for (column, total) in totals.iter().enumerate() {
            let (warp, element, lane) = place(row, column);
            let word = &mut d[warp][element][lane];
            *word = word.wrapping_add(*total as u32);
        }
    }
}
