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
use crate::runs::run_log::{Identity, Mark, SampleMode};
use crate::runs::samples::Key;
use changes::{change_points, weak_change_points};

pub use changes::{ChangePoint, LEAST_RUNS};
pub use differences::{Difference, commit, differences};

/// One recorded run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedRun {
    /// What tells it from every other run, on any machine.
    pub hash: i64,
    /// Who ran what.
    pub identity: Identity,
    /// Remarks of the user.
    pub marks: Vec<Mark>,
    /// Whether it came to its end; one that was killed did not.
    pub ended: bool,
    /// Run log it was read from.
    pub file: String,
}

/// What one run says of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// [`RecordedRun::hash`] of the run.
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
pub struct RunMedian {
    /// The run.
    pub run: Arc<RecordedRun>,
    /// Samples that count.
    pub clean: u64,
    /// Samples that are kept and do not.
    pub tainted: u64,
    /// Of the clean samples, nanoseconds.
    pub quartiles: Option<Quartiles>,
}

impl RunMedian {
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
    pub regime: SampleMode,
    /// Whether operands came from memory; none where nobody said.
    pub cold: Option<bool>,
    /// Its runs, oldest first.
    pub run_medians: Vec<RunMedian>,
    /// Lasting changes.
    pub change_points: Vec<ChangePoint>,
    /// Lasting changes with weak ones among them.
    pub weak: Vec<ChangePoint>,
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
    pub fn change_points(&self, weak: bool) -> &[ChangePoint] {
        if weak { &self.weak } else { &self.change_points }
    }

    /// What else is different from a change on: commit, driver, environment.
    pub fn beside(&self, shift: &ChangePoint) -> Vec<Difference> {
        let run = |at: usize| self.run_medians.get(at).map(|moment| &moment.run.identity);
        match (run(shift.last), run(shift.at)) {
            (Some(before), Some(after)) => differences(before, after),
            _ => Vec::new(),
        }
    }

    /// The newest run with clean samples.
    pub fn newest(&self) -> Option<&RunMedian> {
        self.run_medians.iter().rev().find(|moment| moment.quartiles.is_some())
    }
}

/// The word of a regime.
pub fn regime_word(regime: SampleMode) -> &'static str {
    match regime {
        SampleMode::Pulse => "pulse",
        SampleMode::Sustained => "sustained",
        SampleMode::External => "external",
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
pub fn trends(runs: Vec<RecordedRun>, summaries: Vec<Summary>) -> Vec<Trend> {
    let runs: HashMap<i64, Arc<RecordedRun>> =
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
        trend.run_medians.push(RunMedian {
            run: Arc::clone(run),
            clean: one.clean,
            tainted: one.tainted,
            quartiles: one.quartiles,
        });
    }
    let mut all: Vec<Trend> = all.into_values().collect();
    for trend in &mut all {
        trend.run_medians.sort_by_key(|moment| (moment.run.identity.at_ms, moment.run.hash));
        let medians: Vec<_> = trend.run_medians.iter().map(RunMedian::median).collect();
        trend.change_points = change_points(&medians, &Settings::default());
        trend.weak = weak_change_points(&medians, &Settings::default());
    }
    all
}

#[cfg(test)]
mod tests;
