//! K22 by `wgmma`: 4-bit weights and more tokens than the kernels of [`w4`] take; device 9.0 alone.
//!
//! Yᵀ = W·Xᵀ: weights are the left operand, made numbers in registers without ever passing shared memory; tokens the right one, moved by the
//! copy engine. Nibbles become −8 … 7 exactly, and the sums of each group are multiplied by its scale in fp32, so that nothing is rounded but the
//! result. Weights lie as the fragments of `m16n8k16`, which are wgmma's too; a first launch brings the activations into the same order.
//!
//! A block has 128 rows of W; two or four blocks of a cluster share the groups along k and add up their sums through each other's shared
//! memory. Rejected: rounding weights to 16 bits after scaling, as Marlin does (an error as large as that of the result); partial sums in
//! device memory, which need a third launch; a layout of weights of its own, for they are loaded once for all paths.

use super::gemm::has_wgmma;
use super::stream::{Formats, Path, Places, Streamed, check_aligned, check_shape, suffix, wide};
use super::w4;
use crate::gpu::{
    DeviceFacts, Element, GpuKernel, Launch, Limiter, Route, Shape, Slot, TensorElement, TensorMap,
    Variant, Work,
};
use crate::{Dtype, Sm};

/// Most tokens of one launch: beyond, weights are better widened once.
const MOST_TOKENS: u32 = 256;
/// From so many tokens on the tensor cores take longer than memory.
const MANY_TOKENS: u32 = 64;
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

/// One way: tokens of a block and blocks of a cluster.
struct Block {
    variant: Variant,
    tokens: u32,
    blocks: u32,
    stages: u32,
    /// Entries for fp16 and bf16.
    entries: [&'static str; 2],
}

/// Of equal promises the first counts: more tokens a block read the weights less often.
const BLOCKS: &[Block] = &[
    Block {
        variant: Variant { name: "m128c2", what: "128 tokens a block, two share k" },
        tokens: 128,
        blocks: 2,
        stages: 5,
        entries: ["w4_hopper_f16_m128c2", "w4_hopper_bf16_m128c2"],
    },
    Block {
        variant: Variant { name: "m128c4", what: "128 tokens a block, four share k" },
        tokens: 128,
        blocks: 4,
        stages: 5,
        entries: ["w4_hopper_f16_m128c4", "w4_hopper_bf16_m128c4"],
    },
    Block {
        variant: Variant { name: "m64c2", what: "64 tokens a block, two share k" },
        tokens: 64,
        blocks: 2,
        stages: 8,
        entries: ["w4_hopper_f16_m64c2", "w4_hopper_bf16_m64c2"],
    },
    Block {
        variant: Variant { name: "m64c4", what: "64 tokens a block, four share k" },
        tokens: 64,
        blocks: 4,
        stages: 8,
        entries: ["w4_hopper_f16_m64c4", "w4_hopper_bf16_m64c4"],
    },
];

impl Block {
    fn shared_bytes(&self) -> u32 {
        self.stages * self.tokens * w4::GROUP as u32 * 2 + AROUND
    }

    /// Time in products of 64 rows, 64 tokens and a group: the busiest multiprocessor has so many blocks.
    fn promise(&self, facts: &DeviceFacts, Shape { m, n, k, .. }: Shape) -> u64 {
        let groups = (k / w4::GROUP as u32).div_ceil(self.blocks) + BESIDE;
        let all = u64::from(n.div_ceil(ROWS) * self.blocks) * u64::from(m.div_ceil(self.tokens));
        all.div_ceil(facts.sms.max(1).into()) * u64::from(groups * self.tokens / 64)
    }
}

fn blocks(facts: &DeviceFacts) -> impl Iterator<Item = &'static Block> {
    let (has, room) = (has_wgmma(facts), facts.shared_per_block_optin);
    BLOCKS.iter().filter(move |block| has && block.shared_bytes() <= room)
}

