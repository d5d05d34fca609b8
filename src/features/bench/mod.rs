//! The Bench tab: the devices and what their workers measured.

pub mod device;
pub mod devices;
pub mod figures;
pub mod panel;
mod plan;
pub mod results;

use self::devices::Devices;
use crate::worker::{PathDtype, PathReport};

/// Every path of the benchmark: weight profile and number format, in the order on screen.
pub const PATHS: &[(&str, PathDtype)] = &[
    ("clean", PathDtype::Fp32),
    ("clean", PathDtype::Fp16),
    ("clean", PathDtype::Bf16),
    ("clean", PathDtype::Int4),
    ("glm4", PathDtype::Fp32),
    ("glm4", PathDtype::Fp16),
    ("glm4", PathDtype::Bf16),
    ("glm4", PathDtype::Int4),
];

/// The path selected at first: fp16 on the clean profile, beside whose text the same format's overflow is seen.
pub const FIRST_SELECTED: usize = 1;

/// What is known of all devices.
#[derive(Clone, Debug, Default)]
pub struct Bench {
    /// The CPU and the GPUs.
    pub devices: Devices,
}

impl Bench {
    /// Newest report of a path of the CPU.
    pub fn path(&self, profile: &str, dtype: PathDtype) -> Option<&PathReport> {
        self.devices.cpu().results.report(profile, dtype)
    }
}
