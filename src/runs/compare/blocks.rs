//! What two sides of processes say of a change: the process is the unit, its samples only tell where its median lies.
//!
//! Samples of one process are not independent: memory lies where it lies, clocks and neighbours last longer than a sample. Judged as if they
//! were, half of all comparisons of a program with itself are called different on a busy machine. So a process counts once, by the logarithm of its
//! median; with few processes the interval is wide, and with one on each side there is none unless the spread between processes is known.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::bootstrap::Interval;

/// Share of the blocks that is cut off on either side before a mean is taken: one disturbed process moves nothing.
const TRIMMED: f64 = 0.2;
/// Fewest blocks that are trimmed.
const TRIM_FROM: usize = 6;

/// How the blocks of two sides belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Design {
    /// They were run at different times.
    #[default]
    Apart,
    /// They took turns: the nth of one side ran beside the nth of the other.
    Turns,
}

/// How much medians of processes that run the same differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Standard deviation of the logarithm of the median.
    pub deviation: f64,
    /// Degrees of freedom it was drawn from.
    pub freedom: f64,
}

/// A change and how well it is known, in logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    /// The change.
    pub change: f64,
    /// Its standard error with its degrees of freedom; none where nothing tells it.
    pub error: Option<Spread>,
}

impl Spread {
    /// The spread of medians that were measured one process after another while nothing changed; none of fewer than three.
    pub fn of(medians: &[f64]) -> Option<Self> {
        let logs: Vec<f64> = medians.iter().map(|median| median.ln()).collect();
        let sane = logs.len() >= 3 && logs.iter().all(|log| log.is_finite());
        sane.then(|| Self { deviation: variance(&logs).sqrt(), freedom: logs.len() as f64 - 1.0 })
    }

    fn distribution(self) -> Option<StudentsT> {
        StudentsT::new(0.0, 1.0, self.freedom).ok()
    }
}

impl Estimate {
    /// The change from medians of processes before and after; none without one on each side.
    pub(super) fn new(
        before: &[f64],
        after: &[f64],
        design: Design,
        known: Option<Spread>,
    ) -> Option<Self> {
        let logs = |medians: &[f64]| medians.iter().map(|median| median.ln()).collect::<Vec<_>>();
        let (before, after) = (logs(before), logs(after));
        if before.is_empty() || after.is_empty() {
            return None;
        }
        if design == Design::Turns && before.len() == after.len() && before.len() > 1 {
            let differences: Vec<f64> =
                before.iter().zip(&after).map(|(before, after)| after - before).collect();
            let mean = Mean::of(&differences);
            return Some(Self { change: mean.value, error: mean.error() });
        }
        let means = (Mean::of(&before), Mean::of(&after));
        let error = match (before.len(), after.len()) {
            (1, 1) => known.map(|one| one.times(2.0)),
            (1, _) => known.or(means.1.spread).map(|one| one.times(1.0 + 1.0 / means.1.size)),
            (_, 1) => known.or(means.0.spread).map(|one| one.times(1.0 + 1.0 / means.0.size)),
            _ => welch(&means.0, &means.1),
        };
        Some(Self { change: means.1.value - means.0.value, error })
    }

    /// The interval that holds the change with this confidence.
    pub(super) fn interval(&self, confidence: f64) -> Option<Interval> {
        let error = self.error?;
        let reach =
            error.deviation * error.distribution()?.inverse_cdf(f64::midpoint(1.0, confidence));
        Some(Interval { low: self.change - reach, high: self.change + reach })
    }

    /// Probability of a change as large where there is none.
    pub(super) fn p(&self) -> Option<f64> {
        let error = self.error?;
        if error.deviation <= 0.0 {
            return Some(if self.change.abs() > 0.0 { 0.0 } else { 1.0 });
        }
        let distance = (self.change / error.deviation).abs();
        Some((2.0 * error.distribution()?.sf(distance)).min(1.0))
    }

    /// How many blocks each side needs until the change, if it stays as it is, stands out with probability `alpha`.
    pub(super) fn blocks_to_decide(
        &self,
        blocks: usize,
        practical: f64,
        alpha: f64,
    ) -> Option<usize> {
        let error = self.error?;
        let distance = self.change.abs().max((practical - self.change.abs()).abs());
        let wanted = error.distribution()?.inverse_cdf(1.0 - alpha / 2.0);
        let factor = (wanted * error.deviation / distance).powi(2);
        let more = (blocks as f64 * factor).ceil();
        (more.is_finite() && more < 1e6).then_some((more as usize).max(blocks + 1))
    }
}

impl Spread {
    /// With a variance so many times as large.
    fn times(self, factor: f64) -> Self {
        Self { deviation: self.deviation * factor.sqrt(), ..self }
    }
}

/// A mean of blocks, of many without the outermost ones.
struct Mean {
    value: f64,
    size: f64,
    /// Of one block; none of a single one.
    spread: Option<Spread>,
    /// Variance of the mean.
    variance: f64,
}

impl Mean {
    /// A trimmed mean has the error of Yuen (1974): winsorised variance, and as many degrees of freedom as blocks are left.
    fn of(logs: &[f64]) -> Self {
        let mut sorted = logs.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let size = sorted.len();
        let cut = if size < TRIM_FROM { 0 } else { (TRIMMED * size as f64) as usize };
        let kept = &sorted[cut..size - cut];
        let value = kept.iter().sum::<f64>() / kept.len() as f64;
        let (low, high) = (kept[0], kept[kept.len() - 1]);
        let winsorised: Vec<f64> = sorted.iter().map(|log| log.clamp(low, high)).collect();
        let left = kept.len() as f64;
        let square = (size as f64 - 1.0) / (left * (left - 1.0)) * variance(&winsorised);
        let deviation = (square * size as f64).sqrt();
        let spread = (size > 1).then_some(Spread { deviation, freedom: left - 1.0 });
        Self { value, size: size as f64, spread, variance: square }
    }

    fn error(&self) -> Option<Spread> {
        let freedom = self.spread?.freedom;
        Some(Spread { deviation: self.variance.sqrt(), freedom })
    }
}

/// The error of a difference of two means that spread differently: Welch, Biometrika 34 (1947).
fn welch(one: &Mean, other: &Mean) -> Option<Spread> {
    let (first, second) = (one.spread?, other.spread?);
    let sum = one.variance + other.variance;
    let parts = one.variance.powi(2) / first.freedom + other.variance.powi(2) / second.freedom;
    let freedom = if parts > 0.0 { sum.powi(2) / parts } else { first.freedom + second.freedom };
    Some(Spread { deviation: sum.sqrt(), freedom })
}

fn variance(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests;
