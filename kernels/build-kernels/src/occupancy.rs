//! How many blocks a multiprocessor holds at once, by the rules of `cuda_occupancy.h` (CUDA 12.9): registers are given to warps in units of 256 and
//! to each of four parts of a multiprocessor, shared memory in units of 128 bytes and from sm_80 on with 1 KiB of the system's for each block.

use warpscope_kernels::Sm;

use crate::gpus::Limits;

/// What a block takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Block {
    /// Threads.
    pub threads: u32,
    /// Registers of each.
    pub registers: u32,
    /// Shared memory, static and dynamic, bytes.
    pub shared: u32,
}

/// Blocks on a multiprocessor; none where one does not fit.
pub(crate) fn blocks(sm: Sm, limits: &Limits, block: Block) -> u32 {
    const UNIT: u32 = 256;
    const PARTS: u32 = 4;
    let warps = block.threads.div_ceil(32).max(1);
    let of_warp = (block.registers * 32).next_multiple_of(UNIT).max(UNIT);
    let by_registers =
        limits.registers_per_sm / PARTS / of_warp * PARTS / warps.next_multiple_of(PARTS);
    let of_system = if sm.major >= 8 { 1024 } else { 0 };
    let shared = (block.shared + of_system).next_multiple_of(if sm.major >= 7 { 128 } else { 256 });
    let by_shared =
        (limits.shared_memory_per_sm_kib * 1024).checked_div(shared).unwrap_or(u32::MAX);
    let by_warps = limits.warps_per_sm / warps;
    [by_registers, by_shared, by_warps, limits.blocks_per_sm].into_iter().min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A100: Limits = Limits {
        shared_memory_per_sm_kib: 164,
        shared_memory_per_block_kib: 163,
        registers_per_sm: 65_536,
        warps_per_sm: 64,
        blocks_per_sm: 32,
    };

    /// By hand, on an A100: 65 536 registers, 64 warps, 164 KiB.
    #[test]
    fn each_limit_binds() {
        let sm = Sm::new(8, 0);
        let held =
            |threads, registers, shared| blocks(sm, &A100, Block { threads, registers, shared });
        assert_eq!(held(256, 32, 0), 8, "warps");
        assert_eq!(held(256, 128, 0), 2, "registers");
        assert_eq!(held(256, 129, 0), 1, "registers, in units of 256 a warp");
        assert_eq!(held(32, 16, 0), 32, "blocks");
        assert_eq!(held(128, 32, 81 << 10), 2, "shared memory: twice 82 KiB with the system's");
        assert_eq!(held(128, 32, 82 << 10), 1, "shared memory");
        assert_eq!(held(1024, 128, 0), 0, "too large");
    }
}
