//! What is seen of a search while it runs: a table redrawn in place, a line per candidate, or JSON Lines.
//!
//! No alternate screen: the table stays in the scrollback, where it can be copied and compared with the one before.

use std::io::{self, IsTerminal, Write};
use std::rc::Rc;

use serde::Serialize;

use super::cache::Cache;
use super::facts::Roof;
use super::lines::{BestLine, TrialLine};
use super::past::{Past, since, spark};
use super::report::{line, table, verdict, words};
use crate::commands::output;
use crate::commands::tune::run_log::RunLog;
use crate::io::sink::jsonl;
use crate::io::sink::table::Style;
use crate::text::{clean, fit, wrap};
use crate::tuner::{Board, Observer, ParsedOutput, State};

/// Rows of a table where the terminal does not say how many it has room for.
const ROWS: usize = 24;
/// Lines around the table.
const AROUND: usize = 6;
/// Lines of compilers shown below the table.
const WORDS: usize = 8;
/// Iterations in the history line.
const HISTORY: usize = 40;

/// Form of what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// A table in a terminal.
    Live,
    /// A line per candidate.
    Lines,
    /// An object per line.
    Json,
}

/// Prints, and hands on to the journal.
pub(crate) struct Show {
    view: View,
    style: Style,
    pub(crate) roof: Option<Roof>,
    pub(crate) log: RunLog,
    /// What is measured is kept here too.
    pub(crate) cache: Option<Rc<Cache>>,
    pub(crate) iteration: usize,
    /// Above the table.
    pub(crate) head: String,
    past: Vec<Past>,
    /// Lines of the table on the screen.
    drawn: usize,
    /// Why nothing can be printed any more.
    pub(crate) broken: Option<io::Error>,
}

impl Show {
    pub(crate) fn new(view: View, style: Style, log: RunLog) -> Self {
        Self {
            view,
            // Lines that are drawn in place are cleaned, and colours would be taken for dirt.
            style: Style { color: false, ..style },
            roof: None,
            log,
            cache: None,
            iteration: 0,
            head: String::new(),
            past: Vec::new(),
            drawn: 0,
            broken: None,
        }
    }

    fn print(&mut self, bytes: &[u8]) {
        let mut out = output::stdout();
        let written = out.write_all(bytes).and_then(|()| out.flush());
        self.keep(written);
    }

    fn keep(&mut self, outcome: io::Result<()>) {
        if let Err(error) = outcome {
            self.broken.get_or_insert(error);
        }
    }

    fn json(&mut self, value: &impl Serialize) {
        match jsonl::line(value) {
            Ok(bytes) => self.print(&bytes),
            Err(error) => self.broken = Some(error.into()),
        }
    }

    /// A text in place of the one before.
    fn draw(&mut self, text: &str) {
        let width = self.style.width.unwrap_or(80).saturating_sub(1).max(1);
        let ascii = self.style.ascii;
        let shown = |line| fit(&clean(line, ascii), width, ascii).into_owned();
        let lines: Vec<String> = text.lines().map(shown).collect();
        let mut out = output::stdout();
        let drawn =
            out.erase_lines(self.drawn).and_then(|()| writeln!(out, "{}", lines.join("\n")));
        self.keep(drawn.and_then(|()| out.flush()));
        self.drawn = lines.len();
    }

    /// A sentence on as many lines as it needs.
    fn wrapped(&self, text: &str) -> String {
        wrap(text, self.style.width.unwrap_or(80).saturating_sub(1), self.style.ascii)
    }

    /// A message below everything.
    pub(crate) fn say(&mut self, text: &str) {
        match self.view {
            View::Json => self.json(&serde_json::json!({"type": "message", "text": text})),
            View::Live | View::Lines => {
                let lines: Vec<_> =
                    text.lines().map(|line| clean(line, self.style.ascii)).collect();
                let text = lines.join("\n") + "\n";
                self.print(text.as_bytes());
                self.drawn = 0;
            }
        }
    }

    fn live(&self, board: &Board) -> String {
        let style =
            Style { width: self.style.width.map(|width| width.saturating_sub(1)), ..self.style };
        let has_begun = |at: &usize| {
            board.problems[*at].trials.iter().any(|trial| trial.state != State::Waiting)
        };
        let active = (0..board.problems.len()).rev().find(has_begun).unwrap_or(0);
        let rows = crossterm::terminal::size().map_or(ROWS, |(_, rows)| usize::from(rows));
        let room = rows.saturating_sub(AROUND + active).max(3);
        let mut text = format!("{}\n", self.head);
        if let Some(history) = self.history() {
            text += &format!("{history}\n");
        }
        for problem in &board.problems[..active] {
            text += &format!("{}\n", self.wrapped(&verdict(board, problem)));
        }
        if let Some(problem) = board.problems.get(active) {
            text += &table(board, problem, self.roof.as_ref(), room, style);
            text += &format!("{}\n", self.wrapped(&verdict(board, problem)));
        }
        text
    }

