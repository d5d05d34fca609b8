//! Why clocks are held, now and over the time watched.

use nvml_wrapper::enum_wrappers::device::PerformancePolicy;

use super::probe::Probe;
use super::slot::Slot;
use super::{plausible, raw};
use crate::Reading;
use crate::gpu::{ClockReason, ReasonShare, Violation};

/// How long each reason was active of the time its device was watched.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    seen: Vec<ReasonShare>,
    seconds: f64,
}

impl Watched {
    /// Adds time to every reason active now. Time without an answer is not watched.
    fn pass(&mut self, active: &Reading<Vec<ClockReason>>, elapsed_s: f64) {
        let Some(active) = active.value() else { return };
        self.seconds += elapsed_s;
        for reason in active {
            match self.seen.iter_mut().find(|seen| seen.reason == *reason) {
                Some(seen) => seen.active_s += elapsed_s,
                None => self.seen.push(ReasonShare {
                    reason: *reason,
                    active_s: elapsed_s,
                    watched_s: 0.0,
                }),
            }
        }
    }

    fn shares(&self) -> Vec<ReasonShare> {
        let share = |seen: &ReasonShare| ReasonShare { watched_s: self.seconds, ..*seen };
        self.seen.iter().map(share).collect()
    }
}

/// The reasons active now.
pub(super) fn reasons(probe: &Probe<'_>, slot: &mut Slot) {
    let decoded = probe.ask(raw::clock_event_reasons).map(ClockReason::decode);
    slot.gpu.throttle.unknown_bits = decoded.value().map_or(0, |both| both.1);
    slot.gpu.throttle.active = decoded.map(|both| both.0);
    slot.watched.pass(&slot.gpu.throttle.active, probe.since_last.as_secs_f64());
}

/// Their share of the time watched.
pub(super) fn shares(_: &Probe<'_>, slot: &mut Slot) {
    slot.gpu.throttle.seen = slot.watched.shares();
}

const POLICIES: &[(PerformancePolicy, &str)] = &[
    (PerformancePolicy::Power, "power"),
    (PerformancePolicy::Thermal, "thermal"),
    (PerformancePolicy::SyncBoost, "sync_boost"),
    (PerformancePolicy::BoardLimit, "board_limit"),
    (PerformancePolicy::LowUtilization, "low_utilization"),
    (PerformancePolicy::Reliability, "reliability"),
    (PerformancePolicy::TotalAppClocks, "app_clocks"),
    (PerformancePolicy::TotalBaseClocks, "base_clocks"),
];

/// Time below full clocks by cause, as the driver counts it.
pub(super) fn violations(probe: &Probe<'_>, slot: &mut Slot) {
    if probe.device().is_none() {
        return;
    }
    slot.gpu.throttle.violations = POLICIES
        .iter()
        .filter_map(|(policy, name)| {
            let time = probe.find(|d| d.violation_status(*policy))?;
            let seconds = plausible::nanoseconds(time.violation_time).ok()?;
            Some(Violation { policy: (*name).to_owned(), seconds })
        })
        .collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_its_share_of_the_time_with_an_answer() {
        let mut watched = Watched::default();
        let steps: &[(Reading<Vec<ClockReason>>, f64)] = &[
            (vec![ClockReason::Idle].into(), 0.0),
            (vec![ClockReason::SwPowerCap].into(), 1.0),
            (Reading::Failed("lost".into()), 5.0),
            (vec![ClockReason::SwPowerCap, ClockReason::HwThermal].into(), 2.0),
            (vec![].into(), 1.0),
        ];
        for (active, elapsed) in steps {
            watched.pass(active, *elapsed);
        }
        let share = |reason, active_s| ReasonShare { reason, active_s, watched_s: 4.0 };
        assert_eq!(
            watched.shares(),
            [
                share(ClockReason::Idle, 0.0),
                share(ClockReason::SwPowerCap, 3.0),
                share(ClockReason::HwThermal, 2.0),
            ]
        );
    }
}
