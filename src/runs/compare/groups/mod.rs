//! Runs side by side: what can be compared, what cannot and why.

use std::collections::{BTreeMap, BTreeSet};

use super::blocks::{Design, Spread};
use super::judge::{Call, Judgement, Limits};
use super::processes::{Processes, judge_processes};
#[cfg(doc)]
use super::reservoir::DRAWN;
use super::reservoir::Reservoir;
use super::samples::{Quartiles, Series};
use crate::runs::run_log::SampleMode;
use crate::runs::samples::{Key, Point};
use crate::text::clean;

/// Most configurations that are named where none fits.
const NAMED: usize = 3;
/// Samples of one process its median is taken from.
const OF_PROCESS: usize = 1 << 12;

/// How runs are compared.
pub struct Terms<'a> {
    /// When a difference counts.
    pub limits: Limits,
    /// How the processes of the sides belong together.
    pub design: Design,
    /// How much processes that measure a kernel differ, where that is known.
    pub known: &'a dyn Fn(&Key) -> Option<Spread>,
}

impl Default for Terms<'_> {
    fn default() -> Self {
        Self { limits: Limits::default(), design: Design::default(), known: &|_| None }
    }
}

/// One side of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// Median and quartiles, nanoseconds; none without a clean sample.
    pub quartiles: Option<Quartiles>,
    /// Processes with a clean sample: each counts once.
    pub processes: usize,
    /// Clean samples their quartiles are of.
    pub samples: usize,
    /// Clean samples there are; beyond [`DRAWN`] they are drawn from.
    pub all: usize,
    /// Samples left out because they are tainted.
    pub tainted: usize,
    /// Why they are, each reason once.
    pub taints: Vec<String>,
}

/// One line of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// What was measured.
    pub key: Key,
    /// What was varied.
    pub config: String,
    /// Which of the compared runs, from 0; the baseline is not counted.
    pub run: usize,
    /// Least change that counts.
    pub practical: f64,
    /// Before and after.
    pub sides: (Side, Side),
    /// The answer.
    pub judgement: Judgement,
}

/// Something that stands on one side only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alone {
    /// What was measured.
    pub key: Key,
    /// What was varied.
    pub config: String,
    /// Which of the compared runs, from 0; the baseline is not counted.
    pub run: usize,
    /// Whether the baseline has it and this run does not; else this run has it and the baseline does not.
    pub is_missing: bool,
    /// Why it was not compared.
    pub why: String,
}

impl Alone {
    /// The side that has it, and the one that does not, counted from the baseline.
    pub fn sides(&self) -> (usize, usize) {
        let run = self.run + 1;
        if self.is_missing { (0, run) } else { (run, 0) }
    }

    /// One line about it; the names are those of all sides.
    pub fn line(&self, names: &[String]) -> String {
        let what = format!("{} {}", self.key, self.config);
        let (side, other) = self.sides();
        format!("{} in {} against {}: {}", what.trim(), names[side], names[other], self.why)
    }
}

/// Everything a comparison says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// What was compared.
    pub rows: Vec<Row>,
    /// What was not.
    pub alone: Vec<Alone>,
}

impl Comparison {
    /// Number of rows of each call.
    pub fn count(&self, call: Call) -> usize {
        self.rows.iter().filter(|row| row.judgement.call == call).count()
    }
}

/// What may be compared with its like.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    key: Key,
    config: String,
    regime: SampleMode,
}

/// What one process came to.
#[derive(Clone, Copy, Debug)]
struct Process {
    number: usize,
    median: f64,
    cycles: Option<f64>,
}

#[derive(Clone, Debug)]
struct Gathered {
    clean: Reservoir,
    /// Processes that have ended.
    ended: Vec<Process>,
    /// The one whose samples come now, by its number.
    now: (usize, Reservoir),
    tainted: usize,
    /// Why, each reason once.
    taints: BTreeSet<String>,
}

impl Gathered {
    fn new(process: usize) -> Self {
        Self {
            clean: Reservoir::default(),
            ended: Vec::new(),
            now: (process, Reservoir::new(OF_PROCESS)),
            tainted: 0,
            taints: BTreeSet::new(),
        }
    }

