//! Results of serving benchmarks: vLLM and SGLang `bench serve`, MLPerf's LoadGen.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::gather::{Gather, named, number, pairs};
use super::json::{documents, plain};
use super::{Points, PointsError};

/// What was asked for. A result file also holds words the user added, which may name the version under test.
const PARAMETERS: &[&str] = &[
    "backend",
    "burstiness",
    "dataset_name",
    "endpoint_type",
    "max_concurrency",
    "model_id",
    "num_prompts",
    "random_input_len",
    "random_output_len",
    "random_range_ratio",
    "request_rate",
    "sharegpt_output_len",
];
/// Times in milliseconds, by the name of the point.
const TIMES: &[(&str, &str)] = &[
    ("median_ttft_ms", "time to first token"),
    ("median_tpot_ms", "time per output token"),
    ("median_itl_ms", "inter-token latency"),
    ("median_e2el_ms", "end-to-end latency"),
    ("median_e2e_latency_ms", "end-to-end latency"),
];
/// Rates, by the name of the point.
const RATES: &[(&str, &str)] = &[
    ("request_throughput", "time per request"),
    ("output_throughput", "time per generated token"),
];

/// Results one after the other. Requests of one process are no independent samples, so each has its medians.
pub(super) fn serve(text: &str) -> Result<Points, PointsError> {
    // Python writes numbers that JSON has not.
    let text = text.replace(": Infinity", ": null").replace(": NaN", ": null");
    let mut all = Gather::default();
    for result in documents::<BTreeMap<String, Value>>(&text) {
        let result = result?;
        let parameters = PARAMETERS.iter().filter_map(|name| Some((name, result.get(*name)?)));
        let config = pairs(
            parameters
                .filter(|(_, value)| !value.is_null())
                .map(|(name, value)| (name, plain(value))),
        );
        let value = |name: &str| result.get(name).and_then(Value::as_f64);
        for (field, name) in TIMES {
            if let Some(ms) = value(field) {
                all.add(named(*name), config.clone(), [ms * 1e6]);
            }
        }
        for (field, name) in RATES {
            if let Some(rate) = value(field) {
                all.add(named(*name), config.clone(), [1e9 / rate]);
            }
        }
    }
    Ok(all.points())
}

const MLPERF: &str = "MLPerf Results Summary";

pub(super) fn is_mlperf(head: &str) -> bool {
    head.contains(MLPERF)
}

/// Rates of LoadGen's summary, by the name of the point.
const MLPERF_RATES: &[(&str, &str)] = &[
    ("Samples per second", "time per sample"),
    ("Completed samples per second", "time per sample"),
    ("Tokens per second", "time per token"),
    ("Completed tokens per second", "time per token"),
    ("Tokens per second (inferred)", "time per token"),
    ("Completed tokens per second (inferred)", "time per token"),
];
/// How LoadGen ends the names of times, all in nanoseconds.
const MLPERF_TIMES: [&str; 3] = [" latency", " Time per Output Token", " time to output token"];
/// What follows the results and repeats what was asked for.
const MLPERF_SETTINGS: &str = "Test Parameters Used";

/// `mlperf_log_summary.txt`: rates and latencies; those of an invalid run are kept and not judged. A number may be said twice, in the summary and
/// among the additional statistics.
pub(super) fn mlperf(text: &str) -> Result<Points, PointsError> {
    let (mut all, mut seen) = (Gather::default(), BTreeSet::new());
    let results = text.split_once(MLPERF_SETTINGS).map_or(text, |(results, _)| results);
    let lines = || results.lines().filter_map(|line| line.split_once(':'));
    let about = |name: &str| lines().find(|line| line.0.trim() == name).map(|line| line.1.trim());
    let asked = ["SUT name", "Scenario", "Mode"].into_iter();
    let config = pairs(asked.filter_map(|name| Some((name.to_lowercase(), about(name)?))));
    for (name, value) in lines() {
        let (name, value) = (name.trim(), number(value));
        let rate = MLPERF_RATES.iter().find(|row| row.0 == name).map(|row| row.1);
        let time = name.strip_suffix(" (ns)").filter(|name| {
            MLPERF_TIMES.iter().any(|end| name.ends_with(end))
                && !name.starts_with("Min ")
                && !name.starts_with("Max ")
        });
        match (rate, time) {
            (Some(rate), _) if seen.insert(rate) => {
                all.add(named(rate), config.clone(), value.map(|per_s| 1e9 / per_s));
            }
            (None, Some(time)) if seen.insert(time) => all.add(named(time), config.clone(), value),
            _ => {}
        }
    }
    let mut all = all.points();
    if let Some(result) = about("Result is").filter(|result| *result != "VALID") {
        all.points.iter_mut().for_each(|point| point.tainted.push(result.to_lowercase()));
    }
    Ok(all)
}
