//! Where the benchmark of a device stands, and why, in words.

use std::time::Duration;

use warpscope_probes::Gpu;
use warpscope_probes::gpu::Presence;

use crate::features::bench::device::Device;
use crate::widgets::format;
use crate::widgets::theme::Role;
use crate::worker::scheduler::{IDLE, Stage};

/// The stage where nobody wants the benchmark.
pub(crate) const OFF: &str = "OFF";

/// The stage in one word, and its colour.
pub(crate) fn word(device: &Device) -> (&'static str, Role) {
    match device.stage() {
        Stage::Off(why) if why.starts_with("off") => (OFF, Role::Muted),
        Stage::Off(_) => ("PAUSED", Role::Paused),
        Stage::Armed { .. } => ("WAITING", Role::Info),
        Stage::Burst { .. } => ("RUNNING", Role::Good),
        Stage::Cooldown { .. } => ("RESTING", Role::Muted),
    }
}

/// The stage of a GPU, and why: one that is lost waits for nothing.
pub(crate) fn of(
    gpu: Option<&Gpu>,
    device: &Device,
    now: Duration,
) -> (&'static str, Role, String) {
    if gpu.is_some_and(|gpu| gpu.presence == Presence::Lost) {
        return ("LOST", Role::Bad, "the driver lost it".to_owned());
    }
    let ((word, role), why) = (word(device), why(device, now));
    // The word is not said twice.
    (word, role, why.strip_prefix("off; ").unwrap_or(&why).to_owned())
}

/// Why, and what comes next.
pub(crate) fn why(device: &Device, now: Duration) -> String {
    match device.stage() {
        Stage::Off(why) => why.clone(),
        Stage::Armed { since } => {
            let idle = now.saturating_sub(*since);
            if idle >= IDLE {
                return "idle; waits for its turn".to_owned();
            }
            format!("idle for {} of {} s", idle.as_secs(), IDLE.as_secs())
        }
        Stage::Burst { .. } if device.is_starting() => "starting".to_owned(),
        Stage::Burst { .. } if device.is_cpu() && device.results.is_empty() => {
            "measuring; nothing measured yet".to_owned()
        }
        Stage::Burst { .. } if device.is_cpu() => "measuring".to_owned(),
        Stage::Burst { since } => {
            let measures = format::duration(now.saturating_sub(*since).as_secs_f64());
            format!("measuring for {measures}")
        }
        Stage::Cooldown { until, why } => {
            let rest = format::duration(until.saturating_sub(now).as_secs_f64());
            format!("{why}; again in {rest}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::scheduler::BenchMode;

    #[test]
    fn a_stage_is_not_said_twice() {
        let device = Device::cpu(BenchMode::Off);
        let (word, _, why) = of(None, &device, Duration::ZERO);
        assert_eq!((word, why.as_str()), (OFF, "b starts it"));
    }
}
