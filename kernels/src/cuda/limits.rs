//! What a launch may ask for, and how much may be in the stream at once.

use crate::gpu::{DeviceFacts, Launch, MachineError, Nanoseconds};

/// Longest time the device is kept without a look at the stop flag, where a single replay is not longer.
const SLICE_NS: Nanoseconds = 2e6;
/// How long the device is kept busy in front of a sample: submitting a graph takes the host 5 to 10 µs on bare metal, several times
/// that in a virtual machine.
const LEAD_IN_NS: Nanoseconds = 100e3;
/// The most replays in front of a sample: submitting more of a short one would take longer than running them.
const LEAD_IN_MOST: u32 = 32;
/// A sample that needs nothing in front: 10 µs are 0.1 % of it.
const LONG_NS: Nanoseconds = 10e6;
/// Threads of a block, and blocks in x, y and z: CUDA C++ programming guide, "Compute Capabilities", the same from 5.0 to 12.1.
const THREADS: u64 = 1024;
const BLOCKS: [u32; 3] = [(1 << 31) - 1, 65_535, 65_535];
const THREADS_EACH: [u32; 3] = [1024, 1024, 64];

/// Whether a grid like this exists; the driver would say "invalid value" and not which.
pub(super) fn sizes(launch: &Launch) -> Result<(), MachineError> {
    let threads: u64 = launch.block.iter().map(|threads| u64::from(*threads)).product();
    let inside = |given: [u32; 3], most: [u32; 3]| {
        given.iter().zip(most).all(|(given, most)| (1..=most).contains(given))
    };
    if inside(launch.grid, BLOCKS) && inside(launch.block, THREADS_EACH) && threads <= THREADS {
        return Ok(());
    }
    let Launch { family, entry, grid, block, .. } = launch;
    Err(MachineError::refused(format!(
        "{family}.{entry} on {grid:?} blocks of {block:?} threads cannot be"
    )))
}

/// Dynamic shared memory that must be asked for; 0 where a block has enough without.
pub(super) fn shared(
    launch: &Launch,
    declared: u32,
    facts: &DeviceFacts,
) -> Result<u32, MachineError> {
    let total = u64::from(launch.shared_bytes) + u64::from(declared);
    if total <= facts.shared_per_block.into() {
        return Ok(0);
    }
    if total <= facts.shared_per_block_optin.into() {
        return Ok(launch.shared_bytes);
    }
    let most = facts.shared_per_block_optin;
    let Launch { family, entry, .. } = launch;
    Err(MachineError::refused(format!(
        "{family}.{entry} wants {total} bytes of shared memory; a block has {most}"
    )))
}

/// How many replays go into the stream at once, given what one takes: the first alone, to learn that.
pub(super) fn slice(cost: Option<Nanoseconds>, left: u32) -> u32 {
    let fit = cost.map_or(1.0, |cost| SLICE_NS / cost.max(1.0));
    // A float beyond the range of u32 becomes its end.
    (fit as u32).clamp(1, left.max(1))
}

/// How many untimed replays go in front of a sample: as many as keep the device busy for `LEAD_IN_NS`, and none in front of one so
/// long that what the host takes to submit is less than events resolve of it.
pub(super) fn lead_in(cost: Option<Nanoseconds>) -> u32 {
    match cost {
        Some(cost) if cost >= LONG_NS => 0,
        Some(cost) => ((LEAD_IN_NS / cost.max(1.0)).ceil() as u32).clamp(1, LEAD_IN_MOST),
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sm;

    fn launch(grid: [u32; 3], block: [u32; 3], shared_bytes: u32) -> Launch {
        Launch {
            family: "f",
            entry: "e",
            grid,
            block,
            shared_bytes,
            args: Vec::new(),
            early: false,
        }
    }

    /// Submission takes 5 to 10 µs: what lies in front must be several times that, and a sample without it a thousand times.
    #[test]
    fn the_device_is_busy_while_a_sample_is_submitted() {
        for (cost, want) in [
            (None, 1),
            (Some(200e3), 1),
            (Some(2e6), 1),
            (Some(50e3), 2),
            (Some(30e3), 4),
            (Some(1e3), 32),
            (Some(0.0), 32),
            (Some(10e6), 0),
        ] {
            assert_eq!(lead_in(cost), want, "{cost:?}");
        }
    }

    #[test]
    fn grids_that_cannot_be_are_refused() {
        for (grid, block) in [
            ([1, 1, 1], [1, 1, 1]),
            ([0x7fff_ffff, 65_535, 65_535], [1024, 1, 1]),
            ([1, 1, 1], [4, 4, 64]),
        ] {
            assert_eq!(sizes(&launch(grid, block, 0)), Ok(()), "{grid:?} {block:?}");
        }
        for (grid, block) in [
            ([0, 1, 1], [32, 1, 1]),
            ([0x8000_0000, 1, 1], [32, 1, 1]),
            ([1, 65_536, 1], [32, 1, 1]),
            ([1, 1, 1], [32, 0, 1]),
            ([1, 1, 1], [1, 1, 65]),
            ([1, 1, 1], [1024, 2, 1]),
            ([1, 1, 1], [u32::MAX, u32::MAX, 1]),
        ] {
            assert!(sizes(&launch(grid, block, 0)).is_err(), "{grid:?} {block:?}");
        }
    }

    /// Compute capability 7.5: 48 KiB without asking, 64 KiB with.
    #[test]
    fn shared_memory_is_asked_for_only_where_needed() {
        let facts = DeviceFacts {
            name: String::new(),
            sm: Sm::new(7, 5),
            sms: 40,
            shared_per_block: 48 << 10,
            shared_per_block_optin: 64 << 10,
            l2_bytes: 4 << 20,
            memory_bytes: 15 << 30,
            driver_cuda: 12_080,
            simulated: true,
            tuned: crate::gpu::TunedConfigs::default(),
        };
        let ask = |dynamic, declared| shared(&launch([1; 3], [1; 3], dynamic), declared, &facts);
        assert_eq!(ask(48 << 10, 0), Ok(0));
        assert_eq!(ask(48 << 10, 16), Ok(48 << 10));
        assert_eq!(ask(64 << 10, 0), Ok(64 << 10));
        assert!(ask(64 << 10, 1).is_err_and(|error| error.to_string().contains("65536")));
        assert!(ask(u32::MAX, u32::MAX).is_err());
    }

    #[test]
    fn a_slice_is_two_milliseconds_or_one_replay() {
        for (cost, left, want) in [
            (None, 50, 1),
            (Some(1e3), 5000, 2000),
            (Some(1e3), 50, 50),
            (Some(5e6), 50, 1),
            (Some(0.0), 50, 50),
            (Some(f64::NAN), 50, 50),
        ] {
            assert_eq!(slice(cost, left), want, "{cost:?} {left}");
        }
    }
}
