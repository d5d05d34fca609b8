//! One GPU, looked at cheaply and often by somebody who computes on it and wants to know who else does.

use std::path::Path;
use std::time::{Duration, SystemTime};

use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::error::words;
use super::{lists, plausible, raw, session};
use crate::gpu::ClockReason;

/// NVML, held open for one GPU.
pub struct Watch {
    nvml: Nvml,
    uuid: String,
}

/// What one look found. What the driver does not tell is `None`, never empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Processes that compute on it.
    pub computing: Option<Vec<u32>>,
    /// Processes that used it in the last second, graphics included, each with its share of the multiprocessors, percent.
    pub using: Option<Vec<(u32, u32)>>,
    /// Clock of the multiprocessors, MHz.
    pub sm_mhz: Option<u32>,
    /// Free memory, bytes.
    pub free_bytes: Option<u64>,
}

/// How hard a GPU works, and what holds it back. What the driver does not tell is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strained {
    /// Clock of the multiprocessors, MHz.
    pub sm_mhz: Option<u32>,
    /// Power drawn, watts.
    pub power_w: Option<f64>,
    /// Why the clock is where it is.
    pub reasons: Option<Vec<ClockReason>>,
}

impl Watch {
    /// Loads NVML, from where it usually is unless a library is given, and finds the device with this UUID.
    pub fn open(library: Option<&Path>, uuid: &str) -> Result<Self, String> {
        let nvml = session::start(library).map_err(|why| words(&why))?;
        let watch = Self { nvml, uuid: uuid.to_owned() };
        watch.device().map_err(|why| words(&why))?;
        Ok(watch)
    }

    fn device(&self) -> Result<Device<'_>, NvmlError> {
        self.nvml.device_by_uuid(self.uuid.as_str())
    }

    /// Asks for clock, power and what holds the clock down.
    pub fn strain(&self) -> Strained {
        let Ok(device) = self.device() else { return Strained::default() };
        Strained {
            sm_mhz: sm_clock(&device),
            power_w: device.power_usage().and_then(plausible::milliwatts).ok().map(|power| power.0),
            reasons: raw::clock_event_reasons(&device).ok().map(|mask| ClockReason::decode(mask).0),
        }
    }

    /// Asks anew. A device that does not answer leaves everything open.
    pub fn look(&self) -> Look {
        // The count makes a library notice that devices came or went.
        let Ok(device) = self.nvml.device_count().and_then(|_| self.device()) else {
            return Look::default();
        };
        let computing = lists::computing(&device);
        Look {
            computing: computing.ok().map(|all| all.items.iter().map(|info| info.pid).collect()),
            using: using(&device),
            sm_mhz: sm_clock(&device),
            free_bytes: free_memory(&device),
        }
    }
}

fn sm_clock(device: &Device<'_>) -> Option<u32> {
    device.clock_info(Clock::SM).and_then(plausible::megahertz).ok().map(|clock| clock.0)
}

fn free_memory(device: &Device<'_>) -> Option<u64> {
    let memory = device.memory_info().ok()?;
    let total = plausible::memory(memory.total).ok()?;
    plausible::part(memory.free, total).ok().map(|free| free.0)
}

/// The newest sample of each process. That nobody used the device is told as an error.
fn using(device: &Device<'_>) -> Option<Vec<(u32, u32)>> {
    const BACK: Duration = Duration::from_secs(1);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let since = u64::try_from(now.saturating_sub(BACK).as_micros()).unwrap_or(u64::MAX);
    let mut samples = match lists::process_samples(device, since) {
        Ok(samples) => samples.items,
        Err(NvmlError::NotFound) => Vec::new(),
        Err(_) => return None,
    };
    samples.sort_by_key(|sample| (sample.pid, std::cmp::Reverse(sample.timeStamp)));
    samples.dedup_by_key(|sample| sample.pid);
    Some(samples.into_iter().map(|sample| (sample.pid, sample.smUtil)).collect())
}
