//! Where a history changed for good: E-divisive means (Matteson and James 2014) with Student's t instead of permutations, so that the same
//! history always gives the same answer (Fleming et al., "Hunter", 2023).
//!
//! Two passes: windows propose places at a lenient level; then all of them are judged together over whole segments and the weakest goes, until
//! every one that stays is significant. The place was chosen among many because it looks most like a change, so its probability is multiplied
//! by the number of places there were; without that one flat history in twenty-five has a change (measured on 200 of 120 points).

use statrs::distribution::{ContinuousCDF, StudentsT};

/// How places are searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Points looked at together.
    pub window: usize,
    /// Chance of a change where there is none, per segment.
    pub p: f64,
    /// Fewest points on either side of a change.
    pub least: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self { window: 50, p: 0.005, least: 3 }
    }
}

/// One lasting change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// First point of the new level.
    pub at: usize,
    /// Mean before, back to the change before it.
    pub before: f64,
    /// Mean from here to the next change.
    pub after: f64,
    /// Probability of so large a difference somewhere in the two segments without a change.
    pub p: f64,
}

/// Level at which a window may propose a place: the verdict over whole segments comes second.
const PROPOSAL: f64 = 0.01;

/// Every lasting change of a series, in order. A series with a value that is not finite has none before it is cleaned.
pub fn changes(series: &[f64], settings: &Settings) -> Vec<Change> {
    if series.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let mut places = proposals(series, settings);
    loop {
        let found = segments(series, &places);
        let weakest = found.iter().enumerate().max_by(|a, b| a.1.p.total_cmp(&b.1.p));
        match weakest {
            Some((at, change)) if change.p > settings.p => {
                places.remove(at);
            }
            _ => return found,
        }
    }
}

fn segments(series: &[f64], places: &[usize]) -> Vec<Change> {
    let change = |(index, at): (usize, &usize)| {
        let from = index.checked_sub(1).map_or(0, |before| places[before]);
        let to = places.get(index + 1).copied().unwrap_or(series.len());
        let (left, right) = (Moments::of(&series[from..*at]), Moments::of(&series[*at..to]));
        let p = (left.differs(&right) * (to - from) as f64).min(1.0);
        Change { at: *at, before: left.mean, after: right.mean, p }
    };
    places.iter().enumerate().map(change).collect()
}

/// Places worth judging, from windows that overlap by half.
fn proposals(series: &[f64], settings: &Settings) -> Vec<usize> {
    let mut places = Vec::new();
    let window = settings.window.max(2 * settings.least).min(series.len());
    let step = (window / 2).max(1);
    let mut from = 0;
    while from + 2 * settings.least <= series.len() {
        let to = (from + window).min(series.len());
        split(&series[from..to], from, settings, &mut places);
        if to == series.len() {
            break;
        }
        from += step;
    }
    places.sort_unstable();
    places.dedup();
    places
}

fn split(series: &[f64], offset: usize, settings: &Settings, places: &mut Vec<usize>) {
    let Some(at) = best_split(series, settings.least) else { return };
    let (left, right) = series.split_at(at);
    if Moments::of(left).differs(&Moments::of(right)) > PROPOSAL {
        return;
    }
    places.push(offset + at);
    split(left, offset, settings, places);
    split(right, offset + at, settings, places);
}

/// The split with the largest energy distance between its sides.
fn best_split(series: &[f64], least: usize) -> Option<usize> {
    let n = series.len();
    if n < 2 * least.max(2) {
        return None;
    }
    let distance = |i: usize, j: usize| (series[i] - series[j]).abs();
    // Sums of distances within the left side, within the right, and between, moved along one point at a time.
    let total: f64 =
        (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| distance(i, j)).sum();
    let (mut left, mut right, mut between) = (0.0, total, 0.0);
    let mut best: Option<(f64, usize)> = None;
    for at in 1..n {
        let moved = at - 1;
        let to_left: f64 = (0..moved).map(|j| distance(moved, j)).sum();
        let to_right: f64 = (at..n).map(|j| distance(moved, j)).sum();
        left += to_left;
        right -= to_right;
        between += to_right - to_left;
        if at < least || n - at < least {
            continue;
        }
        let (a, b) = (at as f64, (n - at) as f64);
        let pairs = |count: f64| count * (count - 1.0) / 2.0;
        let energy = 2.0 * between / (a * b) - left / pairs(a) - right / pairs(b);
        let value = energy * a * b / (a + b);
        if best.is_none_or(|(most, _)| value > most) {
            best = Some((value, at));
        }
    }
    best.map(|(_, at)| at)
}

struct Moments {
    count: f64,
    mean: f64,
    /// Sum of squared distances from the mean.
    squares: f64,
}

impl Moments {
    fn of(series: &[f64]) -> Self {
        let count = series.len() as f64;
        let mean = series.iter().sum::<f64>() / count.max(1.0);
        Self { count, mean, squares: series.iter().map(|value| (value - mean).powi(2)).sum() }
    }

    /// Two-sided probability of Student's test with pooled variance.
    fn differs(&self, other: &Self) -> f64 {
        let freedom = self.count + other.count - 2.0;
        if freedom < 1.0 {
            return 1.0;
        }
        let variance = (self.squares + other.squares) / freedom;
        let gap = self.mean - other.mean;
        // Levels equal to rounding are one level, however steady they are.
        if gap.abs() <= 1e-12 * self.mean.abs().max(other.mean.abs()) {
            return 1.0;
        }
        if variance <= 0.0 {
            return 0.0;
        }
        let t = gap / (variance * (1.0 / self.count + 1.0 / other.count)).sqrt();
        StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |student| 2.0 * student.sf(t.abs()))
    }
}