    /// Throughput of the best over iterations, the newest on the right.
    fn history(&self) -> Option<String> {
        if self.past.len() < 2 {
            return None;
        }
        let recent = &self.past[self.past.len().saturating_sub(HISTORY)..];
        let values: Vec<Option<f64>> = recent.iter().map(Past::throughput).collect();
        let spark = spark(&values, self.style.ascii);
        Some(format!("best throughput over {} iterations {spark}", self.past.len()))
    }

    /// All problems judged; what changed since the last iteration.
    pub(crate) fn finish(&mut self, board: &Board) {
        let bests = board.problems.iter().map(|problem| {
            let best = problem.best()?;
            let name = board.candidates[best].to_string();
            Some((problem.key.clone(), name, problem.trials[best].series()))
        });
        let now = Past { iteration: self.iteration, bests: bests.collect() };
        let since = since(&self.past, &now);
        self.past.push(now);
        match self.view {
            View::Live => {
                let mut text = self.live(board);
                let said = board.problems.iter().flat_map(|problem| words(board, problem));
                let since = since.iter().map(|line| self.wrapped(line));
                since.chain(said.take(WORDS)).for_each(|line| text += &format!("{line}\n"));
                self.draw(&text);
            }
            View::Lines => {
                let verdicts = board.problems.iter().map(|problem| verdict(board, problem));
                verdicts.chain(since).collect::<Vec<_>>().iter().for_each(|line| self.say(line));
            }
            View::Json => self.results(board),
        }
    }

    fn results(&mut self, board: &Board) {
        let tried = board.problems.iter().enumerate().flat_map(|(problem, one)| {
            let begun = move |at: &usize| one.trials[*at].state != State::Waiting;
            (0..one.trials.len()).filter(begun).map(move |candidate| (problem, candidate))
        });
        for at in tried {
            let (iteration, roof) = (self.iteration, self.roof);
            self.json(&TrialLine::of("result", iteration, board, at, roof.as_ref()));
        }
        for problem in &board.problems {
            self.json(&BestLine::of(self.iteration, board, problem));
        }
    }

    /// Everything once more without limits, for the scrollback.
    pub(crate) fn leave(&mut self, board: &Board) {
        if self.view != View::Live {
            return;
        }
        let mut text = format!("{}\n", self.head);
        for problem in &board.problems {
            text += &table(board, problem, self.roof.as_ref(), usize::MAX, self.style);
            text += &format!("{}\n", self.wrapped(&verdict(board, problem)));
            words(board, problem).iter().for_each(|line| text += &format!("{line}\n"));
        }
        if let Some(path) = self.log.path() {
            text += &format!("recorded in {}\n", path.display());
        }
        self.draw(&text);
        self.drawn = 0;
    }
}

impl Show {
    /// What a compiler said of a candidate, where no candidate before it was told the same.
    fn say_words(&mut self, board: &Board, (problem, candidate): (usize, usize)) {
        let problem = &board.problems[problem];
        let said = |at: usize| match &problem.trials[at].state {
            State::Invalid(invalid) => Some(&invalid.why),
            _ => None,
        };
        let Some(why) = said(candidate) else { return };
        if (0..candidate).any(|at| said(at) == Some(why)) {
            return;
        }
        let lines: Vec<String> = why.lines().skip(1).map(|line| format!("  {line}")).collect();
        lines.iter().for_each(|line| self.say(line));
    }
}

impl Observer for Show {
    fn changed(&mut self, board: &Board) {
        if self.view == View::Live {
            let text = self.live(board);
            self.draw(&text);
        }
    }

    fn timed_again(
        &mut self,
        board: &Board,
        problem: usize,
        candidate: usize,
        said: &ParsedOutput,
    ) {
        self.log.samples(board, (problem, candidate), said);
    }

    fn settled(&mut self, board: &Board, problem: usize, candidate: usize) {
        self.log.settle(board, problem, candidate);
        if let Some(Err(error)) =
            self.cache.as_ref().map(|cache| cache.keep(board, problem, candidate))
        {
            self.cache = None;
            self.say(&format!("what is measured is not kept for --resume: {error}"));
        }
        let (at, roof) = ((problem, candidate), self.roof);
        match self.view {
            View::Live => {}
            View::Lines => {
                self.say(&line(board, at, roof.as_ref()));
                self.say_words(board, at);
            }
            View::Json => {
                let iteration = self.iteration;
                self.json(&TrialLine::of("trial", iteration, board, at, roof.as_ref()));
            }
        }
    }
}

/// How a search is seen.
pub(crate) fn view(json: bool) -> View {
    match (json, io::stdout().is_terminal()) {
        (true, _) => View::Json,
        (false, true) => View::Live,
        (false, false) => View::Lines,
    }
}