/// The way to take at a size: what was picked, else what promises the least time.
fn choose(kernel: &str, facts: &DeviceFacts, shape: Shape) -> Option<&'static Block> {
    let picked = facts.picks.choose(kernel, shape);
    let named = blocks(facts).find(|block| Some(block.variant.name) == picked);
    named.or_else(|| blocks(facts).min_by_key(|block| block.promise(facts, shape)))
}

fn launch(
    kernel: &str,
    facts: &DeviceFacts,
    formats: Formats,
    places: &Places,
    shape: Shape,
) -> Result<Vec<Launch>, String> {
    check_shape(shape, MOST_TOKENS, w4::GROUP as u32)?;
    let [words, scales] = [places.weights[0], places.weights[1]];
    let (x, ordered) = (places.x, places.scratch[0]);
    check_aligned(&[x, words, scales, ordered, places.y])?;
    let block = choose(kernel, facts, shape);
    let block = block.ok_or_else(|| format!("wgmma is of sm_90, this is {}", facts.sm))?;
    let (element, entry) = match formats.input {
        Element::F16 => (TensorElement::F16, block.entries[0]),
        Element::Bf16 => (TensorElement::Bf16, block.entries[1]),
        other => return Err(format!("wgmma takes no weights beside {}", suffix(other))),
    };
    let Shape { m, n, k, .. } = shape;
    let tokens = TensorMap {
        slot: ordered,
        element,
        size: [k.into(), m.into()],
        row_bytes: 2 * u64::from(k),
        tile: [SLAB, block.tokens],
        swizzled: true,
    };
    let product = Launch {
        family: "w4_hopper",
        entry,
        grid: [n.div_ceil(ROWS) * block.blocks, m.div_ceil(block.tokens), 1],
        block: [THREADS, 1, 1],
        shared_bytes: block.shared_bytes(),
        args: vec![
            words.into(),
            scales.into(),
            tokens.into(),
            places.y.into(),
            m.into(),
            n.into(),
            k.into(),
            wide(formats)?.into(),
        ],
        early: false,
    };
    Ok(vec![order(x, ordered, shape), product])
}

/// Activations in the order of the weights, 16 bytes a thread.
fn order(x: Slot, to: Slot, Shape { m, k, .. }: Shape) -> Launch {
    Launch {
        family: "w4_hopper",
        entry: "w4_hopper_order",
        grid: [(m * (k / 8)).div_ceil(256), 1, 1],
        block: [256, 1, 1],
        shared_bytes: 0,
        args: vec![x.into(), to.into(), m.into(), k.into()],
        early: false,
    }
}

/// Weights are stored as by [`w4`].
const fn path<S: Streamed>(id: &'static str, formats: Formats, limit: f64) -> Path {
    let stored = &w4::F16::PATHS[0];
    Path {
        id,
        formats,
        most_tokens: MOST_TOKENS,
        multiple: stored.multiple,
        limit,
        parts: stored.parts,
        scratch: |shape| vec![shape.m as usize * shape.k as usize * 2],
        launch: |facts, formats, places, shape| launch(S::KERNEL, facts, formats, places, shape),
        store: stored.store,
        whole_weight: stored.whole_weight,
        whole_x: stored.whole_x,
    }
}

/// fp16 activations.
pub(in crate::gpu) struct F16;
/// bf16 activations.
pub(in crate::gpu) struct Bf16;

/// Largest relative error of fp32 results: tensor cores cut where fp32 arithmetic rounds.
const WIDE_LIMIT: f64 = 2e-5;

impl Streamed for F16 {
    const KERNEL: &'static str = "w4gemm.f16";
    const PATHS: &'static [Path] = &[
        path::<Self>("w4gemm.f16 fp16 out", Formats::same(Element::F16), 3e-4),
        path::<Self>("w4gemm.f16 fp32 out", Formats::wide(Element::F16), WIDE_LIMIT),
    ];

    fn variants(facts: &DeviceFacts) -> Vec<Variant> {
        blocks(facts).map(|block| block.variant).collect()
    }

    fn chosen(facts: &DeviceFacts, shape: Shape) -> &'static str {
        choose(Self::KERNEL, facts, shape).map_or("", |block| block.variant.name)
    }
}

