//! K22: 4-bit weights with many tokens.
//!
//! A block has eight warps of 32 rows; of them `parts` share the rows, a run of the groups each, and add up in its memory: what
//! makes enough blocks of few rows. Sharing k among blocks was rejected: partial sums in device memory cost more traffic than
//! the idle multiprocessors are worth, and another launch or a lock to add them in order.

use super::{GROUP, Weights, hopper};
use crate::gpu::family::stream::{
    Formats, Operands, THREADS, WARPS, check_aligned, check_shape, suffix, token_tile, wide,
};
use crate::gpu::{Arg, DeviceFacts, Element, Launch, MOST_VARIANTS, Shape, Variant};

/// Most tokens of one launch: beyond, widening the weights once is cheaper.
pub const MOST_TOKENS: u32 = 256;
/// Tokens that entries are compiled for.
const TOKENS: [u32; 3] = [16, 32, 64];
/// Rows of a warp.
const WARP_ROWS: u32 = 32;
/// Bytes of a token in a stage, and stages.
const STAGE_BYTES: u32 = 128;
const STAGES: u32 = 3;
/// Most tokens times parts: three stages are then the 48 KiB that a block has without asking.
const MOST_STAGED: u32 = 128;

/// How many parts share the rows of a block, by name.
const VARIANTS: &[(Variant, u32)] = &[
    (Variant { name: "k1", what: "256 rows a block" }, 1),
    (Variant { name: "k2", what: "128 rows a block, two parts of k" }, 2),
    (Variant { name: "k4", what: "64 rows a block, four parts of k" }, 4),
    (Variant { name: "k8", what: "32 rows a block, eight parts of k" }, 8),
];

const ENTRIES: &[(Element, &str, [&str; 3])] = &[
    (Element::F16, "w4.gemm.f16", ["w4_gemm_f16_m16", "w4_gemm_f16_m32", "w4_gemm_f16_m64"]),
    (Element::Bf16, "w4.gemm.bf16", ["w4_gemm_bf16_m16", "w4_gemm_bf16_m32", "w4_gemm_bf16_m64"]),
];

/// Blocks of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Blocks {
    /// Index of the tokens of one.
    tile: usize,
    /// Warps that share its rows.
    parts: u32,
    /// Of rows, and of tokens.
    grid: [u32; 2],
}

impl Blocks {
    fn new(parts: u32, shape: Shape) -> Self {
        let fits = TOKENS.iter().filter(|tokens| *tokens * parts <= MOST_STAGED).count().max(1);
        let tile = token_tile(shape.m, &TOKENS[..fits]);
        let grid = [shape.n.div_ceil(WARP_ROWS * WARPS / parts), shape.m.div_ceil(TOKENS[tile])];
        Self { tile, parts, grid }
    }

    /// What was picked, else the fewest parts that give every multiprocessor a block.
    fn of(facts: &DeviceFacts, kernel: &str, shape: Shape) -> Self {
        let possible = VARIANTS.iter().filter(|(_, parts)| *parts <= shape.k / GROUP as u32);
        let mut ways = possible.map(|(variant, parts)| (variant.name, Self::new(*parts, shape)));
        let picked = facts.picks.choose(kernel, shape);
        let fill = |blocks: &Self| blocks.grid.iter().product::<u32>() >= facts.sms * 9 / 10;
        let found = ways.clone().find(|(name, _)| Some(*name) == picked);
        let found = found.or_else(|| ways.clone().find(|(_, blocks)| fill(blocks)));
        found.or_else(|| ways.next_back()).map_or_else(|| Self::new(1, shape), |(_, blocks)| blocks)
    }
}

/// The ways to compute it.
pub(super) fn variants(facts: &DeviceFacts) -> Vec<Variant> {
    let own = VARIANTS.iter().filter(|_| facts.sm.major >= 8).map(|(variant, _)| *variant);
    hopper::variants(facts).chain(own).take(MOST_VARIANTS).collect()
}

/// Name of the one that a size is computed in.
pub(super) fn chosen(facts: &DeviceFacts, kernel: &str, shape: Shape) -> &'static str {
    if let Some(name) = hopper::chosen(kernel, facts, shape) {
        return name;
    }
    let parts = Blocks::of(facts, kernel, shape).parts;
    VARIANTS.iter().find(|(_, other)| *other == parts).map_or("", |(variant, _)| variant.name)
}

/// Y = X·Wᵀ of up to [`MOST_TOKENS`] tokens; f16 or bf16 in, the same or f32 out; fp32 accumulation. From sm_80 on.
pub fn launch(
    facts: &DeviceFacts,
    operands: Operands<Weights>,
    formats: Formats,
    shape: Shape,
) -> Result<Launch, String> {
    let Operands { x, weights, y } = operands;
    check_shape(shape, MOST_TOKENS, GROUP as u32)?;
    check_aligned(&[x, weights.words, weights.scales, y])?;
    if facts.sm.major < 8 {
        return Err(format!(
            "{} copies nothing past its registers; it begins with sm_80",
            facts.sm
        ));
    }
    let row = ENTRIES.iter().find(|(input, ..)| *input == formats.input);
    let Some((_, kernel, entries)) = row else {
        return Err(format!("4-bit weights take no activations as {}", suffix(formats.input)));
    };
    let Blocks { tile, parts, grid } = Blocks::of(facts, kernel, shape);
    let args = [weights.words, weights.scales, x, y].map(Arg::from).into_iter();
    let sizes = [shape.m, shape.n, shape.k, wide(formats)?, parts].map(Arg::from);
    Ok(Launch {
        family: "w4_gemm",
        entry: entries[tile],
        grid: [grid[0], grid[1], 1],
        block: [THREADS, 1, 1],
        shared_bytes: STAGES * parts * TOKENS[tile] * STAGE_BYTES,
        args: args.chain(sizes).collect(),
        early: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_are_shared_by_more_warps() {
        let blocks = |m, n| {
            let device = crate::gpu::family::gemm::tests::device((9, 0), 132);
            let Blocks { tile, parts, grid } =
                Blocks::of(&device, "w4.gemm.f16", Shape { m, n, k: 8192, ..Shape::default() });
            (TOKENS[tile], parts, grid)
        };
        assert_eq!(blocks(16, 8192), (16, 4, [128, 1]));
        assert_eq!(blocks(16, 28_672), (16, 2, [224, 1]));
        assert_eq!(blocks(64, 8192), (32, 4, [128, 2]), "stages end at 48 KiB");
        assert_eq!(blocks(256, 8192), (64, 1, [32, 4]));
        assert_eq!(blocks(16, 1024), (16, 8, [32, 1]), "too few for every multiprocessor");
    }
}
