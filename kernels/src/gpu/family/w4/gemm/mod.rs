//! K22: 4-bit weights with many tokens.
//!
//! A block has eight warps of 32 rows; of them `parts` share the rows, a run of the groups each, and add up in its memory: what
//! makes enough blocks of few rows. Where tiles still do not fill the device evenly, the groups of all of them are shared out (stream-K) to as
//! many blocks as it holds at once, and tiles that are cut are added up in fp32, by the block that ends last, in the order of their
//! columns. Rejected: adding up in the format of the result, which overflows; waiting for other blocks, which may not have begun.

mod choice;

pub(super) use choice::SELECTION;

pub use super::hopper::MOST_TOKENS;
use super::{GROUP, Weights};
use crate::gpu::family::stream::{
    Formats, Operands, THREADS, check_aligned, check_shape, has_mma, suffix, wide,
};
pub use crate::gpu::family::stream_k::Workspace;
use crate::gpu::{Arg, DeviceFacts, Element, Launch, Shape};
use choice::{Blocks, TOKENS};

/// Bytes of a token in a stage.
const STAGE_BYTES: u32 = 128;

const ENTRIES: &[(Element, &str, [&str; 3])] = &[
    (Element::F16, "w4.gemm.f16", ["w4_gemm_f16_m16", "w4_gemm_f16_m32", "w4_gemm_f16_m64"]),
    (Element::Bf16, "w4.gemm.bf16", ["w4_gemm_bf16_m16", "w4_gemm_bf16_m32", "w4_gemm_bf16_m64"]),
];

/// Bytes of [`Workspace::left`] and of [`Workspace::arrivals`]; a few where nobody looks at them.
pub(super) fn workspace_bytes(facts: &DeviceFacts, kernel: &str, shape: Shape) -> [usize; 2] {
    Blocks::of(facts, kernel, shape, true).workspace_bytes()
}

/// Whether a device has it for these activations: fp16 from sm_75 on, bf16 from sm_80 on.
pub fn takes(facts: &DeviceFacts, input: Element) -> bool {
    has_mma(facts.sm, input)
}

/// Y = X·Wᵀ of up to [`MOST_TOKENS`] tokens; f16 or bf16 in, the same or f32 out; fp32 accumulation.
pub fn launch(
    facts: &DeviceFacts,
    operands: Operands<Weights>,
    workspace: Option<Workspace>,
    formats: Formats,
    shape: Shape,
) -> Result<Launch, String> {
    let Operands { x, weights, y } = operands;
    check_shape(shape, MOST_TOKENS, GROUP as u32)?;
    // Nobody looks at it where no block shares a tile.
    let Workspace { left, arrivals } = workspace.unwrap_or(Workspace { left: y, arrivals: y });
    check_aligned(&[x, weights.words, weights.scales, y, left, arrivals])?;
    let row = ENTRIES.iter().find(|(input, ..)| *input == formats.input);
    let Some((_, kernel, entries)) = row else {
        return Err(format!("4-bit weights take no activations as {}", suffix(formats.input)));
    };
    if !takes(facts, formats.input) {
        return Err(format!(
            "the tensor cores of {} multiply no {} of this shape",
            facts.sm,
            suffix(formats.input)
        ));
    }
    let blocks = Blocks::of(facts, kernel, shape, workspace.is_some());
    let args = [weights.words, weights.scales, x, y, left, arrivals].map(Arg::from).into_iter();
    let sizes = [shape.m, shape.n, shape.k, wide(formats)?, blocks.parts].map(Arg::from);
    // Copies that pass the registers have a stage more on their way.
    let stages = if facts.sm.major >= 8 { 3 } else { 2 };
    let entry = ("w4_gemm", entries[blocks.tile]);
    let shared_bytes = stages * blocks.parts * TOKENS[blocks.tile] * STAGE_BYTES;
    let launch = Launch::new(entry, [blocks.count(), 1], THREADS, args.chain(sizes));
    Ok(launch.with_shared(shared_bytes))
}
