//! What is known of each candidate.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::contract::Amount;
use super::invalid::Invalid;
use super::output::ParsedOutput;
use super::parameters::Parameters;
use super::spec::{Objective, Spec};
use crate::runs::compare::{Judgement, Quartiles, Series};
use crate::runs::samples::{Key, Shape};
use crate::runs::statistics::median_interval;

/// Where a candidate stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Not begun.
    #[default]
    Waiting,
    /// At work.
    Running,
    /// Timed and judged.
    Done,
    /// Right, and without a time: a stand-in computed.
    Right,
    /// Right, and given up before all its samples were taken: why.
    Stopped(String),
    /// No time of it counts.
    Invalid(Invalid),
}

/// One candidate on one problem.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CandidateRun {
    /// Where it stands.
    pub state: State,
    /// Everything its checked runs said.
    pub said: ParsedOutput,
    /// What runs of the baseline said that were taken in turn with these.
    pub beside: ParsedOutput,
    /// Its median as a share of the baseline's, by block; those where one side has no clean sample are left out.
    pub blocks: Vec<f64>,
    /// Metrics of the spec.
    #[serde(skip)]
    pub metrics: BTreeMap<String, f64>,
    /// What is to be least, where that is not the time: the objective, less than zero where more is better.
    #[serde(skip)]
    pub score: Option<f64>,
    /// Against the baseline.
    #[serde(skip)]
    pub judgement: Option<Judgement>,
    /// Whether it was measured by an earlier search.
    #[serde(skip)]
    pub is_recalled: bool,
}

impl CandidateRun {
    /// Its clean samples; empty where its result is wrong.
    pub fn series(&self) -> Series {
        match self.state {
            State::Invalid(_) => Series::default(),
            _ => Series::new(self.said.times.iter().copied()),
        }
    }

    /// Its quartiles.
    pub fn quartiles(&self) -> Option<Quartiles> {
        self.series().quartiles()
    }

    /// 95% interval of its median, from order statistics and so for any distribution; `None` below six samples, which cannot give one.
    pub fn median_interval(&self) -> Option<(f64, f64)> {
        let series = self.series();
        (series.len() >= 6).then(|| median_interval(series.sorted().to_vec())).flatten()
    }

    /// Its median as a share of the baseline's: the median over blocks. All samples thrown together would not do: a machine whose clock
    /// halves for a second gives each side two modes, in shares that differ.
    pub fn ratio(&self) -> Option<f64> {
        Series::new(self.blocks.iter().copied()).median()
    }

    /// Whether it was right and fully timed.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }
}

/// One shape in one number format.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Problem {
    /// Kernel, shape, number format and, once known, device.
    pub key: Key,
    /// How much work it is, from the contract.
    pub amount: Amount,
    /// One per candidate, in the order of the grid.
    pub trials: Vec<CandidateRun>,
    /// What the others are timed against, once one was right.
    pub baseline: Option<usize>,
    /// Times of the leaders as shares of the baseline's, from the final between them; empty where nobody came near the best.
    pub finals: BTreeMap<usize, f64>,
    /// The second of the final, and how the winner stands to it.
    pub runner_up: Option<(usize, Judgement)>,
    /// The objective, where that is not the time.
    pub objective: Option<Objective>,
    /// Whether all that was to be tried was tried.
    pub is_searched: bool,
    /// What a reader has to know: a baseline that failed.
    pub note: Option<String>,
}

impl Problem {
    /// How a candidate's time stands to the baseline's; 1 for the baseline itself. Not that of medians alone: while candidates are tried one
    /// after the other the machine drifts, and the baseline beside each drifted with it.
    pub fn ratio(&self, candidate: usize) -> Option<f64> {
        let trial = self.trials.get(candidate).filter(|trial| trial.is_done())?;
        if let Some(ratio) = self.finals.get(&candidate) {
            return Some(*ratio);
        }
        let is_baseline = self.baseline == Some(candidate);
        if is_baseline { trial.series().median().map(|_| 1.0) } else { trial.ratio() }
    }

    /// What is to be least of a candidate that was right and fully timed: its time against the baseline's, or the objective.
    pub fn score(&self, candidate: usize) -> Option<f64> {
        match self.objective {
            None => self.ratio(candidate),
            Some(_) => self.trials.get(candidate).filter(|trial| trial.is_done())?.score,
        }
    }

