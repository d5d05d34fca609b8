//! `warpscope compare`: files of runs in, calls out.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::Serialize;

use super::exit::{CliError, Exit};
use super::options::Options;
use super::output;
use crate::bench::compare::{Call, Comparison, Effect, Limits, Row, Side, compare};
use crate::bench::journal::Journal;
use crate::bench::points::{self, Point};
use crate::sink::Holds;
use crate::sink::table::Style;
use crate::sink::text::clean;

/// Number of the JSON form.
const SCHEMA: u32 = 1;
/// Noise assumed where nobody measured it: half of the least difference that counts.
const NOISE: f64 = 0.005;
/// Largest document of another tool that is read whole.
const MAX_DOCUMENT: u64 = 1 << 30;
/// Longest line of a journal.
const MAX_LINE: u64 = 64 << 20;

/// Compares the files that were named.
pub(super) fn run(options: &Options) -> Result<Exit, CliError> {
    let asked = &options.compare;
    if asked.runs.len() < 2 {
        return Err(CliError::Usage(
            "name two runs or more: `warpscope compare before.jsonl after.jsonl`".to_owned(),
        ));
    }
    let mut runs = Vec::new();
    for path in &asked.runs {
        let read = read(path)?;
        for remark in &read.remarks {
            eprintln!("{}: {}", clean(&path.display().to_string(), true), clean(remark, true));
        }
        runs.push(read.points);
    }
    let limits = Limits::for_noise(asked.noise.unwrap_or(NOISE));
    let comparison = compare(&runs, &limits);
    let names: Vec<String> = asked.runs.iter().map(|path| path.display().to_string()).collect();
    if options.output.json {
        output::json(&document(&comparison, &names, &limits))?;
    } else {
        output::print(&text(&comparison, &names, output::style(options)))?;
    }
    let bad = match asked.fail_on.as_deref() {
        Some("slower") => comparison.count(Call::Slower),
        Some("faster") => comparison.count(Call::Faster),
        _ => 0,
    };
    Ok(if bad > 0 { Exit::CheckFailed } else { Exit::Fine })
}

/// Points of one file, and what a person should know about it.
#[derive(Default)]
struct Contents {
    points: Vec<Point>,
    remarks: Vec<String>,
}

fn read(path: &Path) -> Result<Contents, CliError> {
    let failed = |error: std::io::Error| CliError::Usage(format!("{}: {error}", path.display()));
    let mut input = BufReader::new(File::open(path).map_err(failed)?);
    let contents = if input.fill_buf().map_err(failed)?.starts_with(Holds::Journal.start()) {
        journal(input).map_err(failed)?
    } else {
        let mut text = String::new();
        let long = input.by_ref().take(MAX_DOCUMENT).read_to_string(&mut text).map_err(failed)?;
        if long as u64 == MAX_DOCUMENT {
            return Err(CliError::Usage(format!("{}: larger than 1 GiB", path.display())));
        }
        let read = points::read(&text)
            .map_err(|error| CliError::Usage(format!("{}: {error}", path.display())))?;
        let left_out = (read.left_out > 0)
            .then(|| format!("{} entries without a time left out", read.left_out));
        Contents {
            points: read.points,
            remarks: left_out.into_iter().chain(read.damaged).collect(),
        }
    };
    if contents.points.is_empty() {
        return Err(CliError::Usage(format!("{}: holds no measurement", path.display())));
    }
    Ok(contents)
}

/// A journal is read as a stream: a line at a time, whatever the size of the file.
fn journal(mut input: impl BufRead) -> std::io::Result<Contents> {
    let mut journal = Journal::default();
    let (mut line, mut number) = (Vec::new(), 0);
    while input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? > 0 {
        number += 1;
        journal.take(number, &String::from_utf8_lossy(&line));
        line.clear();
    }
    let damaged = journal
        .first_damage
        .map(|why| format!("{} damaged lines, the first: {why}", journal.damaged));
    Ok(Contents {
        points: journal.runs.into_iter().flat_map(|run| run.points).collect(),
        remarks: damaged.into_iter().collect(),
    })
}

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    baseline: &'a str,
    practical_share: f64,
    alpha: f64,
    rows: Vec<JsonRow<'a>>,
    not_compared: Vec<JsonAlone<'a>>,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    run: &'a str,
    key: String,
    config: &'a str,
    call: Call,
    reason: &'a str,
    before: JsonSide,
    after: JsonSide,
    change: Option<JsonEffect>,
    change_in_cycles: Option<JsonEffect>,
    p: Option<f64>,
}

#[derive(Serialize)]
struct JsonSide {
    samples: usize,
    tainted: usize,
    lower_quartile_ns: Option<f64>,
    median_ns: Option<f64>,
    upper_quartile_ns: Option<f64>,
}

