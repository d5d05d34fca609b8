//! The Bench tab: the devices and what their workers measured.

pub mod device;
pub mod devices;
pub mod figures;
mod keys;
pub mod panel;
mod plan;
pub mod results;
mod tab;
mod update;

use warpscope_probes::{Frame, Gpu};

use self::device::Device;
use self::devices::Devices;
pub use self::update::{Cmd, Msg};
use crate::features::Cursor;
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

/// What is known of all devices, and what is selected of it.
#[derive(Clone, Debug)]
pub struct Bench {
    /// Selected line of the selected device.
    pub cursor: Cursor,
    /// Selected GPU; behind the last one, the CPU.
    pub device: Cursor,
    /// The CPU and the GPUs.
    pub devices: Devices,
}

impl Default for Bench {
    fn default() -> Self {
        Self {
            cursor: Cursor { at: FIRST_SELECTED },
            device: Cursor::default(),
            devices: Devices::default(),
        }
    }
}

impl Bench {
    /// The GPUs of a frame there is a line for, in its order; the line behind the last is the CPU's.
    pub fn gpus<'a>(&'a self, frame: &'a Frame) -> impl Iterator<Item = &'a Gpu> {
        frame.gpus.iter().filter(|gpu| self.devices.get(&gpu.key).is_some())
    }

    /// The selected GPU, with what is known of its benchmark; none: the CPU is.
    pub fn selected_gpu<'a>(&'a self, frame: &'a Frame) -> Option<(&'a Gpu, &'a Device)> {
        let gpu = self.gpus(frame).nth(self.device.at)?;
        Some((gpu, self.devices.get(&gpu.key)?))
    }

    /// How many lines there are below the selected device.
    pub fn lines(&self, frame: &Frame) -> usize {
        self.selected_gpu(frame).map_or(PATHS.len(), |(_, bench)| bench.lines().len())
    }

    /// Newest report of a path of the CPU.
    pub fn path(&self, profile: &str, dtype: PathDtype) -> Option<&PathReport> {
        self.devices.cpu().results.report(profile, dtype)
    }
}
