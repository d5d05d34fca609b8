//! What is worth interrupting somebody for: thresholds and events, each told once until it is over. Pure.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use warpscope_probes::gpu::{ClockReason, Presence};
use warpscope_probes::process::Process;
use warpscope_probes::text::printable;
use warpscope_probes::xid::{self, XidCount};
use warpscope_probes::{Frame, Gpu, Origin, Scalar, Timestamp};

use crate::features::shared::{Alert, machine_name};
use crate::widgets::format;

/// Alerts that stay readable.
pub(crate) const KEPT: usize = 50;
/// A value must fall so far below its threshold before it alerts again.
const FALL: f64 = 3.0;
/// A GPU with less utilization is idle, percent.
const IDLE: f64 = 1.0;
/// What is said of a GPU that is lost.
pub(crate) const LOST: &str = "the driver lost it";
/// Memory in use that a driver alone does not explain, bytes.
const HELD: f64 = 1e9;

/// What raises an alert.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlertRules {
    /// Events by their words: hardware, throttle, process.
    pub events: Vec<String>,
    /// Degrees Celsius.
    pub temperature: Option<f64>,
    /// Memory in use, percent.
    pub memory: Option<f64>,
    /// Idle time while memory is held.
    pub idle: Option<Duration>,
}

/// Alerts so far.
#[derive(Clone, Debug, Default)]
pub struct Alerts {
    /// What raises them.
    pub rules: AlertRules,
    /// The newest, oldest first.
    pub told: VecDeque<(Timestamp, String)>,
    /// The newest frame of each machine, also while the screen is frozen.
    newest: BTreeMap<String, Frame>,
    /// What holds now: the kinds of alert of each GPU.
    holding: BTreeMap<String, BTreeSet<&'static str>>,
    idle_since: BTreeMap<String, Timestamp>,
}

/// One thing about a GPU: its kind, whether it holds, and what to say. `None`: as before.
type Finding = (&'static str, Option<bool>, Cow<'static, str>);

impl Alerts {
    /// What a frame newly raises, compared with the one before it of the same machine.
    pub fn frame(&mut self, now: &Frame) -> Vec<Alert> {
        let newest = self.newest.remove(machine_name(now)).unwrap_or_default();
        // A recording may go back: nothing happens between a frame and itself.
        let is_back = newest.seq > 0 && newest.at >= now.at;
        let before = if is_back { now } else { &newest };
        let mut raised = Vec::new();
        let host = match &now.origin {
            Origin::Remote { host } => format!("{host} "),
            Origin::Local | Origin::Replay { .. } => String::new(),
        };
        for gpu in now.gpus.iter().filter(|gpu| gpu.presence != Presence::WhatIf) {
            let earlier = before.gpus.iter().find(|other| other.key == gpu.key);
            for (kind, holds, text) in self.findings(earlier, gpu, now.at) {
                if holds == Some(true) && self.holds(gpu, kind) {
                    let text = printable(&format!("{host}GPU {}: {text}", gpu.index));
                    raised.push(Alert { text, gpu: Some(gpu.key.clone()) });
                } else if let (Some(false), Some(kinds)) = (holds, self.holding.get_mut(&gpu.key)) {
                    kinds.remove(kind);
                }
            }
        }
        if self.watches("process") && before.seq > 0 {
            let ended = ended(before, now).into_iter();
            raised.extend(ended.map(|text| Alert { text: printable(&text), gpu: None }));
        }
        let mut kept = now.clone();
        kept.processes.extend(gone(before, now).filter(|one| !lists(now, one)).cloned());
        self.newest.insert(machine_name(now).to_owned(), kept);
        self.told.extend(raised.iter().map(|alert| (now.at, alert.text.clone())));
        self.told.drain(..self.told.len().saturating_sub(KEPT));
        raised
    }

    /// Notes that something holds; tells whether that is new.
    fn holds(&mut self, gpu: &Gpu, kind: &'static str) -> bool {
        match self.holding.get_mut(&gpu.key) {
            Some(kinds) => kinds.insert(kind),
            None => self.holding.insert(gpu.key.clone(), [kind].into()).is_none(),
        }
    }

    fn watches(&self, event: &str) -> bool {
        self.rules.events.iter().any(|other| other == event)
    }

