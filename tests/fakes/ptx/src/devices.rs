//! Devices to stand for: one of every architecture the kernels are built for.
//!
//! Sizes from NVIDIA's architecture whitepapers (Pascal, Volta, Turing, Ampere, Ada, Hopper, RTX Blackwell) and the CUDA C++ programming guide,
//! "Technical Specifications per Compute Capability".

use warpscope_kernels::Sm;
use warpscope_kernels::gpu::DeviceFacts;

struct Row {
    name: &'static str,
    sm: (u8, u8),
    sms: u32,
    shared_optin_kib: u32,
    l2_kib: u64,
    memory_gib: u64,
}

const fn row(name: &'static str, sm: (u8, u8), sms: u32, sizes: (u32, u64, u64)) -> Row {
    let (shared_optin_kib, l2_kib, memory_gib) = sizes;
    Row { name, sm, sms, shared_optin_kib, l2_kib, memory_gib }
}

const ROWS: &[Row] = &[
    row("Tesla P100-SXM2-16GB", (6, 0), 56, (48, 4096, 16)),
    row("NVIDIA GeForce GTX 1060 6GB", (6, 1), 10, (48, 1536, 6)),
    row("Tesla V100-SXM2-16GB", (7, 0), 80, (96, 6144, 16)),
    row("Tesla T4", (7, 5), 40, (64, 4096, 15)),
    row("NVIDIA A100-SXM4-80GB", (8, 0), 108, (163, 40_960, 80)),
    row("NVIDIA GeForce RTX 4090", (8, 9), 128, (99, 73_728, 24)),
    row("NVIDIA H200", (9, 0), 132, (227, 61_440, 141)),
    row("NVIDIA B200", (10, 0), 148, (227, 129_536, 180)),
    row("NVIDIA GeForce RTX 5090", (12, 0), 170, (99, 98_304, 32)),
];

/// What the driver would say of each, oldest architecture first.
pub fn devices() -> Vec<DeviceFacts> {
    let facts = |row: &Row| DeviceFacts {
        name: row.name.to_owned(),
        sm: Sm::new(row.sm.0, row.sm.1),
        sms: row.sms,
        shared_per_block: 48 << 10,
        shared_per_block_optin: row.shared_optin_kib << 10,
        l2_bytes: row.l2_kib << 10,
        memory_bytes: row.memory_gib << 30,
        driver_cuda: 12_090,
        simulated: true,
        tuned: warpscope_kernels::gpu::TunedConfigs::default(),
    };
    ROWS.iter().map(facts).collect()
}

/// The one with this compute capability.
pub fn device(major: u8, minor: u8) -> Option<DeviceFacts> {
    devices().into_iter().find(|facts| facts.sm == Sm::new(major, minor))
}
