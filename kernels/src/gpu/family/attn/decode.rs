//! K31: the launches of one query.
//!
//! On tensor cores one launch does everything, up to the rotation of the new query and key: the heads that share a kv head are the rows of one tile,
//! and the block that ends last joins the pieces. The plain kernel needs a second launch to join, and others in front to rotate and append.
//!
//! Volta's tensor cores are left out: the plain kernel is bound by memory there. For four heads that share keys of 128 channels it takes 320 instructions
//! of a warp for four keys, 248 of them in fp32 and so two cycles each: 31 cycles of a multiprocessor for a key (counted in the machine code of sm_75
//! from the same PTX). The 512 bytes of a key and its value take 70 at 900 GB/s, 80 multiprocessors and 1.53 GHz.

use super::attention::{Attention, Engine, THREADS, check};
use crate::gpu::family::elementwise::Heads;
use crate::gpu::family::operand::of_storage;
use crate::gpu::{Arg, DeviceFacts, Element, Launch, Slot};

/// Query heads that share a load of keys and values: rows of a tile, or what the registers of the plain kernel hold.
const ROWS: u32 = 16;
const SHARED_HEADS: u32 = 4;
/// Keys below which another piece is not worth its part of the join.
const LEAST_PIECE: u32 = 64;
/// Words behind the sums of a part: maximum, total, and two to keep the next one aligned.
const RECORD_TAIL: u32 = 4;
/// Keys of a warp at a time, and warps.
const CHUNK_KEYS: u32 = 16;
const WARPS: u32 = THREADS / 32;

/// Bytes in front of the queries, where warps leave maxima and totals.
const FRONT_BYTES: u32 = 768;

/// Entries by storage.
const PLAIN: [&str; 3] = ["attn_decode_f32_h128", "attn_decode_f16_h128", "attn_decode_bf16_h128"];
const COMBINE: [&str; 3] =
    ["attn_combine_f32_h128", "attn_combine_f16_h128", "attn_combine_bf16_h128"];
const CORES: [&str; 2] = ["attn_decode_mma_f16_h128", "attn_decode_mma_bf16_h128"];
const CLUSTERS: [&str; 2] = ["attn_decode_cluster_f16_h128", "attn_decode_cluster_bf16_h128"];
/// Pieces that are a cluster, and most positions for which so few are worth it: on an H200 joining pieces through memory took 2.6 µs of the 5.5 of 513
/// positions, and a warp reads sixteen keys in 0.7.
const CLUSTER: u32 = 8;
const CLUSTERED_POSITIONS: u32 = 2048;

/// Memory a decode needs besides its operands.
#[derive(Clone, Copy, Debug)]
pub struct Scratch {
    /// Partial results, of [`part_bytes`].
    pub parts: Slot,
    /// Pieces that have ended, of [`arrival_bytes`]: zero before the first launch, and left so by every one.
    pub arrivals: Slot,
}

/// A query, key and value as they were projected, the latter two not in the cache yet.
#[derive(Clone, Copy, Debug)]
pub struct Fresh {
    /// Key.
    pub key: Slot,
    /// Value.
    pub value: Slot,
    /// Cosine and sine per position and pair, fp32.
    pub table: Slot,
}

/// Whether one launch can rotate and append what is [`Fresh`]: on tensor cores since sm_75.
pub fn takes_fresh(facts: &DeviceFacts, element: Element) -> bool {
    let sm = facts.sm;
    (sm.major, sm.minor) >= (7, 5) && Engine::best(sm, element) == Engine::Cores
}

fn rows(facts: &DeviceFacts, element: Element) -> u32 {
    if takes_fresh(facts, element) { ROWS } else { SHARED_HEADS }
}

fn blocks_per_piece(facts: &DeviceFacts, element: Element, heads: Heads) -> u32 {
    let group = heads.heads / heads.kv_heads.max(1);
    (heads.kv_heads * group.div_ceil(rows(facts, element))).max(1)
}

/// Pieces that the keys of a kv head are split into: enough to fill the device twice, none shorter than worth it.
pub fn splits(facts: &DeviceFacts, element: Element, heads: Heads, capacity: u32) -> u32 {
    let blocks = blocks_per_piece(facts, element, heads);
    let pieces = (2 * facts.sms).div_ceil(blocks).min(capacity.div_ceil(LEAST_PIECE)).max(1);
    let clustered = has_clusters(facts, element) && capacity <= CLUSTERED_POSITIONS;
    if clustered && pieces > 1 { CLUSTER } else { pieces }
}

