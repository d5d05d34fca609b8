use warpscope_kernels::cuda::ImageUse;
use warpscope_kernels::gpu::{Machine, MachineError};

/// A device that a child holds: a machine, and what there is to say of it.
pub trait Held: Machine {
    /// UUID of the device.
    fn uuid(&self) -> &str;

    /// Bytes allocated now, and bytes that may be.
    fn arena(&self) -> (u64, u64);

    /// Free memory when there was a context and nothing else of ours, bytes.
    fn free_at_start(&self) -> u64;

    /// How each family runs that was used so far.
    fn images(&self) -> Vec<ImageUse>;

    /// What ended the context, if something did.
    fn ended(&self) -> Option<&MachineError>;
}

/// What may be taken, by what is free: the largest that leaves [`SPARE`] to others.
pub const TIERS: [u64; 4] = [256 << 20, 128 << 20, 64 << 20, 32 << 20];
/// Memory that stays free beside an arena.
const SPARE: u64 = 1 << 30;

/// How much may be taken of so much free memory; nothing where it is too little.
pub fn tier(free: u64) -> Option<u64> {
    TIERS.into_iter().find(|arena| free >= arena + SPARE)
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
            assert_eq!(tier(free * MIB), arena.map(|arena| arena * MIB), "{free} MiB");
        }
    }
}
