//! Which rows a block of K30 on tensor cores has.
//!
//! Every warp reads all keys and values of a block from shared memory. With 32 rows it reads them for twice the products that it does with 16, which
//! is what feeds the tensor cores of A100 and later data centre chips; there two such blocks share a multiprocessor. On chips with a quarter or half
//! of their rate, and less shared memory, sixteen rows are enough, and three small blocks hide each other's softmax. Hopper's tensor cores are only
//! reached by wgmma, in a family of its own.
//!
//! Volta's quad-pairs load what two of them share twice. Per block of 64 keys a warp with 16 rows keeps the tensor cores busy for 256 × 8 cycles, and
//! shared memory for 4 × 604; with 32 rows and 32 keys it is 256 × 8 and 4 × 448 (instructions counted in the machine code of sm_75 from the same PTX:
//! no disassembler here reads that of sm_70). So there the larger tile is not bound by shared memory, and 64 keys would not leave it its registers.

use super::attention::{Attention, Engine, HEAD, THREADS};
use crate::gpu::family::elementwise::Heads;
use crate::gpu::family::gemm::has_wgmma;
use crate::gpu::{Arg, DeviceFacts, Element, Shape, TensorElement, TensorMap, Variant};

/// Rows and keys of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tile {
    /// 64 rows, 16 a warp, queries in registers; 64 keys.
    Narrow,
    /// 128 rows, 32 a warp, queries in shared memory; 64 keys.
    Wide,
    /// As wide, 32 keys: Volta's.
    Flat,
    /// 128 rows and 128 keys, by wgmma and the copy engine of sm_90a.
    Hopper,
}

const NARROW: Variant =
    Variant { name: "64x64", what: "64 queries and 64 keys a block, queries in registers" };
const WIDE: Variant = Variant { name: "128x64", what: "128 queries and 64 keys a block" };
const FLAT: Variant = Variant { name: "128x32", what: "128 queries and 32 keys a block" };
const HOPPER: Variant =
    Variant { name: "wgmma128x128", what: "128 queries and 128 keys a block, by wgmma" };

/// Every tile by its name.
const TILES: [(Tile, Variant); 4] =
    [(Tile::Narrow, NARROW), (Tile::Wide, WIDE), (Tile::Flat, FLAT), (Tile::Hopper, HOPPER)];

/// Entries by tile and storage; none where the storage has no such tile.
const ENTRIES: [[&str; 2]; 4] = [
    ["attn_prefill_64x64_f16_h128", "attn_prefill_64x64_bf16_h128"],
    ["attn_prefill_128x64_f16_h128", "attn_prefill_128x64_bf16_h128"],
    ["attn_prefill_128x32_f16_h128", ""],
    ["attn_prefill_wgmma_f16_h128", "attn_prefill_wgmma_bf16_h128"],
];

/// The variants of a device: two where tensor cores and shared memory take larger tiles, and wgmma where there is.
pub(super) fn variants(facts: &DeviceFacts, element: Element) -> Vec<Variant> {
    if Engine::best(facts.sm, element) != Engine::Cores {
        return Vec::new();
    }
    let there: Vec<Variant> =
        TILES.iter().filter(|(tile, _)| tile.is_on(facts)).map(|(_, variant)| *variant).collect();
    if there.len() > 1 { there } else { Vec::new() }
}

/// Kernel of a storage format.
pub(super) fn id(element: Element) -> &'static str {
    if element == Element::Bf16 { "attn.prefill.bf16" } else { "attn.prefill.f16" }
}

impl Tile {
    /// The tile for `m` queries of a width `k`: what was picked, else large ones where they fill the device twice.
    pub(super) fn of(
        facts: &DeviceFacts,
        element: Element,
        heads: Heads,
        shape: Shape,
    ) -> Result<Self, String> {
        if Engine::best(facts.sm, element) != Engine::Cores {
            return Err(format!("the tensor cores of {} take no {element:?}", facts.sm));
        }
        let there = variants(facts, element);
        let named = |name: &str| TILES.iter().find(|(_, variant)| variant.name == name);
        let has = |tile: Self| there.iter().any(|variant| *variant == tile.named());
        let picked = facts.tuned.choose(id(element), shape).and_then(named);
        if let Some((tile, _)) = picked.filter(|(tile, _)| has(*tile)) {
            return Ok(*tile);
        }
        let blocks = shape.m.div_ceil(128) * heads.heads;
        // A block of wgmma is done before a third as many small ones would be; large ones want two on every multiprocessor.
        let filled = blocks >= 2 * facts.sms;
        let rules =
            [(Self::Hopper, 3 * blocks >= facts.sms), (Self::Wide, filled), (Self::Flat, filled)];
        let chosen = rules.into_iter().find(|(tile, enough)| *enough && has(*tile));
        Ok(chosen.map_or(Self::Narrow, |(tile, _)| tile))
    }

