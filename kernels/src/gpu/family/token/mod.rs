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
mod product;
mod registry;

pub use product::{Kept, Made, Product, Then, Weights};
pub use registry::KERNELS;

use product::{Dispatch, MOST_NORMED, ROW_BYTES, dispatch};

use super::stream::{check_shape, has_mma};
use super::w4;
use crate::gpu::{Arg, DeviceFacts, Element, Launch, Shape, Slot};

/// Threads of a block that streams NF4 weights.
const NF4_THREADS: u32 = 256;
/// Rows of a tile of packed weights, and columns of a group.
const TILE: u32 = 16;
const GROUP: u32 = 128;
/// Most warps of a block that streams packed weights.
const MOST_WARPS: u32 = 16;
/// What NF4 has behind a row: 32 bytes, and 512 zeros.
const NF4_BEHIND: u32 = 32 + 1024;
/// Most columns of NF4: beside 32 KiB of table there is room for so many.
const NF4_COLUMNS: u32 = 7 << 10;

/// The launch of a product; `None` where there is no such kernel, and launches of their own have to do.
pub fn launch(facts: &DeviceFacts, product: &Product) -> Result<Option<Launch>, String> {
    let Product { rows, k, kept, .. } = *product;
    if kept == Kept::Gated && !rows.is_multiple_of(2) {
        return Err(format!("{rows} rows are no pairs"));
    }
    check_shape(Shape { m: 1, n: rows, k, ..Shape::default() }, 1, 1)?;
    let found = match product.weights {
        Weights::Dense(_) => dense::dispatch(facts, product),
        Weights::Int4(_) => int4(facts, product),
        Weights::Nf4(_) => nf4(facts, product),
    };
    found.map(|found| product.launch(found)).transpose()
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
    let (entry, blocks) = (entries[usize::from(tall)], if tall { tiles.min(fit) } else { tiles });
    Some(dispatch(("w4_token", entry), blocks, 32 * warps, 2 * k))
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
    Some(dispatch(("nf4_token", entry), blocks, NF4_THREADS, shared_bytes))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 6.25 MiB over 200 blocks are 32 768 bytes each; 2 MiB over 64 are 32 768, all of it.
    #[test]
    fn a_part_of_the_cache_is_asked_for_and_no_more_than_there_is() {
        let place = Slot { buffer: crate::gpu::BufferId(7), offset: 256 };
        for (blocks, bytes, each) in [(200, 1 << 30, 32_768), (64, 2 << 20, 32_768), (264, 999, 0)]
        {
            let args = [Arg::U32(5), place.into(), Arg::U32(0)];
            let mut launch = Launch::new(("w4_token", "w4_token_f16_r16"), [blocks, 1], 512, args);
            fetch_later(&mut launch, (place, bytes), (50 << 20) / 8);
            assert_eq!(launch.args, [Arg::U32(5), place.into(), Arg::U32(each)]);
            assert!(u64::from(blocks * each) <= bytes);
        }
    }
}
