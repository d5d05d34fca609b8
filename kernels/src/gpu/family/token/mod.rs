//! Products of one token with what is between them: a decode chain of five launches a layer instead of eight.
//!
//! The row is made by every block for itself while its weights are on their way, from what the launch in front stored ([`Made`]), and gate and up
//! projection are one product whose sums are stored as the product of both ([`Kept::Gated`]). Nothing is rounded elsewhere than by launches of
//! their own. Where a device, a format or a size has no such kernel, [`launch`] says so, and the chain takes those.
//!
//! Families of their own beside `gemv`, `w4` and `nf4` were chosen over more entries there, since only these are launched early: a class for sm_90
//! of kernels for up to sixteen tokens would be embedded for nothing.

mod cases;
mod dense;
mod registry;

pub use registry::KERNELS;

use super::stream::{check_aligned, check_shape, has_mma};
use super::{nf4, w4};
use crate::gpu::{Arg, DeviceFacts, Element, Launch, Shape, Slot};
use crate::model::EPSILON;

/// The residual stream after what is made of it, and the norm of that.
#[derive(Clone, Copy, Debug)]
pub struct Then {
    /// Where the stream is stored: not where it is read.
    pub sum: Slot,
    /// Gains of the norm, fp32.
    pub gains: Slot,
}

/// How the row comes to be that is multiplied.
#[derive(Clone, Copy, Debug)]
pub enum Made {
    /// As it lies there.
    AsIs(Slot),
    /// The norm of a row of the embedding, with which the residual stream begins.
    Embedded {
        /// The table, row by row.
        table: Slot,
        /// The word with the token; one that is not in the vocabulary gives a row of NaN.
        token: Slot,
        /// Rows of the table.
        vocab: u32,
        /// What follows.
        then: Then,
    },
    /// The norm of the sum of the residual stream and a norm: what is between two blocks.
    Normed {
        /// What a block computed.
        x: Slot,
        /// How it is stored.
        input: Element,
        /// Gains of its norm, fp32.
        gains: Slot,
        /// The residual stream.
        stream: Slot,
        /// What follows.
        then: Then,
    },
}

/// What is stored of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The sums, in the format of the row.
    Same,
    /// The sums, in fp32.
    Wide,
    /// `silu(gate) · up`: the matrix has the rows of the gate and then as many of what goes through it.
    Gated,
}

/// A matrix, and how it is stored.
#[derive(Clone, Copy, Debug)]
pub enum Weights {
    /// Row by row, in the format of the row that is multiplied.
    Dense(Slot),
    /// Packed 4-bit integers.
    Int4(w4::Weights),
    /// NF4 codes.
    Nf4(nf4::Weights),
}

/// A product of one token.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// How its row comes to be.
    pub made: Made,
    /// In which format.
    pub element: Element,
    /// What it is multiplied with.
    pub weights: Weights,
    /// Rows of the matrix: twice the results where they are gated.
    pub rows: u32,
    /// Its columns, and numbers of the row.
    pub k: u32,
    /// What is stored.
    pub kept: Kept,
    /// Where.
    pub y: Slot,
}

/// Threads of a block that streams NF4 weights.
const NF4_THREADS: u32 = 256;
/// Most bytes of a row in shared memory.
const ROW_BYTES: u32 = 32 << 10;
/// Most numbers of a row whose norm a block of dense weights computes, an eight a thread, or one of NF4 weights, two a thread.
const MOST_NORMED: u32 = 4096;
/// Rows of a tile of packed weights, and columns of a group.
const TILE: u32 = 16;
const GROUP: u32 = 128;
/// Most warps of a block that streams packed weights.
const MOST_WARPS: u32 = 16;
/// What NF4 has behind a row: 32 bytes, and 512 zeros.
const NF4_BEHIND: u32 = 32 + 1024;
/// Most columns of NF4: beside 32 KiB of table there is room for so many.
const NF4_COLUMNS: u32 = 7 << 10;

/// What a storage has of its own.
struct Dispatch {
    family: &'static str,
    entry: &'static str,
    blocks: u32,
    threads: u32,
    shared_bytes: u32,
    /// Warps that share rows, where that is a choice.
    split: Option<u32>,
}