    fn findings(&mut self, earlier: Option<&Gpu>, gpu: &Gpu, at: Timestamp) -> Vec<Finding> {
        let vitals = &gpu.vitals;
        let mut findings = Vec::new();
        if self.watches("hardware") {
            let lost = gpu.presence == Presence::Lost;
            findings.push(("lost", Some(lost), LOST.into()));
            let errors = |gpu: &Gpu| gpu.vitals.ecc_uncorrected_volatile.value().copied();
            let more = earlier.and_then(errors).zip(errors(gpu)).map(|(was, is)| is > was);
            findings.push(("ecc", more, "an uncorrected ECC error".into()));
            findings.push(xid_error(earlier, gpu));
        }
        if self.watches("throttle") {
            let slowed = gpu
                .throttle
                .active
                .value()
                .map(|reasons| reasons.iter().find(|reason| is_fault(**reason)));
            let words = slowed
                .flatten()
                .map_or(Cow::default(), |reason| format!("slowed: {}", reason.words()).into());
            findings.push(("throttle", slowed.map(|reason| reason.is_some()), words));
        }
        if let (Some(limit), Some(now)) =
            (self.rules.temperature, vitals.temperature_c.value().and_then(Scalar::number))
        {
            let text = format!("{now:.0} degrees Celsius");
            findings.push(("temperature", above(now, limit), text.into()));
        }
        if let (Some(limit), Some(share)) = (self.rules.memory, memory_share(gpu)) {
            let text = format!("{share:.0}% of its memory is in use");
            findings.push(("memory", above(share, limit), text.into()));
        }
        findings.extend(self.idle(gpu, at));
        findings
    }

    fn idle(&mut self, gpu: &Gpu, at: Timestamp) -> Option<Finding> {
        let limit = self.rules.idle?;
        let load = gpu.vitals.util_gpu_pct.value()?.number()?;
        let held = gpu.vitals.memory_used_bytes.value()?.number()?;
        if load >= IDLE || held < HELD {
            self.idle_since.remove(&gpu.key);
            return Some(("idle", Some(false), Cow::default()));
        }
        let since = *self.idle_since.entry(gpu.key.clone()).or_insert(at);
        let passed = at.seconds_since(since);
        let text =
            format!("idle for {} while {} are held", format::duration(passed), format::bytes(held));
        Some(("idle", Some(passed >= limit.as_secs_f64()), text.into()))
    }
}

/// An Xid error that no program causes. It holds for one frame, so that the next one alerts again.
fn xid_error(earlier: Option<&Gpu>, gpu: &Gpu) -> Finding {
    let before = |xid| {
        let counts = earlier.map_or(&[][..], |gpu| &gpu.xids[..]);
        counts.iter().find(|one| one.xid == xid).map_or(0, |one| one.count)
    };
    let is_new = |one: &&XidCount| {
        one.count > before(one.xid) && xid::blame(one.xid) == xid::Blame::Hardware
    };
    let newest = gpu.xids.iter().rev().find(is_new);
    (
        "xid",
        Some(newest.is_some()),
        newest.map_or_else(Cow::default, |one| xid::words(one.xid).into()),
    )
}

/// Whether a reason for lower clocks is worth an alert: the power limit is reached in normal work.
fn is_fault(reason: ClockReason) -> bool {
    reason.slows() && !matches!(reason, ClockReason::SwPowerCap | ClockReason::SyncBoost)
}

fn above(value: f64, limit: f64) -> Option<bool> {
    match value {
        value if value >= limit => Some(true),
        value if value < limit - FALL => Some(false),
        _ => None,
    }
}

fn memory_share(gpu: &Gpu) -> Option<f64> {
    let used = gpu.vitals.memory_used_bytes.value()?.number()?;
    let total = gpu.vitals.memory_total_bytes.last()?.number()?;
    (total > 0.0).then_some(used / total * 100.0)
}

/// Processes that were there and are in no list now.
fn gone<'a>(before: &'a Frame, now: &Frame) -> impl Iterator<Item = &'a Process> {
    let here: BTreeSet<u32> = now.processes.iter().map(|process| process.pid).collect();
    before.processes.iter().filter(move |process| !here.contains(&process.pid))
}

/// Whether the processes on the GPU of one are known.
fn lists(now: &Frame, process: &Process) -> bool {
    let is_known = |gpu: &Gpu| gpu.presence == Presence::Present && gpu.processes_failed.is_none();
    now.gpus.iter().any(|gpu| gpu.key == process.gpu && is_known(gpu))
}

/// Processes that have ended, once each: one on several GPUs or MIG instances is several rows.
fn ended(before: &Frame, now: &Frame) -> Vec<String> {
    let unknown = gone(before, now).filter(|process| !lists(now, process));
    let mut told: BTreeSet<u32> = unknown.map(|process| process.pid).collect();
    let ended = gone(before, now).filter(|process| told.insert(process.pid));
    let text = |process: &Process| {
        let name = process.host.name.last().map_or("", String::as_str);
        format!("process {} {name} ended", process.pid)
    };
    ended.map(text).collect()
}

#[cfg(test)]
mod tests {
    use warpscope_probes::units::{Bytes, Celsius, Percent};

    use super::*;

    fn frame(second: u64, change: impl Fn(&mut Gpu)) -> Frame {
        let mut gpu = Gpu { key: "a".into(), presence: Presence::Present, ..Gpu::default() };
        change(&mut gpu);
        Frame { seq: second, at: Timestamp(second * 1000), gpus: vec![gpu], ..Frame::default() }
    }

