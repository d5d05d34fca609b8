//! Every output of llama-bench: JSON, JSON Lines, CSV, SQL and Markdown.
//!
//! The first four have the same fields, and what is not a result is a parameter, known or not. Markdown shows the parameters that were asked
//! for and rates; it makes points of its own.

use std::collections::BTreeMap;

use serde_json::Value;

use super::gather::{Gather, csv_rows, number, pairs};
use super::json::{document, documents, plain};
use super::{Key, Points, PointsError, Shape};

/// Fields of one test.
type Fields = BTreeMap<String, Value>;

/// What is neither a parameter nor a size: results, the build, and where the model lies.
const NO_PARAMETERS: &[&str] = &[
    "avg_ns",
    "avg_ts",
    "build_commit",
    "build_number",
    "gpu_info",
    "model_filename",
    "model_type",
    "n_depth",
    "n_gen",
    "n_prompt",
    "samples_ns",
    "samples_ts",
    "stddev_ns",
    "stddev_ts",
    "test_time",
];
/// Sizes of a test, by the field.
const SIZES: [(&str, &str); 3] = [("prompt", "n_prompt"), ("gen", "n_gen"), ("depth", "n_depth")];

const INSERT: &str = "INSERT INTO ";

pub(super) fn is_json(head: &str) -> bool {
    head.starts_with(['[', '{']) && head.contains("\"n_prompt\"") && head.contains("\"n_gen\"")
}

pub(super) fn is_csv(head: &str) -> bool {
    head.lines().any(|line| line.contains("n_prompt,n_gen,"))
}

pub(super) fn is_sql(head: &str) -> bool {
    head.contains(INSERT) && head.contains("n_prompt, n_gen, ")
}

pub(super) fn is_markdown(head: &str) -> bool {
    head.lines().any(|line| {
        let names = cells(line);
        names.first().is_some_and(|name| name == "model") && names.iter().any(|name| name == "t/s")
    })
}

/// An array of tests, or tests one after the other.
pub(super) fn json(text: &str) -> Result<Points, PointsError> {
    let mut all = Gather::default();
    if text.trim_start().starts_with('[') {
        let tests: Vec<Fields> = document(text)?;
        tests.iter().for_each(|test| add(&mut all, test));
        return Ok(all.points());
    }
    for test in documents(text) {
        add(&mut all, &test?);
    }
    Ok(all.points())
}

pub(super) fn csv(text: &str) -> Result<Points, PointsError> {
    let mut all = Gather::default();
    let is_header = |cells: &[String]| cells.iter().any(|cell| cell == "n_prompt");
    csv_rows(text, is_header, |row| {
        let test = row.cells().map(|(name, value)| (name.to_owned(), Value::from(value)));
        add(&mut all, &test.collect());
    });
    Ok(all.points())
}

/// `INSERT INTO … (a, b) VALUES ('1', '2');`, with every value in quotes.
pub(super) fn sql(text: &str) -> Result<Points, PointsError> {
    let mut all = Gather::default();
    for statement in text.split(INSERT).skip(1) {
        let parts = statement.split_once(" (").and_then(|(_, rest)| rest.split_once(')'));
        let values = parts.and_then(|(_, rest)| {
            let rest = rest.trim_start().strip_prefix("VALUES (")?;
            rest[..rest.find(");")?].trim().strip_prefix('\'')?.strip_suffix('\'')
        });
        let (Some((names, _)), Some(values)) = (parts, values) else {
            all.leave_out(|| "a statement that is none of llama-bench's".to_owned());
            continue;
        };
        let names = names.split(", ").map(str::to_owned);
        add(&mut all, &names.zip(values.split("', '").map(Value::from)).collect());
    }
    Ok(all.points())
}

/// One test a point; the time is that of the whole test.
fn add(all: &mut Gather, test: &Fields) {
    let text = |name: &str| test.get(name).map(plain).filter(|text| !text.is_empty());
    let sizes = SIZES.into_iter().filter_map(|(name, field)| Some((name.to_owned(), text(field)?)));
    let key = Key {
        name: text("model_type").unwrap_or_default(),
        shape: Shape(sizes.filter(|(_, size)| size != "0").collect()),
        dtype: None,
        device: text("gpu_info").or_else(|| text("backends")),
    };
    let parameters = test.iter().filter(|(name, _)| !NO_PARAMETERS.contains(&name.as_str()));
    let config = pairs(parameters.map(|(name, value)| (name, plain(value))));
    let samples = test.get("samples_ns").and_then(Value::as_array);
    let times: Vec<f64> = match samples {
        Some(samples) => samples.iter().filter_map(Value::as_f64).collect(),
        None => text("avg_ns").and_then(|ns| number(&ns)).into_iter().collect(),
    };
    all.add(key, config, times);
}

/// Cells of a row of a Markdown table.
fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().strip_prefix('|').and_then(|line| line.strip_suffix('|'));
    let cells = inner.into_iter().flat_map(|line| line.split('|'));
    cells.map(|cell| cell.trim().to_owned()).collect()
}

/// Columns of the table that are no parameters.
const COLUMNS: [&str; 3] = ["model", "test", "t/s"];

/// A rate with its spread becomes the time of the whole test.
pub(super) fn markdown(text: &str) -> Result<Points, PointsError> {
    let mut all = Gather::default();
    let mut names = Vec::new();
    for values in text.lines().map(cells).filter(|cells| !cells.is_empty()) {
        if values.iter().any(|cell| cell == "t/s") {
            names = values;
            continue;
        }
        let get = |name: &str| {
            let at = names.iter().position(|one| one == name)?;
            values.get(at).map(String::as_str)
        };
        let (Some(model), Some(test), Some(rate)) = (get("model"), get("test"), get("t/s")) else {
            continue;
        };
        let sizes = sizes(test);
        let rate = rate.split('±').next().and_then(number);
        let (Some(sizes), Some(rate)) = (sizes, rate) else {
            if !test.starts_with("--") {
                all.leave_out(|| format!("test {test:?} at {rate:?} tokens/s"));
            }
            continue;
        };
        let measured = |size: &(&str, u32)| if size.0 == "depth" { 0.0 } else { f64::from(size.1) };
        let tokens: f64 = sizes.iter().map(measured).sum();
        let shape = sizes.iter().map(|(name, size)| ((*name).to_owned(), size.to_string()));
        let key = Key { name: model.to_owned(), shape: Shape(shape.collect()), ..Key::default() };
        let parameters = names.iter().zip(&values);
        let config = pairs(parameters.filter(|(name, _)| !COLUMNS.contains(&name.as_str())));
        all.add(key, config, [tokens / rate * 1e9]);
    }
    Ok(all.points())
}

/// `pp512`, `tg 128`, `pp512+tg128 @ d4096`.
fn sizes(test: &str) -> Option<Vec<(&'static str, u32)>> {
    const NAMES: [(&str, &str); 3] = [("pp", "prompt"), ("tg", "gen"), ("d", "depth")];
    let part = |part: &str| {
        let (short, name) = NAMES.into_iter().find(|(short, _)| part.trim().starts_with(short))?;
        Some((name, part.trim()[short.len()..].trim().parse().ok()?))
    };
    test.split(['+', '@']).map(part).collect()
}