/// The launch of a product; `None` where there is no such kernel, and launches of their own have to do.
pub fn launch(facts: &DeviceFacts, product: &Product) -> Result<Option<Launch>, String> {
    let Product { rows, k, kept, .. } = *product;
    if kept == Kept::Gated && !rows.is_multiple_of(2) {
        return Err(format!("{rows} rows are no pairs"));
    }
    check_shape(Shape { m: 1, n: rows, k, ..Shape::default() }, 1, 1)?;
    let dispatch = match product.weights {
        Weights::Dense(_) => dense::dispatch(facts, product),
        Weights::Int4(_) => int4(facts, product),
        Weights::Nf4(_) => nf4(facts, product),
    };
    dispatch.map(|dispatch| product.launch(&dispatch)).transpose()
}

/// Packed weights, on tensor cores.
fn int4(facts: &DeviceFacts, product: &Product) -> Option<Dispatch> {
    let (kernel, entries) = match product.element {
        Element::F16 => ("w4.f16", ["w4_token_f16_r16", "w4_token_f16_r32"]),
        Element::Bf16 => ("w4.bf16", ["w4_token_bf16_r16", "w4_token_bf16_r32"]),
        _ => return None,
    };
    let Product { rows, k, kept, .. } = *product;
    let gated = kept == Kept::Gated;
    let fits = k.is_multiple_of(GROUP) && 2 * k <= ROW_BYTES;
    // A gate and what goes through it are tiles of their own.
    let tiles = !gated || rows.is_multiple_of(2 * TILE);
    if !has_mma(facts.sm, product.element) || !fits || !tiles {
        return None;
    }
    let shape = Shape { m: 1, n: rows, k, ..Shape::default() };
    let (tall, warps) = w4::token_block(facts, kernel, shape, gated);
    // A thread has eight numbers of a norm.
    let needed = if product.is_normed() { k.div_ceil(8 * 32) } else { 1 };
    let warps = warps.max(needed).min(k / GROUP);
    if !product.takes_norm(8 * 32 * warps.min(MOST_WARPS)) {
        return None;
    }
    // Two tiles take all registers for sixteen warps; their blocks take further rows where there are more.
    let (tiles, fit) = (
        rows.div_ceil(if tall { 2 * TILE } else { TILE }),
        facts.sms.max(1) * (MOST_WARPS / warps),
    );
    Some(Dispatch {
        family: "w4_token",
        entry: entries[usize::from(tall)],
        blocks: if tall { tiles.min(fit) } else { tiles },
        threads: 32 * warps,
        shared_bytes: 2 * k,
        split: None,
    })
}

/// NF4 weights, on tensor cores.
fn nf4(facts: &DeviceFacts, product: &Product) -> Option<Dispatch> {
    let entry = match product.element {
        Element::F16 => "nf4_token_f16",
        Element::Bf16 => "nf4_token_bf16",
        _ => return None,
    };
    let fits = product.k.is_multiple_of(GROUP) && product.k <= NF4_COLUMNS;
    if !has_mma(facts.sm, product.element) || !fits || !product.takes_norm(MOST_NORMED) {
        return None;
    }
    // Each fills its table once and takes rows until none are left.
    let blocks = product.rows.div_ceil(TILE).min(2 * facts.sms.max(1));
    let shared_bytes = 2 * product.k + NF4_BEHIND;
    Some(Dispatch {
        family: "nf4_token",
        entry,
        blocks,
        threads: NF4_THREADS,
        shared_bytes,
        split: None,
    })
}

impl Weights {
    /// Where they begin, and how many bytes a matrix of so many rows and columns has.
    pub fn extent(self, element: Element, rows: u32, k: u32) -> (Slot, u64) {
        let numbers = u64::from(rows) * u64::from(k);
        match self {
            Self::Dense(place) => (place, numbers * element.bytes() as u64),
            Self::Int4(weights) => (weights.words, numbers / 2),
            Self::Nf4(weights) => (weights.codes, numbers / 2),
        }
    }
}

/// Bytes that a bulk fetch counts in.
const LINE: u64 = 128;

