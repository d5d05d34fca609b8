//! How far the ratio of two medians can be trusted: a bias-corrected and accelerated bootstrap (Efron 1987) on its logarithm.
//!
//! A resample of the median needs no resampling: it is an order statistic of the sorted samples at a Beta-distributed place. So a million
//! samples cost no more than thirty, and the distribution is the bootstrap's own, not an approximation of it.

use statrs::distribution::{ContinuousCDF, Normal};

use super::random::SplitMix;
use super::samples::{Series, quantile};

const SEED: u64 = 0x77_61_72_70;

/// A confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The shares that two logarithms stand for.
    pub(super) fn exp_m1(self) -> Self {
        Self { low: self.low.exp_m1(), high: self.high.exp_m1() }
    }

    /// Whether it lies within ±`limit`.
    pub fn within(&self, limit: f64) -> bool {
        -limit <= self.low && self.high <= limit
    }
}

#[cfg(test)]
impl Interval {
    /// Whether a value lies within.
    pub(super) fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// ln(median of `b` / median of `a`) and its interval at this confidence, from `count` resamples; `None` when a series is empty.
pub fn ratio_of_medians(
    a: &Series,
    b: &Series,
    confidence: f64,
    count: usize,
) -> Option<(f64, Interval)> {
    let observed = (b.median()? / a.median()?).ln();
    let mut random = SplitMix::new(SEED);
    let mut resample = || {
        let (a, b) = (
            median_of_resample(a.sorted(), &mut random),
            median_of_resample(b.sorted(), &mut random),
        );
        (b / a).ln()
    };
    let mut resamples: Vec<f64> = (0..count).map(|_| resample()).collect();
    resamples.sort_unstable_by(f64::total_cmp);
    Some((observed, bca(&resamples, observed, acceleration_of(a, b), confidence)))
}

/// The interval from sorted resamples, the observed value and the acceleration.
pub fn bca(resamples: &[f64], observed: f64, acceleration: f64, confidence: f64) -> Interval {
    let normal = Normal::standard();
    let count = resamples.len() as f64;
    let below = resamples.partition_point(|value| *value < observed);
    let upto = resamples.partition_point(|value| *value <= observed);
    let share = ((below + upto) as f64 / (2.0 * count)).clamp(0.5 / count, 1.0 - 0.5 / count);
    let bias = normal.inverse_cdf(share);
    let end = |tail: f64| {
        let shifted = bias + normal.inverse_cdf(tail);
        let place = normal.cdf(bias + shifted / (1.0 - acceleration * shifted));
        quantile(resamples, place).unwrap_or(observed)
    };
    let tail = (1.0 - confidence) / 2.0;
    Interval { low: end(tail), high: end(1.0 - tail) }
}

/// The median of a resample, drawn directly as order statistics.
fn median_of_resample(sorted: &[f64], random: &mut SplitMix) -> f64 {
    let n = sorted.len();
    if n == 1 {
        return sorted[0];
    }
    let at = |place: f64| sorted[((place * n as f64) as usize).min(n - 1)];
    let half = (n / 2) as f64;
    if n % 2 == 1 {
        return at(beta(half + 1.0, half + 1.0, random));
    }
    let lower = beta(half, half + 1.0, random);
    let gap = 1.0 - random.uniform().powf(1.0 / half);
    at(lower).midpoint(at(lower + (1.0 - lower) * gap))
}

fn beta(a: f64, b: f64, random: &mut SplitMix) -> f64 {
    let (x, y) = (random.gamma(a), random.gamma(b));
    x / (x + y)
}

/// Second and third moments of what leaving one sample out does to the log median.
#[derive(Clone, Copy, Debug)]
struct Jackknife {
    squares: f64,
    cubes: f64,
}

impl Jackknife {
    /// Leaving one out moves the median to one of three values only, so nothing need be recomputed.
    fn of(sorted: &[f64]) -> Self {
        let n = sorted.len();
        if n < 2 {
            return Self { squares: 0.0, cubes: 0.0 };
        }
        let k = n / 2;
        let mean = |a: f64, b: f64| a.midpoint(b).ln();
        let groups: [(f64, usize); 3] = if n.is_multiple_of(2) {
            [(sorted[k].ln(), k), (sorted[k - 1].ln(), k), (0.0, 0)]
        } else {
            [
                (mean(sorted[k], sorted[k + 1]), k),
                (mean(sorted[k - 1], sorted[k + 1]), 1),
                (mean(sorted[k - 1], sorted[k]), k),
            ]
        };
        let all = n as f64;
        let centre = groups.iter().map(|(value, times)| value * *times as f64).sum::<f64>() / all;
        let moment = |power: i32| {
            let influence = |value: f64| ((all - 1.0) * (centre - value)).powi(power);
            groups.iter().map(|(value, times)| influence(*value) * *times as f64).sum::<f64>()
        };
        Self { squares: moment(2) / all.powi(2), cubes: moment(3) / all.powi(3) }
    }

    /// Of a statistic that counts the other way.
    fn negated(self) -> Self {
        Self { cubes: -self.cubes, ..self }
    }
}

/// How the spread of the statistic changes with its value, from leaving out one sample at a time.
pub(super) fn acceleration_of(a: &Series, b: &Series) -> f64 {
    let parts = [Jackknife::of(a.sorted()).negated(), Jackknife::of(b.sorted())];
    let squares: f64 = parts.iter().map(|part| part.squares).sum();
    let cubes: f64 = parts.iter().map(|part| part.cubes).sum();
    if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 }
}
