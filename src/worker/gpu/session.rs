use warpscope_kernels::cuda::{CudaMachine, ImageUse};
use warpscope_kernels::gpu::{Machine, MachineError};

use crate::worker::protocol::TimingMode;

/// A device that a worker holds: a machine, and what it tells of itself.
pub trait DeviceSession: Machine {
    /// Bytes allocated now, and bytes that may be.
    fn pool(&self) -> (u64, u64);

    /// Changes what may be allocated.
    fn set_cap(&mut self, arena_bytes: u64);

    /// How each family runs that was used so far.
    fn images(&self) -> Vec<ImageUse>;

    /// What ended the context, if something did.
    fn ended(&self) -> Option<&MachineError>;

    /// The driver's machine itself, for what calls libraries; nothing where this is none.
    fn cuda(&mut self) -> Option<&mut CudaMachine>;
}

/// What may be taken, by what is free: the largest that leaves `SPARE` to others.
pub const TIERS: [u64; 4] = [256 << 20, 128 << 20, 64 << 20, 32 << 20];
/// Memory that stays free beside an arena.
const SPARE: u64 = 1 << 30;
/// The most a long measurement takes, which is also at most a tenth of what is free.
const LARGE: u64 = 2 << 30;

/// How much may be taken of so much free memory; nothing where it is too little.
pub fn tier(free: u64, mode: TimingMode) -> Option<u64> {
    let small = TIERS.into_iter().find(|arena| free >= arena + SPARE)?;
    match mode {
        TimingMode::Burst => Some(small),
        TimingMode::Sustained => Some(small.max(LARGE.min(free / 10))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gibibyte_stays_free_beside_the_arena() {
        const MIB: u64 = 1 << 20;
        for (free, arena) in [
            (80_000, Some(256)),
            (1280, Some(256)),
            (1279, Some(128)),
            (1152, Some(128)),
            (1088, Some(64)),
            (1056, Some(32)),
            (1055, None),
            (0, None),
        ] {
            let tier = tier(free * MIB, TimingMode::Burst);
            assert_eq!(tier, arena.map(|arena| arena * MIB), "{free} MiB");
        }
    }

    #[test]
    fn a_long_measurement_takes_a_tenth_of_what_is_free() {
        let mib = |free: u64| tier(free << 20, TimingMode::Sustained).map(|arena| arena >> 20);
        for (free, arena) in
            [(80_000, Some(2048)), (10_000, Some(1000)), (1500, Some(256)), (1000, None)]
        {
            assert_eq!(mib(free), arena, "{free} MiB");
        }
    }
}
