//! Processes that hold something on a GPU.

use serde::{Deserialize, Serialize};

use crate::readings;
use crate::time::Timestamp;
use crate::units::*;

/// What a process does on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessKind {
    /// Holds a compute context.
    #[default]
    Compute,
    /// Holds a graphics context.
    Graphics,
    /// Both.
    ComputeAndGraphics,
    /// Client of the CUDA Multi-Process Service.
    Mps,
}

/// What NVML tells of one process on one GPU, before the host is asked who it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuProcess {
    /// Process id in the driver's own (the host's) pid namespace.
    pub pid: u32,
    /// [`crate::Gpu::key`] of the device.
    pub gpu: String,
    /// MIG instance it runs in.
    pub mig: Option<u32>,
    /// What it does there.
    pub kind: ProcessKind,
    /// What it uses there.
    pub usage: Usage,
}

readings! {
    /// What a process uses of one GPU.
    pub struct Usage {
        gpu_memory_bytes: Bytes = "GPU mem", "Device memory the process holds.";
        sm_pct: Percent = "SM", "SM time of the process.";
        memory_pct: Percent = "mem busy", "Memory-controller time of the process.";
        encoder_pct: Percent = "encoder", "Encoder time of the process.";
        decoder_pct: Percent = "decoder", "Decoder time of the process.";
    }
}

readings! {
    /// What the host tells of a process.
    pub struct HostSide {
        user: String = "user", "Owner of the process.";
        name: String = "name", "Short name.";
        command: String = "command", "Full command line.";
        parent: u32 = "parent", "Parent process id.";
        cpu_pct: Percent = "CPU", "Host CPU time, 100 is one core.";
        memory_bytes: Bytes = "host mem", "Resident host memory.";
        started: String = "started", "When it started, RFC 3339.";
        container: String = "container", "Container it runs in, from its control group.";
    }
}

/// Whether the host knows the pid NVML gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Not asked yet.
    #[default]
    Unknown,
    /// Found in `/proc`.
    Visible,
    /// NVML gives host pids; this process lives outside our pid namespace.
    OtherNamespace,
    /// It ended between the two questions.
    Gone,
}

/// One process on one GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Process id as NVML gives it.
    pub pid: u32,
    /// [`crate::Gpu::key`] of the device.
    pub gpu: String,
    /// MIG instance it runs in.
    #[serde(default)]
    pub mig: Option<u32>,
    /// What it does there.
    #[serde(default)]
    pub kind: ProcessKind,
    /// Whether the host knows it.
    #[serde(default)]
    pub visibility: Visibility,
    /// What it uses of the GPU.
    #[serde(default)]
    pub usage: Usage,
    /// What the host tells of it.
    #[serde(default)]
    pub host: HostSide,
    /// Start time for sorting, milliseconds since the epoch.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
}