#[derive(Serialize)]
struct JsonEffect {
    share: f64,
    low_share: f64,
    high_share: f64,
}

#[derive(Serialize)]
struct JsonAlone<'a> {
    run: &'a str,
    key: String,
    config: &'a str,
    why: &'a str,
}

fn document<'a>(comparison: &'a Comparison, names: &'a [String], limits: &Limits) -> Document<'a> {
    Document {
        schema: SCHEMA,
        baseline: &names[0],
        practical_share: limits.practical,
        alpha: limits.alpha,
        rows: comparison.rows.iter().map(|row| json_row(row, names)).collect(),
        not_compared: comparison
            .alone
            .iter()
            .map(|one| JsonAlone {
                run: &names[one.run],
                key: one.key.to_string(),
                config: &one.config,
                why: &one.why,
            })
            .collect(),
    }
}

fn json_row<'a>(row: &'a Row, names: &'a [String]) -> JsonRow<'a> {
    let side = |side: &Side| JsonSide {
        samples: side.samples,
        tainted: side.tainted,
        lower_quartile_ns: side.quartiles.map(|all| all.lower),
        median_ns: side.quartiles.map(|all| all.median),
        upper_quartile_ns: side.quartiles.map(|all| all.upper),
    };
    let effect = |effect: Effect| JsonEffect {
        share: effect.change,
        low_share: effect.interval.low,
        high_share: effect.interval.high,
    };
    let judgement = &row.judgement;
    JsonRow {
        run: &names[row.run + 1],
        key: row.key.to_string(),
        config: &row.config,
        call: judgement.call,
        reason: &judgement.reason,
        before: side(&row.sides.0),
        after: side(&row.sides.1),
        change: judgement.time.map(effect),
        change_in_cycles: judgement.cycles.map(effect),
        p: judgement.p,
    }
}

fn text(comparison: &Comparison, names: &[String], style: Style) -> String {
    let mut text = String::new();
    for run in 0..names.len().saturating_sub(1) {
        let rows: Vec<&Row> = comparison.rows.iter().filter(|row| row.run == run).collect();
        text += &format!(
            "{} against {}\n\n",
            clean(&names[run + 1], style.ascii),
            clean(&names[0], style.ascii)
        );
        text += &table(&rows, style);
    }
    if !comparison.alone.is_empty() {
        text += "not compared\n";
    }
    for one in &comparison.alone {
        let what = format!("{} {}", one.key, one.config);
        let line = format!("  {} in {}: {}\n", what.trim(), names[one.run], one.why);
        text += &clean(line.trim_end(), style.ascii);
        text.push('\n');
    }
    let calls = [Call::Slower, Call::Faster, Call::Same, Call::Ambiguous];
    let counts =
        calls.map(|call| format!("{} {}", comparison.count(call), call.to_string().to_lowercase()));
    text + &counts.join(", ") + "\n"
}

fn table(rows: &[&Row], style: Style) -> String {
    let names: Vec<String> = rows
        .iter()
        .map(|row| clean(format!("{} {}", row.key, row.config).trim(), style.ascii).into_owned())
        .collect();
    let widest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).min(48);
    let mut text = format!(
        "{:9}  {:widest$}  {:>10}  {:>10}  {:>8}  {:19}  {:>9}\n",
        "call", "kernel", "before", "after", "change", "95 % interval", "samples"
    );
    for (row, name) in rows.iter().zip(&names) {
        let median =
            |side: &Side| side.quartiles.map_or_else(|| "-".to_owned(), |all| duration(all.median));
        let percent = |share: f64| format!("{:+.2} %", share * 100.0);
        let time = row.judgement.time;
        let interval = time.map(|time| {
            format!("{} to {}", percent(time.interval.low), percent(time.interval.high))
        });
        let line = format!(
            "{:9}  {name:widest$}  {:>10}  {:>10}  {:>8}  {:19}  {:>9}",
            row.judgement.call,
            median(&row.sides.0),
            median(&row.sides.1),
            time.map_or_else(|| "-".to_owned(), |time| percent(time.change)),
            interval.unwrap_or_default(),
            format!("{}/{}", row.sides.0.samples, row.sides.1.samples),
        );
        text += line.trim_end();
        text += &format!("\n           {}{}\n", row.judgement.reason, left_out(row));
    }
    text.push('\n');
    text
}

fn left_out(row: &Row) -> String {
    match row.sides.0.tainted + row.sides.1.tainted {
        0 => String::new(),
        count => format!("; {count} tainted samples left out"),
    }
}

/// Nanoseconds in the unit a person would use.
fn duration(ns: f64) -> String {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")];
    let (size, unit) = units.into_iter().find(|(size, _)| ns >= *size).unwrap_or((1.0, "ns"));
    format!("{:.4} {unit}", ns / size)
}
