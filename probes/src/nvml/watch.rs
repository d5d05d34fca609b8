//! One GPU, looked at cheaply and often by somebody who computes on it and wants to know who else does.

use std::path::Path;

use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings::nvmlProcessUtilizationSample_t;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::error::words;
use super::{lists, plausible, processes, raw, session};
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
            power_w: power(&device),
            reasons: raw::clock_event_reasons(&device).ok().map(|mask| ClockReason::decode(mask).0),
        }
    }

    /// Energy since the driver was loaded, joules; none before Volta.
    pub fn energy_j(&self) -> Option<f64> {
        let energy = self.device().and_then(|device| device.total_energy_consumption());
        energy.and_then(plausible::millijoules).ok().map(|energy| energy.0)
    }

    /// Asks anew. A device that does not answer leaves everything open.
    pub fn look(&self) -> Look {
        // The count makes a library notice that devices came or went.
        let Ok(device) = self.nvml.device_count().and_then(|_| self.device()) else {
            return Look::default();
        };
        let computing = lists::computing(&device).ok();
        let computing: Option<Vec<u32>> =
            computing.map(|all| all.items.iter().map(|info| info.pid).collect());
        Look {
            using: using(&device, computing.as_deref().unwrap_or_default()),
            computing,
            sm_mhz: sm_clock(&device),
            free_bytes: free_memory(&device),
        }
    }
}

fn sm_clock(device: &Device<'_>) -> Option<u32> {
    device.clock_info(Clock::SM).and_then(plausible::megahertz).ok().map(|clock| clock.0)
}

/// What is drawn at this moment, where the driver tells; `power_usage` is an average over a second from Ampere on.
fn power(device: &Device<'_>) -> Option<f64> {
    const POWER_INSTANT: u32 = 186;
    let instant = raw::field_values(device, [(POWER_INSTANT, 0)]).and_then(|[field]| field.number);
    let instant = instant.ok().and_then(|milliwatts| u32::try_from(milliwatts).ok());
    let milliwatts = instant.filter(|power| *power > 0).or_else(|| device.power_usage().ok())?;
    plausible::milliwatts(milliwatts).ok().map(|power| power.0)
}

fn free_memory(device: &Device<'_>) -> Option<u64> {
    let memory = device.memory_info().ok()?;
    let total = plausible::memory(memory.total).ok()?;
    plausible::part(memory.free, total).ok().map(|free| free.0)
}

/// The share of each process that is there.
fn using(device: &Device<'_>, computing: &[u32]) -> Option<Vec<(u32, u32)>> {
    let samples = processes::recent_usage(device).ok()?.items;
    let drawing = lists::drawing(device).map(|all| all.items).unwrap_or_default();
    let is_listed =
        |pid| computing.contains(&pid) || drawing.iter().any(|process| process.pid == pid);
    Some(credible(samples, |pid| is_listed(pid) || is_alive(pid)))
}

/// The shares that can be true: NVML hands out some beyond 100%, and of processes that are gone or never were
/// (github.com/Syllo/nvtop/issues/110, github.com/NVIDIA/go-nvml/issues/51).
fn credible(
    mut samples: Vec<nvmlProcessUtilizationSample_t>,
    is_there: impl Fn(u32) -> bool,
) -> Vec<(u32, u32)> {
    samples.retain(|sample| sample.smUtil <= 100 && is_there(sample.pid));
    samples.into_iter().map(|sample| (sample.pid, sample.smUtil)).collect()
}

/// Whether a process has this number here; one that may not be signalled has.
fn is_alive(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| !matches!(test_kill_process(pid), Err(Errno::SRCH)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(pid: u32, share: u32) -> nvmlProcessUtilizationSample_t {
        nvmlProcessUtilizationSample_t {
            pid,
            timeStamp: 0,
            smUtil: share,
            memUtil: 0,
            encUtil: 0,
            decUtil: 0,
        }
    }

    /// The figure of the report: 37100%.
    #[test]
    fn what_nvml_makes_up_is_left_out() {
        let samples = vec![sample(7, 40), sample(9, 37_100), sample(10, 55)];
        assert_eq!(credible(samples, |pid| pid != 10), [(7, 40)]);
    }

    #[test]
    fn a_process_that_is_gone_is_not_alive() {
        assert!(is_alive(std::process::id()));
        assert!(is_alive(1), "it may not be signalled, and is there");
        for nobody in [0, u32::MAX, i32::MAX.unsigned_abs()] {
            assert!(!is_alive(nobody), "{nobody}");
        }
    }
}
