//! Shared memory of the blocks of a cluster, as one of their warps sees it.
//!
//! An address is an offset in the block's own window, or, as `mapa` gives it, one in that of a block of the cluster, whose rank plus one stands in the
//! upper bits.

use super::barrier::Barriers;
use super::clocks::{Agents, Clocks};
use super::gathering::Gathering;
use super::warpgroup::Pending;
pub(crate) use super::window::Who;
use super::window::Window;
use crate::fault::Done;

/// Bits of an offset in a window.
const OFFSET_BITS: u32 = 24;
const OFFSET: u64 = (1 << OFFSET_BITS) - 1;

/// Shared memory of a cluster.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) windows: Vec<Window>,
    pub(super) barriers: Vec<Barriers>,
    pub(crate) clocks: Clocks,
    pub(super) gathering: Gathering,
    /// What the products of each warpgroup may still read.
    pub(super) products: Vec<Pending>,
    /// The block whose warp runs.
    pub(super) rank: usize,
    /// Counts what others may be waiting for.
    pub(super) changes: u64,
}

impl Shared {
    pub(crate) fn new(bytes: usize, granule: u32, agents: Agents) -> Self {
        let window = |rank| Window::new(bytes, granule, rank, agents);
        let clocks = Clocks::new(agents);
        Self {
            gathering: Gathering::new(agents.blocks * agents.warps, clocks.nothing()),
            windows: (0..agents.blocks).map(window).collect(),
            barriers: vec![Barriers::default(); agents.blocks],
            clocks,
            products: vec![Pending::default(); agents.blocks * agents.groups()],
            rank: 0,
            changes: 0,
        }
    }

    /// As a new cluster finds it.
    pub(crate) fn clear(&mut self) {
        self.windows.iter_mut().for_each(Window::clear);
        self.barriers.fill(Barriers::default());
        self.products.fill(Pending::default());
        self.clocks.clear();
        let agents = self.clocks.agents;
        self.gathering = Gathering::new(agents.blocks * agents.warps, self.clocks.nothing());
    }

    /// The address of a place in the window of a block of the cluster, for all of them.
    pub(crate) fn mapped(&self, address: u64, rank: u64) -> u64 {
        (rank + 1) << OFFSET_BITS | address & OFFSET
    }

    /// The window an address lies in, and its offset. An address that is none lies beyond the end of the block's own.
    #[inline]
    pub(crate) fn split(&self, address: u64) -> (usize, u64) {
        let rank = (address >> OFFSET_BITS).wrapping_sub(1);
        match usize::try_from(rank) {
            Ok(rank) if rank < self.windows.len() => (rank, address & OFFSET),
            _ => (self.rank, address),
        }
    }

    /// Reads bytes.
    #[inline]
    pub(crate) fn read(&mut self, address: u64, size: usize, who: Who) -> Done<&[u8]> {
        let (rank, at) = self.split(address);
        if rank != self.rank {
            self.check_alive(rank, who)?;
        }
        self.windows[rank].read(&self.clocks, at, size, who)
    }

    /// Writes bytes.
    #[inline]
    pub(crate) fn write(&mut self, address: u64, size: usize, who: Who) -> Done<&mut [u8]> {
        let (rank, at) = self.split(address);
        if rank != self.rank {
            self.check_alive(rank, who)?;
        }
        self.windows[rank].write(&self.clocks, at, size, who)
    }

    /// What lies there, unnoticed: to see whether lanes of one instruction write the same.
    pub(crate) fn peek(&self, address: u64, size: usize) -> &[u8] {
        let (rank, at) = self.split(address);
        self.windows[rank].peek(at, size)
    }

    /// Writes bytes that are on their way until [`Shared::land`].
    pub(crate) fn send(&mut self, address: u64, bytes: &[u8], who: Who) -> Done {
        self.windows[self.rank].send(&self.clocks, address, bytes, who)
    }

    /// Bytes that were on their way have been waited for by the lane that sent them.
    pub(crate) fn land(&mut self, address: u64, size: usize) {
        self.windows[self.rank].land(self.clocks.now(), address, size);
    }
}
