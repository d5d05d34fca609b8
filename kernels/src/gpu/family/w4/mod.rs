//! K21 to K23, K26: 4-bit weights in groups of 128.
//!
//! One device layout ([`pack()`]) serves every path: 16 rows × 64 columns in the order in which the tensor core wants them,
//! so that 16 bytes a lane are four steps of `m16n8k16`, or 16 neighbours of two rows for everybody else. A layout per path
//! was rejected: the same weights must be loaded once and graded on all paths.

pub mod awq;
mod block;
mod dense;
mod fit;
pub mod gemm;
mod hopper;
mod pack;
mod paths;
mod registry;
pub mod w4a8;

pub use dense::{dequantize, generate};
pub use pack::{GROUP, Packed, pack, packed_bytes, scale_bytes};
pub use registry::KERNELS;

pub use super::stream::{Formats, Operands};
use super::stream::{WARPS, check_aligned, check_shape, has_mma, suffix, token_tile, wide};
use crate::gpu::{Arg, DeviceFacts, Element, Launch, Shape, Slot};
pub use block::MOST_TOKENS;
pub(super) use block::of_token as token_block;
use block::{Block, ROWS};
pub(super) use paths::path;
pub(in crate::gpu) use paths::{Awq, Bf16, EightBits, F16, GemmBf16, GemmF16};

/// Where packed weights are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// The integers: [`Packed::words`].
    pub words: Slot,
    /// The scales: [`Packed::scales`].
    pub scales: Slot,
}

/// Entries by format of x: on CUDA cores for 1 and 4 tokens; on tensor cores for 4, 8 and 16 in blocks of 16, 32 and 64 rows.
struct Entries {
    input: Element,
    kernel: &'static str,
    simt: [&'static str; 2],
    mma: [&'static str; 4],
}

const ENTRIES: &[Entries] = &[
    Entries {
        input: Element::F16,
        kernel: "w4.f16",
        simt: ["w4_simt_f16_m1", "w4_simt_f16_m4"],
        mma: ["w4_mma_f16_m4_r16", "w4_mma_f16_m8_r32", "w4_mma_f16_m16_r32", "w4_mma_f16_m16_r64"],
    },
    Entries {
        input: Element::Bf16,
        kernel: "w4.bf16",
        simt: ["w4_simt_bf16_m1", "w4_simt_bf16_m4"],
        mma: [
            "w4_mma_bf16_m4_r16",
            "w4_mma_bf16_m8_r32",
            "w4_mma_bf16_m16_r32",
            "w4_mma_bf16_m16_r64",
        ],
    },
];

impl Entries {
    /// The entry, and the block and tokens it has.
    fn choose(&self, facts: &DeviceFacts, shape: Shape) -> (&'static str, Block, u32) {
        if !has_mma(facts.sm, self.input) {
            let tiles = [1, 4];
            let index = token_tile(shape.m, &tiles);
            return (self.simt[index], Block { rows: ROWS, warps: WARPS }, tiles[index]);
        }
        let [four, eight, sixteen, tall] = self.mma;
        let block = block::of(facts, self.kernel, shape);
        let (entry, tokens) = match block.rows {
            16 => (four, 4),
            32 if shape.m <= 8 => (eight, 8),
            32 => (sixteen, 16),
            _ => (tall, 16),
        };
        (entry, block, tokens)
    }
}

/// y = x·Wᵀ of up to [`MOST_TOKENS`] tokens; f16 or bf16 in, the same or f32 out; fp32 accumulation.
pub fn launch(
    facts: &DeviceFacts,
    operands: Operands<Weights>,
    formats: Formats,
    shape: Shape,
) -> Result<Launch, String> {
    let Operands { x, weights, y } = operands;
    check_shape(shape, MOST_TOKENS, GROUP as u32)?;
    check_aligned(&[x, weights.words, weights.scales, y])?;
    let row = ENTRIES.iter().find(|row| row.input == formats.input);
    let Some(entries) = row else {
        return Err(format!("4-bit weights take no activations as {}", suffix(formats.input)));
    };
    let (entry, block, tokens) = entries.choose(facts, shape);
    let warps = block.warps.min(shape.k / GROUP as u32);
    let args = [weights.words, weights.scales, x, y].map(Arg::from).into_iter();
    let args = args.chain([shape.m, shape.n, shape.k, wide(formats)?].map(Arg::from));
    let grid = [shape.n.div_ceil(block.rows), shape.m.div_ceil(tokens)];
    // On tensor cores, the sums of every warp.
    let sums = warps * block.rows * tokens * 4;
    let shared_bytes = if has_mma(facts.sm, formats.input) { sums } else { 0 };
    Ok(Launch::new(("w4", entry), grid, 32 * warps, args).with_shared(shared_bytes))
}
