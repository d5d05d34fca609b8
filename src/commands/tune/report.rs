//! What is known of a search, for people.

use std::collections::BTreeSet;

use warpscope_probes::text::printable;

use super::super::compare::{duration, percent};
use super::facts::{Facts, Roof};
use crate::io::sink::table::{Column, Style, grid};
use crate::runs::compare::{Call, Judgement};
use crate::text::fit;
use crate::tuner::{Board, CandidateRun, Parameters, Problem, State};

/// One candidate in words.
pub(crate) struct Row {
    order: (u8, f64),
    cells: [String; 11],
}

/// Every column, and what stands before its cell where a candidate has a line of its own; none where it has no place there.
const COLUMNS: [(Column<Row>, Option<&str>); 11] = [
    (Column::left("", 0, |row, _| row.cells[0].clone()), None),
    (Column::left("candidate", 0, |row, _| row.cells[1].clone()), Some("")),
    (Column::right("median", 0, |row, _| row.cells[2].clone()), Some("")),
    (Column::left("95% interval", 5, |row, _| row.cells[3].clone()), Some("")),
    (Column::right("baseline", 0, |row, _| row.cells[4].clone()), Some("against baseline ")),
    (Column::right("best", 3, |row, _| row.cells[5].clone()), None),
    (Column::right("error", 4, |row, _| row.cells[6].clone()), Some("error ")),
    (Column::right("roof", 2, |row, _| row.cells[7].clone()), Some("roof ")),
    (Column::right("cuBLAS", 2, |row, _| row.cells[8].clone()), Some("of cuBLAS ")),
    (Column::right("registers", 1, |row, _| row.cells[9].clone()), Some("registers ")),
    (Column::left("", 0, |row, style| short(&row.cells[10], style)), Some("")),
];

/// Where there is little room, a remark is cut before a number is left out.
fn short(remark: &str, style: Style) -> String {
    let most = style.width.map_or(usize::MAX, |width| (width / 3).max(12));
    fit(remark, most, style.ascii).into_owned()
}

/// The columns that hold anything.
fn columns(rows: &[Row]) -> Vec<Column<Row>> {
    let is_used = |place: usize| rows.iter().any(|row| !row.cells[place].is_empty());
    let used = COLUMNS.into_iter().enumerate().filter(|(place, _)| is_used(*place));
    used.map(|(_, (column, _))| column).collect()
}

/// Words of a candidate, or that it has none.
pub(crate) fn name(parameters: &Parameters) -> String {
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
        State::Right => (1, 0.0),
        State::Done => (1, problem.score(candidate).unwrap_or(f64::MAX)),
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
        or_empty(facts.error.map(error)),
        or_empty(facts.roof_share.map(|share| format!("{:.0}%", share * 100.0))),
        or_empty(facts.vendor_share.map(|share| format!("{share:.2}x"))),
        or_empty(trial.said.registers.map(|count| registers(count, trial.said.local_bytes))),
        remark(trial),
    ];
    Row { order, cells }
}

fn error(error: f64) -> String {
    if error == 0.0 { "0".to_owned() } else { format!("{error:.1e}") }
}

/// `40`, or `64 + 16 B` where a thread keeps some of what it has in memory.
fn registers(count: u32, local_bytes: Option<u32>) -> String {
    match local_bytes {
        Some(bytes) if bytes > 0 => format!("{count} + {bytes} B"),
        _ => count.to_string(),
    }
}

/// What a state says at the end of a line.
fn remark(trial: &CandidateRun) -> String {
    match &trial.state {
        State::Waiting => "waiting".to_owned(),
        State::Running => "running".to_owned(),
        State::Done => {
            let call = trial.judgement.as_ref().map(|one| one.call.to_string());
            let compared = trial.said.compared.as_ref().map(|rows| format!("{rows} rows compared"));
            let metric = |(name, value): (&String, &f64)| format!("{name}={}", number(*value));
            let metrics = trial.metrics.iter().map(metric);
            let words = call.into_iter().chain(metrics).chain(compared);
            let words = words.chain(trial.said.taints().into_iter().map(str::to_owned));
            words.collect::<Vec<_>>().join(" ")
        }
        State::Right => "right; simulated, so it has no speed".to_owned(),
        State::Stopped(why) => format!("stopped: {why}"),
        State::Invalid(invalid) => {
            format!("{}: {}", invalid.fault.word(), telling(&invalid.why))
        }
    }
}

/// Four digits of a number of any size.
fn number(value: f64) -> String {
    match value.abs() {
        1e-3..1e6 => {
            format!("{:.*}", 3_usize.saturating_sub(value.abs().log10().max(0.0) as usize), value)
        }
        _ => format!("{value:.3e}"),
    }
}

/// The line of a message that says what is wrong: a compiler's first error, where there is one.
fn telling(why: &str) -> &str {
    let is_error = |line: &&str| line.to_lowercase().contains("error");
    let mut below = why.lines().skip(1);
    below.find(is_error).or_else(|| why.lines().next()).unwrap_or_default().trim()
}

