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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointsError(pub String);

impl fmt::Display for PointsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl std::error::Error for PointsError {}

/// One format.
pub struct Format {
    /// Id: `nvbench`.
    pub id: &'static str,
    /// What writes it.
    pub about: &'static str,
    /// Whether a text that begins like this is one.
    sniff: fn(&str) -> bool,
    read: fn(&str) -> Result<Points, PointsError>,
}

/// Every format, in the order in which they are tried. A tool with several has a row for each.
pub const FORMATS: &[Format] = &[
    Format {
        id: "warpscope",
        about: "a warpscope run log, one JSON object per line",
        sniff: line::is_journal,
        read: line::read,
    },
    Format {
        id: "llama-bench",
        about: "llama-bench -o json, jsonl, csv, sql or md",
        sniff: llama_bench::is_json,
        read: llama_bench::json,
    },
    Format {
        id: "llama-bench",
        about: "llama-bench -o json, jsonl, csv, sql or md",
        sniff: llama_bench::is_csv,
        read: llama_bench::csv,
    },
    Format {
        id: "llama-bench",
        about: "llama-bench -o json, jsonl, csv, sql or md",
        sniff: llama_bench::is_sql,
        read: llama_bench::sql,
    },
    Format {
        id: "llama-bench",
        about: "llama-bench -o json, jsonl, csv, sql or md",
        sniff: llama_bench::is_markdown,
        read: llama_bench::markdown,
    },
    Format {
        id: "pytest-benchmark",
        about: "pytest --benchmark-json",
        sniff: harnesses::is_pytest,
        read: harnesses::pytest,
    },
    Format {
        id: "nvbench",
        about: "an nvbench program with --json or --jsonbin",
        sniff: nvbench::is_nvbench,
        read: nvbench::nvbench,
    },
    Format {
        id: "google-benchmark",
        about: "Google Benchmark with --benchmark_format=json",
        sniff: harnesses::is_google,
        read: harnesses::google,
    },
    Format {
        id: "hyperfine",
        about: "hyperfine --export-json or --export-csv",
        sniff: harnesses::is_hyperfine,
        read: harnesses::hyperfine,
    },
    Format {
        id: "hyperfine",
        about: "hyperfine --export-json or --export-csv",
        sniff: harnesses::is_hyperfine_csv,
        read: harnesses::hyperfine_csv,
    },
    Format {
        id: "criterion",
        about: "cargo bench with criterion, its sample.json, cargo criterion --message-format=json",
        sniff: harnesses::is_criterion_sample,
        read: harnesses::criterion_sample,
    },
    Format {
        id: "criterion",
        about: "cargo bench with criterion, its sample.json, cargo criterion --message-format=json",
        sniff: harnesses::is_criterion_messages,
        read: harnesses::criterion_messages,
    },
    Format {
        id: "serve",
        about: "vLLM or SGLang bench serve results",
        sniff: serving::is_serve,
        read: serving::serve,
    },
    Format {
        id: "kernel-tuner",
        about: "kernel_tuner's cache, or its T4 results",
        sniff: kernel_tuner::is_kernel_tuner,
        read: kernel_tuner::kernel_tuner,
    },
    Format {
        id: "cutlass-profiler",
        about: "cutlass_profiler --output=FILE.csv",
        sniff: cutlass::is_cutlass,
        read: cutlass::cutlass,
    },
    Format { id: "ncu", about: "ncu --csv", sniff: profilers::is_ncu, read: profilers::ncu },
    Format {
        id: "nsys",
        about: "nsys stats --format csv",
        sniff: profilers::is_nsys,
        read: profilers::nsys,
    },
    Format {
        id: "mlperf",
        about: "MLPerf's mlperf_log_summary.txt",
        sniff: serving::is_mlperf,
        read: serving::mlperf,
    },
    Format {
        id: "torch",
        about: "torch.utils.benchmark's Compare",
        sniff: tables::is_torch,
        read: tables::torch,
    },
    Format {
        id: "triton",
        about: "Triton's perf_report with units in its columns",
        sniff: tables::is_triton,
        read: tables::triton,
    },
    Format { id: "go", about: "go test -bench", sniff: harnesses::is_go, read: harnesses::go },
    Format {
        id: "criterion",
        about: "cargo bench with criterion, its sample.json, cargo criterion --message-format=json",
        sniff: harnesses::is_criterion_text,
        read: harnesses::criterion_text,
    },
    Format {
        id: "lines",
        about: "lines of name=… t_us=…",
        sniff: line::is_lines,
        read: line::read,
    },
];

/// Longest beginning a format is told by.
const HEAD: usize = 64 << 10;

/// The format of a text, known by its beginning.
pub fn format(text: &str) -> Result<&'static Format, PointsError> {
    let mut end = text.len().min(HEAD);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = text[..end].trim_start_matches('\u{feff}').trim_start();
    FORMATS.iter().find(|format| (format.sniff)(head)).ok_or_else(|| {
        let mut known: Vec<&str> = FORMATS.iter().map(|format| format.about).collect();
        known.dedup();
        PointsError(format!("no format warpscope knows; it reads {}", known.join(", ")))
    })
}

/// Reads a whole text.
pub fn read(text: &str) -> Result<Points, PointsError> {
    let format = format(text)?;
    let mut points = (format.read)(text.trim_start_matches('\u{feff}'))?;
    points.leave_out_unsound();
    points.format = format.id;
    Ok(points)
}

#[cfg(test)]
mod tests;
