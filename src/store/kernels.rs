//! What recorded runs say of one kernel over time.
//!
//! A trend never crosses devices, regimes, or cold and warm operands: a step between two of those is no change of the kernel. Medians of
//! clean samples are looked at on a log scale, where a tenth more and a tenth less are the same distance.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::runs::compare::{Limits, Quartiles, Settings, changes};
use crate::runs::journal::{Dirty, Identity, Mark, Regime};
use crate::runs::points::Key;

/// Fewest runs a lasting change is looked for in.
pub const LEAST_RUNS: usize = 8;

/// How much likelier a weak change may be by chance than one that counts.
const WEAK: f64 = 10.0;

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

/// A lasting change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The first of [`Trend::moments`] at the new level.
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

/// The commit of a run as people name it; `+` for a folder that differed from it, `?` for one that may have.
pub fn commit(identity: &Identity) -> Option<String> {
    let short: String = identity.commit.as_ref()?.chars().take(8).collect();
    Some(match identity.dirty {
        Dirty::No => short,
        Dirty::Hash(_) | Dirty::NotHashed => short + "+",
        Dirty::Unknown => short + "?",
    })
}

/// One thing that two runs do not have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is: `commit`, `driver`, a variable.
    pub what: String,
    /// Before; none where it was not known or not set.
    pub before: Option<String>,
    /// After.
    pub after: Option<String>,
}

/// Two commits, or folders that are not certain to have held the same.
fn other_commit(before: &Identity, after: &Identity) -> Option<Difference> {
    let whole = |one: &Identity| one.commit.clone().map(|id| (id, one.dirty.clone()));
    let certain = after.commit.is_none() || after.dirty.is_settled();
    if whole(before) == whole(after) && certain {
        return None;
    }
    let mut names = (commit(before), commit(after));
    if names.0 == names.1 {
        // The same to eight letters: another change on top of one commit.
        let full = |one: &Identity| {
            let dirty = one.dirty.text().unwrap_or("");
            commit(one).map(|name| format!("{name} {dirty}").trim_end().to_owned())
        };
        names = (full(before), full(after));
    }
    Some(Difference { what: "commit".to_owned(), before: names.0, after: names.1 })
}

/// Everything that two runs do not have in common and that changes speed, the likeliest cause first.
pub fn differences(before: &Identity, after: &Identity) -> Vec<Difference> {
    let mut found = Vec::new();
    found.extend(other_commit(before, after));
    let mut tell = |what: &str, before: Option<String>, after: Option<String>| {
        if before != after {
            found.push(Difference { what: what.to_owned(), before, after });
        }
    };
    tell("driver", before.driver.clone(), after.driver.clone());
    tell("CUDA", before.cuda.clone(), after.cuda.clone());
    tell("image", before.image.clone(), after.image.clone());
    let bios = |one: &Identity| {
        let all: Vec<&str> = one.devices.iter().filter_map(|gpu| gpu.vbios.as_deref()).collect();
        (!all.is_empty()).then(|| all.join(" "))
    };
    tell("VBIOS", bios(before), bios(after));
    for (a, b) in [(&before.libraries, &after.libraries), (&before.environment, &after.environment)]
    {
        let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        names.into_iter().for_each(|name| tell(name, a.get(name).cloned(), b.get(name).cloned()));
    }
    let seed = |one: &Identity| one.seed.map(|seed| seed.to_string());
    tell("seed", seed(before), seed(after));
    found
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
        trend.shifts = shifts(&trend.moments, &Settings::default());
        trend.weak = weak_shifts(&trend.moments, &Settings::default());
    }
    all
}

/// Every change that is likely enough, small ones among them.
fn weak_shifts(moments: &[Moment], counts: &Settings) -> Vec<Shift> {
    let lenient = Settings { p: counts.p * WEAK, ..*counts };
    let logs = Logs::of(moments);
    let mark = |shift: Shift| Shift { weak: shift.p > counts.p || is_small(&shift), ..shift };
    logs.shifts(&logs.places(&lenient)).into_iter().map(mark).collect()
}

/// Changes that count. Small ones are merged, the smallest first: many small steps in one direction add up to one that counts.
fn shifts(moments: &[Moment], settings: &Settings) -> Vec<Shift> {
    let logs = Logs::of(moments);
    let mut places = logs.places(settings);
    loop {
        let found = logs.shifts(&places);
        let size = |shift: &Shift| shift.change.ln_1p().abs();
        let least = found.iter().enumerate().min_by(|a, b| size(a.1).total_cmp(&size(b.1)));
        match least {
            Some((at, shift)) if is_small(shift) => drop(places.remove(at)),
            _ => return found,
        }
    }
}

/// Whether a comparison of the two levels would call them the same.
fn is_small(shift: &Shift) -> bool {
    shift.change.abs() < Limits::default().practical
}

/// Logarithms of the medians there are, each with its place among the moments.
struct Logs(Vec<(usize, f64)>);

