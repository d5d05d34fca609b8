//! Cache files and T4 results of kernel_tuner.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::gather::good;
use super::json::{document, plain};
use super::{Key, Point, Points, PointsError, Shape};

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
    let mut add = |key: Key, config: String, ms: Vec<f64>| {
        let t_ns: Vec<f64> = ms.into_iter().map(|ms| ms * 1e6).filter(|ns| good(*ns)).collect();
        if t_ns.is_empty() {
            all.left_out += 1;
        } else {
            all.points.push(Point {
                key,
                config: Some(config).filter(|config| !config.is_empty()),
                t_ns,
                ..Point::default()
            });
        }
    };
    for entry in file.cache.values() {
        let values = file.tune_params_keys.iter();
        let values = values.filter_map(|name| Some((name, entry.get(name)?)));
        add(key.clone(), config(values), cached_times(entry));
    }
    for mut result in file.results {
        let valid = result.invalidity.as_deref().is_none_or(|word| word == "correct");
        let times = if valid { result.times.runtimes } else { Vec::new() };
        let key = named(&key, &mut result.configuration);
        add(key, config(result.configuration.iter()), times);
    }
    Ok(all)
}

/// The key of a T4 result. The schema has no place for a kernel's name, so exports have it among the parameters, and number format and device too.
fn named(file: &Key, configuration: &mut BTreeMap<String, Value>) -> Key {
    let mut take = |name: &str| {
        let text = configuration.get(name)?.as_str()?.to_owned();
        configuration.remove(name);
        Some(text)
    };
    let Some(name) = take("kernel") else { return file.clone() };
    let (dtype, device) = (take("dtype"), take("device").or_else(|| file.device.clone()));
    Key { name, dtype, device, ..file.clone() }
}

fn config<'a>(values: impl Iterator<Item = (&'a String, &'a Value)>) -> String {
    let pairs = values.map(|(name, value)| format!("{name}={}", plain(value)));
    pairs.collect::<Vec<_>>().join(" ")
}

fn cached_times(entry: &BTreeMap<String, Value>) -> Vec<f64> {
    match entry.get("times").and_then(Value::as_array) {
        Some(times) => times.iter().filter_map(Value::as_f64).collect(),
        None => entry.get("time").and_then(Value::as_f64).into_iter().collect(),
    }
}
