//! One GPU in one frame.

use serde::{Deserialize, Serialize};
use warpscope_kernels::Sm;

use crate::units::*;
use crate::xid::XidCount;
use crate::{Reading, Timestamp, readings};

/// Whether there is a device behind the card on screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// Found, not yet read.
    #[default]
    Starting,
    /// Answers.
    Present,
    /// Runtime-suspended by the kernel; it was not woken.
    Suspended,
    /// It answered before and the driver now says it is lost.
    Lost,
    /// From the catalogue: nothing is measured.
    WhatIf,
}

readings! {
    /// What does not change while the driver is loaded.
    pub struct Identity {
        name: String = "name", "Product name as the driver gives it.";
        uuid: String = "UUID", "Identifier of the board; stays the same across reboots.";
        pci_bus_id: String = "PCI address", "Domain:bus:device.function.";
        pci_device_id: u32 = "PCI device", "PCI device id.";
        pci_subsystem_id: u32 = "PCI subsystem", "PCI subsystem id, board vendor in the low half.";
        architecture: String = "architecture", "Architecture name, such as Hopper.";
        sm: Sm = "compute capability", "What kernels are compiled for.";
        sm_count: u32 = "SMs", "Streaming multiprocessors that are enabled.";
        cuda_cores: u32 = "CUDA cores", "FP32 lanes of all SMs.";
        memory_type: String = "memory type", "Memory technology, such as HBM3e; from the catalogue, since NVML does not tell.";
        memory_bus_bit: Bits = "memory bus", "Memory bus width.";
        memory_bandwidth_bps: BytesPerSecond = "memory bandwidth", "Memory bandwidth from bus width and memory clock, or the catalogue.";
        brand: String = "brand", "GeForce, Quadro, Tesla, …";
        vbios: String = "VBIOS", "Version of the video BIOS.";
        board_part_number: String = "part number", "NVIDIA's number of the board.";
        compute_mode: String = "compute mode", "default, exclusive_process or prohibited.";
        persistence: bool = "persistence", "Whether the driver stays loaded without clients.";
        mig_mode: bool = "MIG", "Whether Multi-Instance GPU is enabled.";
        vgpu_mode: String = "vGPU", "Virtualisation mode: none, pass_through, vgpu, host_vgpu, host_vsga.";
        ecc_mode: bool = "ECC", "Whether ECC is enabled.";
        cuda_ordinal: u32 = "CUDA ordinal", "Ordinal under CUDA_DEVICE_ORDER=PCI_BUS_ID.";
    }
}