/// Whether the pieces of a group may be the blocks of a cluster. Tried on sm_90 only.
fn has_clusters(facts: &DeviceFacts, element: Element) -> bool {
    facts.sm.major == 9 && takes_fresh(facts, element)
}

/// Bytes of the partial results that [`decode`] needs.
pub fn part_bytes(heads: Heads, splits: u32) -> u64 {
    u64::from(heads.heads) * u64::from(splits) * u64::from(heads.head + RECORD_TAIL) * 4
}

/// Bytes of [`Scratch::arrivals`].
pub fn arrival_bytes(heads: Heads) -> u64 {
    u64::from(heads.heads) * 4
}

/// K31: one query over all keys up to its position, in pieces that are joined at the end.
pub fn decode(
    facts: &DeviceFacts,
    element: Element,
    at: &Attention,
    scratch: Scratch,
    splits: u32,
    fresh: Option<Fresh>,
) -> Result<Vec<Launch>, String> {
    check(at.heads)?;
    if splits == 0 {
        return Err("keys cannot be split into no pieces".to_owned());
    }
    let grid = [splits, blocks_per_piece(facts, element, at.heads)];
    if takes_fresh(facts, element) {
        let clustered = splits == CLUSTER && has_clusters(facts, element);
        let entries = if clustered { CLUSTERS } else { CORES };
        let entry = entries[usize::from(element == Element::Bf16)];
        let given = if clustered { given_bytes(at.heads) } else { 0 };
        let args = core_args(at, scratch, fresh);
        let launch = Launch::new(("attn_decode", entry), grid, THREADS, args);
        return Ok(vec![launch.with_shared(shared_bytes(facts, at.heads.head) + given)]);
    }
    if fresh.is_some() {
        return Err(format!("no kernel rotates {element:?} on the way on {}", facts.sm));
    }
    let Heads { heads, kv_heads, .. } = at.heads;
    let slots = [at.q, at.keys, at.values, scratch.parts, at.state.0].map(Arg::Slot);
    let sizes = [heads.into(), kv_heads.into(), at.scale.into()];
    let (plain, combine) = (of_storage(element, PLAIN)?, of_storage(element, COMBINE)?);
    let args = slots.into_iter().chain(sizes);
    let pieces = Launch::new(("attn_decode", plain), grid, THREADS, args);
    let args = [scratch.parts.into(), at.out.into(), splits.into()];
    Ok(vec![pieces, Launch::new(("attn_decode", combine), [heads, 1], 32, args)])
}

fn core_args(at: &Attention, scratch: Scratch, fresh: Option<Fresh>) -> impl Iterator<Item = Arg> {
    let rotate = u32::from(fresh.is_some());
    // Without anything fresh these are not read.
    let Fresh { key, value, table } =
        fresh.unwrap_or(Fresh { key: at.q, value: at.q, table: at.state.0 });
    let slots = [at.q, key, value, at.keys, at.values, scratch.parts, scratch.arrivals, at.out];
    let slots = slots.into_iter().chain([table, at.state.0]).map(Arg::Slot);
    let sizes = [at.heads.heads, at.heads.kv_heads, rotate].map(Arg::U32);
    slots.chain(sizes).chain([at.scale.into()])
}

/// A tile of queries, a new key and value, and for each warp a ring of chunks of keys and values: two deep where copies pass by the registers.
/// What the warps of a cluster give a block: two words a row, and an eighth of the channels of the rows there are, 16 bytes apart.
fn given_bytes(heads: Heads) -> u32 {
    let rows = (heads.heads / heads.kv_heads.max(1)).min(ROWS);
    CLUSTER * WARPS * (ROWS * 8 + rows * heads.head / CLUSTER * 4 + 16)
}

fn shared_bytes(facts: &DeviceFacts, head: u32) -> u32 {
    let stages = if facts.sm.major >= 8 { 2 } else { 1 };
    FRONT_BYTES + (ROWS + 2 + WARPS * stages * 2 * CHUNK_KEYS) * head * 2
}
