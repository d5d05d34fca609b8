//! Clocks of the multiprocessors, read by the device itself in front of a sample and behind it.
//!
//! NVML tells the clock at the moments it is asked, at most some fifty times a second. A multiprocessor counts its own cycles (PTX ISA,
//! `%clock64`), and the device tells a time (`%globaltimer`): what was counted between two reads over the time between them is the mean clock
//! of just what lay in between, as nvbench measures it (`detail/gpu_frequency.cxx`). Counters of two multiprocessors do not agree, so each is
//! compared with itself.

use crate::gpu::{Arg, DeviceFacts, Launch, Nanoseconds};

/// Words of a block: multiprocessor, cycles, nanoseconds.
const WORDS: usize = 3;
/// What lies around a sample besides it: starts of the kernels that read, and a step of the device's time, whose length PTX does not promise.
const AROUND_NS: f64 = 50e3;
const STEP_NS: f64 = 2e3;

/// Bytes of one read.
pub fn clock_bytes(facts: &DeviceFacts) -> usize {
    blocks(facts) as usize * WORDS * size_of::<u64>()
}

/// A block for each multiprocessor.
fn blocks(facts: &DeviceFacts) -> u32 {
    facts.sms.max(1)
}

/// Reads the clocks into [`clock_bytes`] bytes.
pub fn read_clocks(facts: &DeviceFacts, to: impl Into<Arg>) -> Launch {
    Launch::new(("clock", "clock_read"), [blocks(facts), 1], 32, [to.into()])
}

/// Cycles of [`hold`]: 0.1 ms at 2 GHz, 0.6 ms of a GPU at rest.
const HOLD: u32 = 200_000;

/// Keeps the device busy for a moment, by one thread that waits for its multiprocessor's clock. What it writes, the first read overwrites.
pub fn hold(to: impl Into<Arg>) -> Launch {
    let (grid, block) = ([1; 3], [1; 3]);
    let args = vec![to.into(), HOLD.into()];
    Launch {
        family: "clock",
        entry: "clock_hold",
        grid,
        block,
        shared_bytes: 0,
        args,
        early: false,
    }
}

/// The clock between two reads, MHz: the median of the multiprocessors that are in both. Nothing where the device's time between them is not that
/// of the sample they lie around, as where it goes in steps of a millisecond.
pub fn mean_mhz(before: &[u8], after: &[u8], sample: Nanoseconds) -> Option<f64> {
    let (before, after) = (reads(before), reads(after));
    let clock = |&[multiprocessor, cycles, time]: &[u64; WORDS]| {
        let [_, from, start] = before.iter().find(|read| read[0] == multiprocessor)?;
        let (cycles, time) = (cycles.checked_sub(*from)? as f64, time.checked_sub(*start)? as f64);
        let is_around = (sample - STEP_NS..=1.1 * sample + AROUND_NS).contains(&time);
        (is_around && time > 0.0).then(|| cycles / time * 1e3)
    };
    let mut all: Vec<f64> = after.iter().filter_map(clock).filter(|mhz| *mhz > 0.0).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

fn reads(bytes: &[u8]) -> Vec<[u64; WORDS]> {
    let word = |raw: &[u8]| raw.try_into().map_or(0, u64::from_le_bytes);
    let words: Vec<u64> = bytes.chunks_exact(size_of::<u64>()).map(word).collect();
    words.chunks_exact(WORDS).filter_map(|words| words.try_into().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(reads: &[[u64; WORDS]]) -> Vec<u8> {
        reads.iter().flatten().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// By hand: 396 000 cycles in 200 µs are 1980 MHz. Counters start anywhere, and only the second multiprocessor is in both reads.
    #[test]
    fn each_multiprocessor_is_compared_with_itself() {
        let before = bytes(&[[7, 5_000_000, 1_000], [3, 100, 1_000]]);
        let after = bytes(&[[3, 396_100, 201_000], [9, 1, 201_000]]);
        assert_eq!(mean_mhz(&before, &after, 195e3), Some(1980.0));
        assert_eq!(mean_mhz(&before, &bytes(&[[9, 1, 201_000]]), 195e3), None, "in one read only");
    }

    /// One that goes in steps of a millisecond says 0 or 1 ms of 0.2 ms; a counter that went back was another's.
    #[test]
    fn a_time_that_cannot_be_is_no_clock() {
        let before = bytes(&[[0, 1_000, 1_000_000]]);
        for (cycles, time) in [(397_000, 1_000_000), (397_000, 2_000_000), (0, 1_200_000)] {
            assert_eq!(mean_mhz(&before, &bytes(&[[0, cycles, time]]), 200e3), None, "{time}");
        }
        assert_eq!(mean_mhz(&[], &[], 200e3), None);
        assert_eq!(mean_mhz(&before, &before[..20], 0.0), None);
    }

    #[test]
    fn the_middle_multiprocessor_counts() {
        let before = bytes(&[[0, 0, 0], [1, 0, 0], [2, 0, 0]]);
        let after =
            bytes(&[[2, 1, 1_000_000], [1, 1_410_000, 1_000_000], [0, 1_980_000, 1_000_000]]);
        assert_eq!(mean_mhz(&before, &after, 1e6), Some(1410.0));
    }
}
