//! How many rows and warps a block has on tensor cores.
//!
//! Tiles of 16 rows share what a warp loads of the activations, makes of them and takes off its sums, so more of them cost fewer instructions a weight:
//! one does for four tokens, two for eight and four for sixteen, and half as many where blocks would be too few. Warps share the groups of a row.
//! Splitting k over blocks was rejected: it needs memory for partial sums and a block that waits for the others, while sixteen warps keep a
//! multiprocessor's share of the memory busy, as long as there are about as many blocks as multiprocessors.

use crate::gpu::family::stream::{Selection, has_mma};
use crate::gpu::{DeviceFacts, Element, Shape, Variant};

/// Most tokens of one launch.
pub const MOST_TOKENS: u32 = 16;
/// Rows of a block.
pub(super) const ROWS: u32 = 16;

/// Rows of a block, and the warps that share their groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// 16, 32 or 64.
    pub(super) rows: u32,
    /// Up to sixteen.
    pub(super) warps: u32,
}

/// Every way, by name.
pub(super) const BLOCKS: &[(Variant, Block)] = &[
    named("r16w8", "16 rows, 8 warps a block", 16, 8),
    named("r16w16", "16 rows, 16 warps a block", 16, 16),
    named("r32w4", "32 rows, 4 warps a block", 32, 4),
    named("r32w8", "32 rows, 8 warps a block", 32, 8),
    named("r32w12", "32 rows, 12 warps a block", 32, 12),
    named("r64w8", "64 rows, 8 warps a block", 64, 8),
];

const fn named(name: &'static str, what: &'static str, rows: u32, warps: u32) -> (Variant, Block) {
    (Variant { name, what }, Block { rows, warps })
}

/// How one of them is selected.
pub(super) const SELECTION: Selection = Selection { variants, chosen: name, ..Selection::NONE };

/// Those that a device has.
fn variants(facts: &DeviceFacts, input: Element) -> Vec<Variant> {
    if has_mma(facts.sm, input) { BLOCKS.iter().map(|(v, _)| *v).collect() } else { Vec::new() }
}

/// Name of the one that a size is computed in.
fn name(facts: &DeviceFacts, kernel: &str, input: Element, shape: Shape) -> &'static str {
    let block = of(facts, kernel, shape);
    let named = BLOCKS.iter().find(|(_, other)| has_mma(facts.sm, input) && *other == block);
    named.map_or("", |(variant, _)| variant.name)
}

/// Warps that keep a multiprocessor's share of the memory busy: each has 4 KiB on their way. What has to be, by latency times bandwidth, is
/// about 23 KB on an H200, where it is most.
const BUSY: u32 = 16;

/// Blocks by the most tokens they are for: fewer and more rows, and the most warps that registers leave of both.
const SIZES: &[(u32, [Block; 2])] = &[
    (4, [Block { rows: 16, warps: 16 }, Block { rows: 32, warps: 12 }]),
    (8, [Block { rows: 32, warps: 12 }, Block { rows: 32, warps: 12 }]),
    (16, [Block { rows: 32, warps: 8 }, Block { rows: 64, warps: 8 }]),
];

/// The two sizes of blocks for so many tokens.
fn sizes(tokens: u32) -> [Block; 2] {
    let fitting = SIZES.iter().find(|(most, _)| tokens <= *most).or(SIZES.last());
    fitting.expect("there are sizes").1
}

/// The block for a size: the one that was picked, where it can be, else what leaves the busiest multiprocessor the fewest rows, the larger where they are
/// about as many, with as many warps as keep it busy.
pub(super) fn of(facts: &DeviceFacts, kernel: &str, shape: Shape) -> Block {
    let picked = facts.tuned.choose(kernel, shape);
    // Those of the most rows take fewer tokens than they are for as well.
    let [_, tallest] = sizes(MOST_TOKENS);
    let possible = |block: &Block| {
        let sizes = sizes(shape.m);
        let mut fitting = sizes.iter().chain([&tallest]);
        fitting.any(|size| size.rows == block.rows && size.warps >= block.warps)
    };
    let found = BLOCKS.iter().find(|(variant, _)| Some(variant.name) == picked);
    let found = found.map(|(_, block)| *block).filter(possible);
    found.unwrap_or_else(|| chosen(facts.sms.max(1), shape))
}

