//! A comparison for programs and for pull requests: JSON, CSV, Markdown.

use serde::Serialize;

use super::Shown;
use super::text::{interval, median, percent};
use crate::io::sink::csv::quoted;
use crate::runs::compare::{Call, Effect, Judgement, Limits, Row, Side};
use crate::text::markdown as escaped;

/// Number of the JSON form.
const SCHEMA: u32 = 3;

#[derive(Serialize)]
pub(crate) struct Document<'a> {
    schema: u32,
    baseline: &'a str,
    alpha: f64,
    rows: Vec<JsonRow<'a>>,
    not_compared: Vec<JsonAlone<'a>>,
    errors: &'a [String],
}

#[derive(Serialize)]
struct JsonRow<'a> {
    run: &'a str,
    key: String,
    config: &'a str,
    call: Call,
    reason: &'a str,
    practical_share: f64,
    before: JsonSide<'a>,
    after: JsonSide<'a>,
    change: Option<JsonEffect>,
    change_in_cycles: Option<JsonEffect>,
    p: Option<f64>,
}

#[derive(Serialize)]
struct JsonSide<'a> {
    processes: usize,
    samples: usize,
    samples_seen: usize,
    tainted: usize,
    taints: &'a [String],
    lower_quartile_ns: Option<f64>,
    median_ns: Option<f64>,
    upper_quartile_ns: Option<f64>,
}

#[derive(Serialize)]
struct JsonEffect {
    share: f64,
    low_share: Option<f64>,
    high_share: Option<f64>,
}

#[derive(Serialize)]
struct JsonAlone<'a> {
    run: &'a str,
    against: &'a str,
    key: String,
    config: &'a str,
    why: &'a str,
}

pub(crate) fn document<'a>(shown: &Shown<'a>) -> Document<'a> {
    let Shown { comparison, names, .. } = shown;
    Document {
        schema: SCHEMA,
        baseline: &names[0],
        alpha: Limits::default().alpha,
        rows: comparison.rows.iter().map(|row| json_row(row, shown)).collect(),
        not_compared: comparison
            .alone
            .iter()
            .map(|one| JsonAlone {
                run: &names[one.sides().0],
                against: &names[one.sides().1],
                key: one.key.to_string(),
                config: &one.config,
                why: &one.why,
            })
            .collect(),
        errors: shown.errors,
    }
}

fn json_side(side: &Side) -> JsonSide<'_> {
    JsonSide {
        processes: side.processes,
        samples: side.samples,
        samples_seen: side.all,
        tainted: side.tainted,
        taints: &side.taints,
        lower_quartile_ns: side.quartiles.map(|all| all.lower),
        median_ns: side.quartiles.map(|all| all.median),
        upper_quartile_ns: side.quartiles.map(|all| all.upper),
    }
}

fn json_row<'a>(row: &'a Row, shown: &Shown<'a>) -> JsonRow<'a> {
    let effect = |effect: Effect| JsonEffect {
        share: effect.change,
        low_share: effect.interval.map(|interval| interval.low),
        high_share: effect.interval.map(|interval| interval.high),
    };
    let judgement = &row.judgement;
    JsonRow {
        run: &shown.names[row.run + 1],
        key: row.key.to_string(),
        config: &row.config,
        call: judgement.call,
        reason: &judgement.reason,
        practical_share: row.practical,
        before: json_side(&row.sides.0),
        after: json_side(&row.sides.1),
        change: judgement.time.map(effect),
        change_in_cycles: judgement.cycles.map(effect),
        p: judgement.p,
    }
}

type Cell = fn(&Row) -> String;

fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Columns of the CSV form, behind the run. Absent is an empty cell.
const COLUMNS: &[(&str, Cell)] = &[
    ("name", |row| row.key.name.clone()),
    ("shape", |row| row.key.shape.to_string()),
    ("dtype", |row| row.key.dtype.clone().unwrap_or_default()),
    ("device", |row| row.key.device.clone().unwrap_or_default()),
    ("config", |row| row.config.clone()),
    ("call", |row| row.judgement.call.to_string().to_lowercase()),
    ("before_ns", |row| number(row.sides.0.quartiles.map(|all| all.median))),
    ("after_ns", |row| number(row.sides.1.quartiles.map(|all| all.median))),
    ("change_share", |row| number(row.judgement.time.map(|time| time.change))),
    ("low_share", |row| number(row.judgement.time.and_then(|time| Some(time.interval?.low)))),
    ("high_share", |row| number(row.judgement.time.and_then(|time| Some(time.interval?.high)))),
    ("practical_share", |row| row.practical.to_string()),
    ("p", |row| number(row.judgement.p)),
    ("processes_before", |row| row.sides.0.processes.to_string()),
    ("processes_after", |row| row.sides.1.processes.to_string()),
    ("samples_before", |row| row.sides.0.samples.to_string()),
    ("samples_after", |row| row.sides.1.samples.to_string()),
    ("tainted_before", |row| row.sides.0.tainted.to_string()),
    ("tainted_after", |row| row.sides.1.tainted.to_string()),
    ("reason", |row| row.judgement.reason.clone()),
];

/// One line per comparison; what was not compared has its reason and no call.
pub(crate) fn csv(shown: &Shown<'_>) -> String {
    let heads: Vec<&str> = ["run"].into_iter().chain(COLUMNS.iter().map(|row| row.0)).collect();
    let mut text = heads.join(",") + "\n";
    for row in &shown.comparison.rows {
        let cells = COLUMNS.iter().map(|column| (column.1)(row));
        text += &line([shown.names[row.run + 1].clone()].into_iter().chain(cells));
    }
    for one in &shown.comparison.alone {
        let reason = format!("in {}: {}", shown.names[one.sides().0], one.why);
        let about = Row {
            key: one.key.clone(),
            config: one.config.clone(),
            judgement: Judgement { reason, ..Judgement::default() },
            ..Row::default()
        };
        let told = ["name", "shape", "dtype", "device", "config", "reason"];
        let cells = COLUMNS.iter().map(|column| match told.contains(&column.0) {
            true => (column.1)(&about),
            false => String::new(),
        });
        text += &line([shown.names[one.run + 1].clone()].into_iter().chain(cells));
    }
    text
}

fn line(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.map(|cell| plain_or_quoted(&cell)).collect();
    cells.join(",") + "\n"
}

/// A number stays a number, also a negative one; everything else is quoted and defused.
fn plain_or_quoted(cell: &str) -> String {
    if cell.parse::<f64>().is_ok() { cell.to_owned() } else { quoted(cell) }
}

/// A table for a pull request.
pub(crate) fn markdown(shown: &Shown<'_>) -> String {
    let mut text = String::from(
        "| Call | Kernel | Before | After | Change | 95% interval | Samples |\n| --- | --- | ---: | ---: | ---: | --- | ---: |\n",
    );
    for row in &shown.comparison.rows {
        let name = format!("{} {}", row.key, row.config);
        let time = row.judgement.time;
        let cells = [
            row.judgement.call.to_string(),
            escaped(name.trim()),
            median(&row.sides.0),
            median(&row.sides.1),
            time.map_or_else(|| "–".to_owned(), |time| percent(time.change)),
            time.and_then(interval).unwrap_or_default(),
            format!("{}/{}", row.sides.0.samples, row.sides.1.samples),
        ];
        text += &format!("| {} |\n", cells.join(" | "));
    }
    if !shown.comparison.alone.is_empty() {
        text += "\nNot compared:\n\n";
    }
    for one in &shown.comparison.alone {
        text += &format!("- {}\n", escaped(&one.line(shown.names)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::samples::Key;

    #[test]
    fn columns_are_defused_and_numbers_are_not() {
        for (cell, want) in [("-0.5", "-0.5"), ("=A1", "'=A1"), ("a,b", "\"a,b\""), ("", "")] {
            assert_eq!(plain_or_quoted(cell), want);
        }
    }

    #[test]
    fn every_column_stands_once_and_an_empty_row_fills_it() {
        let row = Row { key: Key { name: "k".into(), ..Key::default() }, ..Row::default() };
        for (at, column) in COLUMNS.iter().enumerate() {
            assert!(COLUMNS[..at].iter().all(|other| other.0 != column.0), "{}", column.0);
            let _ = (column.1)(&row);
        }
    }
}
