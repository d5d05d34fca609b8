//! Runs side by side: what can be compared, what cannot and why.

use std::collections::{BTreeMap, BTreeSet};

use super::judge::{Call, Judgement, Limits, Sides, judge_each};
#[cfg(doc)]
use super::reservoir::DRAWN;
use super::reservoir::Reservoir;
use super::samples::{Quartiles, Series};
use crate::runs::run_log::SampleMode;
use crate::runs::samples::{Key, Point};

/// Most configurations that are named where none fits.
const NAMED: usize = 3;

/// One side of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// Median and quartiles, nanoseconds; none without a clean sample.
    pub quartiles: Option<Quartiles>,
    /// Clean samples that were compared.
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
    /// The run it is in: 0 is the baseline.
    pub run: usize,
    /// Why it was not compared.
    pub why: String,
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

#[derive(Clone, Debug, Default)]
struct Gathered {
    clean: Reservoir,
    tainted: usize,
    /// Why, each reason once.
    taints: BTreeSet<String>,
}

/// Samples of one run by what they measure. Points are taken one at a time, and of a kernel no more than [`DRAWN`]
/// samples are held: a journal of any length is compared in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct Groups(BTreeMap<Group, Gathered>);

impl Groups {
    /// Adds a point that was measured under a regime.
    pub fn add(&mut self, point: Point, regime: SampleMode) {
        let group = Group { key: point.key, config: point.config.unwrap_or_default(), regime };
        let gathered = self.0.entry(group).or_default();
        if !point.tainted.is_empty() {
            gathered.tainted += point.t_ns.len();
            gathered.taints.extend(point.tainted);
            return;
        }
        let clocks = Some(&point.sm_mhz).filter(|clocks| clocks.len() == point.t_ns.len());
        for (at, ns) in point.t_ns.iter().enumerate() {
            gathered.clean.add(*ns, clocks.map(|clocks| ns * clocks[at] / 1e3));
        }
    }

    /// Whether no point was added.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Every kernel and configuration, each with what its samples come to.
    pub fn sides(self) -> impl Iterator<Item = (Key, String, Side)> {
        self.0
            .into_iter()
            .map(|(group, gathered)| (group.key, group.config, gathered.sorted().side()))
    }

    fn sorted(self) -> BTreeMap<Group, Sorted> {
        self.0.into_iter().map(|(group, gathered)| (group, gathered.sorted())).collect()
    }
}

/// Samples of one group, ready to be compared.
struct Sorted {
    times: Series,
    /// Cycles, where every time has its clock.
    cycles: Option<Series>,
    all: usize,
    tainted: usize,
    taints: Vec<String>,
}

impl Gathered {
    fn sorted(self) -> Sorted {
        let all = self.clean.seen();
        let (times, cycles) = self.clean.into_parts();
        Sorted {
            times: Series::new(times),
            cycles: cycles.map(Series::new),
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
            samples: self.times.len(),
            all: self.all,
            tainted: self.tainted,
            taints: self.taints.clone(),
        }
    }
}

/// Compares every run with the first, all of them measured under one regime.
pub fn compare(runs: &[Vec<Point>], limits: impl Fn(&Key) -> Limits) -> Comparison {
    let gather = |points: &Vec<Point>| {
        let mut groups = Groups::default();
        points.iter().for_each(|point| groups.add(point.clone(), SampleMode::default()));
        groups
    };
    compare_groups(runs.iter().map(gather).collect(), limits)
}

/// Compares every run with the first. Only what agrees in kernel, shape, number format, device, configuration and regime is compared.
pub fn compare_groups(runs: Vec<Groups>, limits: impl Fn(&Key) -> Limits) -> Comparison {
    let mut runs = runs.into_iter().map(Groups::sorted);
    let Some(base) = runs.next() else { return Comparison::default() };
    let runs: Vec<_> = runs.collect();
    let mut comparison = Comparison::default();
    let mut pairs = Vec::new();
    for (run, groups) in runs.iter().enumerate() {
        for (group, after) in groups {
            let Some(before) = base.get(group) else {
                comparison.alone.push(alone(group, run + 1, &base));
                continue;
            };
            let limits = limits(&group.key);
            pairs.push((sides(before, after), limits));
            comparison.rows.push(Row {
                key: group.key.clone(),
                config: group.config.clone(),
                run,
                practical: limits.practical,
                sides: (before.side(), after.side()),
                judgement: Judgement::default(),
            });
        }
        let missing = base.keys().filter(|group| !groups.contains_key(*group));
        comparison.alone.extend(missing.map(|group| alone(group, 0, groups)));
    }
    comparison.alone.dedup();
    for (row, judgement) in comparison.rows.iter_mut().zip(judge_each(&pairs)) {
        row.judgement = judgement;
    }
    comparison
}

fn sides<'a>(before: &'a Sorted, after: &'a Sorted) -> Sides<'a> {
    let cycles = before.cycles.as_ref().zip(after.cycles.as_ref());
    Sides { times: (&before.times, &after.times), cycles }
}

/// Why a group has no counterpart: the nearest thing on the other side differs in what may not differ.
fn alone(group: &Group, run: usize, others: &BTreeMap<Group, Sorted>) -> Alone {
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
    Alone { key: group.key.clone(), config: group.config.clone(), run, why }
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
