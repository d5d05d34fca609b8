//! The order of the work: check, time in turn with the baseline, give up what is hopeless, judge.

mod finals;
mod timing;

use super::cuda::Expression;
use super::invalid::{Fault, Invalid};
use super::metrics::Numbers;
use super::output::ParsedOutput;
use super::spec::Spec;
use super::strategy::{SEED, Space};
use super::trial::{Board, CandidateRun, State};
use crate::runs::compare::{Limits, Pair, Series, judge, judge_all};

/// Resamples the interval of a first block is drawn from.
const RESAMPLES: usize = 2000;

/// One run of one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Place of the problem on the board.
    pub problem: usize,
    /// Place of the candidate in the grid.
    pub candidate: usize,
    /// Samples wanted, where the program can be told.
    pub samples: usize,
}

/// Why a run gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The candidate is no good.
    Invalid(Invalid),
    /// The user, or a save, ended the search.
    Interrupted,
}

/// The user, or a save, ended the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

/// What runs candidates. It builds what has to be built before the first run, and answers only runs whose result was compared and is right.
pub trait Runner {
    /// Runs a candidate once and checks its result.
    fn run(&mut self, board: &Board, job: Job) -> Result<ParsedOutput, Halt>;

    /// The candidate that won the last search of a problem: worth a try early, whatever the order.
    fn last_winner(&self, _board: &Board, _problem: usize) -> Option<usize> {
        None
    }

    /// What an earlier search of the same sources found of a candidate, against the present baseline.
    fn recall(&self, _board: &Board, _problem: usize, _candidate: usize) -> Option<CandidateRun> {
        None
    }
}

/// Who looks on.
pub trait Observer {
    /// Something on the board is new.
    fn changed(&mut self, board: &Board);
    /// A candidate has its last state, but for corrections when all are judged together.
    fn settled(&mut self, board: &Board, problem: usize, candidate: usize);
    /// A settled candidate was timed once more, against the others that are close to the best.
    fn timed_again(&mut self, board: &Board, problem: usize, candidate: usize, said: &ParsedOutput);
}

/// Tries every candidate on every problem. What was found stands on the board also when it ends early.
pub fn search(
    spec: &Spec,
    runner: &mut dyn Runner,
    observer: &mut dyn Observer,
) -> (Board, Result<(), Interrupted>) {
    let mut search = Search { spec, runner, observer, board: Board::of(spec) };
    search.observer.changed(&search.board);
    let ended = (0..search.board.problems.len()).try_for_each(|problem| search.solve(problem));
    (search.board, ended)
}

struct Search<'a> {
    spec: &'a Spec,
    runner: &'a mut dyn Runner,
    observer: &'a mut dyn Observer,
    board: Board,
}

/// Why a candidate is not fully timed.
enum End {
    Stopped(String),
    Invalid(Invalid),
    /// The baseline failed while the candidate was timed.
    Baseline(Invalid),
    /// It is right, and a stand-in has no speed.
    Untimed,
    Interrupted,
}

fn state_after(end: &Result<(), End>) -> State {
    match end {
        Ok(()) => State::Done,
        Err(End::Stopped(why)) => State::Stopped(why.clone()),
        Err(End::Invalid(invalid)) => State::Invalid(invalid.clone()),
        Err(End::Baseline(_)) => State::Stopped("the baseline failed meanwhile".to_owned()),
        Err(End::Untimed) => State::Right,
        Err(End::Interrupted) => State::Stopped("ended before all samples".to_owned()),
    }
}