readings! {
    /// What changes while one looks.
    pub struct Vitals {
        util_gpu_pct: Percent = "GPU utilization", "Share of the sample period in which a kernel was running.";
        util_memory_pct: Percent = "memory controller", "Share of the sample period in which memory was read or written.";
        util_encoder_pct: Percent = "encoder", "Video encoder utilization.";
        util_decoder_pct: Percent = "decoder", "Video decoder utilization.";
        util_jpeg_pct: Percent = "JPEG", "JPEG engine utilization.";
        util_ofa_pct: Percent = "optical flow", "Optical-flow engine utilization.";
        memory_total_bytes: Bytes = "memory total", "Physical device memory.";
        memory_used_bytes: Bytes = "memory used", "Allocated by processes and contexts.";
        memory_free_bytes: Bytes = "memory free", "Unallocated.";
        memory_reserved_bytes: Bytes = "memory reserved", "Held by the driver and firmware.";
        bar1_total_bytes: Bytes = "BAR1 total", "Size of the BAR1 aperture.";
        bar1_used_bytes: Bytes = "BAR1 used", "Mapped through BAR1.";
        temperature_c: Celsius = "GPU temperature", "GPU core temperature.";
        temperature_memory_c: Celsius = "memory temperature", "Memory temperature.";
        temperature_slowdown_c: Celsius = "slowdown at", "Core temperature at which hardware slows down.";
        temperature_shutdown_c: Celsius = "shutdown at", "Core temperature at which hardware shuts down.";
        temperature_max_c: Celsius = "max operating", "Maximum operating core temperature.";
        tlimit_c: TLimit = "T.Limit", "Degrees left to the board's temperature limit; negative beyond it.";
        tlimit_slowdown_c: TLimit = "slowdown T.Limit", "T.Limit below which hardware slows down: an offset to the limit, not a temperature.";
        tlimit_shutdown_c: TLimit = "shutdown T.Limit", "T.Limit below which hardware shuts down.";
        tlimit_max_c: TLimit = "max operating T.Limit", "Lowest T.Limit of normal operation.";
        tlimit_memory_max_c: TLimit = "memory max T.Limit", "Lowest T.Limit of the memory's normal operation.";
        power_w: Watts = "power", "Board power draw, averaged over a second from Ampere on, except on GA100.";
        power_instant_w: Watts = "instant power", "Board power draw at this moment.";
        power_limit_w: Watts = "power limit", "Enforced board power limit.";
        power_limit_default_w: Watts = "default power limit", "Default board power limit.";
        energy_j: Joules = "energy", "Energy since the driver was loaded.";
        clock_graphics_mhz: MegaHertz = "graphics clock", "Graphics clock now.";
        clock_sm_mhz: MegaHertz = "SM clock", "SM clock now.";
        clock_memory_mhz: MegaHertz = "memory clock", "Memory clock now.";
        clock_video_mhz: MegaHertz = "video clock", "Video clock now.";
        clock_graphics_max_mhz: MegaHertz = "graphics max", "Highest graphics clock.";
        clock_sm_max_mhz: MegaHertz = "SM max", "Highest SM clock.";
        clock_memory_max_mhz: MegaHertz = "memory max", "Highest memory clock.";
        clock_video_max_mhz: MegaHertz = "video max", "Highest video clock.";
        clock_graphics_app_mhz: MegaHertz = "graphics, application", "Application graphics clock.";
        clock_memory_app_mhz: MegaHertz = "memory, application", "Application memory clock.";
        fan_pct: Percent = "fan", "Intended fan speed, highest of all fans.";
        fan_rpm: Rpm = "fan speed", "Measured fan speed, highest of all fans.";
        pstate: u8 = "P-state", "Performance state, 0 is highest.";
        pcie_gen: u32 = "PCIe gen", "PCIe generation in use now.";
        pcie_width: u32 = "PCIe width", "PCIe lanes in use now.";
        pcie_gen_max: u32 = "PCIe gen max", "Highest PCIe generation of this slot and board.";
        pcie_width_max: u32 = "PCIe width max", "Most PCIe lanes of this slot and board.";
        pcie_rx_bps: BytesPerSecond = "PCIe rx", "PCIe receive throughput over 20 ms.";
        pcie_tx_bps: BytesPerSecond = "PCIe tx", "PCIe transmit throughput over 20 ms.";
        pcie_replays: u32 = "PCIe replays", "PCIe replay counter.";
        nvlink_rx_bps: BytesPerSecond = "NVLink rx", "NVLink receive throughput, all links.";
        nvlink_tx_bps: BytesPerSecond = "NVLink tx", "NVLink transmit throughput, all links.";
        ecc_corrected_volatile: u64 = "ECC corrected", "Corrected memory errors since the driver was loaded.";
        ecc_uncorrected_volatile: u64 = "ECC uncorrected", "Uncorrected memory errors since the driver was loaded.";
        ecc_corrected_aggregate: u64 = "ECC corrected ever", "Corrected memory errors over the board's life.";
        ecc_uncorrected_aggregate: u64 = "ECC uncorrected ever", "Uncorrected memory errors over the board's life.";
        retired_pages_sbe: u32 = "pages retired (single)", "Pages retired for repeated single-bit errors.";
        retired_pages_dbe: u32 = "pages retired (double)", "Pages retired for double-bit errors.";
        retired_pages_pending: bool = "retirement pending", "Whether pages wait for a reboot to be retired.";
        rows_remapped_corrected: u32 = "rows remapped (corrected)", "Rows remapped for corrected errors.";
        rows_remapped_uncorrected: u32 = "rows remapped (uncorrected)", "Rows remapped for uncorrected errors.";
        rows_pending: bool = "remap pending", "Whether a row remapping waits for a reset.";
        rows_failed: bool = "remap failed", "Whether a row remapping has failed: the board should be replaced.";
        gpm_sm_occupancy_pct: Percent = "SM occupancy", "Warps resident against the most possible (GPM, Hopper and later).";
        gpm_sm_active_pct: Percent = "SM active", "SMs with work (GPM, Hopper and later).";
        gpm_tensor_pct: Percent = "tensor pipe", "Tensor pipe activity, any type (GPM).";
        gpm_tensor_half_pct: Percent = "tensor pipe, 16-bit", "Tensor pipe activity, HMMA (GPM).";
        gpm_tensor_int_pct: Percent = "tensor pipe, integer", "Tensor pipe activity, IMMA (GPM).";
        gpm_tensor_double_pct: Percent = "tensor pipe, FP64", "Tensor pipe activity, DFMA (GPM).";
        gpm_fp64_pct: Percent = "FP64 pipe", "FP64 pipe activity (GPM).";
        gpm_fp32_pct: Percent = "FP32 pipe", "FP32 pipe activity (GPM).";
        gpm_fp16_pct: Percent = "FP16 pipe", "FP16 pipe activity (GPM).";
        gpm_dram_pct: Percent = "DRAM", "DRAM bandwidth in use (GPM).";
    }
}

