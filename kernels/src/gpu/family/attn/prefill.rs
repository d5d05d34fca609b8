//! K30: the launch of many queries.

use super::attention::{Attention, Engine, THREADS, check, launch};
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
    let mut operands = [at.q, at.keys, at.values, at.out].map(Arg::Slot);
    let mut launch = if engine == Engine::Plain {
        let entry = of_storage(element, PLAIN)?;
        launch("attn", entry, [tokens.div_ceil(PLAIN_ROWS), heads], THREADS)
    } else {
        let tile = Tile::of(facts, element, at.heads, shape)?;
        let grid = tile.grid(facts, heads, tokens);
        let (shared_bytes, (family, threads)) = (tile.shared_bytes(), tile.family());
        let entry = tile.entry(element)?;
        operands = tile.operands(element, at, shape);
        Launch { shared_bytes, ..launch(family, entry, grid, threads) }
    };
    launch.args = operands.to_vec();
    launch.args.push(at.state.0.into());
    launch.args.extend([tokens, heads, at.heads.kv_heads].map(Arg::U32));
    launch.args.push(at.scale.into());
    Ok(launch)
}
