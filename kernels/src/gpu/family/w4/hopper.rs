//! K22 by `wgmma`: the ways of device 9.0 alone.
//!
//! Yᵀ = W·Xᵀ: weights are the left operand, made numbers in registers without ever passing shared memory; tokens the right one, moved by the
//! copy engine. Nibbles become −8 … 7 exactly, and the sums of each group are multiplied by its scale in fp32, so that nothing is rounded but the
//! result. Weights lie as the fragments of `m16n8k16`, which are wgmma's too; a first launch brings the activations into the same order, and the product
//! starts early: its barriers are there and its first weights on their way when the activations are. Weights in their natural order were rejected: they
//! are read once and activations many times, and the same packed weights serve every other kernel.
//!
//! A block has 128 rows of W. Where there are few, two or four blocks of a cluster share the groups along k and add up their sums through each other's
//! shared memory. Where there are enough to fill the device, they have rows of their own and load the tokens together, each a part of them to all: 128
//! tokens of a group are 32 KiB beside 8 KiB of weights, 40 bytes a clock of the 1024 that the products take, and 24 where two blocks share them; the
//! second-level cache gives a multiprocessor 24 to 31 (an estimate). Rejected: rounding weights to 16 bits after scaling, as Marlin does (an error as large as that of the result); partial sums in
//! device memory, which need a third launch; reordering activations on their way into shared memory, which takes longer than the products.

use super::{GROUP, Weights};
use crate::gpu::family::gemm::has_wgmma;
use crate::gpu::family::stream::{Formats, Operands, check_aligned, check_shape, wide};
use crate::gpu::{
    Arg, DeviceFacts, Element, Launch, Route, Shape, Slot, TensorElement, TensorMap, Variant,
};

/// Most tokens of one launch: beyond, widening the weights once is cheaper.
pub const MOST_TOKENS: u32 = 256;
/// Up to so many tokens memory limits, and blocks of fewer tokens and rows read it faster.
const FEW_TOKENS: u32 = 32;
/// Image of these kernels.
const FAMILY: &str = "w4_hopper";
/// Rows of W of a block.
const ROWS: u32 = 128;
/// Numbers of a row of X that 128 bytes hold.
const SLAB: u32 = 64;
/// Threads of a block: one warpgroup loads, two multiply.
const THREADS: u32 = 384;
/// Shared memory beside stages: what aligns them, and their barriers.
const AROUND: u32 = 1024 + 128;
/// Time of a block beside its groups, in groups: filling its stages and adding up.
const BESIDE: u32 = 4;

/// One way: tokens of a block, and what the blocks of a cluster share.
struct Block {
    variant: Variant,
    tokens: u32,
    /// Blocks of a cluster that share k.
    parts: u32,
    /// Blocks of a cluster that share the tokens.
    shared: u32,
    stages: u32,
    /// Entries for fp16 and bf16.
    entries: [&'static str; 2],
}

/// Of equal promises the first counts: more tokens a block read the weights less often.
const BLOCKS: &[Block] = &[
    Block {
        variant: Variant { name: "wgmma128r2", what: "wgmma, 128 tokens, which two blocks load" },
        tokens: 128,
        parts: 1,
        shared: 2,
        stages: 5,
        entries: ["w4_hopper_f16_m128r2", "w4_hopper_bf16_m128r2"],
    },
    Block {
        variant: Variant { name: "wgmma64r4", what: "wgmma, 64 tokens, which four blocks load" },
        tokens: 64,
        parts: 1,
        shared: 4,
        stages: 8,
        entries: ["w4_hopper_f16_m64r4", "w4_hopper_bf16_m64r4"],
    },
    Block {
        variant: Variant { name: "wgmma128c2", what: "wgmma, 128 tokens a block, two share k" },
        tokens: 128,
        parts: 2,
        shared: 1,
        stages: 5,
        entries: ["w4_hopper_f16_m128c2", "w4_hopper_bf16_m128c2"],
    },
    Block {
        variant: Variant { name: "wgmma64c2", what: "wgmma, 64 tokens a block, two share k" },
        tokens: 64,
        parts: 2,
        shared: 1,
        stages: 8,
        entries: ["w4_hopper_f16_m64c2", "w4_hopper_bf16_m64c2"],
    },
    Block {
        variant: Variant { name: "wgmma64c4", what: "wgmma, 64 tokens a block, four share k" },
        tokens: 64,
        parts: 4,
        shared: 1,
        stages: 8,
        entries: ["w4_hopper_f16_m64c4", "w4_hopper_bf16_m64c4"],
    },
];

/// Bytes that a multiprocessor gets of the second-level cache in a clock while all of them read: 5.5 to 7 TB/s over 132 of them, an estimate.
const CACHE: u32 = 28;

impl Block {
    fn shared_bytes(&self) -> u32 {
        self.stages * self.tokens * GROUP as u32 * 2 + AROUND
    }

