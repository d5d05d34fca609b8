//! The boards: those of the stand-in NVML, from its own table, and what CUDA alone tells of them.

#[path = "../../nvml/src/models.rs"]
mod models;

#[path = "../../nvml/src/ledger.rs"]
pub mod ledger;

pub use models::{Feature, LAYOUT, MODELS, Model, Profile, bus};

/// What follows from the compute capability. CUDA C++ programming guide, "Technical Specifications per Compute Capability";
/// CCCL 13.3.5 `cuda/__device/arch_traits.h`.
#[derive(Debug)]
pub struct Limits {
    /// Compute capability.
    pub cc: (i32, i32),
    /// Single over double precision rate.
    pub fp64_ratio: i32,
    /// Shared memory of a multiprocessor, KiB.
    pub shared_per_sm_kib: u32,
    /// Shared memory a block may ask for, KiB.
    pub shared_optin_kib: u32,
    /// Shared memory the system takes from each block, KiB.
    pub shared_reserved_kib: u32,
    /// Threads of a multiprocessor.
    pub threads_per_sm: u32,
    /// Blocks of a multiprocessor.
    pub blocks_per_sm: u32,
}

#[rustfmt::skip]
const LIMITS: &[Limits] = &[
    Limits { cc: (6, 0), fp64_ratio: 2, shared_per_sm_kib: 64, shared_optin_kib: 48, shared_reserved_kib: 0, threads_per_sm: 2048, blocks_per_sm: 32 },
    Limits { cc: (6, 1), fp64_ratio: 32, shared_per_sm_kib: 96, shared_optin_kib: 48, shared_reserved_kib: 0, threads_per_sm: 2048, blocks_per_sm: 32 },
    Limits { cc: (7, 0), fp64_ratio: 2, shared_per_sm_kib: 96, shared_optin_kib: 96, shared_reserved_kib: 0, threads_per_sm: 2048, blocks_per_sm: 32 },
    Limits { cc: (7, 5), fp64_ratio: 32, shared_per_sm_kib: 64, shared_optin_kib: 64, shared_reserved_kib: 0, threads_per_sm: 1024, blocks_per_sm: 16 },
    Limits { cc: (8, 0), fp64_ratio: 2, shared_per_sm_kib: 164, shared_optin_kib: 163, shared_reserved_kib: 1, threads_per_sm: 2048, blocks_per_sm: 32 },
    Limits { cc: (8, 6), fp64_ratio: 64, shared_per_sm_kib: 100, shared_optin_kib: 99, shared_reserved_kib: 1, threads_per_sm: 1536, blocks_per_sm: 16 },
    Limits { cc: (8, 9), fp64_ratio: 64, shared_per_sm_kib: 100, shared_optin_kib: 99, shared_reserved_kib: 1, threads_per_sm: 1536, blocks_per_sm: 24 },
    Limits { cc: (9, 0), fp64_ratio: 2, shared_per_sm_kib: 228, shared_optin_kib: 227, shared_reserved_kib: 1, threads_per_sm: 2048, blocks_per_sm: 32 },
    Limits { cc: (10, 0), fp64_ratio: 2, shared_per_sm_kib: 228, shared_optin_kib: 227, shared_reserved_kib: 1, threads_per_sm: 2048, blocks_per_sm: 32 },
    Limits { cc: (12, 0), fp64_ratio: 64, shared_per_sm_kib: 100, shared_optin_kib: 99, shared_reserved_kib: 1, threads_per_sm: 1536, blocks_per_sm: 24 },
];

/// Second-level cache in KiB. NVIDIA's architecture whitepapers (Pascal, Volta, Turing, Ampere GA100 and GA102, Ada, Hopper,
/// RTX Blackwell); H200 and B200 as `deviceQuery` prints them there.
const L2_KIB: &[(&str, i32)] = &[
    ("p100", 4096),
    ("gtx1060", 1536),
    ("v100", 6144),
    ("t4", 4096),
    ("a100", 40960),
    ("rtx3090", 6144),
    ("rtx4090", 73728),
    ("rtx4060m", 32768),
    ("rtx5090", 98304),
    ("h100", 51200),
    ("h200", 61440),
    ("b200", 129_536),
];

impl Model {
    /// What the compute capability allows.
    pub fn limits(&self) -> &'static Limits {
        let found = LIMITS.iter().find(|limits| limits.cc == self.cc);
        found.expect("a test walks every board")
    }

    /// Second-level cache in bytes.
    pub fn l2_bytes(&self) -> i32 {
        let found = L2_KIB.iter().find(|entry| entry.0 == self.id);
        found.expect("a test walks every board").1 << 10
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_board_has_limits_and_a_cache() {
        for model in MODELS {
            assert!(model.limits().blocks_per_sm >= 16 && model.l2_bytes() > 0, "{}", model.id);
        }
    }
}
