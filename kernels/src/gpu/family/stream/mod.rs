//! What kernels share that stream weights past a few tokens: operands, formats, checks; and [`Path`], through which they
//! are proven, timed and probed for headroom alike.

mod kernel;
mod path;
mod trial;
mod widen;
mod works;

pub(super) use kernel::kernel;
pub(in crate::gpu) use path::{
    Launches, Parts, Path, Places, Selection, Size, Store, Stored, Streamed, product, store,
};
pub(super) use trial::cases as streamed_cases;
pub(super) use widen::{Widened, entry as widening_entry, kernel as widening};

use super::route::{Step, Support};
use crate::Sm;
use crate::gpu::{BufferId, Element, Shape, Slot};

/// Threads of a block: eight warps.
pub(super) const THREADS: u32 = 256;
/// Warps of such a block.
pub(super) const WARPS: u32 = 8;

/// Operands of y = x·Wᵀ. Each starts at a multiple of 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operands<W = Slot> {
    /// Activations, `[m, k]` row by row.
    pub x: Slot,
    /// Weights, `[n, k]` row by row, or the parts they are stored in.
    pub weights: W,
    /// Result, `[m, n]` row by row.
    pub y: Slot,
}

/// How activations and results are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    /// Of x, and of dense weights.
    pub input: Element,
    /// Of y.
    pub output: Element,
}

impl Formats {
    /// The same format for both.
    pub const fn same(element: Element) -> Self {
        Self { input: element, output: element }
    }

    /// fp32 results: what keeps fp16 activations from overflowing where they are stored.
    pub const fn wide(input: Element) -> Self {
        Self { input, output: Element::F32 }
    }
}

/// A place for launches that are only asked whether they can be.
pub(super) const NOWHERE: Slot = Slot { buffer: BufferId(0), offset: 0 };

/// bf16 numbers that are widened, multiplied and added as fp32, and rounded where there is an instruction for it.
pub(super) const BF16: &[Step] = &[
    (Sm::new(6, 0), Support::Emulated("fp32 and integer rounding: bf16 begins with sm_80")),
    (Sm::new(8, 0), Support::Native("fma.f32")),
];

/// What entries take to store fp32 in place of their format, or why they cannot store what is asked for.
pub(super) fn wide(Formats { input, output }: Formats) -> Result<u32, String> {
    match output {
        _ if input == output => Ok(0),
        Element::F32 => Ok(1),
        _ => Err(format!("no product of {} is stored as {}", suffix(input), suffix(output))),
    }
}

/// Whether tensor cores multiply 16 rows with 8 tokens in this format. Volta's have another shape (`m8n8k4`), for which no layout here is made.
pub(super) fn has_mma(sm: Sm, input: Element) -> bool {
    let since = if input == Element::Bf16 { 8 } else { 7 };
    sm.major >= 8 || (sm.major, sm.minor) >= (since, 5)
}

/// The name of a format in entries and ids.
pub(super) fn suffix(element: Element) -> &'static str {
    match element {
        Element::F64 => "f64",
        Element::F32 => "f32",
        Element::F16 => "f16",
        Element::Bf16 => "bf16",
        Element::I32 => "i32",
        Element::U32 => "u32",
        Element::U8 => "u8",
    }
}

/// Why a shape cannot be, where it cannot.
pub(super) fn check_shape(shape: Shape, most_tokens: u32, multiple: u32) -> Result<(), String> {
    let Shape { m, n, k, .. } = shape;
    if m == 0 || n == 0 || k == 0 {
        return Err(format!("{m}×{n}×{k} has nothing to compute"));
    }
    if m > most_tokens {
        return Err(format!("{m} tokens; these kernels take up to {most_tokens}, gemm takes more"));
    }
    if k % multiple != 0 {
        return Err(format!("k is {k}; rows must be multiples of {multiple} elements"));
    }
    if u64::from(n) * u64::from(k) > u64::from(u32::MAX) {
        return Err(format!("{n}×{k} weights are more than 2^32"));
    }
    Ok(())
}

/// Why some places cannot be loaded from 16 bytes at a time, where they cannot.
pub(super) fn check_aligned(slots: &[Slot]) -> Result<(), String> {
    match slots.iter().find(|slot| slot.offset % 16 != 0) {
        Some(slot) => Err(format!("byte {} of a buffer is not a multiple of 16", slot.offset)),
        None => Ok(()),
    }
}

/// The smallest of the tile sizes that holds so many tokens, else the largest.
pub(super) fn token_tile(tokens: u32, tiles: &[u32]) -> usize {
    tiles.iter().position(|tile| *tile >= tokens).unwrap_or(tiles.len() - 1)
}

#[cfg(test)]
mod tests;
