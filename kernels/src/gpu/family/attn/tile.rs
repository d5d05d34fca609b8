//! Which rows a block of K30 on tensor cores has.
//!
//! Every warp reads all keys and values of a block from shared memory. With 32 rows it reads them for twice the products that it does with 16, which
//! is what feeds the tensor cores of A100 and later data centre chips; there two such blocks share a multiprocessor. On chips with a quarter or half
//! of their rate, and less shared memory, sixteen rows are enough, and three small blocks hide each other's softmax.

use super::Heads;
use crate::gpu::{DeviceFacts, Element, Shape, Variant};

/// Rows of a block; all take 64 keys at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tile {
    /// 64 rows, 16 a warp, queries in registers.
    Narrow,
    /// 128 rows, 32 a warp, queries in shared memory.
    Wide,
}

/// Keys of a block.
const KEYS: u32 = 64;

const NARROW: Variant = Variant { name: "64x64", what: "64 queries and 64 keys a block, queries in registers" };
const WIDE: Variant = Variant { name: "128x64", what: "128 queries and 64 keys a block" };

/// Entries by storage, then by width of a head.
const ENTRIES: [[[&str; 2]; 2]; 2] = [
    [
        ["attn_prefill_64x64_f16_h64", "attn_prefill_64x64_f16_h128"],
        ["attn_prefill_64x64_bf16_h64", "attn_prefill_64x64_bf16_h128"],
    ],
    [
        ["attn_prefill_128x64_f16_h64", "attn_prefill_128x64_f16_h128"],
        ["attn_prefill_128x64_bf16_h64", "attn_prefill_128x64_bf16_h128"],
    ],
];

/// The variants of a device: large tiles since sm_80, where two of the largest share a multiprocessor.
pub(super) fn variants(facts: &DeviceFacts, element: Element) -> Vec<Variant> {
    let two = 2 * Tile::Wide.shared_bytes(128) <= facts.shared_per_block_optin;
    let stored = matches!(element, Element::F16 | Element::Bf16);
    if facts.sm.major >= 8 && two && stored { vec![NARROW, WIDE] } else { Vec::new() }
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
        let since = if element == Element::F16 { (7, 5) } else { (8, 0) };
        if !matches!(element, Element::F16 | Element::Bf16) || (facts.sm.major, facts.sm.minor) < since {
            return Err(format!("the tensor cores of {} take no {element:?}", facts.sm));
        }
        let there = variants(facts, element);
        let picked = facts.picks.choose(id(element), shape);
        let is_there = |name: &&str| there.iter().any(|variant| variant.name == *name);
        if let Some(name) = picked.filter(is_there) {
            return Ok(if name == WIDE.name { Self::Wide } else { Self::Narrow });
        }
        let blocks = shape.m.div_ceil(Self::Wide.rows()) * heads.heads;
        let enough = blocks >= 2 * facts.sms;
        Ok(if enough && !there.is_empty() { Self::Wide } else { Self::Narrow })
    }

    /// Rows of a block.
    pub fn rows(self) -> u32 {
        match self {
            Self::Narrow => 64,
            Self::Wide => 128,
        }
    }

    /// Name of the variant on a device; empty where there is one way only.
    pub(super) fn variant(self, facts: &DeviceFacts, element: Element) -> &'static str {
        match self {
            _ if variants(facts, element).is_empty() => "",
            Self::Narrow => NARROW.name,
            Self::Wide => WIDE.name,
        }
    }

    /// Keys and values, and the queries where they stay in shared memory.
    pub(super) fn shared_bytes(self, head: u32) -> u32 {
        let rows = 2 * KEYS + if self == Self::Wide { self.rows() } else { 0 };
        rows * head * 2
    }

    pub(super) fn entry(self, element: Element, width: usize) -> Result<&'static str, String> {
        match element {
            Element::F16 => Ok(ENTRIES[self as usize][0][width]),
            Element::Bf16 => Ok(ENTRIES[self as usize][1][width]),
            other => Err(format!("no tensor core takes {other:?}")),
        }
    }
}
