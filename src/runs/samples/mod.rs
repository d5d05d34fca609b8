//! Measured points of a kernel, from warpscope's own lines and from what other tools print.
//!
//! Everything becomes nanoseconds of one piece of work: a rate is turned round, so that less is always better. A format is known by its
//! content, never by the name of its file.

mod cutlass;
mod gather;
mod harnesses;
mod json;
mod kernel_tuner;
mod line;
mod llama_bench;
mod nvbench;
mod profilers;
mod scan;
mod serving;
mod sidecar;
mod tables;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

pub use line::{LineError, parse_line};
pub use scan::{Found, PARSERS, Scan};
pub use sidecar::{Sidecar, SidecarKind};

/// What was measured: points of one key can be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key {
    /// Kernel or benchmark.
    pub name: String,
    /// Shape: `k=4096 m=1 n=4096`, in order of the names.
    #[serde(default)]
    pub shape: Shape,
    /// Number format, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<String>,
    /// Device it ran on, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

/// Sizes by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Shape(pub BTreeMap<String, String>);

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs: Vec<String> =
            self.0.iter().map(|(name, size)| format!("{name}={size}")).collect();
        f.pad(&pairs.join(" "))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = self.shape.to_string();
        let words = [
            Some(self.name.as_str()),
            Some(shape.as_str()),
            self.dtype.as_deref(),
            self.device.as_deref(),
        ];
        let words: Vec<&str> =
            words.into_iter().flatten().filter(|word| !word.is_empty()).collect();
        f.pad(&words.join(" "))
    }
}

/// One measurement of one key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// What was measured.
    #[serde(flatten)]
    pub key: Key,
    /// What was varied: `BLOCK_M=64 num_warps=4`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<String>,
    /// Time of each sample, nanoseconds.
    pub t_ns: Vec<f64>,
    /// Clock of each sample, MHz; as many as there are times, or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sm_mhz: Vec<f64>,
    /// Floating-point operations of one sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops: Option<f64>,
    /// Bytes one sample has to move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    /// Why the samples are kept and not judged: `throttled`, `shared`, `clock moved`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tainted: Vec<String>,
}

impl Point {
    /// Whether it can be compared, and kept: JSON has no numbers that are not finite.
    fn is_sound(&self) -> bool {
        let good = |time: &f64| time.is_finite() && *time > 0.0;
        let mut others = self.sm_mhz.iter().chain(&self.flops).chain(&self.bytes);
        let is_named = !self.key.name.is_empty();
        is_named && self.t_ns.iter().all(good) && others.all(|number| number.is_finite())
    }
}

/// Points of one file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    /// Format they were read as.
    pub format: &'static str,
    /// The points, in order.
    pub points: Vec<Point>,
    /// Entries without a time: failed, skipped, of a kind that holds none.
    pub left_out: usize,
    /// The first entry that could not be read, and why.
    pub damaged: Option<String>,
    /// Files beside this one that say more.
    pub sidecars: Vec<Sidecar>,
}

impl Points {
    fn leave_out_unsound(&mut self) {
        let sound: Vec<bool> = self.points.iter().map(Point::is_sound).collect();
        self.sidecars.retain(|sidecar| sound[sidecar.point]);
        for sidecar in &mut self.sidecars {
            sidecar.point = sound[..sidecar.point].iter().filter(|sound| **sound).count();
        }
        self.left_out += sound.iter().filter(|sound| !**sound).count();
        self.points.retain(Point::is_sound);
    }

    /// What a file without a single point was read as, and what was seen in it.
    pub fn without_a_point(&self) -> String {
        let entries = match self.left_out {
            0 => "no entries".to_owned(),
            1 => "one entry without a time".to_owned(),
            count => format!("{count} entries without a time"),
        };
        let first = self.damaged.iter().map(|why| format!("; first: {why}"));
        format!("read as {}: {entries}{}", self.format, first.collect::<String>())
    }
}

/// Why a file gives no points.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PointsError(pub String);

