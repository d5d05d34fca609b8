//! Runs kernels: clusters of blocks one after the other, the blocks of one by turns, and so the warps of a block. Of a launch that may start early some
//! clusters do.
//!
//! One thread does it all, so that a launch gives the same bits and the same faults every time. Rejected: blocks side by side, which without `unsafe`
//! needs a lock for every access to device memory, and changes results where blocks add up in the order in which they come.

mod access;
mod alone;
mod atomic;
mod barrier;
mod block;
mod bulk;
mod clocks;
mod cluster;
mod collective;
mod collisions;
mod copies;
mod descriptor;
mod engine;
mod gathering;
mod grid;
mod hands;
mod ready;
mod registers;
mod sequence;
mod shared;
mod sleep;
mod waiting;
mod warp;
mod warpgroup;
mod window;

pub use ready::Ready;
pub use sequence::{Start, launch, launch_all};

/// What a launch may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions of warps, all blocks together.
    pub instructions: u64,
    /// Shared memory of a block, static and dynamic, bytes.
    pub shared_bytes: u32,
    /// Multiprocessors, for kernels that ask.
    pub sms: u32,
    /// Which block comes when.
    pub order: Order,
}

impl Default for Limits {
    fn default() -> Self {
        Self { instructions: 1 << 32, shared_bytes: 48 << 10, sms: 1, order: Order::default() }
    }
}

/// The order of blocks, one after the other: a device promises none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The first one first.
    #[default]
    Forwards,
    /// The last one first.
    Backwards,
    /// From both ends, those in the middle last.
    Inwards,
}

impl Order {
    /// Which of so many is next.
    fn number(self, turn: u64, count: u64) -> u64 {
        match self {
            Self::Forwards => turn,
            Self::Backwards => count - 1 - turn,
            Self::Inwards if turn.is_multiple_of(2) => turn / 2,
            Self::Inwards => count - 1 - turn / 2,
        }
    }
}

/// What became of a launch that went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Instructions of warps that were executed.
    pub instructions: u64,
}
