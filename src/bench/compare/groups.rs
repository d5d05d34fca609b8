//! Runs side by side: what can be compared, what cannot and why.

use std::collections::BTreeMap;

use super::judge::{Call, Judgement, Limits, Pair, judge_all};
use super::samples::{Quartiles, Series};
use crate::bench::points::{Key, Point};

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Median and quartiles, nanoseconds; none without a clean sample.
    pub quartiles: Option<Quartiles>,
    /// Clean samples.
    pub samples: usize,
    /// Samples left out because they are tainted.
    pub tainted: usize,
}

/// One line of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was measured.
    pub key: Key,
    /// What was varied.
    pub config: String,
    /// Which of the compared runs, from 0; the baseline is not counted.
    pub run: usize,
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

type Group = (Key, String);

#[derive(Default)]
struct Gathered {
    times: Vec<f64>,
    cycles: Vec<f64>,
    tainted: usize,
}

impl Gathered {
    fn add(&mut self, point: &Point) {
        if !point.tainted.is_empty() {
            self.tainted += point.t_ns.len();
            return;
        }
        self.times.extend(&point.t_ns);
        if point.sm_mhz.len() == point.t_ns.len() {
            self.cycles
                .extend(point.t_ns.iter().zip(&point.sm_mhz).map(|(ns, mhz)| ns * mhz / 1e3));
        }
    }

    fn side(&self) -> Side {
        let series = Series::new(self.times.iter().copied());
        Side { quartiles: series.quartiles(), samples: series.len(), tainted: self.tainted }
    }

    /// Cycles, where every time has its clock.
    fn cycles(&self) -> Option<Series> {
        let whole = !self.cycles.is_empty() && self.cycles.len() == self.times.len();
        whole.then(|| Series::new(self.cycles.iter().copied()))
    }
}

fn gather(points: &[Point]) -> BTreeMap<Group, Gathered> {
    let mut groups: BTreeMap<Group, Gathered> = BTreeMap::new();
    for point in points {
        let group = (point.key.clone(), point.config.clone().unwrap_or_default());
        groups.entry(group).or_default().add(point);
    }
    groups
}

/// Compares every run with the first. Only what agrees in kernel, shape, number format, device and configuration is compared.
pub fn compare(runs: &[Vec<Point>], limits: &Limits) -> Comparison {
    let mut gathered = runs.iter().map(|points| gather(points));
    let Some(base) = gathered.next() else { return Comparison::default() };
    let mut comparison = Comparison::default();
    let mut pairs = Vec::new();
    for (run, groups) in gathered.enumerate() {
        for (group, after) in &groups {
            match base.get(group) {
                Some(before) => {
                    pairs.push(pair(before, after));
                    let sides = (before.side(), after.side());
                    comparison.rows.push(Row {
                        key: group.0.clone(),
                        config: group.1.clone(),
                        run,
                        sides,
                        judgement: Judgement::default(),
                    });
                }
                None => comparison.alone.push(alone(group, run + 1, &base)),
            }
        }
        let missing = base.keys().filter(|group| !groups.contains_key(*group));
        comparison.alone.extend(missing.map(|group| alone(group, 0, &groups)));
    }
    comparison.alone.dedup();
    for (row, judgement) in comparison.rows.iter_mut().zip(judge_all(&pairs, limits)) {
        row.judgement = judgement;
    }
    comparison
}

fn pair(before: &Gathered, after: &Gathered) -> Pair {
    let series = |side: &Gathered| Series::new(side.times.iter().copied());
    Pair { times: (series(before), series(after)), cycles: before.cycles().zip(after.cycles()) }
}

/// Why a group has no counterpart: the nearest thing on the other side differs in what may not differ.
fn alone(group: &Group, run: usize, others: &BTreeMap<Group, Gathered>) -> Alone {
    let (key, config) = group;
    let without_device = |key: &Key| Key { device: None, ..key.clone() };
    let elsewhere = others.keys().find(|(other, _)| {
        without_device(other) == without_device(key) && other.device != key.device
    });
    let other_config = others.keys().any(|(other, _)| other == key);
    let why = match elsewhere {
        Some((other, _)) if !other_config => format!(
            "the other side was measured on {}",
            other.device.as_deref().unwrap_or("a device it does not name")
        ),
        _ if other_config => "the other side has other configurations of it only".to_owned(),
        _ => "the other side does not have it".to_owned(),
    };
    Alone { key: key.clone(), config: config.clone(), run, why }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::points::parse_line;

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
        let comparison = compare(&[before, after], &Limits::default());
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
    fn tainted_samples_are_counted_and_not_judged() {
        let clean = format!("name=a t_us={}", twelve(10.0));
        let before = run(&[&clean]);
        let after = run(&[&clean, "name=a t_us=90,95,99 tainted=shared"]);
        let comparison = compare(&[before, after], &Limits::default());
        let row = &comparison.rows[0];
        assert_eq!(
            (row.judgement.call, row.sides.1.samples, row.sides.1.tainted),
            (Call::Same, 12, 3)
        );
    }

    #[test]
    fn nothing_compares_with_nothing() {
        assert_eq!(compare(&[], &Limits::default()), Comparison::default());
        assert_eq!(compare(&[Vec::new(), Vec::new()], &Limits::default()), Comparison::default());
    }
}
