//! The machine around the GPUs.

use serde::{Deserialize, Serialize};

use crate::readings;
use crate::units::*;

/// The kind of CPU this program is built for, as `uname -m` calls it.
pub const CPU: &str = std::env::consts::ARCH;

readings! {
    /// The machine around the GPUs, one moment.
    pub struct Machine {
        hostname: String = "host", "Host name.";
        kernel: String = "kernel", "Operating system and kernel release.";
        cpu_name: String = "CPU", "CPU model name.";
        cpu_cores: u32 = "cores", "CPUs this process may run on.";
        cpu_pct: Percent = "CPU", "CPU time in use, all cores together.";
        memory_total_bytes: Bytes = "memory total", "Physical memory, or the container's limit.";
        memory_used_bytes: Bytes = "memory used", "Total less what is available without swapping.";
        swap_total_bytes: Bytes = "swap total", "Swap space.";
        swap_used_bytes: Bytes = "swap used", "Swap in use.";
        load_1: f64 = "load 1 min", "Load average over one minute.";
        load_5: f64 = "load 5 min", "Load average over five minutes.";
        load_15: f64 = "load 15 min", "Load average over fifteen minutes.";
        uptime_s: Seconds = "uptime", "Time since boot.";
        container: String = "container", "Kind of container this process runs in: docker, podman, lxc, kubernetes.";
        on_battery: bool = "battery", "Whether the machine runs on battery.";
    }
}

/// The machine around the GPUs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Everything that is one value.
    #[serde(default)]
    pub machine: Machine,
    /// Use per CPU, percent, in the kernel's order.
    #[serde(default)]
    pub cpu_each_pct: Vec<Percent>,
    /// CPU instruction sets that decide which kernel runs: `avx2`, `avx512_bf16`, `amx_int8`, `neon`, …
    #[serde(default)]
    pub cpu_features: Vec<CpuFeature>,
}

/// One CPU instruction set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuFeature {
    /// Name as Linux prints it in `/proc/cpuinfo`.
    pub id: String,
    /// Whether this CPU, this kernel and this process may use it.
    pub present: bool,
}
