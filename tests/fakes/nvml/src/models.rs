//! Boards the stand-in can pretend to be. Figures are NVIDIA's published ones; what a board does not
//! have, the library answers with `NOT_SUPPORTED`, as the real one does.

/// One kind of board.
pub struct Model {
    /// Scenario word.
    pub id: &'static str,
    /// Name as NVML gives it.
    pub name: &'static str,
    /// Compute capability.
    pub cc: (i32, i32),
    /// NVML's architecture number.
    pub architecture: u32,
    /// PCI device id.
    pub pci_device: u32,
    /// Streaming multiprocessors, and CUDA cores in each.
    pub sms: (u32, u32),
    /// Memory in MiB.
    pub memory_mib: u64,
    /// Memory bus in bits, and bandwidth in GB/s.
    pub bus: (u32, u32),
    /// Highest graphics clock in MHz.
    pub boost_mhz: u32,
    /// Board power limit in watts.
    pub tdp_w: u32,
    /// NVML's brand number.
    pub brand: u32,
    /// Fans the driver can see.
    pub fans: u32,
    /// NVLinks, and their version.
    pub nvlinks: (u32, u32),
    /// Features that some boards have.
    pub has: &'static [Feature],
}

/// What only some boards have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Error-correcting memory, switched on.
    Ecc,
    /// Page retirement (before Ampere).
    PageRetirement,
    /// Row remapping (Ampere and later).
    RowRemapping,
    /// Multi-Instance GPU.
    Mig,
    /// GPU performance metrics (Hopper and later).
    Gpm,
    /// A memory temperature sensor the driver shows.
    MemoryTemperature,
    /// JPEG and optical-flow engines.
    JpegOfa,
    /// An energy counter (Volta and later).
    Energy,
    /// NVLink byte counters (Ampere and later).
    LinkCounters,
    /// Temperature limits as offsets (Ada, Hopper and later), in place of temperatures.
    TLimit,
}

use Feature::*;

const TESLA: u32 = 2;
const GEFORCE: u32 = 5;
const NVIDIA: u32 = 14;
const GEFORCE_RTX: u32 = 15;

