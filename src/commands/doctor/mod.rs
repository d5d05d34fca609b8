//! What was found, what not, why, and what to do.
//!
//! Checks are rows of a table over plain facts, gathered before the first of them runs; so each can
//! be tested without the machine it speaks of. Skipping is a result of its own, with its reason.

mod checks;
mod facts;
mod installed;
mod probed;

use serde::Serialize;

use super::output;
use crate::commands::cli::{
    CONFIG_FILE, CommandSpec, Exit, HOSTS, LIVE, NAMED_GPUS, Options, Result, STYLE,
};
use crate::config::args;
use crate::io::sink::table::Style;
use crate::text::clean;

use checks::CHECKS;
use facts::Facts;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "doctor",
    about: "Report what was found, what is missing, why, and what to do; exits with 1 if something fails",
    args: &[
        &[&args::JSON, &args::REDACT, &args::SOURCE],
        NAMED_GPUS,
        LIVE,
        STYLE,
        HOSTS,
        CONFIG_FILE,
    ],
    examples: &[("doctor --redact", "to paste into a bug report")],
    lenient: true,
    runs_there: true,
    run,
    ..CommandSpec::BASE
};

/// Number of the JSON format.
const SCHEMA: u32 = 1;

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Pass,
    Warn,
    Fail,
    /// It had nothing to look at; the text says why.
    Skip,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    outcome: Outcome,
    found: String,
    remedy: String,
}

/// One check.
struct Check {
    /// Stable dotted id.
    id: &'static str,
    title: &'static str,
    run: fn(&Facts) -> Finding,
}

#[derive(Serialize)]
struct Line {
    id: &'static str,
    title: &'static str,
    result: Outcome,
    found: String,
    remedy: Option<String>,
}

#[derive(Serialize)]
struct Report {
    schema: u32,
    version: &'static str,
    checks: Vec<Line>,
}

/// Runs every check and prints what came of it.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let facts = facts::gather(options);
    let report = examine(&facts);
    if options.get(&args::JSON) {
        output::json(&report)?;
    } else {
        output::print(&text(&report, output::style(options)))?;
    }
    let failed = report.checks.iter().any(|line| line.result == Outcome::Fail);
    Ok(if failed { Exit::CheckFailed } else { Exit::Fine })
}

fn examine(facts: &Facts) -> Report {
    let line = |check: &Check| {
        let finding = (check.run)(facts);
        Line {
            id: check.id,
            title: check.title,
            result: finding.outcome,
            found: facts.hide(&finding.found),
            remedy: (!finding.remedy.is_empty()).then(|| facts.hide_folders(&finding.remedy)),
        }
    };
    let checks = CHECKS.iter().map(line).collect();
    Report { schema: SCHEMA, version: env!("CARGO_PKG_VERSION"), checks }
}

fn text(report: &Report, style: Style) -> String {
    let mut text = format!("warpscope {}\n", report.version);
    for line in &report.checks {
        let (symbol, ascii, word) = match line.result {
            Outcome::Pass => ("✔", "+", "pass"),
            Outcome::Warn => ("▲", "!", "warn"),
            Outcome::Fail => ("✖", "x", "fail"),
            Outcome::Skip => ("–", "-", "skip"),
        };
        let symbol = if style.ascii { ascii } else { symbol };
        let indented = |lines: &str| clean_lines(lines, style).join("\n                      ");
        text += &format!("{symbol} {word}  {:<13} {}\n", line.title, indented(&line.found));
        if let Some(remedy) = &line.remedy {
            let arrow = if style.ascii { "->" } else { "→" };
            text += &format!("{:>22}{arrow} {}\n", "", indented(remedy));
        }
    }
    text
}

fn clean_lines(text: &str, style: Style) -> Vec<String> {
    text.lines().map(|line| clean(line, style.ascii).into_owned()).collect()
}
