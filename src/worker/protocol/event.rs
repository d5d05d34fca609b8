use serde::{Deserialize, Serialize};

use warpscope_kernels::model::Place;
use warpscope_probes::live::ProbeReport;

use super::PathDtype;
use super::goal::{GoalReport, JudgedGoal};
use super::gpu_report::{
    AutotuneRun, CaseReport, DeviceHere, Holding, KernelReport, Listing, RangeReport, SkippedWork,
    WorkerFailure,
};
use super::sampling::SampleClocks;

/// What a worker says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "event")]
pub enum WorkerEvent {
    /// First line: who speaks, and the budget of a CPU worker.
    Hello(Hello),
    /// Work on a command begins.
    Started,
    /// Work on a command has ended, whatever became of it; last event of each command.
    Finished {
        /// How long the device was kept busy by it, nanoseconds, at most.
        busy_ns: f64,
    },
    /// The device was given back, asked or not.
    Paused {
        /// Why, in words: `busy: process 7 computes on it`.
        why: String,
    },
    /// Something asked for could not be done; the worker goes on.
    Failed(WorkerFailure),
    /// One device of those the driver shows.
    Device(DeviceHere),
    /// What can be asked for on a device.
    Listing(Box<Listing>),
    /// What a GPU worker holds of its device.
    Holding(Holding),
    /// What bounds the paths on a CPU.
    Ceiling(Ceiling),
    /// The newest state of one path; partial while [`PathReport::complete`] is false.
    Report(Box<PathReport>),
    /// Every sample of one path.
    Samples(PathSamples),
    /// One kernel at one size.
    Kernel(Box<KernelReport>),
    /// A size of a kernel that was not run.
    Skipped(SkippedWork),
    /// The variants of a kernel at one size.
    Autotune(Box<AutotuneRun>),
    /// The dynamic range of a path.
    Range(RangeReport),
    /// One conformance case.
    Case(CaseReport),
    /// One live probe.
    Probe(Box<ProbeReport>),
    /// A kernel and what it is compared with.
    Goal(Box<GoalReport>),
    /// How the goal just reported stands to what this device is to reach.
    Judged(Box<JudgedGoal>),
}

/// Raw samples of one path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathSamples {
    /// Number format of the path.
    pub dtype: PathDtype,
    /// Way to compute of a GPU, by the decoder's id: `f16.wide`; null where only the format was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Weight profile.
    pub profile: String,
    /// Time of each decode step, nanoseconds.
    pub decode_ns: Vec<f64>,
    /// Time of each prefill, nanoseconds.
    pub prefill_ns: Vec<f64>,
    /// Places of the decode steps in which the scheduler took the processor away.
    #[serde(default)]
    pub decode_preempted: Vec<usize>,
    /// The same of the prefills.
    #[serde(default)]
    pub prefill_preempted: Vec<usize>,
    /// Clocks of the decode steps of a GPU; none of a CPU.
    #[serde(default, skip_serializing_if = "SampleClocks::is_empty")]
    pub decode_clocks: SampleClocks,
    /// The same of the prefills.
    #[serde(default, skip_serializing_if = "SampleClocks::is_empty")]
    pub prefill_clocks: SampleClocks,
    /// Floating-point operations of one prefill.
    pub prefill_flop: f64,
    /// Bytes a decode step reads.
    pub decode_bytes: f64,
}

/// Who speaks and within which budget.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`BENCH_SCHEMA`](super::BENCH_SCHEMA) of the writer.
    pub schema: u32,
    /// Process id of the child.
    pub pid: u32,
    /// Device: `cpu`.
    pub device: String,
    /// Device name for the screen.
    pub device_name: String,
    /// Threads it computes on.
    pub threads: u32,
    /// Share of the machine's CPU time it may use, 0–1.
    pub cpu_share_max: f64,
    /// Scheduling niceness it runs at; null where the system does not tell.
    #[serde(default)]
    pub nice: Option<i32>,
    /// Names of the kernels chosen for this CPU: `gemm avx512f`, `bf16 vdpbf16ps`, …
    pub kernels: Vec<String>,
}

/// What limits the paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Read-only bandwidth on the threads the benchmark uses, bytes per second; null where the machine was too busy to tell.
    pub read_bytes_per_s: Option<f64>,
    /// Peak of the fp32 FMA loop on the same threads, FLOP per second.
    pub fp32_flop_per_s: f64,
}

/// Where a path first left the finite numbers, in execution order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstBad {
    /// Layer, from 0.
    pub layer: u32,
    /// Operation: `o_proj`.
    pub op: String,
    /// Token position, from 0.
    pub token: u32,
    /// Output channel, from 0.
    pub channel: u32,
}

impl From<Place> for FirstBad {
    fn from(place: Place) -> Self {
        let Place { layer, op, token, channel } = place;
        let [layer, token, channel] = [layer, token, channel].map(|at| at as u32);
        Self { layer, op: op.id().to_owned(), token, channel }
    }
}

/// What one path did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathReport {
    /// Number format of the path.
    pub dtype: PathDtype,
    /// Way to compute of a GPU, by the decoder's id: `f16.wide`; null where only the format was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Weight profile: `clean` or `glm4`.
    pub profile: String,
    /// Device: `cpu`.
    pub device: String,
    /// Greedy tokens so far.
    pub tokens: Vec<u32>,
    /// Tokens of the fp64 reference, as many as a complete run has.
    pub expected_tokens: Vec<u32>,
    /// [`PathReport::tokens`] as text; token 0 is `!`.
    pub text: String,
    /// Whether all expected tokens were produced.
    pub complete: bool,
    /// Non-finite numbers met in any tensor of the run.
    pub non_finite: u64,
    /// Where the first one appeared.
    pub first_bad: Option<FirstBad>,
    /// Relative Frobenius error of the logits against fp64; null where they are not finite.
    pub error: Option<f64>,
    /// Largest error this path may have.
    pub error_limit: f64,
    /// Tokens per second while decoding at batch 1; null until measured.
    pub decode_tokens_per_s: Option<f64>,
    /// Median absolute deviation of [`PathReport::decode_tokens_per_s`]; null until measured.
    #[serde(default)]
    pub decode_mad_tokens_per_s: Option<f64>,
    /// Prefill rate, 10⁹ FLOP per second; null until measured.
    pub prefill_gflop_per_s: Option<f64>,
    /// Weight and cache bytes read while decoding, 10⁹ bytes per second; null until measured.
    pub gb_per_s: Option<f64>,
    /// Bytes one decoded token reads: weights, keys and values; null until measured.
    #[serde(default)]
    pub decode_bytes: Option<f64>,
    /// Read bandwidth measured in the same run, 10⁹ bytes per second; null until measured.
    #[serde(default)]
    pub read_gb_per_s: Option<f64>,
    /// [`PathReport::gb_per_s`] against the measured read bandwidth, 0–1 and possibly above; null until measured.
    pub read_bandwidth_share: Option<f64>,
    /// Whether weights and cache fit the last-level cache, which explains a share above 1; null where its size is unknown.
    #[serde(default)]
    pub cache_resident: Option<bool>,
}
