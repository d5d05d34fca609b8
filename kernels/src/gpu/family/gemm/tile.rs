//! The ways of threads and of warps that multiply by themselves (`mma.sync`): tiles of Y, and which product has which.

use super::way::{Call, Way};
use super::{Operands, Product, RAGGED};
use crate::gpu::{DeviceFacts, Launch, Shape, Variant};

/// A tile, whatever is multiplied.
struct Tile {
    variant: Variant,
    sides: [u32; 2],
    threads: u32,
    rate: f64,
}

const fn tile(name: &'static str, what: &'static str, sides: [u32; 2], threads: u32) -> Tile {
    Tile { variant: Variant { name, what }, sides, threads, rate: 1.0 }
}

/// Every tile.
const TILES: &[Tile] = &[
    tile("128x128", "large tiles", [128, 128], 256),
    Tile { rate: 0.6, ..tile("64x64", "small tiles, for small results", [64, 64], 128) },
];

/// The ways of a product.
pub(super) fn ways(product: Product, facts: &DeviceFacts) -> Vec<Way> {
    let _ = facts;
    let entries = product.row().entries;
    let way = |(tile, entry): (&Tile, &'static str)| Way {
        variant: tile.variant,
        family: product.row().family,
        entry,
        tile: tile.sides,
        threads: tile.threads,
        shared_bytes: 0,
        rate: tile.rate,
        takes: |_| true,
        launch,
    };
    TILES.iter().zip(entries).map(way).collect()
}

/// fp32 rows that do not begin at multiples of 16 bytes are loaded number by number, by small tiles.
fn launch(way: &Way, call: &Call) -> Result<Launch, String> {
    let Shape { m, n, k, .. } = call.shape;
    let Operands { x, weights, y } = call.operands;
    let ragged = call.product == Product::F32 && call.pitch % 16 != 0;
    let small = Way { entry: RAGGED, tile: [64, 64], threads: 128, ..*way };
    let way = if ragged { &small } else { way };
    Ok(Launch {
        family: way.family,
        entry: way.entry,
        grid: [way.blocks(call.shape)?, 1, 1],
        block: [way.threads, 1, 1],
        shared_bytes: way.shared_bytes,
        args: vec![x.into(), weights.into(), y.into(), m.into(), n.into(), k.into()],
        early: false,
    })
}
