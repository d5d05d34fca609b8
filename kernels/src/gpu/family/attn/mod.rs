//! K30, K31: causal attention over a key/value cache, many queries at once or one.
//!
//! Decode splits the keys of a kv head over as many blocks as fill the device; how many is fixed when the launch is made,
//! how long each piece is follows from the position in device memory, so that a recorded graph serves every token.
//! Splitting by a fixed length was rejected: the number of blocks would change with the position.

mod cases;
mod decode;
mod registry;
mod tile;

pub use decode::{Fresh, Scratch, arrival_bytes, decode, part_bytes, splits, takes_fresh};
pub use registry::KERNELS;
pub use tile::Tile;

use super::glue::{Heads, State};
use super::operand::of_storage;
use crate::Sm;
use crate::gpu::{Arg, DeviceFacts, Element, Launch, Shape, Slot};

/// Rows of a block of the plain kernel.
const PLAIN_ROWS: u32 = 32;
/// Threads of a block.
const THREADS: u32 = 128;

/// What attention reads and writes, and how heads share the cache.
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    /// Queries, `[tokens, heads, head]`; the first is at the state's position.
    pub q: Slot,
    /// Cached keys, `[positions, kv heads, head]`, those of the queries included.
    pub keys: Slot,
    /// Cached values.
    pub values: Slot,
    /// Result, as the queries.
    pub out: Slot,
    /// Where the position is.
    pub state: State,
    /// Heads; 64 or 128 wide.
    pub heads: Heads,
    /// Factor on the products of queries and keys: 1/√head, and less where they carry a gain.
    pub scale: f32,
}

/// What computes the scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// fp32 arithmetic, whatever the storage.
    Plain,
    /// Tensor cores: fp16 since sm_70, bf16 since sm_80.
    Cores,
}

impl Engine {
    /// The best there is for many queries of a format on a device.
    pub fn best(sm: Sm, element: Element) -> Self {
        let since = match element {
            Element::F16 => (7, 0),
            Element::Bf16 => (8, 0),
            _ => return Self::Plain,
        };
        if (sm.major, sm.minor) >= since { Self::Cores } else { Self::Plain }
    }
}

fn check(heads: Heads) -> Result<usize, String> {
    let Heads { heads, kv_heads, head } = heads;
    if kv_heads == 0 || heads % kv_heads != 0 {
        return Err(format!("{heads} query heads cannot share {kv_heads} kv heads"));
    }
    match head {
        64 => Ok(0),
        128 => Ok(1),
        _ => Err(format!("heads of {head}; there are kernels for 64 and 128")),
    }
}

/// Entries by storage, then by width of a head.
const PLAIN: [[&str; 2]; 3] = [
    ["attn_prefill_f32_h64", "attn_prefill_f32_h128"],
    ["attn_prefill_f16_h64", "attn_prefill_f16_h128"],
    ["attn_prefill_bf16_h64", "attn_prefill_bf16_h128"],
];

fn launch(family: &'static str, entry: &'static str, [x, y]: [u32; 2], threads: u32) -> Launch {
    let (grid, block) = ([x, y, 1], [threads, 1, 1]);
    Launch { family, entry, grid, block, shared_bytes: 0, args: Vec::new(), early: false }
}

/// K30: `m` queries behind `context` keys, each of which sees the keys up to its own position. The state must say `context` too.
pub fn prefill(
    facts: &DeviceFacts,
    engine: Engine,
    element: Element,
    at: &Attention,
    shape: Shape,
) -> Result<Launch, String> {
    let shape = Shape { k: at.heads.head, ..shape };
    let width = check(at.heads)?;
    let (tokens, heads) = (shape.m, at.heads.heads);
    if tokens == 0 {
        return Err("no query attends".to_owned());
    }
    let mut operands = [at.q, at.keys, at.values].map(Arg::Slot);
    let mut launch = if engine == Engine::Plain {
        let entry = of_storage(element, PLAIN)?[width];
        launch("attn", entry, [tokens.div_ceil(PLAIN_ROWS), heads], THREADS)
    } else {
        let tile = Tile::of(facts, element, at.heads, shape)?;
        let grid = [heads, tokens.div_ceil(tile.rows())];
        let (shared_bytes, (family, threads)) = (tile.shared_bytes(at.heads.head), tile.family());
        let entry = tile.entry(element, width)?;
        operands = tile.operands(element, at, shape);
        Launch { shared_bytes, ..launch(family, entry, grid, threads) }
    };
    launch.args = operands.to_vec();
    launch.args.extend([at.out, at.state.0].map(Arg::Slot));
    launch.args.extend([tokens, heads, at.heads.kv_heads].map(Arg::U32));
    launch.args.push(at.scale.into());
    Ok(launch)
}
