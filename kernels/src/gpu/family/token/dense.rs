//! Dense weights of one token: in units of rows on tensor cores, by rows without them.

use super::product::{self, Dispatch, Kept, MOST_NORMED, Product, ROW_BYTES};
use crate::gpu::{DeviceFacts, Element};

/// The family of dense weights, whose launches ask for nothing of the next one.
pub(super) const FAMILY: &str = "gemv_token";
/// Threads of a block that streams dense weights in units on tensor cores, rows of a unit, columns of it that a warp takes at a time, such items that a
/// warp has on their way, and the most blocks of a multiprocessor.
const UNIT_THREADS: u32 = 256;
const UNIT: u32 = 8;
const COLUMNS: u32 = 64;
const ITEMS: u32 = 8;
const MOST_BLOCKS: u32 = 3;
/// Shared memory that each takes besides: sums of its warps, and the driver's kilobyte.
const BESIDE: u32 = 2304 + 1024;
/// Threads of a block that streams them by rows.
const ROW_THREADS: u32 = 512;
/// Warps of it.
const WARPS: u32 = ROW_THREADS / 32;
/// Steps of 512 bytes that a warp of it takes at a time.
const CHUNK: u32 = 4;
/// Bytes that are on their way in the shared memory of either, behind the row: two chunks a warp, or its items. Before sm_80 they are in registers.
const RING_BYTES: u32 = WARPS * 2 * CHUNK * 512;

/// Dense weights.
pub(super) fn dispatch(facts: &DeviceFacts, product: &Product) -> Option<Dispatch> {
    let size = product.element.bytes() as u32;
    let fits = product.k.is_multiple_of(16 / size) && product.k * size <= ROW_BYTES;
    if !fits || !product.takes_norm(MOST_NORMED) {
        return None;
    }
    let tensor_cores = facts.sm.major >= 8;
    match product.element {
        Element::F16 if tensor_cores => Some(in_units(facts, product, "gemv_token_mma_f16")),
        Element::Bf16 if tensor_cores => Some(in_units(facts, product, "gemv_token_mma_bf16")),
        Element::F16 => Some(by_rows(facts, product, "gemv_token_f16")),
        Element::Bf16 => Some(by_rows(facts, product, "gemv_token_bf16")),
        Element::F32 => Some(by_rows(facts, product, "gemv_token_f32")),
        _ => None,
    }
}

/// On tensor cores: blocks for as many units as half of what they have on their way, but no more blocks than there is room for at once.
fn in_units(facts: &DeviceFacts, product: &Product, entry: &'static str) -> Dispatch {
    let outputs = if product.kept == Kept::Gated { UNIT / 2 } else { UNIT };
    let units = product.results().div_ceil(outputs);
    let items = product.k.div_ceil(COLUMNS).div_ceil(UNIT_THREADS / 32);
    let shared_bytes = product.k.next_multiple_of(COLUMNS) * 2 + RING_BYTES;
    let room = (facts.shared_per_block_optin / (shared_bytes + BESIDE)).clamp(1, MOST_BLOCKS);
    let blocks = units.div_ceil((ITEMS / 2 / items).max(1)).min(room * facts.sms.max(1));
    product::dispatch((FAMILY, entry), blocks, UNIT_THREADS, shared_bytes)
}

/// On CUDA cores: a block on each multiprocessor, which leaves room for one of the launch behind.
fn by_rows(facts: &DeviceFacts, product: &Product, entry: &'static str) -> Dispatch {
    let size = product.element.bytes() as u32;
    let most = facts.sms.max(1);
    let rows = product.results();
    let split = split(most, rows, product.k.div_ceil(32 * 16 / size));
    let ring = if facts.sm.major >= 8 { RING_BYTES } else { 0 };
    let blocks = (rows * split).div_ceil(WARPS).min(most);
    let (launch, _) =
        product::dispatch((FAMILY, entry), blocks, ROW_THREADS, product.k * size + ring);
    (launch, Some(split))
}

/// Warps that share a row: what leaves the busiest of so many blocks the fewest steps, and one more for each time that warps meet; of equals the
/// fewest. None is without work.
fn split(blocks: u32, rows: u32, steps: u32) -> u32 {
    let busiest = |split: u32| {
        let turns = rows.div_ceil(blocks * WARPS / split);
        turns * (steps.div_ceil(split).next_multiple_of(CHUNK) + u32::from(split > 1))
    };
    let useful = |split: &u32| *split <= steps.next_power_of_two();
    [1, 2, 4, 8].into_iter().filter(useful).min_by_key(|split| busiest(*split)).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::family::token::product::{Made, Weights};
    use crate::gpu::{BufferId, Slot};

    /// Of an H100: three blocks of 72 KiB share 228 KiB. 384 units of eight rows are a block each; of 704 units 396 blocks have one or two; of rows of
    /// 5632 columns two blocks fit, and eight warps have eleven items of a unit.
    #[test]
    fn no_more_blocks_than_there_is_room_for() {
        let facts = DeviceFacts {
            shared_per_block_optin: 227 << 10,
            ..crate::gpu::family::gemm::tests::device((9, 0), 132)
        };
        let place = Slot { buffer: BufferId(1), offset: 0 };
        let blocks = |rows, k, kept| {
            let (made, weights) = (Made::AsIs(place), Weights::Dense(place));
            let product =
                Product { made, element: Element::Bf16, weights, rows, k, kept, y: place };
            dispatch(&facts, &product).expect("there is a kernel").0.grid[0]
        };
        assert_eq!(blocks(3072, 2048, Kept::Same), 384);
        assert_eq!(blocks(5632, 2048, Kept::Same), 396);
        assert_eq!(blocks(11_264, 2048, Kept::Gated), 396);
        assert_eq!(blocks(4096, 5632, Kept::Same), 264);
        assert_eq!(blocks(20, 1024, Kept::Same), 2);
    }

    /// Of an H200 with a block on each of 132 multiprocessors, and rows of 4 KiB, which are two chunks.
    #[test]
    fn rows_are_shared_as_evenly_as_can_be() {
        let of = |rows| split(132, rows, 8);
        assert_eq!(of(2048), 1, "2112 warps have a row each");
        assert_eq!(
            of(3072),
            2,
            "three turns of a chunk; by themselves some warps have two rows, four chunks"
        );
        assert_eq!(of(8192), 1, "four rows");
        assert_eq!(split(132, 4, 1), 1, "a row of one step is not shared");
    }
}