impl Logs {
    fn of(moments: &[Moment]) -> Self {
        let known = moments.iter().enumerate();
        Self(known.filter_map(|(at, moment)| Some((at, moment.median()?.ln()))).collect())
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
    fn shifts(&self, places: &[(usize, f64)]) -> Vec<Shift> {
        let edge = |at: usize| places.get(at).map_or(self.0.len(), |place| place.0);
        let shift = |(index, &(at, p)): (usize, &(usize, f64))| {
            let from = index.checked_sub(1).map_or(0, edge);
            let (before, after) = (self.level(from, at), self.level(at, edge(index + 1)));
            Shift {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::compare::SplitMix;

    fn past(at: usize, change: impl FnOnce(&mut Identity)) -> Past {
        let mut identity = Identity { at_ms: at as u64, ..Identity::default() };
        change(&mut identity);
        Past { hash: at as i64, identity, ..Past::default() }
    }

    fn summary(run: usize, median: Option<f64>) -> Summary {
        let quartiles =
            median.map(|median| Quartiles { lower: median * 0.99, median, upper: median * 1.01 });
        let key = Key { name: "gemm".into(), ..Key::default() };
        Summary { run: run as i64, key, clean: 30, quartiles, ..Summary::default() }
    }

    /// One per cent of noise around a level per run.
    fn series(count: usize, level: impl Fn(usize) -> f64) -> Vec<Trend> {
        let mut random = SplitMix::new(3);
        let medians: Vec<f64> =
            (0..count).map(|at| level(at) * (1.0 + 0.01 * random.normal())).collect();
        let summaries = (0..count).map(|at| summary(at, Some(medians[at])));
        trends((0..count).map(|at| past(at, |_| ())).collect(), summaries.collect())
    }

    #[test]
    fn a_step_is_found_where_it_is_with_its_size() {
        let all = series(40, |at| if at < 25 { 100.0 } else { 110.0 });
        let shifts = &all[0].shifts;
        assert_eq!((all.len(), shifts.len()), (1, 1));
        assert!(shifts[0].at.abs_diff(25) <= 2, "{shifts:?}");
        assert!((shifts[0].change - 0.1).abs() < 0.01, "{shifts:?}");
        assert!(series(40, |_| 100.0)[0].shifts.is_empty());
    }

    #[test]
    fn small_steps_count_once_they_add_up() {
        let noise = |at: usize| 1.0 + 0.0002 * f64::from(u8::from(at.is_multiple_of(2)));
        let levels = |steps: usize| {
            move |at: usize| 100.0 * (1.0 + 0.006 * (at / 10).min(steps) as f64) * noise(at)
        };
        let of = |steps: usize| {
            let summaries = (0..40).map(|at| summary(at, Some(levels(steps)(at))));
            trends((0..40).map(|at| past(at, |_| ())).collect(), summaries.collect()).remove(0)
        };
        let (one, three) = (of(1), of(3));
        assert_eq!((one.shifts.len(), one.weak.len()), (0, 1), "{:?}", one.weak);
        assert!(one.weak[0].weak);
        assert!(!three.shifts.is_empty(), "{:?}", three.weak);
        assert!(three.shifts.iter().all(|shift| shift.change >= 0.01), "{:?}", three.shifts);
    }

    #[test]
    fn seven_runs_are_too_few_and_eight_are_not() {
        let step = |at: usize| if at < 4 { 100.0 } else { 150.0 };
        assert_eq!(series(7, step)[0].shifts, []);
        assert_eq!(series(8, step)[0].shifts.len(), 1);
    }

    #[test]
    fn runs_without_clean_samples_stay_in_view_and_out_of_the_search() {
        let runs = (0..12).map(|at| past(at, |_| ())).collect();
        let level = |at: usize| if at < 6 { 100.0 + at as f64 } else { 200.0 + at as f64 };
        let known = |at: usize| (at != 5 && at != 6).then(|| level(at));
        let all = trends(runs, (0..12).map(|at| summary(at, known(at))).collect());
        let shift = all[0].shifts[0];
        assert_eq!((all[0].moments.len(), shift.last, shift.at), (12, 4, 7));
    }

    #[test]
    fn devices_regimes_and_cold_and_warm_are_never_one_trend() {
        let runs = vec![
            past(0, |_| ()),
            past(1, |one| one.regime = Regime::Sustained),
            past(2, |one| one.cold = Some(true)),
            past(3, |one| {
                one.devices =
                    vec![crate::runs::journal::Device { name: "T4".into(), ..Default::default() }];
            }),
        ];
        let all = trends(runs, (0..4).map(|at| summary(at, Some(1.0))).collect());
        let told: Vec<String> = all.iter().map(Trend::circumstances).collect();
        assert_eq!(
            told,
            [
                "T4, external",
                "device not named, external",
                "device not named, external, cold",
                "device not named, sustained"
            ]
        );
    }

    #[test]
    fn what_changed_beside_is_told_from_the_likeliest_cause_on() {
        let first = past(0, |one| {
            one.commit = Some("0123456789abcdef".into());
            one.driver = Some("570".into());
            one.environment.insert("OMP_NUM_THREADS".into(), "4".into());
        });
        let mut second = first.identity.clone();
        assert_eq!(differences(&first.identity, &second), []);
        second.dirty = Dirty::Hash("77".into());
        second.driver = Some("580".into());
        second.environment.clear();
        let told: Vec<String> = differences(&first.identity, &second)
            .into_iter()
            .map(|one| {
                let side = |side: Option<String>| side.unwrap_or("-".into());
                format!("{} {} {}", one.what, side(one.before), side(one.after))
            })
            .collect();
        assert_eq!(told, ["commit 01234567 01234567+", "driver 570 580", "OMP_NUM_THREADS 4 -"]);
        let mut third = second.clone();
        third.dirty = Dirty::Hash("88".into());
        let other = &differences(&second, &third)[0];
        assert_eq!(other.before.as_deref(), Some("01234567+ 77"));
        for (dirty, shown) in
            [(Dirty::NotHashed, "01234567+ not hashed"), (Dirty::Unknown, "01234567? unknown")]
        {
            third.dirty = dirty;
            let other = &differences(&third, &third)[0];
            assert_eq!(other.after.as_deref(), Some(shown), "it may have held anything");
        }
    }
}
