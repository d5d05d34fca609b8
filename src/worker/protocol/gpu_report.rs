//! What a GPU child says beyond the paths.

use serde::{Deserialize, Serialize};
use warpscope_kernels::gpu::{
    CaseOutcome, DeviceFacts, GpuKernel, Limiter, MachineError, Route, Shape,
};

use super::goal::Strain;
use super::sampling::{Convergence, SampleClocks};

/// A device the driver shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceHere {
    /// Its UUID: `GPU-…`.
    pub uuid: String,
    /// The device as the driver describes it.
    pub device: DeviceFacts,
}

/// What can be asked for on a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    /// Every kernel, family by family.
    pub kernels: Vec<ListedKernel>,
    /// Every goal, in the order in which they are measured.
    pub goals: Vec<ListedGoal>,
    /// Every live probe.
    pub probes: Vec<String>,
    /// Every path of the micro decoder.
    pub paths: Vec<String>,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedKernel {
    /// Kernel: `gemm.f16`.
    pub id: String,
    /// Image it is in.
    pub family: String,
    /// How this device runs it.
    pub route: Route,
}

/// A goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListedGoal {
    /// Goal: `gemm.bf16.8192`.
    pub id: String,
    /// Kernel that is timed; null where it is the micro decoder.
    pub kernel: Option<String>,
    /// Its size.
    pub shape: Option<Shape>,
}

/// What a GPU child holds, and what it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Holding {
    /// The device as the driver describes it.
    pub device: DeviceFacts,
    /// Its UUID: `GPU-…`.
    pub uuid: String,
    /// What the context itself costs, bytes; null where it could not be measured.
    pub context_bytes: Option<u64>,
    /// What the child has allocated now, bytes.
    pub arena_bytes: u64,
    /// What it may allocate, bytes.
    pub arena_cap_bytes: u64,
    /// How long kernels were waited for so far, nanoseconds: the device's time that was taken, at most.
    #[serde(default)]
    pub busy_ns: f64,
    /// How each image runs here: family and sentence, `gemm: cubin sm_90`.
    pub images: Vec<(String, String)>,
}

/// One kernel at one size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KernelReport {
    /// Kernel: `gemm.f16`.
    pub kernel: String,
    /// How this device runs it.
    pub route: Route,
    /// The size.
    pub shape: Shape,
    /// Variant that ran; null where there is one way only.
    #[serde(default)]
    pub variant: Option<String>,
    /// Raw times of one repetition each, nanoseconds. Empty where a fake device computes: its times mean nothing.
    pub samples_ns: Vec<f64>,
    /// Bytes that must move per repetition.
    pub bytes: f64,
    /// Operations per repetition.
    pub flops: f64,
    /// What is expected to limit it.
    pub limiter: Limiter,
    /// Whether the operands fit the second-level cache, which forbids to speak of memory bandwidth.
    pub l2_resident: bool,
    /// Hash of the outputs; two runs on the same inputs must agree. Null where it has none, or was not run.
    pub output_hash: Option<String>,
    /// Family that ran, by which [`Holding::images`] says how; null where none did.
    #[serde(default)]
    pub family: Option<String>,
    /// sha256 of the image.
    pub image: String,
    /// Clock of the multiprocessors, MHz: the median of the samples, or what NVML said last; null where neither was read.
    pub sm_mhz: Option<f64>,
    /// Clocks of the samples.
    #[serde(default)]
    pub clocks: SampleClocks,
    /// How a long measurement ended; null of a burst.
    #[serde(default)]
    pub convergence: Option<Convergence>,
    /// What the device said of itself during a long measurement.
    #[serde(default)]
    pub strain: Option<Strain>,
}

/// A size at which a kernel was not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedWork {
    /// Kernel: `gemm.f16`.
    pub kernel: String,
    /// The size.
    pub shape: Shape,
    /// Why, in a sentence without its end.
    pub why: String,
}

/// The ways to compute a kernel at one size, each timed in turn with the one the kernel takes by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AutotuneRun {
    /// Kernel: `gemm.f16`.
    pub kernel: String,
    /// The size.
    pub shape: Shape,
    /// Variant the kernel takes by itself.
    pub usual: String,
    /// The others.
    pub candidates: Vec<Candidate>,
}

/// A variant beside the one the kernel takes by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// Name of the variant.
    pub variant: String,
    /// Their times, turn by turn. Empty where it was left out, and where a fake device computes: its times mean nothing.
    pub turns: Vec<Turn>,
    /// The clocks of these.
    #[serde(default)]
    pub clocks: TurnClocks,
    /// Why it was not timed; null where it was.
    pub left_out: Option<LeftOut>,
}

/// Times of two variants just after one another. The order turns round from one to the next, so that a drift falls on both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Of the one the kernel takes by itself, nanoseconds for one repetition.
    pub usual_ns: Vec<f64>,
    /// Of the candidate.
    pub candidate_ns: Vec<f64>,
}

/// Clocks of the samples of both, in the order of their turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnClocks {
    /// Of the one the kernel takes by itself.
    pub usual: SampleClocks,
    /// Of the candidate.
    pub candidate: SampleClocks,
}

impl TurnClocks {
    /// How many samples are marked, in words; nothing where none is.
    pub fn words(&self) -> Option<String> {
        let sides = [("default", &self.usual), ("variant", &self.candidate)];
        let said =
            sides.iter().filter_map(|(side, clocks)| Some(format!("{side}: {}", clocks.words()?)));
        Some(said.collect::<Vec<_>>().join("; ")).filter(|words| !words.is_empty())
    }
}

/// Why a variant was not timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// In a sentence.
    pub why: String,
    /// Whether its results are at fault, and not merely the size.
    pub wrong: bool,
}

/// How far a path reaches before it leaves the finite numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RangeReport {
    /// Path: `gemm.f16 fp16 out`.
    pub path: String,
    /// Kernel it runs through.
    pub kernel: String,
    /// First power of two of the amplitude at which an output is not finite; null where none is up to the last one tried.
    pub first_bad_log2: Option<i32>,
    /// The last one tried.
    pub tried_log2: i32,
    /// Whether a sum whose partial sums pass 65 504 while its result does not comes out right.
    pub survives_cancelling: Option<bool>,
}

impl RangeReport {
    /// How far it reaches, in words.
    pub fn words(&self) -> String {
        let reach = match self.first_bad_log2 {
            Some(bad) => format!("not finite from 2^{bad} on"),
            None => format!("finite up to 2^{}", self.tried_log2),
        };
        match self.survives_cancelling {
            Some(false) => format!("{reach}; partial sums overflow"),
            _ => reach,
        }
    }
}

/// One conformance case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseReport {
    /// Kernel: `gemm.f16`.
    pub kernel: String,
    /// What it is about.
    pub case: String,
    /// Largest relative error; null where all outputs are judged by their bits.
    pub error: Option<f64>,
    /// What is wrong; null where nothing is.
    pub wrong: Option<String>,
    /// What is right and yet other than expected: a NaN with other bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl CaseReport {
    /// What became of a case of a kernel.
    pub fn of(kernel: &GpuKernel, case: String, outcome: CaseOutcome) -> Self {
        let CaseOutcome { error, wrong, note } = outcome;
        Self { kernel: kernel.id.to_owned(), case, error, wrong, note }
    }
}

/// Something asked for that could not be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerFailure {
    /// What was asked for: `kernel gemm.f16 512×512×512`.
    pub what: String,
    /// Why not.
    pub error: MachineError,
}
