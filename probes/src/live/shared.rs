//! Shared memory of one block: whether a kernel that takes so much of it runs.

use warpscope_kernels::cuda::CudaMachine;
use warpscope_kernels::gpu::{Arg, Launch, Machine, MachineError};

use super::block::{self, block};
use super::found::Found;

const LANES: u32 = 32;

/// Runs a block with so many KiB of shared memory.
pub(super) fn find(machine: &mut CudaMachine, kib: u32) -> Found {
    let bytes = kib << 10;
    let most = machine.facts().shared_per_block_optin;
    let found = match run(machine, bytes) {
        Ok(true) => Found::works(format!("a block with {kib} KiB of shared memory ran")),
        Ok(false) => Found::wrong(format!(
            "a block with {kib} KiB of shared memory read what it had not written"
        )),
        // The driver's own figure, which it would hold the launch against.
        Err(MachineError::Refused { .. }) if bytes > most => Found::fails(format!(
            "a block may have {} KiB of shared memory here, not {kib}",
            most >> 10
        )),
        Err(error) => Found::failure(&format!("a block with {kib} KiB of shared memory"), &error),
    };
    found.fact("most for one block", format!("{} KiB", most >> 10)).by("gate.span_shared")
}

fn run(machine: &mut CudaMachine, bytes: u32) -> Result<bool, MachineError> {
    let words = bytes / 4;
    let launch = Launch {
        shared_bytes: bytes,
        args: vec![Arg::U32(words)],
        ..block("gate", "span_shared", LANES)
    };
    let out = block::run(machine, launch, &[&[0xff; 4 * LANES as usize]])?;
    let sums = (0..LANES).flat_map(|lane| expected(lane, words).to_le_bytes());
    Ok(out.into_iter().eq(sums))
}

/// What a lane sums up from the other end: word i holds i.
fn expected(lane: u32, words: u32) -> u32 {
    let places = (lane..words).step_by(LANES as usize);
    places.fold(0_u32, |sum, at| sum.wrapping_add(words - 1 - at))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All lanes together sum every word once: n·(n−1)/2.
    #[test]
    fn every_word_is_read_once() {
        for words in [1_u32, 31, 32, 33, 16_384] {
            let sum: u64 = (0..LANES).map(|lane| u64::from(expected(lane, words))).sum();
            assert_eq!(sum, u64::from(words) * u64::from(words - 1) / 2, "{words}");
        }
    }
}
