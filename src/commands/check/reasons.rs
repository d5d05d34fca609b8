//! Why something does not run as asked, once for all GPUs on which it is for the same reason.

use crate::commands::answer::text::{Style, field, verbatim, version, wrapped};
use crate::commands::check::Report;
use crate::engine::{Outcome, Verdict};

/// Reasons told; more are counted.
const MOST: usize = 12;
/// GPUs named for one reason.
const MOST_GPUS: usize = 4;

/// A verdict, and the GPUs it holds for.
struct Reason<'a> {
    verdict: &'a Verdict,
    gpus: Vec<&'a str>,
}

/// The reasons, in the order of the table.
pub(crate) fn reasons(report: &Report<'_>, style: Style) -> String {
    let all: Vec<Reason<'_>> = report.shown_rows().flat_map(|row| of_row(report, row)).collect();
    let mut text = String::new();
    for reason in all.iter().take(MOST) {
        text.push('\n');
        one(&mut text, reason, style);
    }
    if all.len() > MOST {
        let more = format!("{} more reasons: --long shows them all.", all.len() - MOST);
        text.push('\n');
        wrapped(&mut text, &more, 0, 0, style);
    }
    text
}

fn of_row<'a>(report: &'a Report<'_>, row: usize) -> Vec<Reason<'a>> {
    let mut found: Vec<Reason<'a>> = Vec::new();
    let told = |verdict: &&Verdict| verdict.outcome != Outcome::Works && report.shows(verdict);
    for verdict in report.row(row).filter(told) {
        let same = |other: &&mut Reason<'a>| {
            let other = other.verdict;
            (other.outcome, &other.reason, &other.needs, &other.fix)
                == (verdict.outcome, &verdict.reason, &verdict.needs, &verdict.fix)
        };
        match found.iter_mut().find(same) {
            Some(reason) => reason.gpus.push(&verdict.gpu),
            None => found.push(Reason { verdict, gpus: vec![&verdict.gpu] }),
        }
    }
    found
}

fn one(text: &mut String, reason: &Reason<'_>, style: Style) {
    let Reason { verdict, gpus } = reason;
    let name = format!("{} {} {}", verdict.framework, version(verdict), verdict.config);
    let outcome = style.paint(verdict.outcome, verdict.outcome.words());
    let symbol = style.symbol(verdict.outcome);
    let title =
        format!("{symbol} {}: {outcome} on {}", style.clean(&name), style.clean(&names(gpus)));
    wrapped(text, &title, 0, 2, style);
    field(text, "why", &verdict.reason, style);
    field(text, "needs", &verdict.needs, style);
    verbatim(text, "fix", verdict.fix.as_deref(), style);
}

fn names(gpus: &[&str]) -> String {
    let told = gpus.iter().take(MOST_GPUS).copied().collect::<Vec<_>>().join(", ");
    match gpus.len().checked_sub(MOST_GPUS + 1) {
        Some(rest) => format!("{told} and {} more", rest + 1),
        None => told,
    }
}
