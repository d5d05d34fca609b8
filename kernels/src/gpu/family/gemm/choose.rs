//! Which ways a device has to compute a product, and which of them is taken at a size.
//!
//! A way is a tile of Y and how a block computes it. What was picked for the device comes first; else the least time that tiles, multiprocessors
//! and the rate of a way promise. A table by device name was rejected: it says nothing of devices and sizes that nobody listed.

use super::dispatch::Dispatch;
use super::product::Product;
use super::{hopper, skinny, tile};
use crate::gpu::{DeviceFacts, MOST_VARIANTS, Shape};

/// Where ways come from, the best first: of equal promises the first counts.
const SOURCES: &[fn(Product, &DeviceFacts) -> Vec<Dispatch>] =
    &[hopper::dispatches, skinny::dispatches, tile::dispatches];

/// Every way a device has.
pub(super) fn dispatches(product: Product, facts: &DeviceFacts) -> Vec<Dispatch> {
    let all = SOURCES.iter().flat_map(|source| source(product, facts));
    all.filter(|dispatch| hopper::leaves(dispatch, product, facts)).take(MOST_VARIANTS).collect()
}

/// The way to take at a size; `None` where the device has none. Tiles are shared only `through` memory.
pub(super) fn choose(
    product: Product,
    facts: &DeviceFacts,
    shape: Shape,
    through: bool,
) -> Option<Dispatch> {
    let mut dispatches = dispatches(product, facts);
    dispatches
        .retain(|dispatch| (dispatch.takes)(shape) && (through || dispatch.stream_k.is_none()));
    let picked = facts.tuned.choose(product.id(), shape);
    let picked = dispatches.iter().find(|dispatch| Some(dispatch.variant.name) == picked);
    let promise = |dispatch: &&Dispatch| dispatch.promise(facts, shape);
    let least = || dispatches.iter().min_by(|a, b| promise(a).total_cmp(&promise(b)));
    picked.or_else(|| skinny::choose(&dispatches, facts, shape)).or_else(least).copied()
}
