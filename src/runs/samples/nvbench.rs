//! Results of NVBench, NVIDIA's benchmark library.

use serde::Deserialize;
use serde_json::Value;

use super::gather::good;
use super::json::{document, plain};
use super::{Key, Point, Points, PointsError, Shape, Sidecar, SidecarKind};

pub(super) fn is_nvbench(head: &str) -> bool {
    head.starts_with('{')
        && head.contains("\"meta\"")
        && head.contains("\"devices\"")
        && !head.contains("\"context\"")
}

#[derive(Deserialize)]
struct Nvbench {
    #[serde(default)]
    devices: Vec<NvDevice>,
    benchmarks: Vec<NvBenchmark>,
}

#[derive(Deserialize)]
struct NvDevice {
    id: i64,
    name: String,
}

#[derive(Deserialize)]
struct NvBenchmark {
    name: String,
    #[serde(default)]
    states: Vec<NvState>,
}

#[derive(Deserialize)]
struct NvState {
    device: Option<i64>,
    #[serde(default)]
    is_skipped: bool,
    #[serde(default)]
    axis_values: Option<Vec<NvAxis>>,
    #[serde(default)]
    summaries: Option<Vec<NvSummary>>,
}

#[derive(Deserialize)]
struct NvAxis {
    name: String,
    #[serde(default)]
    value: Value,
}

#[derive(Deserialize)]
struct NvSummary {
    tag: String,
    #[serde(default)]
    data: Vec<NvDatum>,
}

#[derive(Deserialize)]
struct NvDatum {
    name: String,
    #[serde(default)]
    value: Value,
}

/// Files with the samples of a state, by the tag of the summary that names them.
const BINARIES: [(&str, SidecarKind); 2] = [
    ("nv/json/bin:nv/cold/sample_times", SidecarKind::Seconds),
    ("nv/json/freqs-bin:nv/cold/sample_freqs", SidecarKind::Hertz),
];

impl NvState {
    fn datum(&self, tag: &str, name: &str) -> Option<&Value> {
        let summary = self.summaries.iter().flatten().find(|one| one.tag == tag)?;
        summary.data.iter().find(|datum| datum.name == name).map(|datum| &datum.value)
    }

    fn number(&self, tag: &str) -> Option<f64> {
        let value = self.datum(tag, "value")?;
        value.as_f64().or_else(|| value.as_str()?.parse().ok())
    }

    fn sidecars(&self, point: usize) -> impl Iterator<Item = Sidecar> {
        BINARIES.into_iter().filter_map(move |(tag, kind)| {
            let file = self.datum(tag, "filename")?.as_str()?.to_owned();
            Some(Sidecar { point, file, kind })
        })
    }
}

/// One state a point. A summary holds only the mean of the samples; the samples lie in the files it names, where there are any.
pub(super) fn nvbench(text: &str) -> Result<Points, PointsError> {
    let file: Nvbench = document(text)?;
    let mut all = Points::default();
    for benchmark in &file.benchmarks {
        for state in &benchmark.states {
            let seconds = state.number("nv/cold/time/gpu/mean").filter(|time| good(*time));
            let Some(seconds) = seconds.filter(|_| !state.is_skipped) else {
                all.left_out += 1;
                continue;
            };
            let axes = state.axis_values.iter().flatten();
            let shape = axes.map(|axis| (axis.name.clone(), plain(&axis.value)));
            let device = file.devices.iter().find(|device| Some(device.id) == state.device);
            all.sidecars.extend(state.sidecars(all.points.len()));
            let clock = state.number("nv/cold/sm_clock_rate/mean").map(|hertz| hertz / 1e6);
            all.points.push(Point {
                key: Key {
                    name: benchmark.name.clone(),
                    shape: Shape(shape.collect()),
                    dtype: None,
                    device: device.map(|device| device.name.clone()),
                },
                t_ns: vec![seconds * 1e9],
                sm_mhz: clock.into_iter().collect(),
                ..Point::default()
            });
        }
    }
    Ok(all)
}
