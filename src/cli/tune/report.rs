//! What is known of a search, for people and for programs.

use serde::Serialize;

use super::super::compare::{duration, percent};
use crate::bench::compare::{Call, Judgement};
use crate::bench::tune::{Amount, Board, Parameters, Problem, State, Trial};
use crate::sink::table::{Column, Side, Style, grid};

/// What the CPU can do on so many threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Roof {
    pub(super) threads: usize,
    pub(super) read_bytes_per_s: f64,
    pub(super) fp32_flop_per_s: f64,
}

impl Roof {
    /// The time below which the roof does not let it come, as a share of the time it took. Arithmetic counts in fp32 only, which is what was
    /// measured.
    fn share(&self, amount: Amount, dtype: Option<&str>, median_ns: f64) -> Option<f64> {
        let flops = amount.flops.filter(|_| dtype.is_none_or(|dtype| dtype == "fp32"));
        let times = [
            flops.map(|flops| flops / self.fp32_flop_per_s),
            amount.bytes.map(|bytes| bytes / self.read_bytes_per_s),
        ];
        let least = times.into_iter().flatten().filter(|time| time.is_finite()).reduce(f64::max)?;
        Some(least * 1e9 / median_ns)
    }

    /// What it is, in words.
    pub(super) fn words(&self) -> String {
        format!(
            "roof: {:.1} GB/s read, {:.0} GFLOP/s fp32, measured on {} thread{}",
            self.read_bytes_per_s / 1e9,
            self.fp32_flop_per_s / 1e9,
            self.threads,
            if self.threads == 1 { "" } else { "s" }
        )
    }
}

/// One candidate in words.
pub(super) struct Row {
    order: (u8, f64),
    cells: [String; 9],
}

const HEADS: &[(&str, Side, u8)] = &[
    ("", Side::Left, 0),
    ("candidate", Side::Left, 0),
    ("median", Side::Right, 0),
    ("95 % interval", Side::Left, 5),
    ("baseline", Side::Right, 0),
    ("best", Side::Right, 3),
    ("error", Side::Right, 4),
    ("roof", Side::Right, 2),
    ("", Side::Left, 0),
];

const COLUMNS: &[Column<Row>] = &[
    column(0, |row, _| row.cells[0].clone()),
    column(1, |row, _| row.cells[1].clone()),
    column(2, |row, _| row.cells[2].clone()),
    column(3, |row, _| row.cells[3].clone()),
    column(4, |row, _| row.cells[4].clone()),
    column(5, |row, _| row.cells[5].clone()),
    column(6, |row, _| row.cells[6].clone()),
    column(7, |row, _| row.cells[7].clone()),
    column(8, |row, _| row.cells[8].clone()),
];

const fn column(place: usize, cell: fn(&Row, Style) -> String) -> Column<Row> {
    let (head, side, rank) = HEADS[place];
    Column { head, side, rank, cell }
}

/// Words of a candidate, or that it has none.
pub(super) fn name(parameters: &Parameters) -> String {
    let name = parameters.to_string();
    if name.is_empty() { "as it is".to_owned() } else { name }
}

fn row(board: &Board, problem: &Problem, candidate: usize, roof: Option<&Roof>) -> Row {
    let trial = &problem.trials[candidate];
    let facts = Facts::of(problem, candidate, roof);
    let or_empty = |text: Option<String>| text.unwrap_or_default();
    let is_baseline = problem.baseline == Some(candidate);
    let mark = match (problem.best() == Some(candidate), is_baseline) {
        (true, _) => "*",
        (false, true) => "=",
        _ => "",
    };
    let order = match &trial.state {
        State::Running => (0, 0.0),
        State::Done => (1, problem.ratio(candidate).unwrap_or(f64::MAX)),
        State::Stopped(_) => (2, facts.median_ns.unwrap_or(f64::MAX)),
        State::Invalid(_) => (3, 0.0),
        State::Waiting => (4, 0.0),
    };
    let against = if is_baseline { Some("baseline".to_owned()) } else { facts.change.map(percent) };
    let interval =
        facts.interval_ns.map(|(low, high)| format!("{} to {}", duration(low), duration(high)));
    let cells = [
        mark.to_owned(),
        name(&board.candidates[candidate]),
        or_empty(facts.median_ns.map(duration)),
        or_empty(interval),
        or_empty(against),
        or_empty(facts.against_best.map(percent)),
        or_empty(facts.error.map(|error| format!("{error:.1e}"))),
        or_empty(facts.roof_share.map(|share| format!("{:.0} %", share * 100.0))),
        remark(trial),
    ];
    Row { order, cells }
}

/// What a state says at the end of a line.
fn remark(trial: &Trial) -> String {
    match &trial.state {
        State::Waiting => "waiting".to_owned(),
        State::Running => "running".to_owned(),
        State::Done => {
            let call = trial.judgement.as_ref().map(|one| one.call.to_string());
            call.into_iter().chain(trial.said.tainted.iter().cloned()).collect::<Vec<_>>().join(" ")
        }
        State::Stopped(why) => format!("stopped: {why}"),
        State::Invalid(invalid) => {
            let first = invalid.why.lines().next().unwrap_or_default();
            format!("{}: {first}", invalid.fault.word())
        }
    }
}

