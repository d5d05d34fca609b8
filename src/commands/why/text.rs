//! A verdict told from its beginning: what was asked, reasoning, what is known, the ways out.

use std::fmt::Write as _;

use warpscope_probes::rules::{COSTS, Cost, STAGES};

use crate::commands::answer::text::{
    Style, evidence, field, lines, origin, reasons, title, wrapped,
};
use crate::engine::{Fix, Level, Outcome, Question, Step, StepKind, Verdict};

/// Further causes that the summary names.
const MORE_CAUSES: usize = 2;

/// Verdicts that differ in their title alone, together, in the order of the first of each.
pub(crate) fn alike(verdicts: impl Iterator<Item = Verdict>) -> Vec<Vec<Verdict>> {
    let mut groups: Vec<Vec<Verdict>> = Vec::new();
    for verdict in verdicts {
        let body = |one: &Verdict| summary(one, Style::default());
        let same = |group: &&mut Vec<Verdict>| {
            let first = &group[0];
            (&first.gpu, first.outcome) == (&verdict.gpu, verdict.outcome)
                && body(first) == body(&verdict)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(verdict),
            None => groups.push(vec![verdict]),
        }
    }
    groups
}

/// The answer in three lines: the outcome, the causes with their numbers, what to do. Verdicts with the same answer have it once.
pub(crate) fn summarised(alike: &[Verdict], style: Style) -> String {
    titles(alike, style) + &alike.first().map_or_else(String::new, |one| summary(one, style))
}

/// A title for each answer, once for GPUs of the same name: `8x NVIDIA H200`.
fn titles(verdicts: &[Verdict], style: Style) -> String {
    let mut counted: Vec<(String, usize, &Verdict)> = Vec::new();
    for verdict in verdicts {
        let text = title(verdict, style);
        match counted.iter_mut().find(|one| one.0 == text) {
            Some(one) => one.1 += 1,
            None => counted.push((text, 1, verdict)),
        }
    }
    let line = |(text, count, verdict): (String, usize, &Verdict)| match count {
        1 => format!("{text}\n"),
        _ => {
            let gpu = format!("{count}x {}", verdict.gpu);
            format!("{}\n", title(&Verdict { gpu, ..verdict.clone() }, style))
        }
    };
    counted.into_iter().map(line).collect()
}

fn summary(verdict: &Verdict, style: Style) -> String {
    let mut text = String::new();
    let needs = [("needs", &verdict.needs), ("has", &verdict.has)];
    let needs = needs.iter().filter(|one| !one.1.is_empty() && !verdict.needs.is_empty());
    let needs: Vec<_> = needs.map(|(word, what)| format!("{word} {what}")).collect();
    let number = if needs.is_empty() { String::new() } else { format!(" ({})", needs.join("; ")) };
    let word = if verdict.outcome.runs() { "why" } else { "cause" };
    field(&mut text, word, &format!("{}{number}", verdict.reason), style);
    for step in verdict.steps.iter().filter(|step| step.kind == StepKind::Stops).take(MORE_CAUSES) {
        field(&mut text, "and", &step.text, style);
    }
    field(&mut text, "doubt", &verdict.doubts.join("; "), style);
    let fixes = all_fixes(verdict);
    if let Some(first) = fixes.first() {
        wrapped(&mut text, &format!("do{}", about(first, style)), 2, 9, style);
        lines(&mut text, &first.text, style);
    }
    let others: Vec<_> = fixes.iter().skip(1).map(|fix| fix.title.as_str()).collect();
    field(&mut text, "or", &others.join("; or "), style);
    text
}

