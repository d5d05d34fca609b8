//! What recorded runs say of one kernel over time.
//!
//! A trend never crosses devices, regimes, or cold and warm operands: a step between two of those is no change of the kernel. Medians of
//! clean samples are looked at on a log scale, where a tenth more and a tenth less are the same distance.

mod changes;
mod differences;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::runs::compare::{Quartiles, Settings};
use crate::runs::journal::{Identity, Mark, Regime};
use crate::runs::points::Key;
use changes::{shifts, weak_shifts};

pub use changes::{LEAST_RUNS, Shift};
pub use differences::{Difference, commit, differences};

/// One recorded run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Past {
    /// What tells it from every other run, on any machine.
    pub hash: i64,
    /// Who ran what.
    pub identity: Identity,
    /// Remarks of the user.
    pub marks: Vec<Mark>,
    /// Whether it came to its end; one that was killed did not.
    pub ended: bool,
    /// Journal it was read from.
    pub file: String,
}

/// What one run says of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`Past::hash`] of the run.
    pub run: i64,
    /// What was measured.
    pub key: Key,
    /// What was varied; empty where nothing was.
    pub config: String,
    /// Samples that count.
    pub clean: u64,
    /// Samples that are kept and do not.
    pub tainted: u64,
    /// Of the clean samples, nanoseconds.
    pub quartiles: Option<Quartiles>,
}

/// One kernel in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// The run.
    pub run: Arc<Past>,
    /// Samples that count.
    pub clean: u64,
    /// Samples that are kept and do not.
    pub tainted: u64,
    /// Of the clean samples, nanoseconds.
    pub quartiles: Option<Quartiles>,
}

impl Moment {
    /// The median of the clean samples, nanoseconds.
    pub fn median(&self) -> Option<f64> {
        self.quartiles.map(|all| all.median)
    }
}

/// One kernel over its runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trend {
    /// What was measured.
    pub key: Key,
    /// What was varied; empty where nothing was.
    pub config: String,
    /// What it ran on.
    pub device: String,
    /// How clocks stood.
    pub regime: Regime,
    /// Whether operands came from memory; none where nobody said.
    pub cold: Option<bool>,
    /// Its runs, oldest first.
    pub moments: Vec<Moment>,
    /// Lasting changes.
    pub shifts: Vec<Shift>,
    /// Lasting changes with weak ones among them.
    pub weak: Vec<Shift>,
}

impl Trend {
    /// Kernel, shape and number format, and what was varied.
    pub fn name(&self) -> String {
        let key = Key { device: None, ..self.key.clone() };
        format!("{key} {}", self.config).trim_end().to_owned()
    }

    /// What sets it apart besides its name.
    pub fn circumstances(&self) -> String {
        let cold = self.cold.map(|cold| if cold { "cold" } else { "warm" });
        let words = [Some(self.device.as_str()), Some(regime_word(self.regime)), cold];
        words.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Changes to show.
    pub fn shifts(&self, weak: bool) -> &[Shift] {
        if weak { &self.weak } else { &self.shifts }
    }

    /// What else is different from a change on: commit, driver, environment.
    pub fn beside(&self, shift: &Shift) -> Vec<Difference> {
        let run = |at: usize| self.moments.get(at).map(|moment| &moment.run.identity);
        match (run(shift.last), run(shift.at)) {
            (Some(before), Some(after)) => differences(before, after),
            _ => Vec::new(),
        }
    }

    /// The newest run with clean samples.
    pub fn newest(&self) -> Option<&Moment> {
        self.moments.iter().rev().find(|moment| moment.quartiles.is_some())
    }
}

/// The word of a regime.
pub fn regime_word(regime: Regime) -> &'static str {
    match regime {
        Regime::Pulse => "pulse",
        Regime::Sustained => "sustained",
        Regime::External => "external",
    }
}

/// What a kernel ran on: as its samples say, else the devices of the machine.
pub fn device_of(key: &Key, identity: &Identity) -> String {
    let names = || {
        let mut names: Vec<&str> = identity.devices.iter().map(|gpu| gpu.name.as_str()).collect();
        names.dedup();
        (!names.is_empty()).then(|| names.join(" + "))
    };
    key.device.clone().or_else(names).unwrap_or_else(|| "device not named".to_owned())
}

/// Puts what runs say in order: a trend per kernel, configuration, device and regime.
pub fn trends(runs: Vec<Past>, summaries: Vec<Summary>) -> Vec<Trend> {
    let runs: HashMap<i64, Arc<Past>> =
        runs.into_iter().map(|run| (run.hash, Arc::new(run))).collect();
    let mut all: BTreeMap<_, Trend> = BTreeMap::new();
    for one in summaries {
        let Some(run) = runs.get(&one.run) else { continue };
        let (device, regime) = (device_of(&one.key, &run.identity), run.identity.regime);
        let cold = run.identity.cold;
        let place =
            (one.key.clone(), one.config.clone(), device.clone(), regime_word(regime), cold);
        let trend = all.entry(place).or_insert_with(|| Trend {
            key: one.key,
            config: one.config,
            device,
            regime,
            cold,
            ..Trend::default()
        });
        trend.moments.push(Moment {
            run: Arc::clone(run),
            clean: one.clean,
            tainted: one.tainted,
            quartiles: one.quartiles,
        });
    }
    let mut all: Vec<Trend> = all.into_values().collect();
    for trend in &mut all {
        trend.moments.sort_by_key(|moment| (moment.run.identity.at_ms, moment.run.hash));
        let medians: Vec<_> = trend.moments.iter().map(Moment::median).collect();
        trend.shifts = shifts(&medians, &Settings::default());
        trend.weak = weak_shifts(&medians, &Settings::default());
    }
    all
}

#[cfg(test)]
mod tests;