impl Streamed for Bf16 {
    const KERNEL: &'static str = "w4gemm.bf16";
    const PATHS: &'static [Path] = &[
        path::<Self>("w4gemm.bf16 bf16 out", Formats::same(Element::Bf16), 2.5e-3),
        path::<Self>("w4gemm.bf16 fp32 out", Formats::wide(Element::Bf16), WIDE_LIMIT),
    ];

    fn variants(facts: &DeviceFacts) -> Vec<Variant> {
        F16::variants(facts)
    }

    fn chosen(facts: &DeviceFacts, shape: Shape) -> &'static str {
        choose(Self::KERNEL, facts, shape).map_or("", |block| block.variant.name)
    }
}

fn route(facts: &DeviceFacts) -> Route {
    let of = Sm::new(9, 0);
    match blocks(facts).next() {
        Some(_) => Route::Native { by: "wgmma.m64n128k16".to_owned() },
        None if facts.sm == of => {
            let driver = facts.driver_cuda;
            Route::Absent { why: format!("it needs a driver for CUDA 12.0, this is {driver}") }
        }
        None => Route::Absent { why: format!("wgmma is of {of} alone, this is {}", facts.sm) },
    }
}

/// What is timed of a kernel: many tokens, which arithmetic limits.
const fn kernel<S: Streamed>(title: &'static str) -> GpuKernel {
    const fn all<S: Streamed>(title: &'static str) -> GpuKernel {
        super::stream::kernel::<S>(title, "w4_hopper", Dtype::Int4Weight, route)
    }
    GpuKernel {
        works: |facts, arena| {
            let works = (all::<S>("").works)(facts, arena).into_iter();
            works.filter(|work| work.shape.m >= MANY_TOKENS).map(limited).collect()
        },
        work: |facts, shape| (all::<S>("").work)(facts, shape).map(limited),
        ..all::<S>(title)
    }
}

fn limited(work: Work) -> Work {
    let many = work.shape.m > MANY_TOKENS;
    Work { limiter: if many { Limiter::Arithmetic } else { work.limiter }, ..work }
}

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[
    kernel::<F16>("4-bit weights, fp16 activations of many tokens"),
    kernel::<Bf16>("4-bit weights, bf16 activations of many tokens"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn hopper(sms: u32) -> DeviceFacts {
        let facts = super::super::gemm::tests::device((9, 0), sms);
        DeviceFacts { shared_per_block_optin: 227 << 10, ..facts }
    }

    /// H200: 132 multiprocessors. 8192 rows are 64 blocks, 4096 are 32.
    #[test]
    fn blocks_fill_the_device() {
        for (m, n, k, name) in [
            (64, 8192, 8192, "m64c2"),
            (17, 4096, 4096, "m64c4"),
            (128, 4096, 4096, "m64c2"),
            (128, 8192, 8192, "m128c2"),
            (256, 28_672, 8192, "m128c2"),
        ] {
            let shape = Shape { m, n, k, ..Shape::default() };
            assert_eq!(F16::chosen(&hopper(132), shape), name, "{m}×{n}×{k}");
        }
    }

    #[test]
    fn it_is_of_9_0_alone() {
        for (facts, native) in [
            (hopper(132), true),
            (DeviceFacts { sm: Sm::new(10, 0), ..hopper(132) }, false),
            (DeviceFacts { driver_cuda: 11_080, ..hopper(132) }, false),
        ] {
            assert_eq!(matches!(route(&facts), Route::Native { .. }), native);
            assert_eq!(F16::variants(&facts).is_empty(), !native);
        }
    }

    #[test]
    fn what_is_timed_has_many_tokens() {
        let works = (KERNELS[0].works)(&hopper(132), 256 << 20);
        assert!(!works.is_empty());
        assert!(works.iter().all(|w| w.shape.m == 256 && w.limiter == Limiter::Arithmetic));
    }
}