    fn add(&mut self, process: usize, time: f64, cycles: Option<f64>) {
        if self.now.0 != process {
            self.end_process(process);
        }
        self.now.1.add(time, cycles);
        self.clean.add(time, cycles);
    }

    /// Keeps the median of the process that has ended.
    fn end_process(&mut self, next: usize) {
        let (number, samples) =
            std::mem::replace(&mut self.now, (next, Reservoir::new(OF_PROCESS)));
        let (times, cycles) = samples.into_parts();
        let cycles = cycles.and_then(|cycles| Series::new(cycles).median());
        let median = Series::new(times).median();
        self.ended.extend(median.map(|median| Process { number, median, cycles }));
    }
}

/// Samples of one side by what they measure. Points are taken one at a time; of a kernel no more than [`DRAWN`] samples are held, and of a
/// process that has ended its median: files of any length are compared in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    groups: BTreeMap<Group, Gathered>,
    process: usize,
    points: usize,
}

impl Groups {
    /// What is added from here on was measured by another process.
    pub fn next_process(&mut self) {
        self.process += 1;
    }

    /// Adds a point that was measured under a regime.
    pub fn add(&mut self, point: Point, regime: SampleMode) {
        let group = Group { key: point.key, config: point.config.unwrap_or_default(), regime };
        let process = self.process;
        self.points += 1;
        let gathered = self.groups.entry(group).or_insert_with(|| Gathered::new(process));
        if !point.tainted.is_empty() {
            gathered.tainted += point.t_ns.len();
            gathered.taints.extend(point.tainted);
            return;
        }
        let clocks = Some(&point.sm_mhz).filter(|clocks| clocks.len() == point.t_ns.len());
        for (at, ns) in point.t_ns.iter().enumerate() {
            gathered.add(process, *ns, clocks.map(|clocks| ns * clocks[at] / 1e3));
        }
    }

    /// Adds what other processes measured.
    pub fn absorb(&mut self, other: Self) {
        for (group, mut gathered) in other.groups {
            gathered.end_process(0);
            let own = self.groups.entry(group).or_insert_with(|| Gathered::new(0));
            let moved = |one: Process| Process { number: self.process + one.number, ..one };
            own.ended.extend(gathered.ended.into_iter().map(moved));
            own.clean.absorb(gathered.clean);
            own.tainted += gathered.tainted;
            own.taints.extend(gathered.taints);
        }
        self.process += other.process + 1;
        self.points += other.points;
    }

    /// Number of points that were added.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Every kernel and configuration, each with what its samples come to.
    pub fn sides(self) -> impl Iterator<Item = (Key, String, Side)> {
        self.groups
            .into_iter()
            .map(|(group, gathered)| (group.key, group.config, gathered.sorted().side()))
    }

    fn sorted(self) -> BTreeMap<Group, Sorted> {
        self.groups.into_iter().map(|(group, gathered)| (group, gathered.sorted())).collect()
    }
}

/// One group, ready to be compared.
struct Sorted {
    times: Series,
    processes: Vec<Process>,
    all: usize,
    tainted: usize,
    taints: Vec<String>,
}

impl Gathered {
    fn sorted(mut self) -> Sorted {
        self.end_process(0);
        let all = self.clean.seen();
        Sorted {
            times: Series::new(self.clean.into_parts().0),
            processes: self.ended,
            all,
            tainted: self.tainted,
            taints: self.taints.into_iter().collect(),
        }
    }
}

impl Sorted {
    fn side(&self) -> Side {
        Side {
            quartiles: self.times.quartiles(),
            processes: self.processes.len(),
            samples: self.times.len(),
            all: self.all,
            tainted: self.tainted,
            taints: self.taints.clone(),
        }
    }
}

impl Row {
    /// Why nothing of one side is judged, where that was measured.
    fn all_tainted(&self) -> Option<String> {
        let side = [&self.sides.0, &self.sides.1]
            .into_iter()
            .find(|side| side.samples == 0 && side.tainted > 0)?;
        let taints = side.taints.join("; ");
        let taints = clean(&taints, false);
        Some(format!(
            "all samples of one side are tainted ({taints}); run both in turn with `warpscope versus`"
        ))
    }
}

