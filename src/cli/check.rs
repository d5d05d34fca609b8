//! `warpscope check`: verdicts for GPUs, as blocks, as a table, or as JSON.
//!
//! Exit codes: 0 everything asked about runs (also by another route, or slowly); 1 something fails, gives wrong output or runs in part;
//! 2 the words were not understood; 4 nothing is known to go wrong, but something is unknown. Unknown has a code of its own because a
//! script that reads 0 as "works" must not be told so from no evidence, and because nothing failed either.

use std::io::{self, Write};

use serde::Serialize;
use warpscope_probes::rules::RuleBase;

use super::query::questions;
use super::verdict_text::{Style, block, summary};
use crate::engine::{Outcome, Question, Target, Verdict, evaluate};

/// Number of the JSON form.
pub const SCHEMA: u32 = 1;

/// What to check, and how to say it.
#[derive(Clone, Debug, Default)]
pub struct CheckRequest {
    /// Devices, real or what-if.
    pub gpus: Vec<Target>,
    /// Words: `lmdeploy pytorch`, `vllm@0.9.2 awq`, `glm-4 dtype=fp16`. None: everything, as a table.
    pub queries: Vec<String>,
    /// Only what fails, gives wrong output or runs in part.
    pub only_bad: bool,
    /// JSON instead of text.
    pub json: bool,
    /// Columns to wrap at; 100 where unknown.
    pub width: Option<u16>,
    /// Only ASCII symbols.
    pub ascii: bool,
    /// Whether outcomes are coloured.
    pub color: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    verdicts: &'a [Verdict],
}

/// Runs the check. Answers go to `out`, a misunderstanding to `err`; returns the exit code.
pub fn run(
    base: &RuleBase,
    request: &CheckRequest,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<u8> {
    let asked = match questions(base, &request.queries) {
        Ok(asked) => asked,
        Err(error) => {
            writeln!(err, "warpscope check: {error}")?;
            return Ok(2);
        }
    };
    if request.gpus.is_empty() {
        writeln!(err, "warpscope check: no GPU to check; name one: --gpu \"GTX 1060\"")?;
        return Ok(2);
    }
    let verdicts = verdicts(base, &request.gpus, &asked, &|_, _| Vec::new());
    write(request, &asked, &verdicts, out)?;
    Ok(exit_code(&verdicts))
}

/// Every GPU asked every question, GPU by GPU. `extra` gives what inspection and probes found about a question on a device.
pub fn verdicts(
    base: &RuleBase,
    gpus: &[Target],
    asked: &[Question],
    extra: &dyn Fn(&Target, &Question) -> Vec<crate::engine::Finding>,
) -> Vec<Verdict> {
    let each = |gpu| {
        asked.iter().map(move |question| evaluate(base, gpu, question, &extra(gpu, question)))
    };
    gpus.iter().flat_map(each).collect()
}

/// The exit code a list of verdicts stands for: 0 only when everything is known to run. A script that starts
/// a server on 0 must not start it on a guess, so unknown has a code of its own.
pub fn exit_code(verdicts: &[Verdict]) -> u8 {
    let any = |is: fn(Outcome) -> bool| verdicts.iter().any(|verdict| is(verdict.outcome));
    match () {
        () if any(Outcome::is_bad) => 1,
        () if any(|outcome| outcome == Outcome::Unknown) => 4,
        () => 0,
    }
}

fn write(
    request: &CheckRequest,
    asked: &[Question],
    verdicts: &[Verdict],
    out: &mut dyn Write,
) -> io::Result<()> {
    let shown: Vec<Verdict> = verdicts
        .iter()
        .filter(|verdict| !request.only_bad || verdict.outcome.is_bad())
        .cloned()
        .collect();
    if request.json {
        serde_json::to_writer_pretty(&mut *out, &Document { schema: SCHEMA, verdicts: &shown })?;
        return writeln!(out);
    }
    let style =
        Style { width: request.width.unwrap_or(100), ascii: request.ascii, color: request.color };
    if request.queries.is_empty() && !request.only_bad {
        write!(out, "{}", table(&request.gpus, asked, verdicts, style))?;
    } else {
        for verdict in &shown {
            writeln!(out, "{}", block(verdict, style))?;
        }
    }
    writeln!(out, "{}", summary(verdicts))
}

/// Configurations down, GPUs across; each cell the outcome's symbol and the letter of its evidence.
fn table(gpus: &[Target], asked: &[Question], verdicts: &[Verdict], style: Style) -> String {
    let mut text = String::new();
    for (number, gpu) in gpus.iter().enumerate() {
        let sm =
            gpu.sm.map_or_else(|| "compute capability unknown".to_owned(), |sm| sm.to_string());
        let what_if = if gpu.what_if { ", what-if" } else { "" };
        text.push_str(&format!("{:>3}  {} ({sm}{what_if})\n", number + 1, style.clean(&gpu.label)));
    }
    let names: Vec<String> = (0..asked.len())
        .map(|row| {
            let verdict = &verdicts[row];
            style.clean(&format!(
                "{} {} {} {}",
                verdict.framework,
                verdict.version,
                style.dot(),
                verdict.config
            ))
        })
        .collect();
    let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let heads: String = (1..=gpus.len()).map(|number| format!("{number:>4}")).collect();
    text.push_str(&format!("\n{}{heads}\n", " ".repeat(widest)));
    for (row, name) in names.iter().enumerate() {
        let padding = " ".repeat(widest - name.chars().count());
        let cells = (0..gpus.len()).map(|gpu| &verdicts[gpu * asked.len() + row]).map(|verdict| {
            let letter = verdict.level.map_or(" ", |level| level.letter());
            format!("  {}{letter}", style.symbol(verdict.outcome))
        });
        text.push_str(format!("{name}{padding}{}", cells.collect::<String>()).trim_end());
        text.push('\n');
    }
    let legend =
        crate::engine::OUTCOMES.iter().map(|row| format!("{} {}", style.symbol(row.0), row.4));
    let letters = "r by rule  i inspected  m measured";
    text.push_str(&format!("\n{}  {letters}\n", legend.collect::<Vec<_>>().join("  ")));
    text
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
