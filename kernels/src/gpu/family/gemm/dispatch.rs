//! A way to compute a product: a tile of Y and how a block computes it.

use super::product::Product;
use crate::gpu::family::stream::Operands;
use crate::gpu::family::stream_k::{StreamK, Workspace};
use crate::gpu::{Arg, DeviceFacts, Launch, Shape, Variant};

/// Tiles, each with the entry of a product that has it.
pub(super) type Entries = &'static [(&'static str, &'static str)];

/// What is to be multiplied, and where.
#[derive(Clone, Copy)]
pub(super) struct Call {
    /// What is multiplied, summed and stored.
    pub product: Product,
    /// Where.
    pub operands: Operands,
    /// Through what blocks may share a tile.
    pub workspace: Option<Workspace>,
    /// The size.
    pub shape: Shape,
    /// Bytes of a row of X and of W.
    pub pitch: u32,
    /// Multiprocessors to fill.
    pub sms: u32,
}

/// How blocks share tiles.
#[derive(Clone, Copy)]
pub(super) struct StreamKSteps {
    /// Blocks that a multiprocessor holds.
    pub held: u32,
    /// Columns of k of a step.
    pub columns: u32,
}

/// Steps of a block below which it is not worth cutting a tile for.
const LEAST_STEPS: u32 = 8;
/// Products of 16-bit numbers in a cycle of a multiprocessor, of data-centre devices: adding up is dearest there.
const PRODUCTS: f64 = 1024.0;
/// Cycles to add up what blocks of a cluster have of a tile (an estimate): 64 KiB placed and read again at 128 bytes a cycle, and meeting twice.
const ADDING: f64 = 3000.0;

/// One way to compute a product.
#[derive(Clone, Copy)]
pub(super) struct Dispatch {
    /// What records and tuned configs call it.
    pub variant: Variant,
    /// Image it is in.
    pub family: &'static str,
    /// Entry point.
    pub entry: &'static str,
    /// Rows and columns of Y that a block computes.
    pub tile: [u32; 2],
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, bytes.
    pub shared_bytes: u32,
    /// Share of the arithmetic rate it is expected to reach where blocks fill the device, relative to the best way. For choosing only.
    pub rate: f64,
    /// How blocks share tiles, where they do.
    pub stream_k: Option<StreamKSteps>,
    /// Blocks that share k of a tile and add up through each other's shared memory.
    pub parts: u32,
    /// Whether it takes a size.
    pub takes: fn(Shape) -> bool,
    /// Its launch.
    pub launch: fn(&Dispatch, &Call) -> Result<Launch, String>,
}

impl Dispatch {
    /// Its launch on a grid.
    pub(super) fn launched(&self, grid: [u32; 2], args: impl IntoIterator<Item = Arg>) -> Launch {
        Launch::new((self.family, self.entry), grid, self.threads, args)
            .with_shared(self.shared_bytes)
    }

    /// Blocks that a launch has: one for each tile, unless they share them.
    pub(super) fn blocks(&self, shape: Shape, sms: u32) -> Result<u32, String> {
        if let Some(stream_k) = self.stream_k(shape, sms) {
            return Ok(stream_k.blocks);
        }
        let (m, n, tiles) = (shape.m, shape.n, self.tiles(shape));
        let too_many = |_| format!("{m}×{n} are {tiles} tiles; a launch has up to 2^31");
        Ok(i32::try_from(tiles).map_err(too_many)?.unsigned_abs())
    }

    /// How blocks share tiles, where they do.
    pub(super) fn stream_k(&self, shape: Shape, sms: u32) -> Option<StreamK> {
        let StreamKSteps { held, columns } = self.stream_k?;
        let tiles = u32::try_from(self.tiles(shape)).unwrap_or(u32::MAX);
        let [rows, across] = self.tile;
        let steps = shape.k.div_ceil(columns);
        Some(StreamK::new(held * sms.max(1), tiles, steps, LEAST_STEPS, rows * across))
    }

    fn tiles(&self, shape: Shape) -> u64 {
        let [rows, columns] = self.tile;
        u64::from(shape.m.div_ceil(rows)) * u64::from(shape.n.div_ceil(columns))
    }

    /// Time in elements of Y at the full rate: the busiest multiprocessor has so many tiles, or all have as many and add up in the end.
    pub(super) fn promise(&self, facts: &DeviceFacts, shape: Shape) -> f64 {
        let [rows, columns] = self.tile.map(f64::from);
        let (tiles, sms) = (self.tiles(shape), u64::from(facts.sms.max(1)));
        let (each, join) = match (self.stream_k(shape, facts.sms), self.parts) {
            (Some(stream_k), _) => (tiles as f64 / sms as f64, stream_k.join()),
            (None, 1) => (tiles.div_ceil(sms) as f64, 0.0),
            (None, parts) => {
                ((tiles * u64::from(parts)).div_ceil(sms) as f64 / f64::from(parts), ADDING)
            }
        };
        each * rows * columns / self.rate + join * PRODUCTS / f64::from(shape.k.max(1))
    }
}
