//! K46: a hash of a piece of memory, to see that the same kernel gives the same bits twice.
//!
//! The sum of mixed 64-bit words, each with its position: order does not matter, every bit does. Sums were preferred to a
//! tree because no block has to wait for another.

use super::scan::{clear, scan};
use crate::gpu::family::stream::check_aligned;
use crate::gpu::{DeviceFacts, Launch, Slot};

/// Bytes of the hash on the device.
pub const HASH_BYTES: usize = 8;
/// Increment of SplitMix64.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finalizer of SplitMix64, a bijection.
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The hash of bytes as the device computes it; the last word is filled up with zeros, the length goes in.
pub fn hash_of(bytes: &[u8]) -> u64 {
    let word = |chunk: &[u8]| {
        let mut full = [0; 8];
        full[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(full)
    };
    let position = |index: usize| (index as u64 + 1).wrapping_mul(GAMMA);
    let words = bytes.chunks(8).enumerate();
    words
        .map(|(i, chunk)| mix(word(chunk).wrapping_add(position(i))))
        .fold(mix(bytes.len() as u64), u64::wrapping_add)
}

/// Hashes so many bytes into [`HASH_BYTES`] bytes, which are cleared first.
pub fn hash(facts: &DeviceFacts, from: Slot, bytes: u32, to: Slot) -> Result<Vec<Launch>, String> {
    check_aligned(&[from, to])?;
    let args = [from.into(), to.into(), bytes.into()];
    let items = u64::from(bytes) / 16;
    Ok(vec![clear(to, HASH_BYTES as u32), scan(facts, "hash", items, args)])
}
