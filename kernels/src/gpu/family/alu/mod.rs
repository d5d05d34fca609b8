//! K02: what the pipe of an instruction yields when nothing else is in the way, measured on registers.
//!
//! It says what the *hardware* does, where names and compute capabilities do not: a GTX 16xx reports 7.5 and has no tensor
//! cores, a GeForce halves fp32 accumulation. Reading clock counters inside the kernel was rejected: ratios to other kernels
//! of the same window are what is wanted, and those need the same clock on the wall.

mod model;
mod registry;

pub use registry::KERNELS;

use super::route::{self, Step, Support};
use super::stream::check_aligned;
use crate::Sm;
use crate::gpu::{Arg, DeviceFacts, Launch, Route, Slot};
use model::Instruction;

/// Threads of a block: eight warps.
const THREADS: u32 = 256;
/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pipe {
    /// fp32 multiply-add.
    Ffma,
    /// Two fp16 multiply-adds.
    Hfma2,
    /// Two bf16 multiply-adds.
    Bfma2,
    /// Four products of 8-bit integers.
    Dp4a,
    /// Tensor cores: fp16, fp32 accumulation.
    MmaF16,
    /// Tensor cores: fp16, fp16 accumulation.
    MmaF16Acc16,
    /// Tensor cores: bf16.
    MmaBf16,
    /// Tensor cores: tf32.
    MmaTf32,
    /// Tensor cores: 8-bit integers.
    MmaS8,
    /// Tensor cores: 4-bit integers.
    MmaS4,
    /// Tensor cores: fp8 e4m3.
    MmaE4m3,
    /// Tensor cores: fp8 e5m2.
    MmaE5m2,
}

/// What is to be known of a pipe.
struct Row {
    pipe: Pipe,
    steps: &'static [Step],
    /// Instruction by the compute capability from which on it is used.
    instructions: &'static [(Sm, Instruction)],
}

const FP16_PAIRS: &[Step] = &[(Sm::new(6, 0), Support::Native("fma.f16x2"))];
const BF16_PAIRS: &[Step] = &[(Sm::new(8, 0), Support::Native("fma.bf16x2"))];
const BYTES: &[Step] = &[(Sm::new(6, 1), Support::Native("dp4a"))];
/// The first step of each is arithmetic without tensor cores.
const fn on_tensor_cores(steps: &'static [Step]) -> &'static [Step] {
    let (_, rest) = steps.split_at(1);
    rest
}

/// In the order of [`Pipe`].
const ROWS: [Row; 12] = [
    Row { pipe: Pipe::Ffma, steps: route::F32, instructions: model::FFMA },
    Row { pipe: Pipe::Hfma2, steps: FP16_PAIRS, instructions: model::HFMA2 },
    Row { pipe: Pipe::Bfma2, steps: BF16_PAIRS, instructions: model::BFMA2 },
    Row { pipe: Pipe::Dp4a, steps: BYTES, instructions: model::DP4A },
    Row { pipe: Pipe::MmaF16, steps: on_tensor_cores(route::F16), instructions: model::MMA_F16 },
    Row {
        pipe: Pipe::MmaF16Acc16,
        steps: on_tensor_cores(route::F16_ACC16),
        instructions: model::MMA_F16_ACC16,
    },
    Row { pipe: Pipe::MmaBf16, steps: on_tensor_cores(route::BF16), instructions: model::MMA_BF16 },
    Row { pipe: Pipe::MmaTf32, steps: route::TF32, instructions: model::MMA_TF32 },
    Row { pipe: Pipe::MmaS8, steps: on_tensor_cores(route::S8), instructions: model::MMA_S8 },
    Row { pipe: Pipe::MmaS4, steps: route::S4, instructions: model::MMA_S4 },
    Row { pipe: Pipe::MmaE4m3, steps: route::FP8, instructions: model::MMA_E4M3 },
    Row { pipe: Pipe::MmaE5m2, steps: route::FP8, instructions: model::MMA_E5M2 },
];

impl Pipe {
    /// How a device does it.
    pub fn route(self, facts: &DeviceFacts) -> Route {
        route::route(self.row().steps, facts)
    }

    fn row(self) -> &'static Row {
        const TABLE: &[Row] = &ROWS;
        &TABLE[self as usize]
    }

    /// The instruction of a device, or why it has none.
    fn instruction(self, facts: &DeviceFacts) -> Result<&'static Instruction, String> {
        if let Route::Absent { why } = self.route(facts) {
            return Err(format!("{self:?} cannot be measured: {why}"));
        }
        let reached = self.row().instructions.iter().rfind(|(from, _)| *from <= facts.sm);
        reached.map(|row| &row.1).ok_or_else(|| format!("{self:?} has no kernel for {}", facts.sm))
    }
}

/// Where registers come from and digests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// [`operand_bytes`] bytes.
    pub operands: Slot,
    /// A 32-bit word for each of 256 threads of a block.
    pub digests: Slot,
}

/// Turns of the loop, by so many blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turns {
    /// Blocks of eight warps.
    pub blocks: u32,
    /// Turns of each.
    pub turns: u32,
}

/// Bytes of the registers that a pipe starts with.
pub fn operand_bytes(facts: &DeviceFacts, pipe: Pipe) -> Result<usize, String> {
    Ok(pipe.instruction(facts)?.operand_bytes())
}

/// Operations of a launch, a multiply-add counting as two.
pub fn operations(facts: &DeviceFacts, pipe: Pipe, turns: Turns) -> Result<f64, String> {
    let warps = f64::from(turns.blocks) * f64::from(THREADS / 32);
    Ok(pipe.instruction(facts)?.operations_per_turn() * warps * f64::from(turns.turns))
}

/// Repeats the instruction of a pipe.
pub fn launch(
    facts: &DeviceFacts,
    pipe: Pipe,
    places: Places,
    turns: Turns,
) -> Result<Launch, String> {
    let instruction = pipe.instruction(facts)?;
    let Turns { blocks, turns } = turns;
    if blocks == 0 || turns == 0 || i32::try_from(blocks).is_err() {
        return Err(format!("{turns} turns of {blocks} blocks cannot be"));
    }
    check_aligned(&[places.operands, places.digests])?;
    let args = [Arg::from(places.operands), Arg::from(places.digests), Arg::from(turns)];
    Ok(Launch::new(("alu", instruction.entry), [blocks, 1], THREADS, args))
}
