//! Work that is shared out evenly (stream-K) to as many blocks as a device holds at once, steps of k of one tile behind those of another: the host's side of
//! kernels/cuda/deal.cuh. It pays where tiles are few, or a few more than blocks are held: then some multiprocessors would idle.

use crate::gpu::Slot;

/// Memory through which blocks share a tile. Without it none do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// Partial sums.
    pub left: Slot,
    /// Blocks that have left theirs, of every tile: zero before the first launch, and left so by every one.
    pub arrivals: Slot,
}

/// Bytes from the second-level cache that a multiprocessor takes in a cycle. This and what follows are guesses that no device was asked about: they only
/// decide which way is taken, and `bench --tune` decides better.
pub(super) const CACHED: f64 = 40.0;
/// Cycles from the end of the products until a tile is stored: a fence, a count, and the first piece to arrive.
const JOIN: f64 = 3000.0;
/// Cycles for every piece: the cache's latency.
const PIECE: f64 = 500.0;

/// Tiles that blocks share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StreamK {
    /// Tiles.
    pub tiles: u32,
    /// Blocks.
    pub blocks: u32,
    /// Partial sums of a tile.
    pub tile_floats: u32,
}

impl StreamK {
    /// As many blocks as are held at once, unless tiles would be cut into pieces of fewer than `least` steps.
    pub(super) fn new(held: u32, tiles: u32, steps: u32, least: u32, tile_floats: u32) -> Self {
        let most = u64::from(tiles) * u64::from(steps) / u64::from(least.max(1));
        let most = u32::try_from(most).unwrap_or(u32::MAX).max(tiles);
        Self { tiles, blocks: most.min(held).max(1), tile_floats }
    }

    /// Bytes of [`Workspace::left`], two tiles a block, and of [`Workspace::arrivals`].
    pub(super) fn workspace_bytes(&self) -> [usize; 2] {
        [8 * self.blocks as usize * self.tile_floats as usize, 4 * self.tiles as usize]
    }

    /// Cycles that adding up takes at the end, where all blocks end at once.
    pub(super) fn join(&self) -> f64 {
        let pieces = f64::from(self.blocks) / f64::from(self.tiles.max(1)) + 1.0;
        JOIN + pieces * (PIECE + 4.0 * f64::from(self.tile_floats) / CACHED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_held_at_once_unless_pieces_are_too_small() {
        let blocks = |held, tiles, steps| StreamK::new(held, tiles, steps, 8, 1).blocks;
        assert_eq!(blocks(216, 64, 128), 216);
        assert_eq!(blocks(216, 64, 16), 128, "eight steps each");
        assert_eq!(blocks(216, 64, 4), 64, "a tile each");
        assert_eq!(blocks(216, 1024, 4), 216, "several tiles each");
        assert_eq!(blocks(u32::MAX, u32::MAX, u32::MAX), u32::MAX);
    }

    #[test]
    fn a_block_has_two_places_and_a_tile_a_count() {
        assert_eq!(StreamK::new(3, 2, 100, 8, 64).workspace_bytes(), [3 * 2 * 256, 8]);
    }
}