    fn told(rules: AlertRules, frames: &[Frame]) -> Vec<usize> {
        let mut alerts = Alerts { rules, ..Alerts::default() };
        frames.iter().map(|now| alerts.frame(now).len()).collect()
    }

    #[test]
    fn an_xid_error_alerts_each_time_unless_a_program_causes_it() {
        let rules = AlertRules { events: vec!["hardware".into()], ..AlertRules::default() };
        let reported = [&[][..], &[(31, 1)], &[(31, 1), (79, 1)], &[(31, 2), (79, 1)], &[(79, 2)]];
        let frames: Vec<_> = (1..).zip(reported).collect();
        let frames: Vec<_> = frames
            .iter()
            .map(|(second, xids)| {
                let counts = xids.iter().map(|(xid, count)| XidCount { xid: *xid, count: *count });
                frame(*second, |gpu| gpu.xids = counts.clone().collect())
            })
            .collect();
        assert_eq!(told(rules, &frames), [0, 0, 1, 0, 1]);
    }

    #[test]
    fn a_process_that_ends_is_told_once_and_not_when_a_recording_goes_back() {
        let rules = AlertRules {
            events: vec!["hardware".into(), "process".into()],
            ..AlertRules::default()
        };
        let at = |second, pids: &[u32], xids: u64| {
            let mut frame = frame(second, |gpu| {
                gpu.xids = (0..xids.min(1)).map(|_| XidCount { xid: 79, count: xids }).collect();
            });
            let on = |pid: &u32, mig| Process {
                pid: *pid,
                gpu: "a".into(),
                mig: Some(mig),
                ..Process::default()
            };
            frame.processes = pids.iter().flat_map(|pid| [on(pid, 0), on(pid, 1)]).collect();
            frame
        };
        let frames = [
            at(1, &[7, 8], 0),
            at(2, &[7], 1),
            at(1, &[7, 8], 0),
            at(3, &[7, 8], 1),
            at(2, &[], 2),
            at(3, &[], 2),
        ];
        assert_eq!(told(rules, &frames), [0, 2, 0, 1, 0, 0]);
    }

    #[test]
    fn a_process_has_not_ended_while_its_list_cannot_be_read() {
        let rules = AlertRules { events: vec!["process".into()], ..AlertRules::default() };
        let at = |second, pids: &[u32], presence, failed: Option<&str>| {
            let mut frame = frame(second, |gpu| {
                gpu.presence = presence;
                gpu.processes_failed = failed.map(str::to_owned);
            });
            let on = |pid: &u32| Process { pid: *pid, gpu: "a".into(), ..Process::default() };
            frame.processes = pids.iter().map(on).collect();
            frame
        };
        let (present, lost) = (Presence::Present, Presence::Lost);
        let frames = [
            at(1, &[7, 8], present, None),
            at(2, &[], present, Some("NVML error 999")),
            at(3, &[], lost, None),
            at(4, &[8], present, None),
        ];
        assert_eq!(told(rules, &frames), [0, 0, 0, 1]);
    }

    #[test]
    fn a_threshold_alerts_once_until_the_value_has_fallen() {
        let rules = AlertRules { temperature: Some(80.0), ..AlertRules::default() };
        let heat = [70.0, 81.0, 85.0, 79.0, 81.0, 70.0, 80.0];
        let frames: Vec<_> = (1..)
            .zip(heat)
            .map(|(second, degrees)| {
                frame(second, |gpu| gpu.vitals.temperature_c = Celsius(degrees).into())
            })
            .collect();
        assert_eq!(told(rules, &frames), [0, 1, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn hardware_faults_alert_by_default_and_a_late_gpu_does_not() {
        let rules = AlertRules { events: vec!["hardware".into()], ..AlertRules::default() };
        let ecc = |second, count: u64| {
            frame(second, |gpu| gpu.vitals.ecc_uncorrected_volatile = count.into())
        };
        let late = frame(3, Gpu::make_late);
        let lost = frame(4, |gpu| gpu.presence = Presence::Lost);
        assert_eq!(told(rules, &[ecc(1, 5), ecc(2, 6), late, lost.clone(), lost]), [0, 1, 0, 1, 0]);
    }

    #[test]
    fn memory_held_by_an_idle_gpu_alerts_after_the_time_set() {
        let rules = AlertRules { idle: Some(Duration::from_secs(10)), ..AlertRules::default() };
        let used = |second, load, bytes| {
            frame(second, |gpu| {
                gpu.vitals.util_gpu_pct = Percent(load).into();
                gpu.vitals.memory_used_bytes = Bytes(bytes).into();
            })
        };
        let frames = [
            used(0, 0.0, 4 << 30),
            used(9, 0.0, 4 << 30),
            used(10, 0.0, 4 << 30),
            used(11, 50.0, 4 << 30),
            used(30, 0.0, 1 << 20),
        ];
        assert_eq!(told(rules, &frames), [0, 0, 1, 0, 0]);
    }
}