    /// Whether a device with tensor cores takes the tile: two of the larger share a multiprocessor.
    fn is_on(self, facts: &DeviceFacts) -> bool {
        let most = facts.shared_per_block_optin;
        let volta = (facts.sm.major, facts.sm.minor) < (7, 5);
        match self {
            Self::Narrow => true,
            Self::Wide => facts.sm.major >= 8 && 2 * self.shared_bytes() <= most,
            Self::Flat => volta && 2 * self.shared_bytes() <= most,
            Self::Hopper => has_wgmma(facts) && self.shared_bytes() <= most,
        }
    }

    fn named(self) -> Variant {
        TILES[self as usize].1
    }

    /// Rows of a block.
    pub fn rows(self) -> u32 {
        match self {
            Self::Narrow => 64,
            Self::Wide | Self::Flat | Self::Hopper => 128,
        }
    }

    /// Image it is in, and threads of a block.
    pub(super) fn family(self) -> (&'static str, u32) {
        match self {
            Self::Narrow | Self::Wide | Self::Flat => ("attn", THREADS),
            Self::Hopper => ("attn_hopper", 3 * THREADS),
        }
    }

    /// Name of the variant on a device; empty where there is one way only.
    pub(super) fn variant(self, facts: &DeviceFacts, element: Element) -> &'static str {
        if variants(facts, element).is_empty() { "" } else { self.named().name }
    }

    /// Keys and values, and the queries where they stay in shared memory.
    pub(super) fn shared_bytes(self) -> u32 {
        let row = HEAD * 2;
        match self {
            Self::Narrow => (64 + 64) * row,
            Self::Wide => (64 + 64 + 128) * row,
            Self::Flat => (32 + 32 + 128) * row,
            // Queries of two tiles, two stages of the others, barriers, and up to 1023 bytes to begin at a multiple of 1024.
            Self::Hopper => (2 * (128 + 128) + 2 * 128) * row + 128 + 1024,
        }
    }

    /// Blocks for so many heads of so many tokens: one for each tile, or as many as there are multiprocessors, which take them in turn.
    pub(super) fn grid(self, facts: &DeviceFacts, heads: u32, tokens: u32) -> [u32; 2] {
        let down = tokens.div_ceil(self.rows());
        match self {
            Self::Hopper => [(heads * down).min(facts.sms), 1],
            _ => [heads, down],
        }
    }

    /// Queries, keys, values and results: as matrices of which the copy engine takes boxes of 64 columns, and what lies behind the last key is zero, or as
    /// they lie. Results leave sixteen rows at a time, a warp's.
    pub(super) fn operands(self, element: Element, at: &Attention, shape: Shape) -> [Arg; 4] {
        let slots = [at.q, at.keys, at.values, at.out];
        if self != Self::Hopper {
            return slots.map(Arg::Slot);
        }
        let Heads { heads, kv_heads, head } = at.heads;
        let keys = shape.m + shape.context;
        let (of_queries, of_keys) = ((heads, shape.m), (kv_heads, keys));
        let sizes = [(of_queries, 128), (of_keys, 128), (of_keys, 128), (of_queries, 16)];
        let mut sizes = sizes.into_iter();
        let element =
            if element == Element::Bf16 { TensorElement::Bf16 } else { TensorElement::F16 };
        slots.map(|slot| {
            let ((heads, rows), at_a_time) = sizes.next().unwrap_or((of_queries, 16));
            let width = u64::from(heads * head);
            let size = [width, rows.into()];
            let (row_bytes, tile) = (2 * width, [64, at_a_time]);
            Arg::from(TensorMap { slot, element, size, row_bytes, tile, swizzled: true })
        })
    }

    pub(super) fn entry(self, element: Element) -> Result<&'static str, String> {
        match element {
            Element::F16 => Ok(ENTRIES[self as usize][0]),
            Element::Bf16 => Ok(ENTRIES[self as usize][1]),
            other => Err(format!("no tensor core takes {other:?}")),
        }
    }
}
