//! The ways of up to 64 tokens by `wgmma`: device 9.0 alone.
//!
//! Yᵀ = W·Xᵀ: weights are the 64 rows that a wgmma has, tokens its 16 or 64 columns, instead of 128 rows of which few are there. A block has 128
//! rows of W, and two share a multiprocessor; the two or four blocks of a cluster share k and add up in fp32 through each other's shared memory. What
//! leaves needs no tensor map, so that every width goes.
//!
//! Rejected: blocks of 64 rows (X would come from the second-level cache as often as W from memory at 64 tokens); eight blocks that share k (a wave of
//! them fits fewer multiprocessors, and four fill the device from 4096 rows on); stages of 256 bytes (no more is on its way, and short k wastes them);
//! 32 columns (a stage of 64 takes the tensor cores a third of the time that its weights take to arrive, and rows of X that are not there are not read).

use super::dispatch::{Call, Dispatch};
use super::hopper::{FAMILY, has_wgmma, operand};
use super::product::Product;
use crate::gpu::family::stream::Operands;
use crate::gpu::{Arg, DeviceFacts, Element, Launch, Shape, Variant};

/// Most tokens.
const MOST_TOKENS: u32 = 64;
/// Rows of W of a block.
const ROWS: u32 = 128;
/// Tokens that entries are compiled for, and stages of each: two blocks fit a multiprocessor.
const TILES: [(u32, u32); 2] = [(16, 6), (64, 4)];
/// Bytes of k of a stage, and of numbers.
const SLAB: u32 = 128;
/// Shared memory beside stages: what aligns them, and their barriers.
const AROUND: u32 = 1024 + 128;
/// Threads of a block: eight warps multiply, one loads.
const THREADS: u32 = 288;
/// Time of a block beside its stages, in stages: filling them and adding up.
const BESIDE: u32 = 4;

/// Blocks that share k, and what they are called.
const SHARED_BY: [(u32, Variant); 2] = [
    (2, Variant { name: "fewc2", what: "wgmma, up to 64 tokens, two blocks share k" }),
    (4, Variant { name: "fewc4", what: "wgmma, up to 64 tokens, four blocks share k" }),
];

/// Entries by what is multiplied, by blocks that share k, by tokens.
const ENTRIES: [[[&str; 2]; 2]; 2] = [
    [["gemm_f16_few16c2", "gemm_f16_few64c2"], ["gemm_f16_few16c4", "gemm_f16_few64c4"]],
    [["gemm_bf16_few16c2", "gemm_bf16_few64c2"], ["gemm_bf16_few16c4", "gemm_bf16_few64c4"]],
];

/// The ways of a product; none but on a device that has wgmma and the memory.
pub(super) fn dispatches(product: Product, facts: &DeviceFacts) -> Vec<Dispatch> {
    let of = match product {
        Product::F16 | Product::F16Out32 => &ENTRIES[0],
        Product::Bf16 | Product::Bf16Out32 => &ENTRIES[1],
        _ => return Vec::new(),
    };
    let most = TILES.iter().map(|tile| shared_bytes(*tile)).max().unwrap_or_default();
    let there = has_wgmma(facts) && most <= facts.shared_per_block_optin;
    let all = SHARED_BY.iter().zip(of).filter(|_| there);
    all.map(|((_, variant), entries)| dispatch(*variant, entries[1])).collect()
}

fn dispatch(variant: Variant, entry: &'static str) -> Dispatch {
    Dispatch {
        variant,
        family: FAMILY,
        entry,
        tile: [MOST_TOKENS, ROWS],
        threads: THREADS,
        shared_bytes: shared_bytes(TILES[1]),
        rate: 1.0,
        stream_k: None,
        parts: 1,
        takes: |shape| shape.m <= MOST_TOKENS,
        launch,
    }
}

fn shared_bytes((tokens, stages): (u32, u32)) -> u32 {
    stages * (ROWS + tokens) * SLAB + AROUND
}

/// Whether a way is one of these.
pub(super) fn is(dispatch: &Dispatch) -> bool {
    shared_by(dispatch).is_some()
}

/// How many blocks share k, and the place among the ways.
fn shared_by(dispatch: &Dispatch) -> Option<(u32, usize)> {
    let place = SHARED_BY.iter().position(|(_, variant)| variant.name == dispatch.variant.name)?;
    Some((SHARED_BY[place].0, place))
}

/// Which of these among the ways of a size is to be taken: memory limits all that so few tokens need, and these wait for it least.
pub(super) fn choose<'a>(
    dispatches: &'a [Dispatch],
    facts: &DeviceFacts,
    shape: Shape,
) -> Option<&'a Dispatch> {
    let few = dispatches.iter().filter_map(|dispatch| Some((dispatch, shared_by(dispatch)?.0)));
    few.min_by_key(|(_, blocks)| promise(*blocks, facts, shape)).map(|(dispatch, _)| dispatch)
}

