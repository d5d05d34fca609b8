//! Benchmark harnesses: Google Benchmark, hyperfine, pytest-benchmark, criterion, Go.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::gather::{Gather, csv_rows, named, number, pairs, unit_ns};
use super::json::{document, documents, plain};
use super::{Key, Points, PointsError, Shape, Sidecar, SidecarKind};
use crate::text::without_escapes;

#[derive(Deserialize)]
struct Google {
    benchmarks: Vec<GoogleRun>,
}

#[derive(Deserialize)]
struct GoogleRun {
    name: String,
    run_name: Option<String>,
    run_type: Option<String>,
    #[serde(default)]
    error_occurred: bool,
    real_time: Option<f64>,
    cpu_time: Option<f64>,
    time_unit: Option<String>,
}

/// Repetitions of one benchmark become samples of one point, CPU time beside real time; aggregates are left out, they are no samples.
pub(super) fn google(text: &str) -> Result<Points, PointsError> {
    let mut all = Gather::default();
    for run in document::<Google>(text)?.benchmarks {
        let unit = run.time_unit.as_deref().unwrap_or("ns");
        let unit = unit_ns(unit).ok_or_else(|| {
            PointsError(format!("time unit {unit:?} of {}: known are ns, us, ms, s", run.name))
        })?;
        if run.error_occurred {
            all.leave_out(|| format!("{} failed", run.name));
            continue;
        }
        if run.run_type.as_deref() == Some("aggregate") {
            all.pass_over();
            continue;
        }
        let key = named(run.run_name.unwrap_or(run.name));
        if let Some(time) = run.cpu_time {
            all.add(key.clone(), Some("clock=cpu".to_owned()), [time * unit]);
        }
        all.add(key, None, run.real_time.map(|time| time * unit));
    }
    Ok(all.points())
}

#[derive(Deserialize)]
struct Hyperfine {
    results: Vec<HyperfineRun>,
}

#[derive(Deserialize)]
struct HyperfineRun {
    command: String,
    #[serde(default)]
    times: Vec<f64>,
    median: Option<f64>,
    #[serde(default)]
    parameters: BTreeMap<String, Value>,
}

/// `hyperfine --export-json`, in seconds.
pub(super) fn hyperfine(text: &str) -> Result<Points, PointsError> {
    let mut all = Gather::default();
    for run in document::<Hyperfine>(text)?.results {
        let times = if run.times.is_empty() { run.median.into_iter().collect() } else { run.times };
        let config = pairs(run.parameters.iter().map(|(name, value)| (name, plain(value))));
        all.add(named(run.command), config, times.into_iter().map(|seconds| seconds * 1e9));
    }
    Ok(all.points())
}

const HYPERFINE_CSV: &str = "command,mean,stddev,median,";

pub(super) fn is_hyperfine_csv(head: &str) -> bool {
    head.starts_with(HYPERFINE_CSV)
}

/// `hyperfine --export-csv`: no samples, only their median.
pub(super) fn hyperfine_csv(text: &str) -> Result<Points, PointsError> {
    let mut all = Gather::default();
    let is_header = |cells: &[String]| cells.join(",").starts_with(HYPERFINE_CSV);
    csv_rows(text, is_header, |row| {
        let parameters =
            row.cells().filter_map(|(name, value)| Some((name.strip_prefix("parameter_")?, value)));
        let key = named(row.get("command").unwrap_or_default());
        all.add(key, pairs(parameters), row.number("median").map(|seconds| seconds * 1e9));
    });
    Ok(all.points())
}

#[derive(Deserialize)]
struct Pytest {
    benchmarks: Vec<PytestRun>,
}

#[derive(Deserialize)]
struct PytestRun {
    fullname: String,
    stats: PytestStats,
}

#[derive(Deserialize)]
struct PytestStats {
    median: Option<f64>,
    #[serde(default)]
    data: Vec<f64>,
}

/// `pytest --benchmark-json`, in seconds of one iteration. Parameters are part of the name.
pub(super) fn pytest(text: &str) -> Result<Points, PointsError> {
    let mut all = Gather::default();
    for run in document::<Pytest>(text)?.benchmarks {
        let stats = run.stats;
        let times =
            if stats.data.is_empty() { stats.median.into_iter().collect() } else { stats.data };
        all.add(named(run.fullname), None, times.into_iter().map(|seconds| seconds * 1e9));
    }
    Ok(all.points())
}