/// Why clocks are where they are. A device reports a set of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockReason {
    /// Nothing to do.
    Idle,
    /// Clocks are set by the user.
    ApplicationClocks,
    /// The power limit is reached: normal under full load.
    SwPowerCap,
    /// Hardware protects itself: see the finer hardware reasons.
    HwSlowdown,
    /// Held back to match other GPUs of a sync-boost group.
    SyncBoost,
    /// Too hot for the software limit.
    SwThermal,
    /// Too hot for the hardware limit.
    HwThermal,
    /// The system asked for less power (power brake).
    HwPowerBrake,
    /// Clocks of the attached display.
    DisplayClocks,
}

/// Clock-event reasons: bit in NVML's mask, the reason, words for the screen, and whether it costs speed a user would want back.
pub const CLOCK_REASONS: &[(u64, ClockReason, &str, bool)] = &[
    (0x1, ClockReason::Idle, "idle", false),
    (0x2, ClockReason::ApplicationClocks, "application clocks", false),
    (0x4, ClockReason::SwPowerCap, "power cap", true),
    (0x8, ClockReason::HwSlowdown, "hardware slowdown", true),
    (0x10, ClockReason::SyncBoost, "sync boost", true),
    (0x20, ClockReason::SwThermal, "thermal (software)", true),
    (0x40, ClockReason::HwThermal, "thermal (hardware)", true),
    (0x80, ClockReason::HwPowerBrake, "power brake", true),
    (0x100, ClockReason::DisplayClocks, "display clocks", false),
];

impl ClockReason {
    /// Every reason set in NVML's mask; bits without a name are returned as the second part.
    pub fn decode(mask: u64) -> (Vec<Self>, u64) {
        let known = CLOCK_REASONS.iter().filter(|row| mask & row.0 != 0);
        let rest = CLOCK_REASONS.iter().fold(mask, |rest, row| rest & !row.0);
        (known.map(|row| row.1).collect(), rest)
    }

    fn row(self) -> &'static (u64, Self, &'static str, bool) {
        CLOCK_REASONS.iter().find(|row| row.1 == self).expect("every reason has a row")
    }

    /// Words for the screen.
    pub fn words(self) -> &'static str {
        self.row().2
    }

    /// Whether it takes speed away that a user would want back.
    pub fn slows(self) -> bool {
        self.row().3
    }
}

/// Why clocks are held, and for how long each reason has held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Throttle {
    /// Reasons active now.
    pub active: Reading<Vec<ClockReason>>,
    /// Bits of NVML's mask that have no name here; 0 when all are known.
    pub unknown_bits: u64,
    /// Share of the time since the first frame, 0–1, in which each reason was seen.
    pub seen: Vec<ReasonShare>,
    /// Time spent below full clocks by cause since the driver was loaded, where NVML counts it.
    pub violations: Vec<Violation>,
}

/// How much of the watched time a reason was active.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReasonShare {
    /// The reason.
    pub reason: ClockReason,
    /// Seconds seen active.
    pub active_s: f64,
    /// Seconds watched.
    pub watched_s: f64,
}

/// Time NVML counted below full clocks for one policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Violation {
    /// Policy: power, thermal, sync_boost, board_limit, low_utilization, reliability, app_clocks, base_clocks.
    pub policy: String,
    /// Seconds since the driver was loaded.
    pub seconds: Seconds,
}

/// One NVLink of a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NvLink {
    /// Link number.
    pub link: u32,
    /// Whether it is up.
    pub active: bool,
    /// NVLink version.
    pub version: Option<u32>,
    /// PCI bus id of the other end.
    pub remote: Option<String>,
    /// Errors counted by the driver: replay, recovery, CRC.
    pub errors: Option<u64>,
}

/// One MIG instance of a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MigInstance {
    /// Index under the parent.
    pub index: u32,
    /// Profile name: `MIG 3g.40gb`.
    pub name: String,
    /// MIG-… identifier.
    pub uuid: Option<String>,
    /// GPU instance id.
    pub gpu_instance: Option<u32>,
    /// Compute instance id.
    pub compute_instance: Option<u32>,
    /// SMs of the instance.
    pub sm_count: Option<u32>,
    /// Memory of the instance.
    pub memory_total_bytes: Option<Bytes>,
    /// Memory in use.
    pub memory_used_bytes: Option<Bytes>,
}