/// Time in stages: the busiest multiprocessor has so many blocks, and each its part of k.
fn promise(blocks: u32, facts: &DeviceFacts, Shape { n, k, .. }: Shape) -> u64 {
    let stages = k.div_ceil(SLAB / 2).div_ceil(blocks) + BESIDE;
    let all = u64::from(n.div_ceil(ROWS)) * u64::from(blocks);
    all.div_ceil(facts.sms.max(1).into()) * u64::from(stages)
}

fn launch(dispatch: &Dispatch, call: &Call) -> Result<Launch, String> {
    let Shape { m, n, k, .. } = call.shape;
    let Operands { x, weights, y } = call.operands;
    let (blocks, place) =
        shared_by(dispatch).ok_or_else(|| format!("{} is no such way", dispatch.entry))?;
    let tile = TILES.iter().position(|(tokens, _)| m <= *tokens);
    let tile = tile.ok_or_else(|| format!("{m} tokens are more than {MOST_TOKENS}"))?;
    let bf16 = matches!(call.product, Product::Bf16 | Product::Bf16Out32);
    let wide = u32::from(call.product.output() == Element::F32);
    let maps = [operand(x, m, TILES[tile].0, call), operand(weights, n, ROWS, call)];
    let rest = [y.into(), m.into(), n.into(), k.into(), wide.into()];
    let entry = ENTRIES[usize::from(bf16)][place][tile];
    let dispatch = Dispatch { entry, shared_bytes: shared_bytes(TILES[tile]), ..*dispatch };
    let args = maps.map(Arg::from).into_iter().chain(rest);
    Ok(dispatch.launched([n.div_ceil(ROWS) * blocks, 1], args))
}

#[cfg(test)]
mod tests {
    use super::super::choose::choose;
    use super::super::launch;
    use super::super::tests::device;
    use super::*;
    use crate::gpu::{BufferId, Slot};

    fn hopper() -> DeviceFacts {
        DeviceFacts { shared_per_block_optin: 227 << 10, ..device((9, 0), 132) }
    }

    fn shape(m: u32, n: u32, k: u32) -> Shape {
        Shape { m, n, k, ..Shape::default() }
    }

    /// H200: 132 multiprocessors. 4096 rows are 32 blocks, 28 672 are 224.
    #[test]
    fn few_tokens_take_blocks_enough_to_fill_the_device() {
        for (m, n, k, name) in [
            (16, 4096, 4096, "fewc4"),
            (64, 8192, 8192, "fewc2"),
            (33, 14_336, 4096, "fewc2"),
            (1, 1024, 4096, "fewc4"),
            (64, 28_672, 4096, "fewc4"),
            (65, 8192, 8192, "wgmma128x128k2"),
        ] {
            let dispatch = choose(Product::F16, &hopper(), shape(m, n, k), false).unwrap();
            assert_eq!(dispatch.variant.name, name, "{m}×{n}×{k}");
        }
    }

    #[test]
    fn they_are_of_9_0_and_of_16_bits() {
        for (product, count) in [
            (Product::F16, 2),
            (Product::F16Out32, 2),
            (Product::Bf16, 2),
            (Product::F32, 0),
            (Product::E4m3, 0),
        ] {
            assert_eq!(dispatches(product, &hopper()).len(), count, "{product:?}");
            assert_eq!(dispatches(product, &device((9, 0), 132)).len(), 0, "no memory for it");
        }
    }

    /// CUDA C++ programming guide, "Technical Specifications per Compute Capability": 228 KiB of shared memory a multiprocessor on 9.0, of which each
    /// block takes one for the system.
    #[test]
    fn two_blocks_share_a_multiprocessor() {
        for tile in TILES {
            assert!(2 * (shared_bytes(tile) + 1024) <= 228 << 10, "{tile:?}");
        }
    }

    #[test]
    fn tokens_decide_the_entry_and_its_boxes() {
        let slot = |buffer| Slot { buffer: BufferId(buffer), offset: 0 };
        let operands = Operands { x: slot(0), weights: slot(1), y: slot(2) };
        for (m, product, entry, tokens) in [
            (1, Product::F16, "gemm_f16_few16c4", 16),
            (17, Product::Bf16, "gemm_bf16_few64c4", 64),
            (64, Product::Bf16Out32, "gemm_bf16_few64c4", 64),
        ] {
            let launch = launch(&hopper(), operands, product, shape(m, 515, 512)).unwrap();
            assert_eq!((launch.entry, launch.grid), (entry, [20, 1, 1]));
            let boxes = |index: usize| match launch.args[index] {
                Arg::TensorMap(map) => (map.size, map.tile),
                arg => panic!("{arg:?} is no map"),
            };
            assert_eq!(boxes(0), ([512, m.into()], [64, tokens]));
            assert_eq!(boxes(1), ([512, 515], [64, 128]));
        }
    }
}
