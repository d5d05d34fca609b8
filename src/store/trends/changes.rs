//! Where a kernel changed for good.

use crate::runs::compare::{Limits, Settings, changes};

/// Fewest runs a lasting change is looked for in.
pub const LEAST_RUNS: usize = 8;

/// How much likelier a weak change may be by chance than one that counts.
const WEAK: f64 = 10.0;

/// A lasting change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first of its runs at the new level.
    pub at: usize,
    /// The one before it that has a median.
    pub last: usize,
    /// Relative change of the time: `0.05` is five per cent more.
    pub change: f64,
    /// Level before, nanoseconds.
    pub before: f64,
    /// Level from here on, nanoseconds.
    pub after: f64,
    /// Chance of so large a change where there is none.
    pub p: f64,
    /// Whether it is too likely by chance, or too small, to count.
    pub weak: bool,
}

/// Every change that is likely enough, small ones among them.
pub(super) fn weak_change_points(medians: &[Option<f64>], counts: &Settings) -> Vec<ChangePoint> {
    let lenient = Settings { p: counts.p * WEAK, ..*counts };
    let logs = Logs::of(medians);
    let mark =
        |shift: ChangePoint| ChangePoint { weak: shift.p > counts.p || is_small(&shift), ..shift };
    logs.change_points(&logs.places(&lenient)).into_iter().map(mark).collect()
}

/// Changes that count. Small ones are merged, the smallest first: many small steps in one direction add up to one that counts.
pub(super) fn change_points(medians: &[Option<f64>], settings: &Settings) -> Vec<ChangePoint> {
    let logs = Logs::of(medians);
    let mut places = logs.places(settings);
    loop {
        let found = logs.change_points(&places);
        let size = |shift: &ChangePoint| shift.change.ln_1p().abs();
        let least = found.iter().enumerate().min_by(|a, b| size(a.1).total_cmp(&size(b.1)));
        match least {
            Some((at, shift)) if is_small(shift) => drop(places.remove(at)),
            _ => return found,
        }
    }
}

/// Whether a comparison of the two levels would call them the same.
fn is_small(shift: &ChangePoint) -> bool {
    shift.change.abs() < Limits::default().practical
}

/// Logarithms of the medians there are, each with its place among the runs.
struct Logs(Vec<(usize, f64)>);

impl Logs {
    fn of(medians: &[Option<f64>]) -> Self {
        let known = medians.iter().enumerate();
        Self(known.filter_map(|(at, median)| Some((at, (*median)?.ln()))).collect())
    }

    /// Where something changed, with its probability.
    fn places(&self, settings: &Settings) -> Vec<(usize, f64)> {
        if self.0.len() < LEAST_RUNS {
            return Vec::new();
        }
        let logs: Vec<f64> = self.0.iter().map(|(_, log)| *log).collect();
        changes(&logs, settings).into_iter().map(|change| (change.at, change.p)).collect()
    }

    /// The changes between the levels on either side of each place.
    fn change_points(&self, places: &[(usize, f64)]) -> Vec<ChangePoint> {
        let edge = |at: usize| places.get(at).map_or(self.0.len(), |place| place.0);
        let shift = |(index, &(at, p)): (usize, &(usize, f64))| {
            let from = index.checked_sub(1).map_or(0, edge);
            let (before, after) = (self.level(from, at), self.level(at, edge(index + 1)));
            ChangePoint {
                at: self.0[at].0,
                last: self.0[at.saturating_sub(1)].0,
                change: (after - before).exp_m1(),
                before: before.exp(),
                after: after.exp(),
                p,
                weak: false,
            }
        };
        places.iter().enumerate().map(shift).collect()
    }

    fn level(&self, from: usize, to: usize) -> f64 {
        let part = &self.0[from..to];
        part.iter().map(|(_, log)| log).sum::<f64>() / part.len().max(1) as f64
    }
}
