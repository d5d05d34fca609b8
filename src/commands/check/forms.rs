//! Verdicts for programs and for issues: JSON, CSV, Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;
use warpscope_probes::model::Model;

use crate::commands::answer::text::{Style, not_considered, origin, summary};
use crate::commands::check::Report;
use crate::engine::{Confidence, Level, Question, Verdict};
use crate::io::sink::csv::quoted;
use crate::io::sink::jsonl;
use crate::text::markdown as escaped;

/// Number of the JSON form.
const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    /// Number of verdicts by outcome, also of those that are not shown.
    counts: BTreeMap<&'static str, usize>,
    model: Option<About<'a>>,
    /// Words that change no verdict.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    not_considered: &'a [String],
    verdicts: Vec<&'a Verdict>,
}

#[derive(Serialize)]
struct About<'a> {
    name: &'a str,
    settings: BTreeMap<&'a str, &'a str>,
    weight_bytes: Option<u64>,
    details: BTreeMap<&'a str, &'a str>,
}

impl<'a> About<'a> {
    fn new(model: &'a Model) -> Self {
        Self {
            name: &model.name,
            settings: model.settings.iter().collect(),
            weight_bytes: model.weight_bytes,
            details: model.details.iter().map(|(name, what)| (*name, what.as_str())).collect(),
        }
    }
}

pub(crate) fn json(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut counts = BTreeMap::new();
    for verdict in &report.verdicts {
        *counts.entry(verdict.outcome.id()).or_default() += 1;
    }
    let document = Document {
        schema: SCHEMA,
        counts,
        model: report.request.asked.assumptions.model.as_ref().map(About::new),
        not_considered: &report.request.asked.said.unheard,
        verdicts: report.shown().map(|(_, verdict)| verdict).collect(),
    };
    out.write_all(&jsonl::pretty(&document)?)
}

type Cell = fn(&Question, &Verdict) -> String;

/// Columns of the CSV form.
const COLUMNS: &[(&str, Cell)] = &[
    ("gpu", |_, verdict| verdict.gpu.clone()),
    ("framework", |question, _| question.framework.clone()),
    ("version", |_, verdict| verdict.version.clone()),
    ("origin", |question, _| origin(question).0.to_owned()),
    ("config", |_, verdict| verdict.config.clone()),
    ("settings", |question, _| question.config.to_string()),
    ("outcome", |_, verdict| verdict.outcome.id().to_owned()),
    ("level", |_, verdict| verdict.level.map_or("", level_id).to_owned()),
    ("disputed", |_, verdict| verdict.disputed.to_string()),
    ("confidence", |_, verdict| verdict.confidence.map_or("", confidence_id).to_owned()),
    ("reason", |_, verdict| verdict.reason.clone()),
    ("needs", |_, verdict| verdict.needs.clone()),
    ("has", |_, verdict| verdict.has.clone()),
    ("symptom", |_, verdict| verdict.symptom.clone().unwrap_or_default()),
];

fn level_id(level: Level) -> &'static str {
    match level {
        Level::Rule => "rule",
        Level::Published => "published",
        Level::Inspected => "inspected",
        Level::Live => "live",
    }
}

fn confidence_id(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::High => "high",
        Confidence::Medium => "medium",
    }
}

/// One line per verdict. Fixes have several lines and are left to JSON.
pub(crate) fn csv(report: &Report<'_>) -> String {
    let heads: Vec<_> = COLUMNS.iter().map(|column| column.0).collect();
    let mut text = format!("{}\n", heads.join(","));
    for (question, verdict) in report.shown() {
        let cell = |column: &(&str, Cell)| {
            quoted((column.1)(question, verdict).replace('\n', " ").trim_end())
        };
        let cells: Vec<_> = COLUMNS.iter().map(cell).collect();
        let _ = writeln!(text, "{}", cells.join(","));
    }
    text
}

/// A table for an issue or a wiki: one line per configuration, one column per GPU.
pub(crate) fn markdown(report: &Report<'_>) -> String {
    let mut text = format!("{}\n\n", summary(&report.verdicts));
    if let Some(model) = &report.request.asked.assumptions.model {
        let (name, settings) = (escaped(&model.name), escaped(&model.settings.to_string()));
        let _ = writeln!(text, "Model {name}: {settings}\n");
    }
    text.push_str(&not_considered(&report.request.asked.said.unheard, Style::default()));
    let gpus = report.request.asked.gpus.iter().map(|gpu| escaped(&gpu.label));
    let heads: Vec<_> = ["Framework", "Version", "Configuration"]
        .map(str::to_owned)
        .into_iter()
        .chain(gpus)
        .collect();
    let _ = writeln!(text, "| {} |", heads.join(" | "));
    let _ = writeln!(text, "|{}", " --- |".repeat(heads.len()));
    for row in report.shown_rows() {
        let Some(first) = report.row(row).next() else { continue };
        let names = [&first.framework, &first.version, &first.config].map(|name| escaped(name));
        let cells = report.row(row).map(|verdict| match report.shows(verdict) {
            true => format!(
                "{} {}",
                verdict.outcome.symbol(report.request.asked.style.ascii),
                verdict.outcome
            ),
            false => String::new(),
        });
        let cells: Vec<_> = names.into_iter().chain(cells).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    text
}
