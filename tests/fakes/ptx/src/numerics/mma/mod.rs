//! Warp-wide `mma.sync` on fragments: PTX ISA 8.8, 9.7.14.5 "Matrix multiply-accumulate operation using mma instruction".
//!
//! One table holds every form; the interpreter looks the opcode up once and then calls the entry. What a form computes is said in `sum` for floats
//! and `tile` for layouts; `group` has `wgmma`, `short` its sums of fp8. Not here: sparse, `.b1` and block-scaled forms, which an interpreter must refuse.

mod element;
mod group;
mod short;
mod sum;
mod table;
mod tile;
mod volta;

#[cfg(test)]
mod tests;

pub use group::{
    Accumulators, GROUP_MMAS, GroupMma, OperandRow, ROW_BYTES, ROWS, find_group, rows_of_registers,
};
pub use table::MMAS;

/// One register of every lane.
pub type Register = [u32; 32];

/// Computes one instruction: fragments of A, B and C to the fragment of D.
pub type Run = fn(&[Register], &[Register], &[Register], &mut [Register]);

/// One form of `mma.sync.aligned`.
#[derive(Debug)]
pub struct Mma {
    /// The opcode after `mma.sync.aligned.`.
    pub name: &'static str,
    /// 32-bit registers of a fragment of A; an `.f64` operand is two of them, low half first.
    pub a: usize,
    /// 32-bit registers of a fragment of B.
    pub b: usize,
    /// 32-bit registers of a fragment of C.
    pub c: usize,
    /// 32-bit registers of a fragment of D.
    pub d: usize,
    run: Run,
}

impl Mma {
    /// Computes `d = a × b + c`. The slices are as long as the entry says.
    pub fn run(&self, a: &[Register], b: &[Register], c: &[Register], d: &mut [Register]) {
        (self.run)(a, b, c, d);
    }
}

/// The form named by what follows `mma.sync.aligned.`. The `.kind::f8f6f4` of newer fp8 opcodes changes nothing of these forms and may be present.
pub fn find(name: &str) -> Option<&'static Mma> {
    let plain = name.replace(".kind::f8f6f4", "");
    MMAS.iter().find(|mma| mma.name == plain)
}