/// The table of one problem, at most so many rows; those that wait are counted.
pub(super) fn table(
    board: &Board,
    problem: &Problem,
    roof: Option<&Roof>,
    most: usize,
    style: Style,
) -> String {
    let begun = (0..problem.trials.len()).filter(|at| problem.trials[*at].state != State::Waiting);
    let mut rows: Vec<Row> = begun.map(|at| row(board, problem, at, roof)).collect();
    rows.sort_by(|a, b| a.order.0.cmp(&b.order.0).then(a.order.1.total_cmp(&b.order.1)));
    let waiting = problem.trials.len() - rows.len();
    let left_out = rows.len().saturating_sub(most);
    rows.truncate(most);
    let mut text = grid(COLUMNS, &rows, style);
    let more = [(left_out, "more"), (waiting, "waiting")];
    let more: Vec<String> = more
        .iter()
        .filter(|row| row.0 > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    if !more.is_empty() {
        text += &format!("{}\n", more.join(", "));
    }
    text
}

/// One candidate on one line.
pub(super) fn line(board: &Board, at: (usize, usize), roof: Option<&Roof>) -> String {
    let problem = &board.problems[at.0];
    let row = row(board, problem, at.1, roof);
    let labels = ["", "", "", "", "against baseline ", "", "error ", "roof ", ""];
    let words = row.cells.iter().zip(labels).enumerate();
    let words = words.filter(|(place, (cell, _))| *place > 0 && *place != 5 && !cell.is_empty());
    let words = words.map(|(place, (cell, label))| match (place, cell.as_str()) {
        (3, interval) => format!("({interval})"),
        (4, "baseline") => "baseline".to_owned(),
        _ => format!("{label}{cell}"),
    });
    format!("{}: {}", problem.key, words.collect::<Vec<_>>().join("  "))
}

/// What a problem comes to.
pub(super) fn verdict(board: &Board, problem: &Problem) -> String {
    let answer = match (problem.best(), problem.baseline) {
        (Some(best), baseline) => {
            let trial = &problem.trials[best];
            let name = name(&board.candidates[best]);
            let median = trial.quartiles().map_or_else(String::new, |all| duration(all.median));
            match &trial.judgement {
                Some(judged) if Some(best) != baseline => against(&name, &median, judged),
                _ if problem.trials.iter().filter(|trial| trial.is_done()).count() > 1 => {
                    format!("best: {name}, {median}, the baseline; nothing is faster")
                }
                _ => format!("{name}: {median}; nothing to compare it with"),
            }
        }
        (None, _)
            if problem.trials.iter().all(|trial| matches!(trial.state, State::Invalid(_))) =>
        {
            "no candidate is right".to_owned()
        }
        (None, _) => "nothing fully timed".to_owned(),
    };
    let note = problem.note.as_ref().and_then(|note| note.lines().next());
    let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
    format!("{}: {answer}{note}", problem.key)
}

fn against(name: &str, median: &str, judged: &Judgement) -> String {
    let change = judged.time.map_or_else(String::new, |time| {
        let interval = time.interval;
        let (low, high) = (percent(interval.low), percent(interval.high));
        format!("{} ({low} to {high})", percent(time.change))
    });
    match judged.call {
        Call::Faster => format!("best: {name}, {median}, FASTER than the baseline: {change}"),
        call => format!("least: {name}, {median}, {call} against the baseline: {}", judged.reason),
    }
}

/// Numbers of one candidate.
struct Facts {
    median_ns: Option<f64>,
    interval_ns: Option<(f64, f64)>,
    change: Option<f64>,
    against_best: Option<f64>,
    error: Option<f64>,
    roof_share: Option<f64>,
}

impl Facts {
    fn of(problem: &Problem, candidate: usize, roof: Option<&Roof>) -> Self {
        let trial = &problem.trials[candidate];
        let median_ns = trial.quartiles().map(|all| all.median);
        let best = problem.best().and_then(|best| problem.ratio(best));
        let dtype = problem.key.dtype.as_deref();
        let share = |median| roof?.share(problem.amount_of(candidate), dtype, median);
        let is_wrong = matches!(trial.state, State::Invalid(_));
        Self {
            median_ns,
            interval_ns: trial.median_interval(),
            change: trial.judgement.as_ref().and_then(|one| one.time).map(|time| time.change),
            against_best: problem.ratio(candidate).zip(best).map(|(own, best)| own / best - 1.0),
            error: trial.said.error.filter(|_| !is_wrong),
            roof_share: median_ns.and_then(share),
        }
    }
}

/// One candidate for a program.
#[derive(Serialize)]
pub(super) struct TrialLine<'a> {
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
}

impl<'a> TrialLine<'a> {
    /// `kind` is `trial` when it has just been timed and `result` when all are judged together.
    pub(super) fn of(
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
        }
    }
}
