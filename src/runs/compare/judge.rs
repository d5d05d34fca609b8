//! Same, faster, slower, or cannot tell: of samples that were taken in turn within one process.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::bootstrap::{Interval, ratio_of_medians};
use super::discoveries::false_discoveries;
use super::ranks::rank_sum;
use super::samples::Series;

/// What a comparison concludes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// The difference lies within the practical threshold, and that is certain.
    Same,
    /// The second takes less time.
    Faster,
    /// The second takes more time.
    Slower,
    /// It cannot be told; the reason says why.
    #[default]
    Ambiguous,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Same => "SAME",
            Self::Faster => "FASTER",
            Self::Slower => "SLOWER",
            Self::Ambiguous => "AMBIGUOUS",
        })
    }
}

/// When a difference counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Probability below which ranks count as different, over all comparisons together.
    pub alpha: f64,
    /// Least relative difference that matters: `0.01`.
    pub practical: f64,
    /// Fewest clean samples on each side.
    pub samples: usize,
    /// Resamples an interval is drawn from.
    pub resamples: usize,
    /// Confidence an interval between processes is drawn with.
    pub confidence: f64,
}

impl Limits {
    /// Threshold of a machine whose A/A noise is known: never below one per cent, never below twice the noise.
    pub fn for_noise(noise: f64) -> Self {
        Self { practical: Self::default().practical.max(2.0 * noise), ..Self::default() }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { alpha: 0.01, practical: 0.01, samples: 10, resamples: 10_000, confidence: 0.95 }
    }
}

/// A relative change with its 95% interval: `0.05` is five per cent more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Change of the median.
    pub change: f64,
    /// Interval of the change; none where nothing tells how far it may be off.
    pub interval: Option<Interval>,
}

/// The answer of one comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// What is concluded.
    pub call: Call,
    /// Why, one sentence.
    pub reason: String,
    /// Change of the time; none without samples.
    pub time: Option<Effect>,
    /// Change in clock cycles; none where clocks are not known.
    pub cycles: Option<Effect>,
    /// Probability of the ranks, adjusted for the number of comparisons.
    pub p: Option<f64>,
}

/// Two sides of one comparison: times, and cycles where clocks are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pair {
    /// Times before and after.
    pub times: (Series, Series),
    /// Cycles before and after.
    pub cycles: Option<(Series, Series)>,
}

/// As [`Pair`], of series that stay where they are.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    /// Times before and after.
    pub times: (&'a Series, &'a Series),
    /// Cycles before and after.
    pub cycles: Option<(&'a Series, &'a Series)>,
}

impl Pair {
    fn sides(&self) -> Sides<'_> {
        let cycles = self.cycles.as_ref().map(|(before, after)| (before, after));
        Sides { times: (&self.times.0, &self.times.1), cycles }
    }
}

/// Of the intervals of medians.
const CONFIDENCE: f64 = 0.95;

/// Judges one pair.
pub fn judge(pair: &Pair, limits: &Limits) -> Judgement {
    let p = rank_sum(&pair.times.0, &pair.times.1).map(|sum| sum.p);
    conclude(pair.sides(), limits, p)
}

/// Judges many pairs together.
pub fn judge_all(pairs: &[Pair], limits: &Limits) -> Vec<Judgement> {
    let pairs: Vec<_> = pairs.iter().map(|pair| (pair.sides(), *limits)).collect();
    judge_each(&pairs)
}

