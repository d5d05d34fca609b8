//! The JSON of nvbench, format 1.0.0, as its own comparers read it (`cuda-bench` 0.3.0 on PyPI).

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};

use super::tuners::write;
use super::{Group, Recorded, groups, settings};

#[derive(Serialize)]
struct Document {
    meta: Value,
    devices: Vec<Value>,
    benchmarks: Vec<Value>,
}

/// The states of one kernel.
#[derive(Default)]
struct Benchmark<'a> {
    name: &'a str,
    devices: BTreeSet<usize>,
    /// Values each axis takes.
    axes: BTreeMap<String, BTreeSet<String>>,
    states: Vec<Value>,
}

/// One state per configuration, with the summaries nvbench has for isolated launches.
pub(super) fn nvbench(runs: &[Recorded], out: &mut dyn Write) -> io::Result<()> {
    let all: Vec<_> =
        runs.iter().flat_map(groups).filter(|group| !group.times.is_empty()).collect();
    let mut devices: Vec<&str> = Vec::new();
    let mut benchmarks: Vec<Benchmark<'_>> = Vec::new();
    for group in &all {
        let device = group.key.device.as_deref().unwrap_or("unknown");
        let id = place(&mut devices, |one| *one == device, || device);
        let name = group.key.name.as_str();
        let new = || Benchmark { name, ..Benchmark::default() };
        let at = place(&mut benchmarks, |one| one.name == name, new);
        benchmarks[at].take(group, id);
    }
    let argv = runs.first().map(|run| run.identity.command.clone()).unwrap_or_default();
    let version = json!({"major": 1, "minor": 0, "patch": 0, "string": "1.0.0"});
    let device = |(id, name): (usize, &&str)| json!({"id": id, "name": name});
    let document = Document {
        meta: json!({
            "argv": argv,
            "version": {"json": version},
            "written_by": concat!("warpscope ", env!("CARGO_PKG_VERSION")),
        }),
        devices: devices.iter().enumerate().map(device).collect(),
        benchmarks: benchmarks.into_iter().enumerate().map(Benchmark::json).collect(),
    };
    write(&document, out)
}

/// Where something is in a list; put at its end where it is not.
fn place<T>(list: &mut Vec<T>, is: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> usize {
    list.iter().position(is).unwrap_or_else(|| {
        list.push(new());
        list.len() - 1
    })
}

fn kind(value: &str) -> &'static str {
    if value.parse::<i64>().is_ok() { "int64" } else { "string" }
}

impl Benchmark<'_> {
    fn take(&mut self, group: &Group<'_>, device: usize) {
        self.devices.insert(device);
        let mut axes = group.key.shape.0.clone();
        axes.extend(settings(group.config));
        axes.extend(group.key.dtype.clone().map(|dtype| ("dtype".to_owned(), dtype)));
        for (name, value) in &axes {
            self.axes.entry(name.clone()).or_default().insert(value.clone());
        }
        let axis_value = |(name, value): (&String, &String)| json!({"name": name, "type": kind(value), "value": value});
        let described: Vec<String> =
            axes.iter().map(|(name, value)| format!("{name}={value}")).collect();
        self.states.push(json!({
            "name": format!("Device={device} {}", described.join(" ")).trim_end(),
            "device": device,
            "is_skipped": false,
            "axis_values": axes.iter().map(axis_value).collect::<Vec<_>>(),
            "summaries": summaries(group),
        }));
    }

    fn json((index, benchmark): (usize, Self)) -> Value {
        let axis = |(name, values): (&String, &BTreeSet<String>)| {
            let kinds: BTreeSet<_> = values.iter().map(|value| kind(value)).collect();
            let kind = if kinds.len() == 1 { kinds.first() } else { None };
            let value =
                |text: &String| json!({"input_string": text, "description": "", "value": text});
            let values: Vec<Value> = values.iter().map(value).collect();
            json!({"name": name, "type": kind.unwrap_or(&"string"), "flags": "", "values": values})
        };
        json!({
            "name": benchmark.name,
            "index": index,
            "devices": benchmark.devices,
            "axes": benchmark.axes.iter().map(axis).collect::<Vec<_>>(),
            "states": benchmark.states,
        })
    }
}

/// Mean, quartiles and spread, as nvbench has them, in seconds; values are texts there.
fn summaries(group: &Group<'_>) -> Vec<Value> {
    let count = group.times.len() as f64;
    let mean = group.times.iter().sum::<f64>() / count;
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
    all.extend(order_statistics(group).map(|(tag, name, ns)| float(tag, name, ns / 1e9)));
    if group.times.len() > 1 {
        let squares = group.times.iter().map(|ns| (ns - mean).powi(2)).sum::<f64>();
        let deviation = (squares / (count - 1.0)).sqrt();
        all.push(float("nv/cold/time/gpu/stdev/absolute", "Stdev GPU Time", deviation / 1e9));
        all.push(float("nv/cold/time/gpu/stdev/relative", "Noise", deviation / mean));
    }
    if group.clocks.len() == group.times.len() {
        let hertz = group.clocks.iter().sum::<f64>() / count * 1e6;
        all.push(float("nv/cold/sm_clock_rate/mean", "SM Clock Rate", hertz));
    }
    all
}

/// Extremes and quartiles, nanoseconds.
fn order_statistics(
    group: &Group<'_>,
) -> impl Iterator<Item = (&'static str, &'static str, f64)> + use<> {
    let mut sorted = group.times.clone();
    sorted.sort_by(f64::total_cmp);
    let at = move |share: f64| {
        let place = share * (sorted.len() - 1) as f64;
        let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
        low + (high - low) * place.fract()
    };
    let (q1, q3) = (at(0.25), at(0.75));
    [
        ("nv/cold/time/gpu/min", "Min GPU Time", at(0.0)),
        ("nv/cold/time/gpu/max", "Max GPU Time", at(1.0)),
        ("nv/cold/time/gpu/median", "Median GPU Time", at(0.5)),
        ("nv/cold/time/gpu/q1", "Q1 GPU Time", q1),
        ("nv/cold/time/gpu/q3", "Q3 GPU Time", q3),
        ("nv/cold/time/gpu/iqr/absolute", "IQR GPU Time", q3 - q1),
    ]
    .into_iter()
}