/// Whether a block has 32 rows, as [`of`] one token or where halves of a matrix are to meet in it, and its warps.
pub(in crate::gpu::family) fn of_token(
    facts: &DeviceFacts,
    kernel: &str,
    shape: Shape,
    halves: bool,
) -> (bool, u32) {
    let block = of(facts, kernel, shape);
    let [_, Block { rows, warps }] = sizes(1);
    let tall = Block::of_rows(rows, warps, [facts.sms.max(1), shape.n]);
    let block = if halves && block.rows == ROWS { tall } else { block };
    // Every block makes the row for itself: one of twelve warps is worth more than two of eight (254.8 µs a token on an H200, 258.2 with eight).
    let warps = if halves && block.warps == 8 { warps } else { block.warps };
    (block.rows > ROWS, warps)
}

fn chosen(sms: u32, Shape { m, n, .. }: Shape) -> Block {
    let blocks = |rows: u32| n.div_ceil(rows).div_ceil(sms);
    let [low, tall] = sizes(m);
    // Of sixteen tokens a warp waits for activations as much as for weights: where there are enough blocks, more and lower ones hide that (57344 × 8192
    // on an H200: 98.9 µs with 32 rows and 4 warps, 104.7 with 64 and 8, 113.6 with 32 and 8).
    let plenty = m > 8 && blocks(low.rows) >= BUSY / 4;
    // About: a tenth more.
    let wasted = plenty || blocks(tall.rows) * tall.rows * 10 > blocks(low.rows) * low.rows * 11;
    let Block { rows, warps } = if wasted { low } else { tall };
    Block::of_rows(rows, warps, [sms, n])
}

impl Block {
    /// With as many warps, up to `most`, as keep a multiprocessor busy where there are so many rows.
    fn of_rows(rows: u32, most: u32, [sms, n]: [u32; 2]) -> Self {
        // The fewest that have a name.
        let few = if rows == 2 * ROWS { 4 } else { 8 };
        let blocks = n.div_ceil(rows).div_ceil(sms).min(BUSY);
        Self { rows, warps: (BUSY / blocks).next_power_of_two().clamp(few, most) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_fill_the_device_evenly() {
        let of = |sms, m, n| {
            let Block { rows, warps } = chosen(sms, Shape { m, n, ..Shape::default() });
            (rows, warps)
        };
        let chosen = |sms, n| of(sms, 1, n);
        // H200: 132 multiprocessors. 8192 rows are two blocks of 32 for each.
        assert_eq!(chosen(132, 8192), (32, 8));
        assert_eq!(chosen(132, 28_672), (32, 4));
        assert_eq!(chosen(132, 5632), (16, 8), "two of 32 rows would be more than three of 16");
        assert_eq!(chosen(132, 2048), (16, 16), "one a multiprocessor");
        assert_eq!(chosen(40, 8192), (32, 4));
        assert_eq!(chosen(132, 1), (16, 16));
        assert_eq!(of(132, 8, 2048), (32, 12));
        assert_eq!(of(132, 16, 2048), (32, 8), "32 multiprocessors would have all of 64 rows");
        assert_eq!(of(132, 16, 8192), (64, 8), "one a multiprocessor");
        assert_eq!(of(132, 16, 57_344), (32, 4), "fourteen of 32 rows");
    }

    /// A gate of 5632 rows and the 5632 that go through it, three turns a multiprocessor of an H200; a large one keeps four blocks of four warps.
    #[test]
    fn gates_that_eight_warps_would_multiply_take_twelve() {
        let facts = crate::gpu::family::gemm::tests::device((9, 0), 132);
        let of = |n| of_token(&facts, "w4.f16", Shape { m: 1, n, ..Shape::default() }, true);
        assert_eq!(of(11_264), (true, 12));
        assert_eq!(of(57_344), (true, 4));
    }

    #[test]
    fn every_choice_has_a_name() {
        for (sms, n) in [(1, 1), (1, 1 << 20), (132, 8192), (132, 5632), (10, 2048), (46, 4096)] {
            for m in [1, 4, 5, 8, 9, 16] {
                let chosen = chosen(sms, Shape { m, n, ..Shape::default() });
                assert!(BLOCKS.iter().any(|(_, block)| *block == chosen), "{sms} {m} {n}");
            }
        }
    }
}