#[derive(Deserialize)]
struct CriterionSample {
    iters: Vec<f64>,
    times: Vec<f64>,
}

/// Criterion's `sample.json`, in nanoseconds of all iterations of a sample. The name is in the file beside it.
pub(super) fn criterion_sample(text: &str) -> Result<Points, PointsError> {
    let sample: CriterionSample = document(text)?;
    let mut all = Gather::default();
    let times = sample.times.iter().zip(&sample.iters);
    all.add(named("criterion"), None, times.map(|(time, iterations)| time / iterations));
    let mut all = all.points();
    if !all.points.is_empty() {
        let kind = SidecarKind::CriterionName;
        all.sidecars.push(Sidecar { point: 0, file: "benchmark.json".to_owned(), kind });
    }
    Ok(all)
}

/// Name of a benchmark in criterion's `benchmark.json`.
pub(super) fn criterion_name(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Benchmark {
        full_id: String,
    }
    serde_json::from_str(text).ok().map(|benchmark: Benchmark| benchmark.full_id)
}

#[derive(Deserialize)]
struct CriterionMessage {
    reason: String,
    id: Option<String>,
    unit: Option<String>,
    #[serde(default)]
    iteration_count: Vec<f64>,
    #[serde(default)]
    measured_values: Vec<f64>,
}

/// `cargo criterion --message-format=json`.
pub(super) fn criterion_messages(text: &str) -> Result<Points, PointsError> {
    let mut all = Gather::default();
    for message in documents::<CriterionMessage>(text) {
        let message = message?;
        let unit = unit_ns(message.unit.as_deref().unwrap_or("ns"));
        let (Some(name), Some(unit)) = (message.id, unit) else { continue };
        if message.reason == "benchmark-complete" {
            let samples = message.measured_values.iter().zip(&message.iteration_count);
            all.add(named(name), None, samples.map(|(time, count)| time / count * unit));
        }
    }
    Ok(all.points())
}

const CRITERION_TIME: &str = "time:   [";

pub(super) fn is_criterion_text(head: &str) -> bool {
    head.lines().any(|line| line.contains(CRITERION_TIME))
}

/// What `cargo bench` prints: `name  time:   [low estimate high]`, with a long name on a line before.
pub(super) fn criterion_text(text: &str) -> Result<Points, PointsError> {
    let mut all = Gather::default();
    let (mut before, text) = ("", without_escapes(text));
    for line in text.lines() {
        if let Some((name, rest)) = line.split_once(CRITERION_TIME) {
            let name = if name.trim().is_empty() { before } else { name };
            let words: Vec<&str> = rest.trim_end_matches(']').split_whitespace().collect();
            let time = match words[..] {
                [_, _, time, unit, _, _] => number(time).zip(unit_ns(unit)),
                _ => None,
            };
            all.add(named(name.trim()), None, time.map(|(time, unit)| time * unit));
        }
        before = line;
    }
    Ok(all.points())
}

pub(super) fn is_go(head: &str) -> bool {
    head.lines().any(|line| line.starts_with("Benchmark") && line.contains(" ns/op"))
}

/// `go test -bench`: a line is a sample, the number behind the name the processors it ran on.
pub(super) fn go(text: &str) -> Result<Points, PointsError> {
    let mut all = Gather::default();
    let (mut package, mut device) = (None, None);
    for line in text.lines() {
        match line.split_once(": ") {
            Some(("pkg", name)) => package = Some(name.trim().to_owned()),
            Some(("cpu", name)) => device = Some(name.trim().to_owned()),
            _ => {}
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(at) = words.iter().position(|word| *word == "ns/op") else { continue };
        if at < 2 || !line.starts_with("Benchmark") {
            continue;
        }
        let (name, processors) = match words[0].rsplit_once('-') {
            Some((name, count)) if count.parse::<u32>().is_ok() => (name, Some(count)),
            _ => (words[0], None),
        };
        let shape = processors.map(|count| ("procs".to_owned(), count.to_owned()));
        let key = Key {
            name: package.iter().map(String::as_str).chain([name]).collect::<Vec<_>>().join("."),
            shape: Shape(shape.into_iter().collect()),
            dtype: None,
            device: device.clone(),
        };
        all.add(key, None, number(words[at - 1]));
    }
    Ok(all.points())
}