    /// Blocks along the rows of W: whole clusters.
    fn across(&self, n: u32) -> u32 {
        n.div_ceil(ROWS).next_multiple_of(self.shared) * self.parts
    }

    /// Clocks: the busiest multiprocessor has so many blocks, and a group takes its products, or what comes of the second-level cache.
    fn promise(&self, facts: &DeviceFacts, Shape { m, n, k, .. }: Shape) -> u64 {
        let groups = (k / GROUP as u32).div_ceil(self.parts) + BESIDE;
        let bytes = self.tokens * GROUP as u32 * 2 / self.shared + ROWS * GROUP as u32 / 2;
        let clocks = (8 * self.tokens).max(bytes / CACHE);
        let all = u64::from(self.across(n)) * u64::from(m.div_ceil(self.tokens));
        all.div_ceil(facts.sms.max(1).into()) * u64::from(groups) * u64::from(clocks)
    }
}

/// The ways a device has.
fn blocks(facts: &DeviceFacts) -> impl Iterator<Item = &'static Block> {
    let (has, room) = (has_wgmma(facts), facts.shared_per_block_optin);
    BLOCKS.iter().filter(move |block| has && block.shared_bytes() <= room)
}

/// Their names.
pub(super) fn variants(facts: &DeviceFacts) -> impl Iterator<Item = Variant> {
    blocks(facts).map(|block| block.variant)
}

/// How a device does it, where wgmma does.
pub(super) fn route(facts: &DeviceFacts) -> Option<Route> {
    let by = "wgmma.m64n128k16, for few tokens mma.m16n8k16";
    blocks(facts).next().map(|_| Route::Native { by: by.to_owned() })
}

/// Bytes for the activations in the order of the weights.
pub(super) fn scratch(shape: Shape) -> usize {
    2 * shape.m as usize * shape.k as usize
}

/// The way to take at a size: what was picked, else what promises the least time; `None` where warps by themselves do.
fn choose(kernel: &str, facts: &DeviceFacts, shape: Shape) -> Option<&'static Block> {
    match facts.tuned.choose(kernel, shape) {
        Some(name) => blocks(facts).find(|block| block.variant.name == name),
        None if shape.m <= FEW_TOKENS => None,
        None => blocks(facts).min_by_key(|block| block.promise(facts, shape)),
    }
}

/// Name of the way to take.
pub(super) fn chosen(kernel: &str, facts: &DeviceFacts, shape: Shape) -> Option<&'static str> {
    choose(kernel, facts, shape).map(|block| block.variant.name)
}

/// Y = X·Wᵀ by way of reordered activations, where that is the way to take.
pub(super) fn launch(
    kernel: &str,
    facts: &DeviceFacts,
    (operands, ordered): (Operands<Weights>, Slot),
    formats: Formats,
    shape: Shape,
) -> Result<Option<Vec<Launch>>, String> {
    let Operands { x, weights, y } = operands;
    check_shape(shape, MOST_TOKENS, GROUP as u32)?;
    check_aligned(&[x, weights.words, weights.scales, ordered, y])?;
    let Some(block) = choose(kernel, facts, shape) else { return Ok(None) };
    let (element, entry) = match formats.input {
        Element::Bf16 => (TensorElement::Bf16, block.entries[1]),
        _ => (TensorElement::F16, block.entries[0]),
    };
    let Shape { m, n, k, .. } = shape;
    let tokens = TensorMap {
        slot: ordered,
        element,
        size: [k.into(), m.into()],
        row_bytes: 2 * u64::from(k),
        tile: [SLAB, block.tokens / block.shared],
        swizzled: true,
    };
    let args = [weights.words.into(), weights.scales.into(), tokens.into(), y.into()];
    let args = args.into_iter().chain([m, n, k, wide(formats)?].map(Arg::from));
    let grid = [block.across(n), m.div_ceil(block.tokens)];
    let product = Launch::new((FAMILY, entry), grid, THREADS, args);
    // The one thread that reads activations waits for them.
    let product = Launch { early: true, ..product.with_shared(block.shared_bytes()) };
    Ok(Some(vec![order(x, ordered, shape), product]))
}