/// Compares every run with the first. Only what agrees in kernel, shape, number format, device, configuration and regime is compared.
pub fn compare_groups(runs: Vec<Groups>, terms: &Terms<'_>) -> Comparison {
    let mut runs = runs.into_iter().map(Groups::sorted);
    let Some(base) = runs.next() else { return Comparison::default() };
    let runs: Vec<_> = runs.collect();
    let mut comparison = Comparison::default();
    let mut pairs = Vec::new();
    for (run, groups) in runs.iter().enumerate() {
        for (group, after) in groups {
            let Some(before) = base.get(group) else {
                comparison.alone.push(alone(group, (run, false), &base));
                continue;
            };
            pairs.push(processes(before, after, terms.design, (terms.known)(&group.key)));
            comparison.rows.push(Row {
                key: group.key.clone(),
                config: group.config.clone(),
                run,
                practical: terms.limits.practical,
                sides: (before.side(), after.side()),
                judgement: Judgement::default(),
            });
        }
        let missing = base.keys().filter(|group| !groups.contains_key(*group));
        comparison.alone.extend(missing.map(|group| alone(group, (run, true), groups)));
    }
    for (row, judgement) in comparison.rows.iter_mut().zip(judge_processes(&pairs, &terms.limits)) {
        row.judgement = judgement;
        if let Some(why) = row.all_tainted() {
            row.judgement.reason = why;
        }
    }
    comparison.rows.sort_by_key(|row| (row.run, interest(row.judgement.call)));
    comparison
}

/// What changed stands first, what did not last.
fn interest(call: Call) -> u8 {
    match call {
        Call::Slower => 0,
        Call::Faster => 1,
        Call::Ambiguous => 2,
        Call::Same => 3,
    }
}

/// Medians of both sides; of processes that took turns, those whose partner is there too.
fn processes(before: &Sorted, after: &Sorted, design: Design, known: Option<Spread>) -> Processes {
    let kept = |one: &Sorted, other: &Sorted| -> Vec<Process> {
        let has_partner = |process: &&Process| {
            design == Design::Apart
                || other.processes.iter().any(|two| two.number == process.number)
        };
        one.processes.iter().filter(has_partner).copied().collect()
    };
    let (before, after) = (kept(before, after), kept(after, before));
    let medians = |side: &[Process]| side.iter().map(|process| process.median).collect();
    let cycles = |side: &[Process]| side.iter().map(|process| process.cycles).collect();
    let times = (medians(&before), medians(&after));
    let cycles: Option<(Vec<f64>, Vec<f64>)> = Option::zip(cycles(&before), cycles(&after));
    Processes { times, cycles, design, known }
}

/// Why a group has no counterpart: the nearest thing on the other side differs in what may not differ.
fn alone(
    group: &Group,
    (run, is_missing): (usize, bool),
    others: &BTreeMap<Group, Sorted>,
) -> Alone {
    let same_key = || others.keys().filter(|other| other.key == group.key);
    let without_device = |key: &Key| Key { device: None, ..key.clone() };
    let elsewhere = others.keys().find(|other| {
        other.key.device != group.key.device
            && without_device(&other.key) == without_device(&group.key)
    });
    let why = if let Some(other) = same_key().find(|other| other.config == group.config) {
        format!("the other side was measured {}, this one {}", other.regime, group.regime)
    } else if same_key().next().is_some() {
        let configs: BTreeSet<&str> = same_key().map(|other| other.config.as_str()).collect();
        elsewise(&configs)
    } else if let Some(other) = elsewhere {
        let device = other.key.device.as_deref().unwrap_or("a device it does not name");
        format!("the other side was measured on {device}")
    } else {
        "the other side does not have it".to_owned()
    };
    Alone { key: group.key.clone(), config: group.config.clone(), run, is_missing, why }
}

/// What the other side has of something in another configuration.
fn elsewise(configs: &BTreeSet<&str>) -> String {
    let mut named: Vec<&str> = configs.iter().copied().filter(|one| !one.is_empty()).collect();
    let others = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    let more = if others > 0 { format!(" and {others} others") } else { String::new() };
    match named.is_empty() {
        true => "the other side does not say in which configuration".to_owned(),
        false => format!("the other side has it as {}{more} only", named.join(", ")),
    }
}

#[cfg(test)]
mod tests;
