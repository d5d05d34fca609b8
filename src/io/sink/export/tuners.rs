//! What tuners read: T4 of kernel_tuner (results-schema 1.0.0).

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};
use warpscope_probes::Timestamp;

use super::{Group, Recorded, groups, settings};
use crate::io::sink::jsonl;
use crate::runs::samples::Key;

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
