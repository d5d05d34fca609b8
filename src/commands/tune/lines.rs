//! A search for programs: one JSON object a line.

use std::collections::BTreeMap;

use serde::Serialize;

use super::facts::{Facts, Roof};
use super::report::verdict;
use crate::runs::compare::Call;
use crate::tuner::{Board, Parameters, Problem, State};

/// One candidate for a program.
#[derive(Serialize)]
pub(crate) struct TrialLine<'a> {
    r#type: &'static str,
    iteration: usize,
    kernel: String,
    parameters: &'a Parameters,
    state: &'static str,
    why: Option<&'a str>,
    baseline: bool,
    samples: usize,
    median_ns: Option<f64>,
    low_ns: Option<f64>,
    high_ns: Option<f64>,
    call: Option<Call>,
    reason: Option<&'a str>,
    change: Option<f64>,
    against_best: Option<f64>,
    error: Option<f64>,
    roof_share: Option<f64>,
    vendor: Option<&'a str>,
    vendor_share: Option<f64>,
    registers: Option<u32>,
    local_bytes: Option<u32>,
    compared: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metrics: &'a BTreeMap<String, f64>,
}

impl<'a> TrialLine<'a> {
    /// `kind` is `trial` when it has just been timed and `result` when all are judged together.
    pub(crate) fn of(
        kind: &'static str,
        iteration: usize,
        board: &'a Board,
        at: (usize, usize),
        roof: Option<&Roof>,
    ) -> Self {
        let problem = &board.problems[at.0];
        let trial = &problem.trials[at.1];
        let facts = Facts::of(problem, at.1, roof);
        let (state, why) = match &trial.state {
            State::Waiting => ("waiting", None),
            State::Running => ("running", None),
            State::Right => ("right", None),
            State::Done => ("done", None),
            State::Stopped(why) => ("stopped", Some(why.as_str())),
            State::Invalid(invalid) => (invalid.fault.word(), Some(invalid.why.as_str())),
        };
        let judged = trial.judgement.as_ref();
        Self {
            r#type: kind,
            iteration,
            kernel: problem.key.to_string(),
            parameters: &board.candidates[at.1],
            state,
            why,
            baseline: problem.baseline == Some(at.1),
            samples: trial.series().len(),
            median_ns: facts.median_ns,
            low_ns: facts.interval_ns.map(|interval| interval.0),
            high_ns: facts.interval_ns.map(|interval| interval.1),
            call: judged.map(|judged| judged.call),
            reason: judged.map(|judged| judged.reason.as_str()),
            change: facts.change,
            against_best: facts.against_best,
            error: facts.error,
            roof_share: facts.roof_share,
            vendor: trial.said.vendor.as_deref(),
            vendor_share: facts.vendor_share,
            registers: trial.said.registers,
            local_bytes: trial.said.local_bytes,
            compared: trial.said.compared.as_deref(),
            metrics: &trial.metrics,
        }
    }
}

/// What a problem comes to, for a program.
#[derive(Serialize)]
pub(crate) struct BestLine<'a> {
    r#type: &'static str,
    iteration: usize,
    kernel: String,
    parameters: Option<&'a Parameters>,
    text: String,
}

impl<'a> BestLine<'a> {
    pub(crate) fn of(iteration: usize, board: &'a Board, problem: &Problem) -> Self {
        Self {
            r#type: "best",
            iteration,
            kernel: problem.key.to_string(),
            parameters: problem.best().map(|best| &board.candidates[best]),
            text: verdict(board, problem),
        }
    }
}
