//! Which ways a device has to compute a product, and which of them is taken at a size.
//!
//! A way is a tile of Y and how a block computes it. What was picked for the device comes first; else the least time that tiles, multiprocessors
//! and the rate of a way promise. A table by device name was rejected: it says nothing of devices and sizes that nobody listed.

use super::product::Product;
use super::way::Way;
use super::{few, hopper, tile};
use crate::gpu::{DeviceFacts, MOST_VARIANTS, Shape};

/// Where ways come from, the best first: of equal promises the first counts.
const SOURCES: &[fn(Product, &DeviceFacts) -> Vec<Way>] = &[hopper::ways, few::ways, tile::ways];

/// Every way a device has.
pub(super) fn ways(product: Product, facts: &DeviceFacts) -> Vec<Way> {
    let all = SOURCES.iter().flat_map(|source| source(product, facts));
    all.filter(|way| hopper::leaves(way, product, facts)).take(MOST_VARIANTS).collect()
}

/// The way to take at a size; `None` where the device has none. Tiles are shared only `through` memory.
pub(super) fn choose(
    product: Product,
    facts: &DeviceFacts,
    shape: Shape,
    through: bool,
) -> Option<Way> {
    let mut ways = ways(product, facts);
    ways.retain(|way| (way.takes)(shape) && (through || way.dealt.is_none()));
    let picked = facts.tuned.choose(product.id(), shape);
    let picked = ways.iter().find(|way| Some(way.variant.name) == picked);
    let promise = |way: &&Way| way.promise(facts, shape);
    let least = || ways.iter().min_by(|a, b| promise(a).total_cmp(&promise(b)));
    picked.or_else(|| few::choose(&ways, facts, shape)).or_else(least).copied()
}
