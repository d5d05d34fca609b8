//! Scans: eight blocks a multiprocessor, each in a grid-stride loop.

use crate::gpu::family::stream::THREADS;
use crate::gpu::{Arg, DeviceFacts, Launch, Slot};

/// Zeroes so many bytes, a multiple of 4.
pub fn clear(to: Slot, bytes: u32) -> Launch {
    let words = bytes / 4;
    let grid = [words.div_ceil(THREADS).max(1), 1];
    Launch::new(("mem", "clear"), grid, THREADS, [to.into(), words.into()])
}

/// Eight blocks for each multiprocessor, but none without work.
pub(super) fn blocks(facts: &DeviceFacts, items: u64) -> u32 {
    let enough = items.div_ceil(u64::from(THREADS)).max(1);
    enough.min(u64::from(facts.sms.max(1)) * 8) as u32
}

/// A scan in a grid-stride loop.
pub(super) fn scan<const N: usize>(
    facts: &DeviceFacts,
    entry: &'static str,
    items: u64,
    args: [Arg; N],
) -> Launch {
    Launch::new(("mem", entry), [blocks(facts, items), 1], THREADS, args)
}
