//! Shared memory of one block: whether a kernel that takes so much of it runs.

use warpscope_kernels::cuda::CudaMachine;
use warpscope_kernels::gpu::{Arg, Launch, Machine, MachineError, Slot};

use super::Answer;
use super::found::Found;

const LANES: u32 = 32;

/// Runs a block with so many KiB of shared memory.
pub(super) fn find(machine: &mut CudaMachine, kib: u32) -> Found {
    let bytes = kib << 10;
    let most = machine.facts().shared_per_block_optin;
    let found = match run(machine, bytes) {
        Ok(true) => {
            Found::new(Answer::Works, format!("a block with {kib} KiB of shared memory ran"))
        }
        Ok(false) => Found::new(
            Answer::WrongOutput,
            format!("a block with {kib} KiB of shared memory read what it had not written"),
        ),
        // The driver's own figure, which it would hold the launch against.
        Err(MachineError::Refused { .. }) if bytes > most => Found::new(
            Answer::Fails,
            format!("a block may have {} KiB of shared memory here, not {kib}", most >> 10),
        ),
        Err(error) => Found::failure(&format!("a block with {kib} KiB of shared memory"), &error),
    };
    found.fact("most for one block", format!("{} KiB", most >> 10)).by("gate.span_shared")
}

fn run(machine: &mut CudaMachine, bytes: u32) -> Result<bool, MachineError> {
    let words = bytes / 4;
    let output = machine.allocate(4 * u64::from(LANES))?;
    let mut out = vec![0xff; 4 * LANES as usize];
    let launch = Launch {
        family: "gate",
        entry: "span_shared",
        grid: [1; 3],
        block: [LANES, 1, 1],
        shared_bytes: bytes,
        args: vec![Slot::from(output).into(), Arg::U32(words)],
        early: false,
    };
    let ran = machine
        .write(output.into(), &out)
        .and_then(|()| machine.run(&[launch]))
        .and_then(|()| machine.read(output.into(), &mut out));
    ran.and(machine.free(output))?;
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