/// Everything about one verdict.
pub(crate) fn explained(question: &Question, verdict: &Verdict, style: Style) -> String {
    let mut text = format!("{}\n", title(verdict, style));
    let version = format!("version {}, {}", verdict.version, origin(question).1);
    let parts = [version, question.config.to_string()].into_iter().filter(|part| !part.is_empty());
    field(&mut text, "asked", &parts.collect::<Vec<_>>().join("; "), style);
    reasons(&mut text, verdict, style);
    chain(&mut text, verdict, style);
    evidence(&mut text, verdict, style);
    dispute(&mut text, verdict, style);
    fixes(&mut text, verdict, style);
    text
}

/// The steps in the order of a start-up, numbered, each with what it did.
fn chain(text: &mut String, verdict: &Verdict, style: Style) {
    text.push_str("  reasoning\n");
    if verdict.steps.is_empty() {
        text.push_str("    no rule covers this\n");
    }
    for (number, step) in verdict.steps.iter().enumerate() {
        let rule = step.rule.as_deref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
        let line = format!("{}. {}: {}{rule}", number + 1, did(step), style.clean(&step.text));
        wrapped(text, &line, 4, 7, style);
    }
    let silent: Vec<_> = STAGES
        .iter()
        .map(|row| row.1)
        .filter(|stage| !verdict.steps.iter().any(|step| step.stage == *stage))
        .collect();
    if !silent.is_empty() && !verdict.steps.is_empty() {
        wrapped(text, &format!("no rules for: {}", silent.join(", ")), 4, 7, style);
    }
}

fn did(step: &Step) -> String {
    let stage = &step.stage;
    match step.kind {
        StepKind::Passes => format!("{stage}, passes"),
        StepKind::Rerouted => format!("{stage}, falls back"),
        StepKind::Stops => format!("{stage}, would stop it too"),
        StepKind::Decides => format!("{stage}, decides"),
        StepKind::Undecided => format!("{stage}, undecided"),
    }
}

/// Who says otherwise, where something does.
fn dispute(text: &mut String, verdict: &Verdict, style: Style) {
    if !verdict.disputed {
        return;
    }
    let against: Vec<_> = verdict
        .evidence
        .iter()
        .filter(|one| one.outcome != Outcome::Unknown)
        .filter(|one| {
            verdict.outcome == Outcome::Unknown || one.outcome.is_bad() != verdict.outcome.is_bad()
        })
        .map(|one| format!("{} says {}", one.id, one.outcome))
        .collect();
    let counts = match verdict.level {
        Some(Level::Rule) => "a rule takes precedence over a report",
        Some(Level::Published) => "published wheels take precedence",
        Some(Level::Inspected) => "installed binaries take precedence",
        Some(Level::Live) => "results measured here take precedence",
        None => "nothing decides between them",
    };
    field(text, "dispute", &format!("{}; {counts}", against.join(", ")), style);
}

/// Every way out, cheapest first. One that a rule gives as text alone counts as one.
pub(crate) fn all_fixes(verdict: &Verdict) -> Vec<Fix> {
    if !verdict.fixes.is_empty() {
        return verdict.fixes.clone();
    }
    let alone = |text: &String| Fix {
        cost: Cost::Flag,
        title: String::new(),
        text: text.clone(),
        then: None,
    };
    verdict.fix.iter().map(alone).collect()
}

fn fixes(text: &mut String, verdict: &Verdict, style: Style) {
    for (number, fix) in all_fixes(verdict).iter().enumerate() {
        wrapped(text, &format!("fix {}{}", number + 1, about(fix, style)), 2, 9, style);
        lines(text, &fix.text, style);
    }
}

/// `: set float32 (another flag; then works)`.
fn about(fix: &Fix, style: Style) -> String {
    if fix.title.is_empty() {
        return String::new();
    }
    let mut about = format!(": {} (", style.clean(&fix.title));
    let cost = COSTS.iter().find(|row| row.0 == fix.cost).map_or("", |row| row.1);
    about.push_str(cost);
    let _ = match fix.then {
        Some(then) => write!(about, "; then {} {then}", style.symbol(then)),
        None => write!(about, "; support for the alternative is unknown"),
    };
    about + ")"
}