/// What compilers and programs said at length, each message once, under the name of the first candidate it is about.
pub(crate) fn words(board: &Board, problem: &Problem) -> Vec<String> {
    let mut told: Vec<&str> = Vec::new();
    let mut lines = Vec::new();
    for (trial, candidate) in problem.trials.iter().zip(&board.candidates) {
        let State::Invalid(invalid) = &trial.state else { continue };
        if invalid.why.lines().count() > 1 && !told.contains(&invalid.why.as_str()) {
            told.push(&invalid.why);
            let mut said = invalid.why.lines();
            let first = said.next().unwrap_or_default();
            lines.push(printable(&format!("{}: {first}", name(candidate))));
            lines.extend(said.map(|line| format!("  {}", printable(line))));
        }
    }
    lines
}

/// The table of one problem, at most so many rows; those that wait are counted.
pub(crate) fn table(
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
    let mut text = grid(&columns(&rows), &rows, style);
    let more = [(left_out, "more"), (waiting, "not tried")];
    let more = more.iter().filter(|row| row.0 > 0);
    let more: Vec<String> = more.map(|(count, word)| format!("{count} {word}")).collect();
    if !more.is_empty() {
        text += &format!("{}\n", more.join(", "));
    }
    text
}

/// One candidate on one line.
pub(crate) fn line(board: &Board, at: (usize, usize), roof: Option<&Roof>) -> String {
    let problem = &board.problems[at.0];
    let row = row(board, problem, at.1, roof);
    let cells = row.cells.iter().zip(&COLUMNS).enumerate();
    let words = cells.filter_map(|(place, (cell, (_, label)))| match (place, cell.as_str()) {
        (_, "") => None,
        (3, interval) => Some(format!("({interval})")),
        (4, "baseline") => Some("baseline".to_owned()),
        _ => label.map(|label| format!("{label}{cell}")),
    });
    printable(&format!("{}: {}", problem.key, words.collect::<Vec<_>>().join("  ")))
}

/// What a problem comes to.
pub(crate) fn verdict(board: &Board, problem: &Problem) -> String {
    let answer = match (problem.best(), problem.baseline) {
        (Some(best), baseline) => {
            let trial = &problem.trials[best];
            let name = name(&board.candidates[best]);
            let median = trial.quartiles().map_or_else(String::new, |all| duration(all.median));
            match &trial.judgement {
                _ if problem.objective.is_some() => by_objective(problem, &name, best, &median),
                Some(judged) if Some(best) != baseline => {
                    against(&name, &median, trial.ratio(), judged)
                }
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
        (None, _) if problem.is_solved() => {
            let right = problem.trials.iter().filter(|trial| trial.state == State::Right).count();
            format!(
                "{right} of {} candidates are right; simulated, so none has a speed",
                problem.trials.len()
            )
        }
        (None, _) if problem.trials.iter().any(CandidateRun::is_done) => not_judged(problem),
        (None, _) => "nothing fully timed".to_owned(),
    };
    let note = problem.note.as_ref().and_then(|note| note.lines().next());
    let note = note.map(|note| format!(" ({note})")).unwrap_or_default();
    printable(&format!("{}: {answer}{}{note}", problem.key, decided(board, problem)))
}

/// Why of candidates that were fully timed none is the best.
fn not_judged(problem: &Problem) -> String {
    if let Some(objective) = &problem.objective {
        return format!(
            "the objective {} has no value for any candidate: it uses a name that is not measured",
            objective.expression
        );
    }
    let taints: BTreeSet<&str> =
        problem.trials.iter().flat_map(|trial| trial.said.taints()).collect();
    let taints = taints.into_iter().collect::<Vec<_>>().join(", ");
    format!("no winner: samples are tainted ({taints}) on one side of every comparison")
}

/// The best by something else than time.
fn by_objective(problem: &Problem, name: &str, best: usize, median: &str) -> String {
    let Some((objective, score)) = problem.objective.as_ref().zip(problem.score(best)) else {
        return format!("{name}: {median}");
    };
    let (word, sign) = if objective.is_maximized { ("most", -1.0) } else { ("least", 1.0) };
    let value = |score: f64| number(sign * score);
    let baseline = problem.baseline.filter(|baseline| *baseline != best);
    let against = baseline
        .and_then(|baseline| problem.score(baseline))
        .map_or_else(String::new, |score| format!(", the baseline {}", value(score)));
    format!("best: {name}, {word} {} = {}{against}; {median}", objective.expression, value(score))
}

/// The change is that of the median block; its interval is that of all samples.
fn against(name: &str, median: &str, ratio: Option<f64>, judged: &Judgement) -> String {
    let change = judged.time.zip(ratio).map_or_else(String::new, |(time, ratio)| {
        let interval = time.interval.map_or_else(String::new, |interval| {
            format!(" ({} to {})", percent(interval.low), percent(interval.high))
        });
        format!("{}{interval}", percent(ratio - 1.0))
    });
    match judged.call {
        Call::Faster => format!("best: {name}, {median}, FASTER than the baseline: {change}"),
        call => format!("least: {name}, {median}, {call} against the baseline: {}", judged.reason),
    }
}

/// How the winner of the final stands to the second.
fn decided(board: &Board, problem: &Problem) -> String {
    let Some((second, judged)) = &problem.runner_up else { return String::new() };
    let second = name(&board.candidates[*second]);
    match (judged.call, judged.time) {
        (Call::Faster, Some(time)) => {
            format!("; {} against {second} in the final", percent(time.change))
        }
        _ => format!("; the final does not tell it from {second}"),
    }
}