/// Activations in the order of the weights, 16 bytes a thread.
fn order(x: Slot, to: Slot, Shape { m, k, .. }: Shape) -> Launch {
    let args = [x.into(), to.into(), m.into(), k.into()];
    Launch::new((FAMILY, "w4_hopper_order"), [(m * (k / 8)).div_ceil(256), 1], 256, args)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sm;
    use crate::gpu::family::gemm::tests::device;

    fn hopper(sms: u32) -> DeviceFacts {
        DeviceFacts { shared_per_block_optin: 227 << 10, ..device((9, 0), sms) }
    }

    /// H200: 132 multiprocessors. 8192 rows are 64 blocks, 4096 are 32.
    #[test]
    fn blocks_fill_the_device() {
        for (m, n, k, name) in [
            (32, 8192, 8192, None),
            (64, 8192, 8192, Some("wgmma64c2")),
            (33, 4096, 4096, Some("wgmma64c4")),
            (128, 4096, 4096, Some("wgmma64c2")),
            (128, 8192, 8192, Some("wgmma64r4")),
            (128, 28_672, 8192, Some("wgmma128r2")),
            (256, 28_672, 8192, Some("wgmma64r4")),
        ] {
            let shape = Shape { m, n, k, ..Shape::default() };
            assert_eq!(chosen("w4.gemm.f16", &hopper(132), shape), name, "{m}×{n}×{k}");
        }
    }

    /// 130 rows of W are two blocks, and four where four load tokens together.
    #[test]
    fn clusters_are_whole() {
        for (name, across, rows_of_x) in
            [("wgmma128r2", 2, 64), ("wgmma64r4", 4, 16), ("wgmma64c2", 4, 64)]
        {
            let facts = hopper(132).with_variant("w4.gemm.f16", name);
            let slot = |buffer| Slot { buffer: crate::gpu::BufferId(buffer), offset: 0 };
            let weights = Weights { words: slot(1), scales: slot(2) };
            let operands = Operands { x: slot(0), weights, y: slot(3) };
            let shape = Shape { m: 200, n: 130, k: 256, ..Shape::default() };
            let formats = Formats::same(Element::F16);
            let launched = launch("w4.gemm.f16", &facts, (operands, slot(4)), formats, shape);
            let [order, product] = &launched.unwrap().unwrap()[..] else { panic!("two launches") };
            assert_eq!((product.grid[0], order.early, product.early), (across, false, true));
            let crate::gpu::Arg::TensorMap(map) = product.args[2] else { panic!("a map") };
            assert_eq!(map.tile, [64, rows_of_x], "{name}");
        }
    }

    #[test]
    fn what_is_picked_is_taken() {
        let shape = Shape { m: 16, n: 512, k: 512, ..Shape::default() };
        for (picked, name) in [("wgmma128c2", Some("wgmma128c2")), ("k4", None)] {
            let facts = hopper(132).with_variant("w4.gemm.f16", picked);
            assert_eq!(chosen("w4.gemm.f16", &facts, shape), name);
        }
    }

    #[test]
    fn it_is_of_9_0_alone() {
        for (facts, native) in [
            (hopper(132), true),
            (DeviceFacts { sm: Sm::new(10, 0), ..hopper(132) }, false),
            (DeviceFacts { driver_cuda: 11_080, ..hopper(132) }, false),
            (device((9, 0), 132), false),
        ] {
            assert_eq!(route(&facts).is_some(), native);
            assert_eq!(variants(&facts).count() == BLOCKS.len(), native);
        }
    }

    /// CUDA C++ programming guide, "Technical Specifications per Compute Capability": 227 KiB of shared memory a block on 9.0.
    #[test]
    fn stages_fit_a_block() {
        assert!(BLOCKS.iter().all(|block| block.shared_bytes() <= 227 << 10));
    }
}
