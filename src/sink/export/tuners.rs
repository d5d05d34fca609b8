//! What tuners read: T4 of kernel_tuner (results-schema 1.0.0) and the JSON of nvbench.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};
use warpscope_probes::Timestamp;

use super::{Group, Recorded, groups, settings};
use crate::bench::points::Key;
use crate::sink::jsonl;

pub(super) fn write(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&jsonl::pretty(value).map_err(io::Error::other)?)
}

/// The order of the keys is the order of the file: readers tell a format by its beginning.
#[derive(Serialize)]
pub(super) struct T4 {
    schema_version: &'static str,
    results: Vec<T4Result>,
}

#[derive(Serialize)]
pub(super) struct T4Result {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timestamp: Option<Timestamp>,
    pub(super) configuration: BTreeMap<String, Value>,
    pub(super) objectives: [&'static str; 1],
    pub(super) times: T4Times,
    pub(super) invalidity: &'static str,
    pub(super) correctness: u8,
    pub(super) measurements: Vec<Value>,
}

#[derive(Serialize)]
pub(super) struct T4Times {
    /// Milliseconds.
    pub(super) runtimes: Vec<f64>,
}

impl T4 {
    pub(super) fn of(results: Vec<T4Result>) -> Self {
        Self { schema_version: "1.0.0", results }
    }
}

/// One result per kernel and configuration. Kernel, sizes and number format are parameters among the others: the schema has no place of their
/// own for them. Whether results were right is not known to a journal, and a measurement is taken as one of a kernel that ran.
pub(super) fn t4(runs: &[Recorded], out: &mut dyn Write) -> io::Result<()> {
    let all: Vec<_> = runs.iter().map(groups).collect();
    let results = all.iter().flatten().filter(|group| !group.times.is_empty()).map(t4_result);
    write(&T4::of(results.collect()), out)
}

fn t4_result(group: &Group<'_>) -> T4Result {
    let mut configuration = of_key(group.key);
    let parameters = settings(group.config).into_iter();
    configuration.extend(parameters.map(|(name, value)| (name, plain(&value))));
    let median = group.series().median().map(|ns| ns / 1e6);
    let mut measurements = vec![json!({"name": "time", "value": median, "unit": "ms"})];
    if group.tainted > 0 {
        measurements.push(json!({"name": "tainted", "value": group.tainted, "unit": ""}));
    }
    T4Result {
        timestamp: group.at_ms.map(Timestamp),
        configuration,
        objectives: ["time"],
        times: T4Times { runtimes: group.times.iter().map(|ns| ns / 1e6).collect() },
        invalidity: "correct",
        correctness: 1,
        measurements,
    }
}

/// Kernel, number format, device and sizes as parameters.
pub(super) fn of_key(key: &Key) -> BTreeMap<String, Value> {
    let mut configuration = BTreeMap::from([("kernel".to_owned(), json!(key.name))]);
    let told = [("dtype", &key.dtype), ("device", &key.device)];
    configuration.extend(
        told.into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), json!(value.as_ref()?)))),
    );
    configuration.extend(key.shape.0.iter().map(|(name, size)| (name.clone(), plain(size))));
    configuration
}

/// A whole number as one, everything else as text.
pub(super) fn plain(value: &str) -> Value {
    value.parse::<i64>().map_or_else(|_| json!(value), |number| json!(number))
}

#[derive(Serialize)]
struct Nvbench {
    meta: Value,
    devices: Vec<Value>,
    benchmarks: Vec<Value>,
}

/// One state per configuration, with the summaries nvbench has for isolated launches.
pub(super) fn nvbench(runs: &[Recorded], out: &mut dyn Write) -> io::Result<()> {
    let all: Vec<_> =
        runs.iter().flat_map(groups).filter(|group| !group.times.is_empty()).collect();
    let mut devices: Vec<&str> = Vec::new();
    let mut benchmarks: Vec<(&str, Vec<Value>)> = Vec::new();
    for group in &all {
        let device = group.key.device.as_deref().unwrap_or("unknown");
        let id = devices.iter().position(|one| *one == device).unwrap_or_else(|| {
            devices.push(device);
            devices.len() - 1
        });
        let name = group.key.name.as_str();
        let place = benchmarks.iter().position(|row| row.0 == name).unwrap_or_else(|| {
            benchmarks.push((name, Vec::new()));
            benchmarks.len() - 1
        });
        benchmarks[place].1.push(state(group, id));
    }
    let argv = runs.first().map(|run| run.identity.command.clone()).unwrap_or_default();
    let device = |(id, name): (usize, &&str)| json!({"id": id, "name": name});
    let benchmark = |(index, (name, states)): (usize, (&str, Vec<Value>))| json!({"index": index, "name": name, "states": states});
    let document = Nvbench {
        meta: json!({"argv": argv, "written_by": concat!("warpscope ", env!("CARGO_PKG_VERSION"))}),
        devices: devices.iter().enumerate().map(device).collect(),
        benchmarks: benchmarks.into_iter().enumerate().map(benchmark).collect(),
    };
    write(&document, out)
}

fn state(group: &Group<'_>, device: usize) -> Value {
    let mut axes = group.key.shape.0.clone();
    axes.extend(settings(group.config));
    axes.extend(group.key.dtype.clone().map(|dtype| ("dtype".to_owned(), dtype)));
    let axis = |(name, value): (&String, &String)| {
        let kind = if value.parse::<i64>().is_ok() { "int64" } else { "string" };
        json!({"name": name, "type": kind, "value": value})
    };
    let axis_values: Vec<Value> = axes.iter().map(axis).collect();
    let described: Vec<String> =
        axes.iter().map(|(name, value)| format!("{name}={value}")).collect();
    json!({
        "name": format!("Device={device} {}", described.join(" ")).trim_end(),
        "device": device,
        "is_skipped": false,
        "axis_values": axis_values,
        "summaries": summaries(group),
    })
}

/// Mean and spread, as nvbench has them; values are texts there.
fn summaries(group: &Group<'_>) -> Vec<Value> {
    let count = group.times.len() as f64;
    let mean = group.times.iter().sum::<f64>() / count;
    let variance = group.times.iter().map(|ns| (ns - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let float = |tag: &str, name: &str, value: f64| {
        let data = [json!({"name": "value", "type": "float64", "value": value.to_string()})];
        json!({"tag": tag, "name": name, "data": data})
    };
    let samples =
        [json!({"name": "value", "type": "int64", "value": group.times.len().to_string()})];
    let mut all = vec![
        json!({"tag": "nv/cold/sample_size", "name": "Samples", "data": samples}),
        float("nv/cold/time/gpu/mean", "GPU Time", mean / 1e9),
    ];
    if group.times.len() > 1 {
        let noise = variance.sqrt() / mean;
        all.push(float("nv/cold/time/gpu/stdev/relative", "Noise", noise));
    }
    if group.clocks.len() == group.times.len() {
        let hertz = group.clocks.iter().sum::<f64>() / count * 1e6;
        all.push(float("nv/cold/sm_clock_rate/mean", "SM Clock Rate", hertz));
    }
    all
}
