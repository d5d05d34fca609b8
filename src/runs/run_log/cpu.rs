//! The CPUs around samples of a program that was seen on no GPU.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Span;

/// Shortest window that says something, in clock ticks of each CPU: the kernel counts whole ticks.
const SHORTEST: u64 = 20;
/// CPUs that are idle for less than this share are contended.
const IDLE: f64 = 0.05;
/// Share of the CPUs from which on others count.
const OTHERS: f64 = 0.1;
/// A clock that moved by more than this share of its median taints the samples: the boost of a CPU moves by some per cent without a cause.
const CLOCK_MOVED: f64 = 0.1;

/// One look at the CPUs a program may run on. Times are in clock ticks since boot, of all these CPUs together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuSample {
    /// How many there are.
    pub cpus: u64,
    /// Time they worked, or another virtual machine took them.
    pub busy: u64,
    /// Time they did not.
    pub idle: u64,
    /// Time of the program, everything it started and its recorder.
    pub own: u64,
    /// Time of every other process.
    pub others: BTreeMap<u32, u64>,
    /// Clock of the fastest, MHz.
    pub mhz: Option<f64>,
    /// How the first one's clock is chosen: `performance`, `powersave`, `schedutil`.
    pub governor: Option<String>,
    /// Load average over one minute.
    pub load_1: Option<f64>,
}

/// What the CPUs did while samples were taken.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuWindow {
    /// CPUs the program may run on.
    pub cpus: u64,
    /// Share of their time the program used.
    pub own: f64,
    /// Share of their time others used.
    pub others: f64,
    /// Clock of the fastest while the program worked, MHz.
    pub mhz: Option<Span>,
    /// How clocks are chosen.
    pub governor: Option<String>,
    /// Load average over one minute, at the end.
    pub load_1: Option<f64>,
    /// Other processes that used a tenth of a CPU or more.
    pub processes: Vec<u32>,
}

/// What passed between two looks.
struct Step {
    all: u64,
    busy: u64,
    own: u64,
}

impl Step {
    fn between(before: &CpuSample, after: &CpuSample) -> Self {
        let busy = after.busy.saturating_sub(before.busy);
        let idle = after.idle.saturating_sub(before.idle);
        Self { all: busy + idle, busy, own: after.own.saturating_sub(before.own) }
    }
}

impl CpuWindow {
    /// What passed from the first of some looks to the last; nothing where that was too short to say.
    pub fn of(looks: &[&CpuSample]) -> Option<Self> {
        let (first, last) = (looks.first()?, looks.last()?);
        let step = Step::between(first, last);
        if last.cpus == 0 || step.all < SHORTEST * last.cpus {
            return None;
        }
        let share = |ticks: u64| ticks as f64 / step.all as f64;
        let worked = |pair: &&[&CpuSample]| {
            let step = Step::between(pair[0], pair[1]);
            2 * step.own * pair[1].cpus > step.all
        };
        let tenth = step.all / last.cpus / 10;
        let used = |(pid, ticks): (&u32, &u64)| {
            let before = first.others.get(pid).copied().unwrap_or_default();
            (ticks.saturating_sub(before) >= tenth).then_some(*pid)
        };
        Some(Self {
            cpus: last.cpus,
            own: share(step.own),
            others: share(step.busy.saturating_sub(step.own)),
            mhz: Span::of(looks.windows(2).filter(worked).filter_map(|pair| pair[1].mhz)),
            governor: last.governor.clone(),
            load_1: last.load_1,
            processes: last.others.iter().filter_map(used).collect(),
        })
    }

    /// Why samples of this window are kept and not judged.
    pub fn taints(&self) -> Vec<String> {
        let mut taints = Vec::new();
        if 1.0 - self.own - self.others < IDLE && self.others >= OTHERS {
            taints.push("CPU shared with other processes".to_owned());
        }
        if self.mhz.is_some_and(|clock| clock.moved() > CLOCK_MOVED) {
            taints.push("CPU clock moved".to_owned());
        }
        taints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two CPUs after some ticks: the program used `own` of them, process 7 `other`.
    fn look(at: u64, own: u64, other: u64, mhz: f64) -> CpuSample {
        let busy = own + other;
        CpuSample {
            cpus: 2,
            busy,
            idle: 2 * at - busy,
            own,
            others: [(7, other), (8, 1)].into(),
            mhz: Some(mhz),
            ..CpuSample::default()
        }
    }

    fn taints(looks: &[CpuSample]) -> Vec<String> {
        let looks: Vec<&CpuSample> = looks.iter().collect();
        CpuWindow::of(&looks).expect("long enough").taints()
    }

    #[test]
    fn a_program_that_fills_its_cpus_alone_is_not_disturbed() {
        assert!(taints(&[look(0, 0, 0, 800.0), look(100, 200, 0, 3000.0)]).is_empty());
        let beside = [look(0, 0, 0, 3000.0), look(100, 100, 60, 3000.0)];
        assert!(taints(&beside).is_empty(), "others work on a CPU that is free");
    }

    #[test]
    fn others_on_cpus_that_are_all_taken_taint() {
        let looks = [look(0, 0, 0, 3000.0), look(100, 100, 100, 3000.0)];
        assert_eq!(taints(&looks), ["CPU shared with other processes"]);
        let window = CpuWindow::of(&[&looks[0], &looks[1]]).expect("long enough");
        assert_eq!((window.own, window.others, window.processes), (0.5, 0.5, vec![7]));
    }

    #[test]
    fn a_clock_counts_only_while_the_program_works() {
        let looks = [
            look(0, 0, 0, 800.0),
            look(100, 100, 0, 3000.0),
            look(200, 100, 0, 800.0),
            look(300, 200, 0, 3050.0),
        ];
        assert!(taints(&looks).is_empty());
        let slowed = [&looks[..], &[look(400, 300, 0, 2000.0)]].concat();
        assert_eq!(taints(&slowed), ["CPU clock moved"]);
    }

    #[test]
    fn a_moment_says_nothing() {
        let looks = [look(0, 0, 0, 3000.0), look(19, 19, 19, 3000.0)];
        assert_eq!(CpuWindow::of(&[&looks[0], &looks[1]]), None);
        assert_eq!(CpuWindow::of(&[]), None);
    }
}
