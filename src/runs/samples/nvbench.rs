//! Results of NVBench, NVIDIA's benchmark library.

use serde::Deserialize;
use serde_json::Value;

use super::json::{document, good, plain};
use super::{Key, Point, Points, PointsError, Shape};

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

impl NvState {
    fn number(&self, tag: &str) -> Option<f64> {
        let summary = self.summaries.iter().flatten().find(|one| one.tag == tag)?;
        let datum = summary.data.iter().find(|datum| datum.name == "value")?;
        datum.value.as_f64().or_else(|| datum.value.as_str()?.parse().ok())
    }
}

/// One state a point. A summary holds no samples, only their mean: one sample a state.
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
