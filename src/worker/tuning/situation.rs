//! The circumstances under which a choice was made, and holds.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use warpscope_kernels::image::images;
use warpscope_probes::Gpu;

/// What may not differ: another device, driver, set of kernels or regime of clocks, another winner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Situation {
    /// UUID of the GPU.
    pub uuid: String,
    /// Version of the driver; null where nobody could tell.
    pub driver: Option<String>,
    /// Hash of all kernels of the program.
    pub kernels: String,
    /// How clocks are held.
    pub clocks: Clocks,
}

/// How clocks are held; null where the device does not say. Clocks pinned by `nvidia-smi --lock-gpu-clocks` cannot be read back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// Application clock of the multiprocessors, MHz.
    pub graphics_mhz: Option<u32>,
    /// Application clock of the memory, MHz.
    pub memory_mhz: Option<u32>,
    /// Power limit in force, W.
    pub power_limit_w: Option<u32>,
}

/// FNV-1a over the sha256 of every image: stable from one run and one compiler to the next.
static KERNELS: LazyLock<String> = LazyLock::new(|| {
    let mut all: Vec<&str> = images().iter().map(|image| image.sha256).collect();
    all.sort_unstable();
    let bytes = all.into_iter().flat_map(str::bytes);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
});

impl Situation {
    /// A GPU as a frame shows it, with the driver's version and the kernels of this program.
    pub fn of(gpu: &Gpu, driver: Option<&str>) -> Self {
        let vitals = &gpu.vitals;
        Self {
            uuid: gpu.key.clone(),
            driver: driver.map(str::to_owned),
            kernels: KERNELS.clone(),
            clocks: Clocks {
                graphics_mhz: vitals.clock_graphics_app_mhz.last().map(|clock| clock.0),
                memory_mhz: vitals.clock_memory_app_mhz.last().map(|clock| clock.0),
                power_limit_w: vitals.power_limit_w.last().map(|limit| limit.0.round() as u32),
            },
        }
    }

    /// A GPU of which nobody can tell more.
    pub fn unseen(uuid: &str) -> Self {
        Self { uuid: uuid.to_owned(), kernels: KERNELS.clone(), ..Self::default() }
    }

    /// What differs from this one to another, in words; nothing where nothing does.
    pub fn differences(&self, now: &Self) -> Vec<String> {
        let clock = |clock: Option<u32>, unit: &str| clock.map(|clock| format!("{clock} {unit}"));
        let pairs = [
            ("GPU", Some(self.uuid.clone()), Some(now.uuid.clone())),
            ("driver", self.driver.clone(), now.driver.clone()),
            (
                "application clock",
                clock(self.clocks.graphics_mhz, "MHz"),
                clock(now.clocks.graphics_mhz, "MHz"),
            ),
            (
                "memory application clock",
                clock(self.clocks.memory_mhz, "MHz"),
                clock(now.clocks.memory_mhz, "MHz"),
            ),
            (
                "power limit",
                clock(self.clocks.power_limit_w, "W"),
                clock(now.clocks.power_limit_w, "W"),
            ),
        ];
        let differing = pairs.into_iter().filter(|(_, then, now)| then != now);
        let word = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
        let told =
            differing.map(|(what, then, now)| format!("{what} {} → {}", word(then), word(now)));
        let kernels = (self.kernels != now.kernels).then(|| "the kernels have changed".to_owned());
        told.chain(kernels).collect()
    }
}