/// Every board, by scenario word.
#[rustfmt::skip]
pub const MODELS: &[Model] = &[
    Model { id: "gtx1060", name: "NVIDIA GeForce GTX 1060 6GB", cc: (6, 1), architecture: 4, pci_device: 0x1c03, sms: (10, 128), memory_mib: 6 << 10, bus: (192, 192),
        boost_mhz: 1708, tdp_w: 120, brand: GEFORCE, fans: 1, nvlinks: (0, 0), has: &[] },
    Model { id: "p100", name: "Tesla P100-SXM2-16GB", cc: (6, 0), architecture: 4, pci_device: 0x15f9, sms: (56, 64), memory_mib: 16 << 10, bus: (4096, 732),
        boost_mhz: 1480, tdp_w: 300, brand: TESLA, fans: 0, nvlinks: (4, 1), has: &[Ecc, PageRetirement] },
    Model { id: "v100", name: "Tesla V100-SXM2-16GB", cc: (7, 0), architecture: 5, pci_device: 0x1db1, sms: (80, 64), memory_mib: 16 << 10, bus: (4096, 900),
        boost_mhz: 1530, tdp_w: 300, brand: TESLA, fans: 0, nvlinks: (6, 2), has: &[Ecc, PageRetirement, MemoryTemperature, Energy] },
    Model { id: "t4", name: "Tesla T4", cc: (7, 5), architecture: 6, pci_device: 0x1eb8, sms: (40, 64), memory_mib: 16 << 10, bus: (256, 320),
        boost_mhz: 1590, tdp_w: 70, brand: NVIDIA, fans: 0, nvlinks: (0, 0), has: &[Ecc, PageRetirement, Energy] },
    Model { id: "a100", name: "NVIDIA A100-SXM4-80GB", cc: (8, 0), architecture: 7, pci_device: 0x20b2, sms: (108, 64), memory_mib: 80 << 10, bus: (5120, 2039),
        boost_mhz: 1410, tdp_w: 400, brand: NVIDIA, fans: 0, nvlinks: (12, 3), has: &[Ecc, RowRemapping, Mig, MemoryTemperature, JpegOfa, Energy, LinkCounters] },
    Model { id: "rtx3090", name: "NVIDIA GeForce RTX 3090", cc: (8, 6), architecture: 7, pci_device: 0x2204, sms: (82, 128), memory_mib: 24 << 10, bus: (384, 936),
        boost_mhz: 1695, tdp_w: 350, brand: GEFORCE, fans: 2, nvlinks: (0, 0), has: &[Energy] },
    Model { id: "rtx4090", name: "NVIDIA GeForce RTX 4090", cc: (8, 9), architecture: 8, pci_device: 0x2684, sms: (128, 128), memory_mib: 24 << 10, bus: (384, 1008),
        boost_mhz: 2520, tdp_w: 450, brand: GEFORCE, fans: 2, nvlinks: (0, 0), has: &[JpegOfa, Energy, TLimit] },
    Model { id: "rtx4060m", name: "NVIDIA GeForce RTX 4060 Laptop GPU", cc: (8, 9), architecture: 8, pci_device: 0x28e0, sms: (24, 128), memory_mib: 8 << 10, bus: (128, 256),
        boost_mhz: 2370, tdp_w: 115, brand: GEFORCE_RTX, fans: 0, nvlinks: (0, 0), has: &[JpegOfa, Energy, TLimit] },
    Model { id: "rtx5090", name: "NVIDIA GeForce RTX 5090", cc: (12, 0), architecture: 10, pci_device: 0x2b85, sms: (170, 128), memory_mib: 32 << 10, bus: (512, 1792),
        boost_mhz: 2407, tdp_w: 575, brand: GEFORCE, fans: 2, nvlinks: (0, 0), has: &[JpegOfa, Energy, TLimit] },
    Model { id: "h100", name: "NVIDIA H100 80GB HBM3", cc: (9, 0), architecture: 9, pci_device: 0x2330, sms: (132, 128), memory_mib: 80 << 10, bus: (5120, 3352),
        boost_mhz: 1980, tdp_w: 700, brand: NVIDIA, fans: 0, nvlinks: (18, 4), has: &[Ecc, RowRemapping, Mig, Gpm, MemoryTemperature, JpegOfa, Energy, LinkCounters, TLimit] },
    Model { id: "h200", name: "NVIDIA H200", cc: (9, 0), architecture: 9, pci_device: 0x2335, sms: (132, 128), memory_mib: 141 << 10, bus: (6144, 4800),
        boost_mhz: 1980, tdp_w: 700, brand: NVIDIA, fans: 0, nvlinks: (18, 4), has: &[Ecc, RowRemapping, Mig, Gpm, MemoryTemperature, JpegOfa, Energy, LinkCounters, TLimit] },
    Model { id: "b200", name: "NVIDIA B200", cc: (10, 0), architecture: 10, pci_device: 0x2901, sms: (148, 128), memory_mib: 180 << 10, bus: (8192, 7700),
        boost_mhz: 1965, tdp_w: 1000, brand: NVIDIA, fans: 0, nvlinks: (18, 5), has: &[Ecc, RowRemapping, Mig, Gpm, MemoryTemperature, JpegOfa, Energy, LinkCounters, TLimit] },
];

impl Model {
    /// Whether the board has a feature.
    pub fn has(&self, feature: Feature) -> bool {
        self.has.contains(&feature)
    }

    /// Memory clock as NVML gives it, half the data rate, from bandwidth and bus width.
    pub fn memory_mhz(&self) -> u32 {
        self.bus.1 * 8000 / self.bus.0 / 2
    }

    /// UUID of the board, or of one of its MIG instances, where it stands in the machine.
    pub fn uuid(&self, board: usize, instance: Option<&Profile>) -> String {
        let kind = if instance.is_some() { "MIG" } else { "GPU" };
        let slices = instance.map_or(0, |instance| instance.slices);
        format!("{kind}-{:08x}-0000-4000-8000-{board:08x}{slices:04x}", self.pci_device)
    }
}

/// PCI bus of the board that stands in a place of the machine; domain, device and function are 0.
pub fn bus(board: usize) -> u32 {
    1 + board as u32 * 8
}

/// One MIG instance of the MIG scenario: profile, SMs, memory in MiB, slices.
pub struct Profile {
    /// Profile name.
    pub name: &'static str,
    /// SMs of the instance.
    pub sms: u32,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// GPU slices.
    pub slices: u32,
}

/// The layout a GPU with MIG switched on has.
pub const LAYOUT: [Profile; 2] = [
    Profile { name: "MIG 3g.40gb", sms: 60, memory_mib: 40448, slices: 3 },
    Profile { name: "MIG 1g.10gb", sms: 16, memory_mib: 9984, slices: 1 },
];
