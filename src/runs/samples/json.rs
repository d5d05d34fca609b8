//! JSON documents of other tools. Only what is needed is named; everything else may be there or not.

use serde::Deserialize;
use serde_json::Value;

use super::{Key, Point, Points, PointsError, Shape};

pub(super) fn document<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, PointsError> {
    serde_json::from_str(text).map_err(|error| PointsError(format!("damaged JSON: {error}")))
}

/// A value as a person writes it.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

pub(super) fn good(ns: f64) -> bool {
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
