//! JSON documents of other tools. Only what is needed is named; everything else may be there or not.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Key, Point, Points, PointsError, Shape};

fn document<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, PointsError> {
    serde_json::from_str(text).map_err(|error| PointsError(format!("damaged JSON: {error}")))
}

/// A value as a person writes it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn good(ns: f64) -> bool {
    ns.is_finite() && ns > 0.0
}

pub(super) fn is_llama_bench(head: &str) -> bool {
    head.starts_with('[') && head.contains("\"n_prompt\"") && head.contains("\"avg_ts\"")
}

#[derive(Deserialize)]
struct LlamaTest {
    #[serde(default)]
    model_type: String,
    #[serde(default)]
    backends: Option<String>,
    #[serde(default)]
    gpu_info: Option<String>,
    n_prompt: u64,
    n_gen: u64,
    #[serde(default)]
    n_depth: u64,
    #[serde(default)]
    n_batch: Option<u64>,
    #[serde(default)]
    n_gpu_layers: Option<i64>,
    #[serde(default)]
    flash_attn: Option<Value>,
    #[serde(default)]
    type_k: Option<String>,
    #[serde(default)]
    samples_ns: Vec<f64>,
}

/// One test a point; the time is that of the whole test.
pub(super) fn llama_bench(text: &str) -> Result<Points, PointsError> {
    let mut all = Points::default();
    for test in document::<Vec<LlamaTest>>(text)? {
        let t_ns: Vec<f64> = test.samples_ns.iter().copied().filter(|ns| good(*ns)).collect();
        if t_ns.is_empty() {
            all.left_out += 1;
            continue;
        }
        let sizes = [("prompt", test.n_prompt), ("gen", test.n_gen), ("depth", test.n_depth)];
        let shape = sizes
            .into_iter()
            .filter(|(_, size)| *size > 0)
            .map(|(name, size)| (name.to_owned(), size.to_string()));
        let config = [
            test.n_batch.map(|value| format!("batch={value}")),
            test.n_gpu_layers.map(|value| format!("ngl={value}")),
            test.flash_attn.map(|value| format!("fa={}", plain(&value))),
            test.type_k.map(|value| format!("type_k={value}")),
        ];
        let device = test.gpu_info.filter(|info| !info.is_empty()).or(test.backends);
        all.points.push(Point {
            key: Key { name: test.model_type, shape: Shape(shape.collect()), dtype: None, device },
            config: Some(config.into_iter().flatten().collect::<Vec<_>>().join(" ")),
            t_ns,
            ..Point::default()
        });
    }
    Ok(all)
}

pub(super) fn is_google(head: &str) -> bool {
    head.starts_with('{') && head.contains("\"context\"") && head.contains("\"benchmarks\"")
}

#[derive(Deserialize)]
struct Google {
    benchmarks: Vec<GoogleRun>,
}

#[derive(Deserialize)]
struct GoogleRun {
    name: String,
    #[serde(default)]
    run_name: Option<String>,
    #[serde(default)]
    run_type: Option<String>,
    #[serde(default)]
    error_occurred: bool,
    real_time: Option<f64>,
    #[serde(default)]
    time_unit: Option<String>,
}

/// Repetitions of one benchmark become samples of one point; aggregates are left out, they are no samples.
pub(super) fn google(text: &str) -> Result<Points, PointsError> {
    let mut all = Points::default();
    for run in document::<Google>(text)?.benchmarks {
        let unit = match run.time_unit.as_deref() {
            None | Some("ns") => 1.0,
            Some("us") => 1e3,
            Some("ms") => 1e6,
            Some("s") => 1e9,
            Some(other) => {
                return Err(PointsError(format!(
                    "time unit {other:?} of {}: known are ns, us, ms, s",
                    run.name
                )));
            }
        };
        let ns = run.real_time.map(|time| time * unit).filter(|ns| good(*ns));
        let aggregate = run.run_type.as_deref() == Some("aggregate");
        let Some(ns) = ns.filter(|_| !aggregate && !run.error_occurred) else {
            all.left_out += 1;
            continue;
        };
        let name = run.run_name.unwrap_or(run.name);
        match all.points.iter_mut().find(|point| point.key.name == name) {
            Some(point) => point.t_ns.push(ns),
            None => {
                let key = Key { name, ..Key::default() };
                all.points.push(Point { key, t_ns: vec![ns], ..Point::default() });
            }
        }
    }
    Ok(all)
}

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

pub(super) fn is_kernel_tuner(head: &str) -> bool {
    head.starts_with('{')
        && ((head.contains("\"kernel_name\"") && head.contains("\"tune_params_keys\""))
            || (head.contains("\"schema_version\"") && head.contains("\"configuration\"")))
}

#[derive(Deserialize)]
struct Tuner {
    kernel_name: Option<String>,
    device_name: Option<String>,
    #[serde(default)]
    tune_params_keys: Vec<String>,
    #[serde(default)]
    problem_size: Option<Value>,
    #[serde(default)]
    cache: BTreeMap<String, BTreeMap<String, Value>>,
    #[serde(default)]
    results: Vec<TunerResult>,
}

#[derive(Deserialize)]
struct TunerResult {
    #[serde(default)]
    configuration: BTreeMap<String, Value>,
    #[serde(default)]
    times: TunerTimes,
    #[serde(default)]
    invalidity: Option<String>,
}

#[derive(Default, Deserialize)]
struct TunerTimes {
    #[serde(default)]
    runtimes: Vec<f64>,
}

/// One configuration a point. Times are in milliseconds; a configuration that failed holds a word instead.
pub(super) fn kernel_tuner(text: &str) -> Result<Points, PointsError> {
    let file: Tuner = document(text)?;
    let mut all = Points::default();
    let size = file.problem_size.as_ref().map(|size| ("size".to_owned(), plain(size)));
    let key = Key {
        name: file.kernel_name.unwrap_or_else(|| "kernel".to_owned()),
        shape: Shape(size.into_iter().collect()),
        dtype: None,
        device: file.device_name,
    };
    let mut add = |config: String, ms: Vec<f64>| {
        let t_ns: Vec<f64> = ms.into_iter().map(|ms| ms * 1e6).filter(|ns| good(*ns)).collect();
        if t_ns.is_empty() {
            all.left_out += 1;
        } else {
            all.points.push(Point {
                key: key.clone(),
                config: Some(config),
                t_ns,
                ..Point::default()
            });
        }
    };
    for entry in file.cache.values() {
        let config = file
            .tune_params_keys
            .iter()
            .filter_map(|name| Some(format!("{name}={}", plain(entry.get(name)?))));
        let listed = entry.get("times").and_then(Value::as_array);
        let times: Vec<f64> = listed.map_or_else(
            || entry.get("time").and_then(Value::as_f64).into_iter().collect(),
            |times| times.iter().filter_map(Value::as_f64).collect(),
        );
        add(config.collect::<Vec<_>>().join(" "), times);
    }
    for result in file.results {
        let config =
            result.configuration.iter().map(|(name, value)| format!("{name}={}", plain(value)));
        let valid = result.invalidity.as_deref().is_none_or(|word| word == "correct");
        add(
            config.collect::<Vec<_>>().join(" "),
            if valid { result.times.runtimes } else { Vec::new() },
        );
    }
    Ok(all)
}