/// Every format: its id, and what writes it.
pub const FORMATS: &[(&str, &str)] = &[
    ("warpscope", "a warpscope run log, one JSON object per line"),
    ("llama-bench", "llama-bench -o json, jsonl, csv, sql or md"),
    ("pytest-benchmark", "pytest --benchmark-json"),
    ("nvbench", "an nvbench program with --json or --jsonbin"),
    ("google-benchmark", "Google Benchmark with --benchmark_format=json"),
    ("hyperfine", "hyperfine --export-json or --export-csv"),
    (
        "criterion",
        "cargo bench with criterion, its sample.json, cargo criterion --message-format=json",
    ),
    ("serve", "vLLM or SGLang bench serve results"),
    ("kernel-tuner", "kernel_tuner's cache, or its T4 results"),
    ("cutlass-profiler", "cutlass_profiler --output=FILE.csv"),
    ("ncu", "ncu --csv"),
    ("nsys", "nsys stats --format csv"),
    ("mlperf", "MLPerf's mlperf_log_summary.txt"),
    ("torch", "torch.utils.benchmark's Compare"),
    ("triton", "Triton's perf_report with units in its columns"),
    ("go", "go test -bench"),
    ("lines", "lines of name=… t_us=…"),
];

impl Reader {
    /// Id of the format.
    pub fn format(&self) -> &'static str {
        self.format
    }
}

/// Reads one form of a format.
pub struct Reader {
    /// Id of the format.
    format: &'static str,
    /// Whether a text that begins like this is one.
    sniff: fn(&str) -> bool,
    read: fn(&str) -> Result<Points, PointsError>,
}

const fn by(
    format: &'static str,
    sniff: fn(&str) -> bool,
    read: fn(&str) -> Result<Points, PointsError>,
) -> Reader {
    Reader { format, sniff, read }
}

/// Whether a text begins an object that has all of these keys, somewhere.
fn is_object(head: &str, keys: &[&str]) -> bool {
    head.starts_with('{') && keys.iter().all(|key| head.contains(&format!("\"{key}\"")))
}

/// Every reader, in the order in which they are tried.
const READERS: &[Reader] = &[
    by("warpscope", line::is_journal, line::read),
    by("llama-bench", llama_bench::is_json, llama_bench::json),
    by("llama-bench", llama_bench::is_csv, llama_bench::csv),
    by("llama-bench", llama_bench::is_sql, llama_bench::sql),
    by("llama-bench", llama_bench::is_markdown, llama_bench::markdown),
    by("pytest-benchmark", |head| is_object(head, &["machine_info"]), harnesses::pytest),
    by("nvbench", nvbench::is_nvbench, nvbench::nvbench),
    by("google-benchmark", |head| is_object(head, &["context", "benchmarks"]), harnesses::google),
    by("hyperfine", |head| is_object(head, &["results", "command", "mean"]), harnesses::hyperfine),
    by("hyperfine", harnesses::is_hyperfine_csv, harnesses::hyperfine_csv),
    by("criterion", |head| is_object(head, &["sampling_mode"]), harnesses::criterion_sample),
    by("criterion", |head| head.contains("\"benchmark-complete\""), harnesses::criterion_messages),
    by("serve", |head| is_object(head, &["request_throughput"]), serving::serve),
    by("kernel-tuner", kernel_tuner::is_kernel_tuner, kernel_tuner::kernel_tuner),
    by("cutlass-profiler", cutlass::is_cutlass, cutlass::cutlass),
    by("ncu", profilers::is_ncu, profilers::ncu),
    by("nsys", profilers::is_nsys, profilers::nsys),
    by("mlperf", serving::is_mlperf, serving::mlperf),
    by("torch", tables::is_torch, tables::torch),
    by("triton", tables::is_triton, tables::triton),
    by("go", harnesses::is_go, harnesses::go),
    by("criterion", harnesses::is_criterion_text, harnesses::criterion_text),
    by("lines", line::is_lines, line::read),
];

/// Longest beginning a format is told by.
const HEAD: usize = 64 << 10;

/// What reads a text, known by its beginning.
pub fn reader(text: &str) -> Result<&'static Reader, PointsError> {
    let mut end = text.len().min(HEAD);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = text[..end].trim_start_matches('\u{feff}').trim_start();
    READERS.iter().find(|reader| (reader.sniff)(head)).ok_or_else(|| {
        let known: Vec<&str> = FORMATS.iter().map(|row| row.1).collect();
        PointsError(format!("no format warpscope knows; it reads {}", known.join(", ")))
    })
}

/// Reads a whole text.
pub fn read(text: &str) -> Result<Points, PointsError> {
    let reader = reader(text)?;
    let mut points = (reader.read)(text.trim_start_matches('\u{feff}'))?;
    points.leave_out_unsound();
    points.format = reader.format;
    Ok(points)
}

#[cfg(test)]
mod tests;
