//! CSV, one row per sample, and text for Prometheus.

use std::io::{self, Write};

use super::{Group, Measured, Recorded, groups};
use crate::io::sink::csv::quoted;
use crate::runs::run_log::Span;

type Cell = fn(&Measured) -> String;

fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn middle(one: &Measured, span: fn(&crate::runs::run_log::Window) -> Option<Span>) -> String {
    number(one.window.as_ref().and_then(span).map(|span| span.median))
}

/// Columns of a point, the same for each of its samples. Absent is an empty cell.
const COLUMNS: &[(&str, Cell)] = &[
    ("at_ms", |one| one.at_ms.map(|at| at.to_string()).unwrap_or_default()),
    ("name", |one| quoted(&one.point.key.name)),
    ("shape", |one| quoted(&one.point.key.shape.to_string())),
    ("dtype", |one| quoted(one.point.key.dtype.as_deref().unwrap_or_default())),
    ("device", |one| quoted(one.point.key.device.as_deref().unwrap_or_default())),
    ("config", |one| quoted(one.point.config.as_deref().unwrap_or_default())),
    ("flops", |one| number(one.point.flops)),
    ("bytes", |one| number(one.point.bytes)),
    ("tainted", |one| quoted(&one.point.tainted.join("; "))),
    ("window_sm_mhz", |one| middle(one, |window| window.sm_mhz)),
    ("window_memory_mhz", |one| middle(one, |window| window.memory_mhz)),
    ("window_power_w", |one| middle(one, |window| window.power_w)),
    ("window_temperature_c", |one| middle(one, |window| window.temperature_c)),
];

/// Tidy: a row is a sample, a column a variable.
pub(super) fn csv(runs: &[Recorded], out: &mut dyn Write) -> io::Result<()> {
    let names: Vec<&str> = COLUMNS.iter().map(|column| column.0).collect();
    writeln!(out, "run,sample,t_ns,sm_mhz,{}", names.join(","))?;
    for (run, recorded) in runs.iter().enumerate() {
        for one in &recorded.measured {
            let cells: Vec<String> = COLUMNS.iter().map(|column| (column.1)(one)).collect();
            let rest = cells.join(",");
            for (sample, ns) in one.point.t_ns.iter().enumerate() {
                let clock = number(one.point.sm_mhz.get(sample).copied());
                writeln!(out, "{},{sample},{ns},{clock},{rest}", run + 1)?;
            }
        }
    }
    Ok(())
}

/// Quantiles of a summary.
const QUANTILES: &[f64] = &[0.25, 0.5, 0.75];

/// A summary per kernel of the last run: what a scrape of this moment would show.
pub(super) fn prometheus(runs: &[Recorded], out: &mut dyn Write) -> io::Result<()> {
    let Some(run) = runs.last() else { return Ok(()) };
    let groups = groups(run);
    writeln!(out, "# HELP warpscope_kernel_seconds Time of one piece of work, clean samples.")?;
    writeln!(out, "# TYPE warpscope_kernel_seconds summary")?;
    for group in groups.iter().filter(|group| !group.times.is_empty()) {
        let (labels, series) = (labels(group), group.series());
        for share in QUANTILES {
            if let Some(ns) = series.quantile(*share) {
                let seconds = ns / 1e9;
                writeln!(
                    out,
                    "warpscope_kernel_seconds{{{labels},quantile=\"{share}\"}} {seconds}"
                )?;
            }
        }
        let sum = group.times.iter().sum::<f64>() / 1e9;
        writeln!(out, "warpscope_kernel_seconds_sum{{{labels}}} {sum}")?;
        writeln!(out, "warpscope_kernel_seconds_count{{{labels}}} {}", group.times.len())?;
    }
    writeln!(
        out,
        "# HELP warpscope_tainted_samples Samples left out: throttled, shared, interrupted."
    )?;
    writeln!(out, "# TYPE warpscope_tainted_samples gauge")?;
    for group in &groups {
        writeln!(out, "warpscope_tainted_samples{{{}}} {}", labels(group), group.tainted)?;
    }
    Ok(())
}

fn labels(group: &Group<'_>) -> String {
    let shape = group.key.shape.to_string();
    let pairs = [
        ("name", group.key.name.as_str()),
        ("shape", &shape),
        ("dtype", group.key.dtype.as_deref().unwrap_or_default()),
        ("device", group.key.device.as_deref().unwrap_or_default()),
        ("config", group.config),
    ];
    let told = pairs.iter().filter(|(_, value)| !value.is_empty());
    let written = told.map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    written.collect::<Vec<_>>().join(",")
}

/// A label's value as the text format wants it; what is hostile is replaced.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    crate::text::clean(&value, false).into_owned()
}