    /// Whether a candidate was right, timed or not.
    pub fn is_solved(&self) -> bool {
        self.best().is_some() || self.trials.iter().any(|trial| trial.state == State::Right)
    }

    /// The best candidate that was right and fully timed; where there was a final, its winner.
    pub fn best(&self) -> Option<usize> {
        let rated = (0..self.trials.len())
            .filter(|at| self.finals.is_empty() || self.finals.contains_key(at))
            .filter_map(|at| Some((at, self.score(at)?)));
        rated.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    }

    /// Work of one sample: what the program says, else what the contract says.
    pub fn amount_of(&self, candidate: usize) -> Amount {
        let said = &self.trials[candidate].said;
        Amount { flops: said.flops.or(self.amount.flops), bytes: said.bytes.or(self.amount.bytes) }
    }
}

/// Everything there is to see of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Board {
    /// Parameters of each candidate.
    pub candidates: Vec<Parameters>,
    /// Problems, in the order of the spec.
    pub problems: Vec<Problem>,
}

impl Board {
    /// The problems of a spec, nothing tried yet.
    pub(super) fn of(spec: &Spec) -> Self {
        let candidates = spec.candidates();
        let trials = vec![CandidateRun::default(); candidates.len()];
        let dtypes: Vec<Option<&String>> = if spec.dtypes.is_empty() {
            vec![None]
        } else {
            spec.dtypes.iter().map(Some).collect()
        };
        let problem = |shape: &BTreeMap<String, String>, dtype: Option<&String>| Problem {
            key: Key {
                name: spec.name.clone(),
                shape: Shape(shape.clone()),
                dtype: dtype.cloned(),
                device: spec.device.clone(),
            },
            objective: spec.objective.clone(),
            amount: spec.contract.work.amount(shape, dtype.map(String::as_str)),
            trials: trials.clone(),
            ..Problem::default()
        };
        let problems = spec
            .shapes
            .iter()
            .flat_map(|shape| dtypes.iter().map(move |dtype| problem(shape, *dtype)));
        Self { problems: problems.collect(), candidates }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuner::Fault;

    fn trial(times: impl IntoIterator<Item = u32>, state: State) -> CandidateRun {
        let times = times.into_iter().map(f64::from).collect();
        CandidateRun {
            said: ParsedOutput { times, ..ParsedOutput::default() },
            state,
            ..CandidateRun::default()
        }
    }

    /// Tables of the sign test: ranks 10 and 21 of 30, 6 and 15 of 20, 1 and 6 of 6.
    #[test]
    fn the_interval_of_a_median_is_that_of_its_ranks() {
        assert_eq!(trial(1..=30, State::Done).median_interval(), Some((10.0, 21.0)));
        assert_eq!(trial(1..=20, State::Done).median_interval(), Some((6.0, 15.0)));
        assert_eq!(trial(1..=6, State::Done).median_interval(), Some((1.0, 6.0)));
        assert_eq!(trial(1..=5, State::Done).median_interval(), None);
    }

    #[test]
    fn a_machine_that_was_slow_for_a_while_does_not_change_the_ratio() {
        let slow_beside_one_side_only = [0.64, 1.3, 0.63, 0.65, 0.3];
        let blocks = slow_beside_one_side_only.to_vec();
        let trial = CandidateRun { blocks, state: State::Done, ..CandidateRun::default() };
        assert_eq!(trial.ratio(), Some(0.64));
    }

    #[test]
    fn what_is_wrong_has_no_time_whatever_it_measured() {
        let invalid = State::Invalid(Invalid { fault: Fault::Correctness, why: "x".into() });
        let wrong = trial([1; 30], invalid);
        assert!(wrong.quartiles().is_none() && wrong.median_interval().is_none());
        let problem = Problem {
            trials: vec![
                wrong,
                trial([5; 30], State::Done),
                trial([1; 30], State::Stopped("slow".into())),
            ],
            baseline: Some(1),
            ..Problem::default()
        };
        assert_eq!(problem.best(), Some(1));
        assert_eq!((problem.ratio(0), problem.ratio(2)), (None, None));
    }
}