/// Judges many pairs together, each by limits of its own.
pub fn judge_each(pairs: &[(Sides<'_>, Limits)]) -> Vec<Judgement> {
    let p = |(sides, _): &(Sides<'_>, Limits)| Some(rank_sum(sides.times.0, sides.times.1)?.p);
    let raw: Vec<_> = pairs.iter().map(p).collect();
    pairs
        .iter()
        .zip(adjusted(&raw))
        .map(|((sides, limits), p)| conclude(*sides, limits, p))
        .collect()
}

/// The adjusted one of each probability there is.
pub(super) fn adjusted(raw: &[Option<f64>]) -> impl Iterator<Item = Option<f64>> {
    let known: Vec<f64> = raw.iter().flatten().copied().collect();
    let mut adjusted = false_discoveries(&known).into_iter();
    raw.iter().map(move |p| p.and_then(|_| adjusted.next()))
}

fn conclude(pair: Sides<'_>, limits: &Limits, p: Option<f64>) -> Judgement {
    let time = Measured::of(pair.times, limits);
    let cycles = pair.cycles.and_then(|both| Measured::of(both, limits));
    let (call, reason) = match (time, p) {
        (Some(time), Some(p)) => call(pair, limits, (time, cycles), p),
        _ => (Call::Ambiguous, NOTHING.to_owned()),
    };
    let effect = |one: Measured| one.effect();
    Judgement { call, reason, time: time.map(effect), cycles: cycles.map(effect), p }
}

fn call(
    pair: Sides<'_>,
    limits: &Limits,
    (time, cycles): (Measured, Option<Measured>),
    p: f64,
) -> (Call, String) {
    let few = pair.times.0.len().min(pair.times.1.len());
    if few < limits.samples {
        let reason = format!("{few} clean samples on one side; {} are needed", limits.samples);
        return (Call::Ambiguous, reason);
    }
    decide((time, cycles), limits, p).unwrap_or_else(|| {
        let possible = possible(time.logs);
        (Call::Ambiguous, format!("{possible} is possible; more samples would tell"))
    })
}

/// Why two sides cannot be compared.
pub(super) const NOTHING: &str = "there is nothing to compare: no clean sample on one side";

/// A change on a logarithmic scale, and what it lies in, where that is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) change: f64,
    pub(super) logs: Option<Interval>,
}

impl Measured {
    fn of((a, b): (&Series, &Series), limits: &Limits) -> Option<Self> {
        let (change, logs) = ratio_of_medians(a, b, CONFIDENCE, limits.resamples)?;
        Some(Self { change, logs: Some(logs) })
    }

    pub(super) fn effect(self) -> Effect {
        Effect { change: self.change.exp_m1(), interval: self.logs.map(Interval::exp_m1) }
    }

    fn is_within(&self, threshold: f64) -> bool {
        self.logs.is_some_and(|logs| logs.within(threshold))
    }
}

/// What times and cycles say together; nothing where a difference is possible and not shown.
pub(super) fn decide(
    (time, cycles): (Measured, Option<Measured>),
    limits: &Limits,
    p: f64,
) -> Option<(Call, String)> {
    let threshold = limits.practical.ln_1p();
    if time.is_within(threshold) {
        let reason = format!("any difference is below {:.1}%", limits.practical * 100.0);
        return Some((Call::Same, reason));
    }
    // The interval is shown and does not gate: with two clock modes it straddles both long after the ranks are apart.
    if p >= limits.alpha || time.change.abs() < threshold {
        return None;
    }
    let change = percent(time.change.exp_m1());
    let (call, word) =
        if time.change > 0.0 { (Call::Slower, "slower") } else { (Call::Faster, "faster") };
    let clocks =
        |how: &str| (Call::Ambiguous, format!("{word} in time, {how} in cycles: clocks, not code"));
    Some(match cycles {
        Some(cycles) if cycles.is_within(threshold) => clocks("same"),
        Some(cycles) if (cycles.change > 0.0) != (time.change > 0.0) => clocks("the reverse"),
        Some(_) => (call, format!("{change} in time, and in cycles")),
        None => (call, format!("{change} in time; clocks not known")),
    })
}

/// A difference that may be, in words.
pub(super) fn possible(logs: Option<Interval>) -> String {
    let ends = |logs: Interval| {
        let Interval { low, high } = logs.exp_m1();
        format!("a difference of {} to {}", percent(low), percent(high))
    };
    logs.map_or_else(|| "any difference".to_owned(), ends)
}

fn percent(share: f64) -> String {
    format!("{:+.1}%", share * 100.0)
}
