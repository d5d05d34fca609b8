//! One point a line: words of `key=value`, or a JSON object.

use super::{Point, Points, PointsError};

/// Longest line that is read.
const MAX_LINE: usize = 1 << 20;
/// Most words of a line.
const MAX_WORDS: usize = 64;

/// Why a line is no point.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LineError(String);

/// Keys a journal puts beside a point.
const JOURNAL_KEYS: &[&str] = &["type", "at_ms", "window"];

/// Units a time may be given in, with the nanoseconds of one.
const TIMES: &[(&str, f64)] = &[("t_ns", 1.0), ("t_us", 1e3), ("t_ms", 1e6), ("t_s", 1e9)];

pub(super) fn is_journal(head: &str) -> bool {
    let first = head.lines().next().unwrap_or_default();
    first.starts_with('{')
        && (first.contains("\"t_ns\"")
            || first.contains("\"t_us\"")
            || first.contains("\"type\":\"run\""))
}

pub(super) fn is_lines(head: &str) -> bool {
    head.lines().take(50).any(|line| parse_line(line).is_ok())
}

/// Reads lines; those that are no points are counted, and the first is told.
pub(super) fn read(text: &str) -> Result<Points, PointsError> {
    let mut all = Points::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match parse_line(line) {
            Ok(point) => all.points.push(point),
            Err(_) if line.starts_with("{\"type\"") || !line.contains("t_") => all.left_out += 1,
            Err(error) => {
                all.left_out += 1;
                all.damaged.get_or_insert_with(|| format!("line {}: {error}", number + 1));
            }
        }
    }
    Ok(all)
}

/// Reads one line: `name=gemm m=16 n=4096 k=4096 dtype=bf16 t_us=41.3 flops=5.4e8 cfg=BM64`, or the same as JSON.
///
/// `name` and one of `t_ns`, `t_us`, `t_ms`, `t_s` are required. `dtype`, `device`, `flops`, `bytes`, `sm_mhz` and `cfg` are known; every
/// other word is part of the shape.
pub fn parse_line(line: &str) -> Result<Point, LineError> {
    let line = line.trim();
    if line.len() > MAX_LINE {
        return Err(LineError(format!("longer than {MAX_LINE} bytes")));
    }
    let mut words = if line.starts_with('{') { json_words(line)? } else { plain_words(line)? };
    let times = TIMES.iter().find_map(|(unit, ns)| Some((words.remove(*unit)?, *ns)));
    let (times, ns) =
        times.ok_or_else(|| LineError("no time: write t_us=, t_ms=, t_ns= or t_s=".to_owned()))?;
    let t_ns: Vec<f64> = numbers("time", &times)?.into_iter().map(|time| time * ns).collect();
    if !t_ns.iter().all(|time| time.is_finite() && *time > 0.0) {
        return Err(LineError(format!("time {times}: must be above zero and finite")));
    }
    let mut point = Point { t_ns, ..Point::default() };
    point.key.name = words.remove("name").ok_or_else(|| LineError("no name=".to_owned()))?;
    point.key.dtype = words.remove("dtype");
    point.key.device = words.remove("device");
    point.config = words.remove("cfg");
    point.sm_mhz =
        words.remove("sm_mhz").map_or(Ok(Vec::new()), |text| numbers("sm_mhz", &text))?;
    point.flops = words.remove("flops").map(|text| number("flops", &text)).transpose()?;
    point.bytes = words.remove("bytes").map(|text| number("bytes", &text)).transpose()?;
    if let Some(tainted) = words.remove("tainted") {
        point.tainted =
            tainted.split(',').filter(|why| !why.is_empty()).map(str::to_owned).collect();
    }
    point.key.shape.0 = words;
    Ok(point)
}

type Words = std::collections::BTreeMap<String, String>;

fn plain_words(line: &str) -> Result<Words, LineError> {
    let mut words = Words::new();
    for word in line.split_whitespace() {
        let (name, value) = word
            .split_once('=')
            .filter(|(name, value)| !name.is_empty() && !value.is_empty())
            .ok_or_else(|| LineError(format!("{word:?}: write name=value")))?;
        take(&mut words, name, value.to_owned())?;
    }
    Ok(words)
}

fn json_words(line: &str) -> Result<Words, LineError> {
    use serde_json::Value;
    let object: serde_json::Map<String, Value> =
        serde_json::from_str(line).map_err(|error| LineError(error.to_string()))?;
    let mut words = Words::new();
    for (name, value) in object {
        if JOURNAL_KEYS.contains(&name.as_str()) {
            continue;
        }
        let text = match value {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            Value::Array(list) => list
                .iter()
                .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned))
                .collect::<Vec<_>>()
                .join(","),
            Value::Object(shape) if name == "shape" => {
                for (name, size) in shape {
                    let size = size.as_str().map_or_else(|| size.to_string(), str::to_owned);
                    take(&mut words, &name, size)?;
                }
                continue;
            }
            Value::Null => continue,
            Value::Bool(_) | Value::Object(_) => {
                return Err(LineError(format!("{name}: not a number or text")));
            }
        };
        take(&mut words, if name == "config" { "cfg" } else { &name }, text)?;
    }
    words.retain(|_, text| !text.is_empty());
    Ok(words)
}

fn take(words: &mut Words, name: &str, value: String) -> Result<(), LineError> {
    if words.len() == MAX_WORDS {
        return Err(LineError(format!("more than {MAX_WORDS} words")));
    }
    match words.insert(name.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err(LineError(format!("{name} is there twice"))),
    }
}

fn numbers(what: &str, text: &str) -> Result<Vec<f64>, LineError> {
    text.split(',').map(|one| number(what, one)).collect()
}

fn number(what: &str, text: &str) -> Result<f64, LineError> {
    let number: Option<f64> = text.trim().parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| LineError(format!("{what} {text:?} is not a number")))
}
