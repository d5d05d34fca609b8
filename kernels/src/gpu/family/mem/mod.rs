//! K01, K44–K46: memory bandwidth, data, and scans.
//!
//! Counts and hashes are sums of integers, so that they are the same in every order and need no second pass.

mod bandwidth;
mod cases;
mod finite;
mod hash;
mod noise;
mod reference;

pub use bandwidth::{copy, found_bytes, read, triad};
pub use finite::{Finite, REPORT_BYTES, add_finite, finite};
pub use hash::{HASH_BYTES, hash, hash_of};
pub use noise::{noise, noise_bytes};
pub use reference::{Precision, Sample, reference};

use crate::gpu::{Arg, DeviceFacts, GpuKernel, Launch, Slot};

use super::stream::THREADS;

/// Zeroes so many bytes, a multiple of 4.
pub fn clear(to: Slot, bytes: u32) -> Launch {
    let words = bytes / 4;
    Launch {
        family: "mem",
        entry: "clear",
        grid: [words.div_ceil(THREADS).max(1), 1, 1],
        block: [THREADS, 1, 1],
        shared_bytes: 0,
        args: vec![to.into(), words.into()],
        early: false,
    }
}

/// Eight blocks for each multiprocessor, but none without work.
fn blocks(facts: &DeviceFacts, items: u64) -> u32 {
    let enough = items.div_ceil(u64::from(THREADS)).max(1);
    enough.min(u64::from(facts.sms.max(1)) * 8) as u32
}

/// A scan in a grid-stride loop.
fn scan(facts: &DeviceFacts, entry: &'static str, items: u64, args: Vec<Arg>) -> Launch {
    let grid = [blocks(facts, items), 1, 1];
    Launch {
        family: "mem",
        entry,
        grid,
        block: [THREADS, 1, 1],
        shared_bytes: 0,
        args,
        early: false,
    }
}

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[
    bandwidth::READ,
    bandwidth::COPY,
    bandwidth::TRIAD,
    cases::FINITE,
    cases::HASH,
    cases::NOISE,
    cases::DOUBLE,
    cases::PAIRS,
];
