//! Why clocks are held, now and over the time watched.

use nvml_wrapper::enum_wrappers::device::PerformancePolicy;

use super::probe::Probe;
use super::slot::Slot;
use super::{plausible, raw};
use crate::gpu::{ClockReason, ReasonShare, Throttle, Violation};

/// The reasons active now, and their share of the time watched.
pub(super) fn reasons(probe: &Probe<'_>, slot: &mut Slot) {
    let decoded = probe.ask(raw::clock_event_reasons).map(ClockReason::decode);
    slot.gpu.throttle.unknown_bits = decoded.value().map_or(0, |both| both.1);
    slot.gpu.throttle.active = decoded.map(|both| both.0);
    watch(&mut slot.gpu.throttle, &mut slot.watched_s, probe.since_last.as_secs_f64());
}

/// Adds the time since the last poll to every reason active now. Time without an answer is not watched.
fn watch(throttle: &mut Throttle, watched_s: &mut f64, elapsed_s: f64) {
    let Some(active) = throttle.active.value() else { return };
    *watched_s += elapsed_s;
    for reason in active {
        match throttle.seen.iter_mut().find(|seen| seen.reason == *reason) {
            Some(seen) => seen.active_s += elapsed_s,
            None => throttle.seen.push(ReasonShare {
                reason: *reason,
                active_s: elapsed_s,
                watched_s: 0.0,
            }),
        }
    }
    throttle.seen.iter_mut().for_each(|seen| seen.watched_s = *watched_s);
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
    use crate::Reading;

    #[test]
    fn each_reason_has_its_share_of_the_time_with_an_answer() {
        let mut throttle = Throttle::default();
        let mut watched = 0.0;
        let steps: &[(Reading<Vec<ClockReason>>, f64)] = &[
            (vec![ClockReason::Idle].into(), 0.0),
            (vec![ClockReason::SwPowerCap].into(), 1.0),
            (Reading::Failed("lost".into()), 5.0),
            (vec![ClockReason::SwPowerCap, ClockReason::HwThermal].into(), 2.0),
            (vec![].into(), 1.0),
        ];
        for (active, elapsed) in steps {
            throttle.active = active.clone();
            watch(&mut throttle, &mut watched, *elapsed);
        }
        let share = |reason, active_s| ReasonShare { reason, active_s, watched_s: 4.0 };
        assert_eq!(
            throttle.seen,
            [
                share(ClockReason::Idle, 0.0),
                share(ClockReason::SwPowerCap, 3.0),
                share(ClockReason::HwThermal, 2.0),
            ]
        );
    }
}
