//! The pipes as kernels, what proves them, and how long they are timed.

use super::super::operand::normal;
use super::model::{CHAINS, Multiplicand, Spot, Values, whole};
use super::{Pipe, Places, ROWS, THREADS, Turns, launch, operations};
use crate::gpu::{
    Case, Content, DeviceFacts, Element, Expect, GpuKernel, Limiter, Route, Shape, Work,
};
use crate::{Dtype, Sm};

/// Blocks for each multiprocessor: four warps for each of its schedulers.
const BLOCKS_PER_SM: u32 = 2;
/// Turns that are timed: up to about a millisecond where the instruction has a pipe of its own.
const TURNS: [u32; 2] = [256, 2048];
/// The same where it has none.
const FEW_TURNS: [u32; 2] = [16, 128];
/// Most turns, so that a launch ends.
const MOST_TURNS: u32 = 1 << 20;

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[
    kernel::<0>("alu.ffma", "fp32 multiply-add", Dtype::Fp32),
    kernel::<1>("alu.hfma2", "two fp16 multiply-adds", Dtype::Fp16),
    kernel::<2>("alu.bfma2", "two bf16 multiply-adds", Dtype::Bf16),
    kernel::<3>("alu.dp4a", "four products of 8-bit integers", Dtype::Int8),
    kernel::<4>("alu.mma.f16", "tensor cores, fp16, fp32 accumulation", Dtype::Fp16),
    kernel::<5>("alu.mma.f16acc16", "tensor cores, fp16, fp16 accumulation", Dtype::Fp16),
    kernel::<6>("alu.mma.bf16", "tensor cores, bf16", Dtype::Bf16),
    kernel::<7>("alu.mma.tf32", "tensor cores, tf32", Dtype::Tf32),
    kernel::<8>("alu.mma.s8", "tensor cores, 8-bit integers", Dtype::Int8),
    kernel::<9>("alu.mma.s4", "tensor cores, 4-bit integers", Dtype::Int4),
    kernel::<10>("alu.mma.e4m3", "tensor cores, fp8 e4m3", Dtype::Fp8E4m3),
    kernel::<11>("alu.mma.e5m2", "tensor cores, fp8 e5m2", Dtype::Fp8E5m2),
];

/// The kernel of a row.
const fn kernel<const ROW: usize>(
    id: &'static str,
    title: &'static str,
    dtype: Dtype,
) -> GpuKernel {
    const fn pipe<const ROW: usize>() -> Pipe {
        ROWS[ROW].pipe
    }
    GpuKernel {
        id,
        title,
        family: "alu",
        dtype,
        route: |facts| pipe::<ROW>().route(facts),
        cases: |facts| cases(pipe::<ROW>(), facts),
        works: |facts, arena| works(pipe::<ROW>(), facts, arena),
        work: |facts, shape| work(pipe::<ROW>(), facts, shape),
        ..GpuKernel::UNTIMED
    }
}

fn cases(pipe: Pipe, facts: &DeviceFacts) -> Vec<Case> {
    let sizes = [(1, 1), (3, 2), (2, 7)].map(|(blocks, turns)| Turns { blocks, turns });
    sizes.into_iter().filter_map(|turns| case(pipe, facts, turns)).collect()
}

/// Whole numbers, so that every format's digest is exact.
fn case(pipe: Pipe, facts: &DeviceFacts, turns: Turns) -> Option<Case> {
    let instruction = pipe.instruction(facts).ok()?;
    let digests = instruction.digests(&whole, turns.turns).into_iter().flat_map(u32::to_le_bytes);
    let warp: Vec<u8> = digests.collect();
    let want = warp.repeat((turns.blocks * THREADS / 32) as usize);
    let facts = facts.clone();
    Some(Case {
        name: format!("{} turns by {} blocks", turns.turns, turns.blocks),
        buffers: vec![Content::Bytes(instruction.operands(&whole)), Content::Poison(want.len())],
        plan: Box::new(move |at| {
            let places = Places { operands: at[0], digests: at[1] };
            vec![launch(&facts, pipe, places, turns).expect("the pipe is there")]
        }),
        expect: vec![Expect::bits(1, Element::U32, want)],
    })
}

fn works(pipe: Pipe, facts: &DeviceFacts, arena: u64) -> Vec<Work> {
    let shape = |turns| Shape { m: BLOCKS_PER_SM * facts.sms, k: turns, ..Shape::default() };
    let turns = if is_slow(pipe, facts) { FEW_TURNS } else { TURNS };
    let works = turns.into_iter().filter_map(|turns| work(pipe, facts, shape(turns)).ok());
    let size = |work: &Work| work.buffers.iter().map(|b| b.bytes() as u64).sum::<u64>();
    works.filter(|work| size(work) <= arena).collect()
}

