//! Verdicts as a table: configurations down, grouped by framework, GPUs across.

use std::fmt::Write as _;

use crate::commands::answer::text::{Style, version, wrapped};
use crate::commands::check::Report;
use crate::engine::{DISPUTED, MEDIUM, OUTCOMES, Question, Target, Verdict};
use crate::text::{fit, width};

/// Columns of one GPU: a blank, the outcome's symbol, the letter of its evidence, the mark of what is less than sure.
const CELL: usize = 4;
/// Names of configurations get at least so many columns; GPUs that do not fit go into another table below.
const NARROWEST_NAME: usize = 24;
/// In front of the configurations of a framework.
const INDENT: &str = "  ";

/// The table with its list of GPUs and its legend. Cells that are not to be shown are empty.
pub(crate) fn table(report: &Report<'_>, style: Style) -> String {
    let rows: Vec<usize> = report.shown_rows().collect();
    let mut text = gpus(&report.gpus, style);
    let names = names(report, &rows, style);
    let widest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let room = style.prose_width();
    let wide = style.width.is_none();
    let count = report.gpus.len();
    let across = if wide { count } else { room.saturating_sub(NARROWEST_NAME) / CELL }.max(1);
    for first in (0..count).step_by(across) {
        let last = count.min(first + across);
        let name_room = if wide { widest } else { widest.min(room - CELL * (last - first)) };
        text.push('\n');
        text.push_str(&head(first..last, name_room));
        let mut group: Option<&String> = None;
        for (row, name) in rows.iter().zip(&names) {
            let verdicts: Vec<_> = report.row(*row).skip(first).take(last - first).collect();
            let Some(verdict) = verdicts.first() else { continue };
            if group.replace(&verdict.framework) != Some(&verdict.framework) {
                let title = format!("{} {}", verdict.framework, version(verdict));
                let _ = writeln!(text, "{}", style.clean(&title));
            }
            text.push_str(&line(report, name, name_room, &verdicts, style));
        }
    }
    text.push_str(&legend(style));
    text
}

fn gpus(gpus: &[Target], style: Style) -> String {
    let mut text = String::new();
    for (number, gpu) in gpus.iter().enumerate() {
        let sm =
            gpu.sm.map_or_else(|| "compute capability unknown".to_owned(), |sm| sm.to_string());
        let what_if = if gpu.what_if { ", what-if" } else { "" };
        let driver = gpu.driver.as_ref().filter(|_| gpu.what_if);
        let driver = driver.map(|driver| format!(", driver {driver}")).unwrap_or_default();
        let label = style.clean(&gpu.label);
        let _ = writeln!(text, "{:>3}  {label} ({sm}{what_if}{driver})", number + 1);
    }
    text
}

/// Names of the configurations. One of another version than the first of its framework says so.
fn names(report: &Report<'_>, rows: &[usize], style: Style) -> Vec<String> {
    let mut first: Option<&Question> = None;
    let name = |row: &usize| {
        let question = &report.asked[*row];
        if first.is_none_or(|head| head.framework != question.framework) {
            first = Some(question);
        }
        let other = first.is_some_and(|head| head.version != question.version);
        let version = question.version.as_deref().filter(|_| other);
        let version = version.map(|version| format!("{version} ")).unwrap_or_default();
        style.clean(&format!("{INDENT}{version}{}", question.words()))
    };
    rows.iter().map(name).collect()
}

fn head(gpus: std::ops::Range<usize>, name_room: usize) -> String {
    let numbers: String = gpus.map(|gpu| format!("{:>1$} ", gpu + 1, CELL - 1)).collect();
    format!("{}{}\n", " ".repeat(name_room), numbers.trim_end())
}

fn line(
    report: &Report<'_>,
    name: &str,
    name_room: usize,
    verdicts: &[&Verdict],
    style: Style,
) -> String {
    let name = &fit(name, name_room, style.ascii);
    let mut line = format!("{name}{}", " ".repeat(name_room.saturating_sub(width(name))));
    for verdict in verdicts {
        if report.shows(verdict) {
            let letter = verdict.level.map_or(" ", |level| level.letter());
            let symbol = style.symbol(verdict.outcome);
            let _ = write!(line, " {symbol}{letter}{:1}", verdict.mark());
        } else {
            line.push_str(&" ".repeat(CELL));
        }
    }
    format!("{}\n", line.trim_end())
}

fn legend(style: Style) -> String {
    let symbols: Vec<_> =
        OUTCOMES.iter().map(|row| format!("{} {}", style.symbol(row.0), row.4)).collect();
    let mut text = "\n".to_owned();
    wrapped(&mut text, &symbols.join("  "), 0, 0, style);
    text.push_str("r by rule  w by published wheel  i inspected  m measured\n");
    let marks = [MEDIUM, DISPUTED].map(|(mark, meaning)| format!("{mark} {meaning}"));
    let _ = writeln!(text, "suffix  {}", marks.join("  "));
    text.push_str("`warpscope why` explains a verdict\n");
    text
}
