//! K30: the launch of many queries.

use super::attention::{Attention, Engine, THREADS, check};
use super::tile::Tile;
use crate::gpu::family::operand::of_storage;
use crate::gpu::{Arg, DeviceFacts, Element, Launch, Shape};

/// Rows of a block of the plain kernel.
const PLAIN_ROWS: u32 = 32;

/// Entries by storage.
const PLAIN: [&str; 3] =
    ["attn_prefill_f32_h128", "attn_prefill_f16_h128", "attn_prefill_bf16_h128"];

/// K30: `m` queries behind `context` keys, each of which sees the keys up to its own position. The state must say `context` too.
pub fn prefill(
    facts: &DeviceFacts,
    engine: Engine,
    element: Element,
    at: &Attention,
    shape: Shape,
) -> Result<Launch, String> {
    let shape = Shape { k: at.heads.head, ..shape };
    check(at.heads)?;
    let (tokens, heads) = (shape.m, at.heads.heads);
    if tokens == 0 {
        return Err("no query attends".to_owned());
    }
    let sizes = [tokens, heads, at.heads.kv_heads].map(Arg::U32).into_iter();
    let rest = [at.state.0.into()].into_iter().chain(sizes).chain([at.scale.into()]);
    if engine == Engine::Plain {
        let (entry, grid) = (of_storage(element, PLAIN)?, [tokens.div_ceil(PLAIN_ROWS), heads]);
        let args = [at.q, at.keys, at.values, at.out].map(Arg::Slot).into_iter().chain(rest);
        return Ok(Launch::new(("attn", entry), grid, THREADS, args));
    }
    let tile = Tile::of(facts, element, at.heads, shape)?;
    let (family, threads) = tile.family();
    let (entry, grid) = ((family, tile.entry(element)?), tile.grid(facts, heads, tokens));
    let args = tile.operands(element, at, shape).into_iter().chain(rest);
    Ok(Launch::new(entry, grid, threads, args).with_shared(tile.shared_bytes()))
}
