//! Runs side by side: what can be compared, what cannot and why.

use std::collections::{BTreeMap, BTreeSet};

use super::judge::{Call, Judgement, Limits, Sides, judge_each};
#[cfg(doc)]
use super::reservoir::DRAWN;
use super::reservoir::Reservoir;
use super::samples::{Quartiles, Series};
use crate::runs::journal::Regime;
use crate::runs::points::{Key, Point};

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
    regime: Regime,
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
    pub fn add(&mut self, point: Point, regime: Regime) {
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
        points.iter().for_each(|point| groups.add(point.clone(), Regime::default()));
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
mod tests {
    use super::*;
    use crate::runs::points::parse_line;

    fn run(lines: &[&str]) -> Vec<Point> {
        lines.iter().map(|line| parse_line(line).expect("a point")).collect()
    }

    fn twelve(center: f64) -> String {
        (0..12).map(|at| (center + f64::from(at) * 0.01).to_string()).collect::<Vec<_>>().join(",")
    }

    #[test]
    fn groups_meet_their_like_and_the_rest_is_told() {
        let before = run(&[
            &format!("name=gemm m=1 device=T4 t_us={}", twelve(100.0)),
            "name=old t_us=1",
            "name=moved device=T4 t_us=5",
        ]);
        let after = run(&[
            &format!("name=gemm m=1 device=T4 t_us={}", twelve(110.0)),
            "name=moved device=H200 t_us=2",
        ]);
        let comparison = compare(&[before, after], |_| Limits::default());
        let row = &comparison.rows[0];
        assert_eq!((comparison.rows.len(), row.judgement.call), (1, Call::Slower));
        let time = row.judgement.time.expect("samples");
        assert!(time.interval.contains(0.1), "{time:?}");
        let whys: Vec<&str> = comparison.alone.iter().map(|one| one.why.as_str()).collect();
        assert_eq!(
            whys,
            [
                "the other side was measured on T4",
                "the other side was measured on H200",
                "the other side does not have it"
            ]
        );
    }

    #[test]
    fn variants_are_series_of_their_own_and_the_change_is_named() {
        let point = |config: Option<&str>| Point {
            config: config.map(str::to_owned),
            ..parse_line(&format!("name=gemm m=1 t_us={}", twelve(100.0))).expect("a point")
        };
        for (before, after, whys) in [
            (
                Some("variant=a"),
                Some("variant=b"),
                [
                    "the other side has it as variant=a only",
                    "the other side has it as variant=b only",
                ],
            ),
            (
                None,
                Some("variant=b"),
                [
                    "the other side does not say in which configuration",
                    "the other side has it as variant=b only",
                ],
            ),
        ] {
            let sides = [vec![point(before)], vec![point(after)]];
            let comparison = compare(&sides, |_| Limits::default());
            let said: Vec<&str> = comparison.alone.iter().map(|one| &*one.why).collect();
            assert_eq!((comparison.rows.len(), said), (0, whys.to_vec()));
        }
        let same = vec![point(Some("variant=a"))];
        assert_eq!(compare(&[same.clone(), same], |_| Limits::default()).rows.len(), 1);
    }

    #[test]
    fn tainted_samples_are_counted_and_not_judged() {
        let clean = format!("name=a t_us={}", twelve(10.0));
        let before = run(&[&clean]);
        let after = run(&[&clean, "name=a t_us=90,95,99 tainted=shared"]);
        let comparison = compare(&[before, after], |_| Limits::default());
        let row = &comparison.rows[0];
        assert_eq!(
            (row.judgement.call, row.sides.1.samples, row.sides.1.tainted),
            (Call::Same, 12, 3)
        );
    }

    #[test]
    fn regimes_are_never_mixed_and_limits_are_those_of_the_kernel() {
        let groups = |regime: Regime, center: f64| {
            let mut groups = Groups::default();
            for point in run(&[&format!("name=a t_us={}", twelve(center))]) {
                groups.add(point, regime);
            }
            groups
        };
        let sides = vec![groups(Regime::Pulse, 10.0), groups(Regime::Sustained, 11.0)];
        let refused = compare_groups(sides, |_| Limits::default());
        assert_eq!(refused.rows, []);
        let why = "the other side was measured in pulses, this one sustained";
        assert_eq!(refused.alone[0].why, why);
        for (noise, call) in [(0.001, Call::Slower), (0.1, Call::Same)] {
            let sides = vec![groups(Regime::Pulse, 10.0), groups(Regime::Pulse, 11.0)];
            let row = &compare_groups(sides, |_| Limits::for_noise(noise)).rows[0];
            assert_eq!(
                (row.judgement.call, row.practical),
                (call, Limits::for_noise(noise).practical)
            );
        }
    }

    #[test]
    fn nothing_compares_with_nothing() {
        assert_eq!(compare(&[], |_| Limits::default()), Comparison::default());
        assert_eq!(
            compare(&[Vec::new(), Vec::new()], |_| Limits::default()),
            Comparison::default()
        );
    }
}