/// Whether a device imitates the instruction, or has it for the sake of completeness: 6.1 has a 64th of its fp32 rate in fp16
/// (CUDA C++ programming guide, "Arithmetic Instructions").
fn is_slow(pipe: Pipe, facts: &DeviceFacts) -> bool {
    let imitated = matches!(pipe.route(facts), Route::Emulated { .. });
    imitated || pipe == Pipe::Hfma2 && facts.sm == Sm::new(6, 1)
}

/// `m` blocks of `k` turns.
fn work(pipe: Pipe, facts: &DeviceFacts, shape: Shape) -> Result<Work, String> {
    let instruction = pipe.instruction(facts)?;
    let turns = Turns { blocks: shape.m, turns: shape.k };
    if shape.n != 0 || !(1..=MOST_TURNS).contains(&shape.k) || !(1..=1 << 20).contains(&shape.m) {
        return Err(format!("m blocks of k turns up to {MOST_TURNS} and no n, not {shape:?}"));
    }
    let words = (shape.m * THREADS) as usize;
    let flops = operations(facts, pipe, turns)?;
    let facts = facts.clone();
    Ok(Work {
        shape,
        buffers: vec![
            Content::Bytes(instruction.operands(random(instruction.number.whole()))),
            Content::Poison(4 * words),
        ],
        plan: Box::new(move |at| {
            let places = Places { operands: at[0], digests: at[1] };
            launch(&facts, pipe, places, turns).into_iter().collect()
        }),
        bytes: (4 * words) as f64,
        flops,
        limiter: Limiter::Arithmetic,
        variant: "",
    })
}

/// Multiplicands of random bits. What one B adds the other takes away.
fn random(whole: bool) -> Values<'static> {
    fn float(of: Multiplicand, spot: Spot) -> f64 {
        let (stream, sign) = match of {
            Multiplicand::A(chain) => (chain, 1.0),
            Multiplicand::Even => (CHAINS, 1.0),
            Multiplicand::Odd => (CHAINS, -1.0),
        };
        sign * f64::from(normal(spot.index as usize, stream.into()))
    }
    fn integer(of: Multiplicand, spot: Spot) -> f64 {
        (float(of, spot) * 3.0).round().clamp(-7.0, 7.0)
    }
    if whole { &integer } else { &float }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pipe_is_a_kernel_once_and_in_its_place() {
        assert_eq!(KERNELS.len(), ROWS.len());
        for (index, (kernel, row)) in KERNELS.iter().zip(&ROWS).enumerate() {
            assert_eq!(row.pipe as usize, index);
            let plain: String = kernel.id.split('.').skip(1).collect();
            assert_eq!(plain, format!("{:?}", row.pipe).to_lowercase());
        }
    }

    #[test]
    fn every_route_has_an_instruction_and_no_other() {
        let device = crate::gpu::family::gemm::tests::device;
        for (sm, row) in [(6, 0), (6, 1), (7, 0), (7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (12, 0)]
            .into_iter()
            .flat_map(|sm| ROWS.iter().map(move |row| (sm, row)))
        {
            let facts = device(sm, 10);
            let absent = matches!(row.pipe.route(&facts), Route::Absent { .. });
            let steps: Vec<Sm> = row.steps.iter().map(|step| step.0).collect();
            let first = row.instructions.first().map(|from| from.0);
            assert_eq!(steps.first().copied(), first, "{:?}", row.pipe);
            assert_eq!(works(row.pipe, &facts, 1 << 30).is_empty(), absent, "{:?}", row.pipe);
            assert_eq!(cases(row.pipe, &facts).is_empty(), absent, "{:?}", row.pipe);
        }
    }

    /// Two blocks of eight warps for each of 10 multiprocessors, 64 multiply-adds of 32 lanes a turn.
    #[test]
    fn operations_of_a_launch() {
        let facts = crate::gpu::family::gemm::tests::device((6, 1), 10);
        let timed: Vec<(u32, f64)> = works(Pipe::Ffma, &facts, 1 << 30)
            .iter()
            .map(|work| (work.shape.k, work.flops))
            .collect();
        let per_turn = 20.0 * 8.0 * 64.0 * 32.0 * 2.0;
        assert_eq!(timed, [(256, 256.0 * per_turn), (2048, 2048.0 * per_turn)]);
        let slow = works(Pipe::Hfma2, &facts, 1 << 30);
        assert_eq!(slow.iter().map(|work| work.shape.k).collect::<Vec<_>>(), FEW_TURNS);
    }
}