/// Has a launch of packed weights ask for the first of the weights of a later one, each block for its part: at most so many bytes.
pub fn fetch_later(launch: &mut Launch, (place, bytes): (Slot, u64), most: u64) {
    if launch.family == dense::FAMILY {
        return;
    }
    let blocks: u64 = launch.grid.iter().map(|side| u64::from(*side)).product();
    let each = bytes.min(most) / blocks.max(1) / LINE * LINE;
    let Ok(each) = u32::try_from(each) else { return };
    let without = launch.args.len() - 2;
    launch.args.truncate(without);
    launch.args.extend([Arg::from(place), Arg::from(each)]);
}

impl Product {
    /// Numbers that are stored.
    fn results(&self) -> u32 {
        if self.kept == Kept::Gated { self.rows / 2 } else { self.rows }
    }

    fn is_normed(&self) -> bool {
        !matches!(self.made, Made::AsIs(_))
    }

    /// Whether a block can make the row whose norms it has so many numbers of at most.
    fn takes_norm(&self, most: u32) -> bool {
        let format = match self.made {
            Made::Normed { input, .. } => input == self.element || input == Element::F32,
            _ => true,
        };
        !self.is_normed() || format && self.k.is_multiple_of(8) && self.k <= most
    }

    /// Places and numbers as entries take them: x, gains, stream, sum, next, token; vocabulary and way. What is not read is where x is.
    fn row(&self) -> ([Slot; 6], u32, u32) {
        match self.made {
            Made::AsIs(x) => ([x; 6], 0, 0),
            Made::Embedded { table, token, vocab, then } => {
                ([table, table, table, then.sum, then.gains, token], vocab, 1)
            }
            Made::Normed { x, input, gains, stream, then } => {
                let dispatch = if input == self.element { 2 } else { 3 };
                ([x, gains, stream, then.sum, then.gains, x], 0, dispatch)
            }
        }
    }

    fn launch(&self, dispatch: &Dispatch) -> Result<Launch, String> {
        let parts = match self.weights {
            Weights::Dense(weights) => vec![weights],
            Weights::Int4(weights) => vec![weights.words, weights.scales],
            Weights::Nf4(weights) => vec![weights.codes, weights.maxima],
        };
        let ([x, gains, stream, sum, next, token], vocab, made) = self.row();
        check_aligned(&parts)?;
        check_aligned(&[x, gains, stream, sum, next, self.y])?;
        // Of no later product anything is asked for.
        let later = (dispatch.family != dense::FAMILY).then(|| [parts[0].into(), Arg::U32(0)]);
        let places = parts.into_iter().chain([x, gains, stream, sum, next, token, self.y]);
        let (n, kept) = match self.kept {
            Kept::Same => (self.rows, 0),
            Kept::Wide => (self.rows, 1),
            Kept::Gated => (self.rows / 2, 2),
        };
        let sizes = [n, self.k, vocab, made, kept].map(Arg::U32).into_iter();
        let rest = [Arg::F32(EPSILON as f32)]
            .into_iter()
            .chain(dispatch.split.map(Arg::U32))
            .chain(later.into_iter().flatten());
        Ok(Launch {
            family: dispatch.family,
            entry: dispatch.entry,
            grid: [dispatch.blocks, 1, 1],
            block: [dispatch.threads, 1, 1],
            shared_bytes: dispatch.shared_bytes,
            args: places.map(Arg::from).chain(sizes).chain(rest).collect(),
            early: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 6.25 MiB over 200 blocks are 32 768 bytes each; 2 MiB over 64 are 32 768, all of it.
    #[test]
    fn a_part_of_the_cache_is_asked_for_and_no_more_than_there_is() {
        let place = Slot { buffer: crate::gpu::BufferId(7), offset: 256 };
        for (blocks, bytes, each) in [(200, 1 << 30, 32_768), (64, 2 << 20, 32_768), (264, 999, 0)]
        {
            let mut launch = Launch {
                family: "w4_token",
                entry: "w4_token_f16_r16",
                grid: [blocks, 1, 1],
                block: [512, 1, 1],
                shared_bytes: 0,
                args: vec![Arg::U32(5), place.into(), Arg::U32(0)],
                early: false,
            };
            fetch_later(&mut launch, (place, bytes), (50 << 20) / 8);
            assert_eq!(launch.args, [Arg::U32(5), place.into(), Arg::U32(each)]);
            assert!(u64::from(blocks * each) <= bytes);
        }
    }
}
