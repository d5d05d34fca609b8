//! K30, K31: causal attention over a key/value cache, many queries at once or one.
//!
//! Decode splits the keys of a kv head over as many blocks as fill the device; how many is fixed when the launch is made,
//! how long each piece is follows from the position in device memory, so that a recorded graph serves every token.
//! Splitting by a fixed length was rejected: the number of blocks would change with the position.

mod cases;
mod registry;

pub use registry::KERNELS;

use super::glue::{Heads, State};
use super::operand::of_storage;
use crate::Sm;
use crate::gpu::{Arg, DeviceFacts, Element, Launch, Slot};

/// Rows of a block of the plain kernel.
const PLAIN_ROWS: u32 = 32;
/// Rows of a block on tensor cores.
const CORE_ROWS: u32 = 64;
/// Threads of a block.
const THREADS: u32 = 128;
/// Query heads that share a load of keys and values.
const SHARED_HEADS: u32 = 4;
/// Keys below which another piece is not worth its part of the second pass.
const LEAST_PIECE: u32 = 64;

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
    /// Tensor cores: fp16 since sm_75, bf16 since sm_80.
    Cores,
}

impl Engine {
    /// The best there is for a format on a device.
    pub fn best(sm: Sm, element: Element) -> Self {
        let since = match element {
            Element::F16 => (7, 5),
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
const CORES: [[&str; 2]; 2] = [
    ["attn_prefill_mma_f16_h64", "attn_prefill_mma_f16_h128"],
    ["attn_prefill_mma_bf16_h64", "attn_prefill_mma_bf16_h128"],
];
const DECODE: [[&str; 2]; 3] = [
    ["attn_decode_f32_h64", "attn_decode_f32_h128"],
    ["attn_decode_f16_h64", "attn_decode_f16_h128"],
    ["attn_decode_bf16_h64", "attn_decode_bf16_h128"],
];
const COMBINE: [&str; 3] = ["attn_combine_f32", "attn_combine_f16", "attn_combine_bf16"];

fn launch(entry: &'static str, grid: [u32; 2], threads: u32) -> Launch {
    let [x, y] = grid;
    let (grid, block) = ([x, y, 1], [threads, 1, 1]);
    Launch { family: "attn", entry, grid, block, shared_bytes: 0, args: Vec::new(), early: false }
}

/// K30: so many queries, each of which sees the keys up to its own position.
pub fn prefill(
    engine: Engine,
    element: Element,
    at: &Attention,
    tokens: u32,
) -> Result<Launch, String> {
    let width = check(at.heads)?;
    if tokens == 0 {
        return Err("no query attends".to_owned());
    }
    let (entry, rows) = match (engine, element) {
        (Engine::Plain, _) => (of_storage(element, PLAIN)?[width], PLAIN_ROWS),
        (Engine::Cores, Element::F16) => (CORES[0][width], CORE_ROWS),
        (Engine::Cores, Element::Bf16) => (CORES[1][width], CORE_ROWS),
        (Engine::Cores, other) => return Err(format!("no tensor core takes {other:?}")),
    };
    let mut launch = launch(entry, [tokens.div_ceil(rows), at.heads.heads], THREADS);
    launch.args = [at.q, at.keys, at.values, at.out, at.state.0].map(Arg::Slot).to_vec();
    launch.args.extend([tokens, at.heads.heads, at.heads.kv_heads].map(Arg::U32));
    launch.args.push(at.scale.into());
    Ok(launch)
}

/// Pieces that the keys of a kv head are split into: enough to fill the device twice, none shorter than worth it.
pub fn splits(facts: &DeviceFacts, heads: Heads, capacity: u32) -> u32 {
    let blocks = blocks_per_piece(heads);
    (2 * facts.sms).div_ceil(blocks).min(capacity.div_ceil(LEAST_PIECE)).max(1)
}

fn blocks_per_piece(heads: Heads) -> u32 {
    let group = heads.heads / heads.kv_heads.max(1);
    (heads.kv_heads * group.div_ceil(SHARED_HEADS)).max(1)
}

/// Bytes of the partial results that [`decode`] needs.
pub fn part_bytes(heads: Heads, splits: u32) -> u64 {
    u64::from(heads.heads) * u64::from(splits) * u64::from(heads.head + 2) * 4
}

/// K31: one query over all keys up to its position, in pieces whose partial results are joined by a second launch.
pub fn decode(
    element: Element,
    at: &Attention,
    parts: Slot,
    splits: u32,
) -> Result<[Launch; 2], String> {
    let width = check(at.heads)?;
    if splits == 0 {
        return Err("keys cannot be split into no pieces".to_owned());
    }
    let Heads { heads, kv_heads, head } = at.heads;
    let entry = of_storage(element, DECODE)?[width];
    let mut pieces = launch(entry, [splits, blocks_per_piece(at.heads)], THREADS);
    pieces.args = [at.q, at.keys, at.values, parts, at.state.0].map(Arg::Slot).to_vec();
    pieces.args.extend([heads, kv_heads].map(Arg::U32));
    pieces.args.push(at.scale.into());
    let mut joined = launch(of_storage(element, COMBINE)?, [heads, 1], head);
    joined.args = vec![parts.into(), at.out.into(), splits.into()];
    Ok([pieces, joined])
}