impl Search<'_> {
    fn solve(&mut self, problem: usize) -> Result<(), Interrupted> {
        let wanted = self.wanted();
        let budget = self.spec.budget.unwrap_or(usize::MAX);
        let (candidates, Spec { params, strategy, .. }) = (&self.board.candidates, self.spec);
        let mut space = Space::new(candidates, params, *strategy, budget, SEED);
        let mut next = wanted.or_else(|| space.next(&[]));
        let mut winner = self.runner.last_winner(&self.board, problem);
        for _ in 0..budget {
            let Some(candidate) = next else { break };
            space.tried(candidate);
            let known = self.recall(problem, candidate);
            if !known && !self.time(problem, candidate, wanted == Some(candidate))? {
                return Ok(());
            }
            let last = winner.take().filter(|one| space.is_left(*one));
            next = last.or_else(|| space.next(&self.ratios(problem)));
        }
        self.judge_together(problem);
        self.decide(problem)?;
        self.board.problems[problem].is_searched = true;
        Ok(())
    }

    /// Times a candidate. Whether the problem still has a baseline.
    fn time(
        &mut self,
        problem: usize,
        candidate: usize,
        is_baseline: bool,
    ) -> Result<bool, Interrupted> {
        self.trial(problem, candidate).state = State::Running;
        self.observer.changed(&self.board);
        let end = self.attempt(problem, candidate);
        self.conclude(problem, candidate, state_after(&end));
        match end {
            Err(End::Interrupted) => return Err(Interrupted),
            Err(End::Baseline(invalid)) => {
                self.lose_baseline(problem, invalid);
                return Ok(false);
            }
            Err(End::Invalid(invalid)) if is_baseline => {
                let why = format!("the baseline of the spec is invalid: {}", invalid.why);
                self.board.problems[problem].note = Some(why);
            }
            _ => {}
        }
        Ok(true)
    }

    /// Takes a candidate as an earlier search left it, where one did.
    fn recall(&mut self, problem: usize, candidate: usize) -> bool {
        let Some(known) = self.runner.recall(&self.board, problem, candidate) else { return false };
        let is_baseline = known.is_done() && known.beside.samples() == 0;
        match (self.board.problems[problem].baseline, is_baseline) {
            (None, true) => self.board.problems[problem].baseline = Some(candidate),
            // Shares of another baseline's time say nothing.
            (None, false) if !matches!(known.state, State::Invalid(_)) => return false,
            _ => {}
        }
        let state = known.state.clone();
        *self.trial(problem, candidate) = CandidateRun { is_recalled: true, ..known };
        self.conclude(problem, candidate, state);
        true
    }

    /// The baseline of the spec, which is tried first.
    fn wanted(&self) -> Option<usize> {
        let wanted = self.spec.baseline.as_ref()?;
        self.board.candidates.iter().position(|one| one == wanted)
    }

    /// Candidates that were fully timed, with what is to be least: mostly their times as shares of the baseline's.
    fn ratios(&self, problem: usize) -> Vec<(usize, f64)> {
        let problem = &self.board.problems[problem];
        (0..problem.trials.len()).filter_map(|at| Some((at, problem.score(at)?))).collect()
    }

    fn trial(&mut self, problem: usize, candidate: usize) -> &mut CandidateRun {
        &mut self.board.problems[problem].trials[candidate]
    }

    /// Writes the state and, where there is something to judge, what this candidate alone says.
    fn conclude(&mut self, problem: usize, candidate: usize, state: State) {
        let trial = self.trial(problem, candidate);
        trial.state = state;
        if !matches!(trial.state, State::Invalid(_)) && trial.beside.samples() > 0 {
            trial.judgement = Some(judge(&pair(trial), &Limits::default()));
        }
        self.measure(problem, candidate);
        let device = self.trial(problem, candidate).said.device.clone();
        let key = &mut self.board.problems[problem].key;
        key.device = key.device.take().or(device);
        self.observer.settled(&self.board, problem, candidate);
        self.observer.changed(&self.board);
    }

    /// Computes the metrics of a candidate that was right.
    fn measure(&mut self, problem: usize, candidate: usize) {
        let (spec, board) = (self.spec, &self.board);
        let numbers = Numbers {
            problem: &board.problems[problem],
            candidate,
            parameters: &board.candidates[candidate],
            metrics: &spec.metrics,
        };
        let named =
            |(name, metric): (&String, &Expression)| Some((name.clone(), numbers.value(metric)?));
        let metrics = spec.metrics.iter().filter_map(named).collect();
        let score = spec.objective.as_ref().and_then(|objective| {
            let value = numbers.value(&objective.expression)?;
            Some(if objective.is_maximized { -value } else { value })
        });
        let trial = self.trial(problem, candidate);
        if !matches!(trial.state, State::Invalid(_)) {
            (trial.metrics, trial.score) = (metrics, score);
        }
    }

    /// A baseline that was right and is no more cannot be measured against: the rest of the problem is not tried.
    fn lose_baseline(&mut self, problem: usize, invalid: Invalid) {
        let why = format!("the baseline failed after it had been right: {}", invalid.why);
        let Some(baseline) = self.board.problems[problem].baseline else { return };
        self.board.problems[problem].note = Some(why);
        self.conclude(problem, baseline, State::Invalid(invalid));
    }

    /// Many candidates are many chances to be lucky: the ranks are corrected for their number.
    fn judge_together(&mut self, problem: usize) {
        let trials = &mut self.board.problems[problem].trials;
        let mut judged: Vec<&mut CandidateRun> = trials
            .iter_mut()
            .filter(|trial| trial.judgement.is_some() && trial.is_done())
            .collect();
        let pairs: Vec<Pair> = judged.iter().map(|trial| pair(trial)).collect();
        for (trial, judgement) in judged.iter_mut().zip(judge_all(&pairs, &Limits::default())) {
            trial.judgement = Some(judgement);
        }
        self.observer.changed(&self.board);
    }
}

/// The clean samples of both sides.
fn pair(trial: &CandidateRun) -> Pair {
    let beside = Series::new(trial.beside.times.iter().copied());
    Pair { times: (beside, trial.series()), cycles: None }
}

impl End {
    fn of(halt: Halt) -> Self {
        match halt {
            Halt::Invalid(invalid) => Self::Invalid(invalid),
            Halt::Interrupted => Self::Interrupted,
        }
    }

    fn of_baseline(halt: Halt) -> Self {
        match halt {
            Halt::Invalid(invalid) => Self::Baseline(invalid),
            Halt::Interrupted => Self::Interrupted,
        }
    }
}

#[cfg(test)]
mod tests;
