//! The NVIDIA driver, or why there is none.

use serde::{Deserialize, Serialize};

use crate::readings;

readings! {
    /// Versions the driver reports.
    pub struct Versions {
        driver: String = "driver", "Driver version: 580.82.07.";
        cuda: String = "CUDA", "Newest CUDA version the driver supports: 13.0.";
        nvml: String = "NVML", "Version of the NVML library.";
    }
}

/// Whether NVML answers, and if not, why not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum DriverState {
    /// Not asked yet.
    #[default]
    Starting,
    /// NVML answers.
    Ready,
    /// libnvidia-ml.so.1 is not on this machine.
    LibraryMissing,
    /// The library is there, the kernel module is not loaded.
    NotLoaded,
    /// The kernel module is there, this user may not use it.
    NoPermission,
    /// Library and kernel module are of different versions.
    VersionMismatch {
        /// Version of the loaded kernel module, from /proc/driver/nvidia/version.
        kernel: Option<String>,
    },
    /// NVML answers and counts no device.
    NoDevice,
    /// Every NVIDIA device is runtime-suspended, so NVML was not even initialised.
    AllSuspended,
    /// Anything else, with NVML's own words.
    Failed {
        /// Error name or number.
        error: String,
    },
}

/// The NVIDIA driver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Driver {
    /// Whether it answers.
    #[serde(default)]
    pub status: DriverState,
    /// Versions it reports.
    #[serde(default)]
    pub versions: Versions,
}