/// One GPU in one frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// NVML index, or position in the what-if list.
    pub index: u32,
    /// Stable identity for histories: the UUID, `pci:…` without one, `what-if:…` for the catalogue.
    pub key: String,
    /// Whether a device is behind it.
    #[serde(default)]
    pub presence: Presence,
    /// What does not change.
    #[serde(default)]
    pub identity: Identity,
    /// What changes.
    #[serde(default)]
    pub vitals: Vitals,
    /// Why clocks are held.
    #[serde(default)]
    pub throttle: Throttle,
    /// NVLinks, empty where there are none.
    #[serde(default)]
    pub nvlinks: Vec<NvLink>,
    /// MIG instances, empty where there are none.
    #[serde(default)]
    pub mig: Vec<MigInstance>,
    /// Why its processes could not be listed. The frame then holds none of them, or not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes_failed: Option<String>,
    /// Xid errors the driver reported while the GPU was watched, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub xids: Vec<XidCount>,
    /// When slow values were read last.
    #[serde(default, skip_serializing_if = "ReadAt::is_unknown")]
    pub read_at: ReadAt,
}

/// When values that are not read for every frame were read last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadAt {
    /// Values that take turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<Timestamp>,
    /// Values that take long turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_turn: Option<Timestamp>,
}

impl ReadAt {
    fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

impl Vitals {
    /// Core temperature at which hardware slows down, °C: as the driver tells it, or, where it tells T.Limit only, by how far the GPU is from it now.
    pub fn slowdown_celsius(&self) -> Option<f32> {
        let told = self.temperature_slowdown_c.last().map(|limit| limit.0);
        told.or_else(|| {
            let left = self.tlimit_c.last()?.0 - self.tlimit_slowdown_c.last()?.0;
            Some(self.temperature_c.last()?.0 + left as f32)
        })
    }
}

impl Gpu {
    /// Whether it answers now: it is neither lost nor asleep, and not every value is an old one.
    pub fn answers(&self) -> bool {
        let has_value = || Vitals::FIELDS.iter().any(|it| (it.number)(&self.vitals).is_some());
        let is_late =
            |it: &crate::Field<Vitals>| (it.absence)(&self.vitals) == Some(crate::Absence::Late);
        self.presence == Presence::Present && (has_value() || !Vitals::FIELDS.iter().any(is_late))
    }

    /// Marks every live value late, keeping the last known ones.
    pub fn make_late(&mut self) {
        for field in Vitals::FIELDS {
            (field.make_late)(&mut self.vitals);
        }
        self.throttle.active.make_late();
    }
}

#[derive(Serialize, Deserialize)]
struct ThrottleWire {
    active: Option<Vec<ClockReason>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    absent: Option<crate::Absence>,
    #[serde(default)]
    unknown_bits: u64,
    #[serde(default)]
    seen: Vec<ReasonShare>,
    #[serde(default)]
    violations: Vec<Violation>,
}

impl Serialize for Throttle {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ThrottleWire {
            active: self.active.last().cloned(),
            absent: self.active.absence().filter(|why| *why != crate::Absence::Unsupported),
            unknown_bits: self.unknown_bits,
            seen: self.seen.clone(),
            violations: self.violations.clone(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Throttle {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = ThrottleWire::deserialize(deserializer)?;
        Ok(Self {
            active: Reading::from_parts(wire.active, wire.absent),
            unknown_bits: wire.unknown_bits,
            seen: wire.seen,
            violations: wire.violations,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_decodes_to_the_set_of_all_its_reasons() {
        let (reasons, rest) = ClockReason::decode(0x4 | 0x20 | 0x8000);
        assert_eq!(reasons, [ClockReason::SwPowerCap, ClockReason::SwThermal]);
        assert_eq!(rest, 0x8000);
        assert_eq!(ClockReason::decode(0), (vec![], 0));
    }

    #[test]
    fn a_gpu_survives_the_wire() {
        let mut gpu = Gpu { index: 3, key: "GPU-1".into(), ..Gpu::default() };
        gpu.identity.sm = Sm::new(9, 0).into();
        gpu.vitals.power_w = Watts(412.5).into();
        gpu.vitals.fan_pct = Reading::Denied;
        gpu.throttle.active = vec![ClockReason::SwPowerCap].into();
        gpu.make_late();
        let json = serde_json::to_string(&gpu).expect("serialises");
        assert_eq!(serde_json::from_str::<Gpu>(&json).expect("reads back"), gpu);
    }
}
