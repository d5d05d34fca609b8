//! What came of a goal.

use serde::{Deserialize, Serialize};
use warpscope_kernels::gpu::Limiter;

use super::sampling::SampleClocks;

/// One of the two things that took turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArmReport {
    /// What it is: `gemm.bf16`, `cuBLASLt 12.8.4`.
    pub what: String,
    /// Kernel that is launched; empty where it is not one of ours.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub entry: String,
    /// Variant of the kernel; empty where it has one way only.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Operations or bytes of one repetition, whichever the ratio is of.
    pub amount: f64,
    /// Times of one repetition, nanoseconds, in the order they were taken. Empty where a fake device computes.
    pub samples_ns: Vec<f64>,
    /// Clocks meanwhile.
    #[serde(default)]
    pub clocks: SampleClocks,
}

/// What the device said of itself while it computed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Strain {
    /// Lowest and highest clock of the multiprocessors, MHz.
    pub sm_mhz: Option<(f64, f64)>,
    /// Most power drawn, watts.
    pub power_w: Option<f64>,
    /// What held the clock down at any time: `power cap`.
    pub held_by: Vec<String>,
}

/// How what came of a goal stands to what this device is to reach.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JudgedGoal {
    /// The goal: `gemm.bf16.8192`.
    pub goal: String,
    /// A ratio, or microseconds where nothing is beside it; null where nothing was timed.
    pub figure: Option<f64>,
    /// Median distance of the blocks from it.
    pub spread: Option<f64>,
    /// Less than this is of no use; null where only the target was set.
    pub floor: Option<f64>,
    /// What good kernels reach; null where nobody set anything for this class of devices.
    pub target: Option<f64>,
    /// In words: `floor met`.
    pub verdict: String,
    /// What may explain the figure.
    pub profile: String,
}

/// What came of a goal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GoalReport {
    /// The goal: `gemm.bf16.8192`.
    pub goal: String,
    /// Ours.
    pub own: ArmReport,
    /// What it is held against; null where its time is the figure.
    pub against: Option<ArmReport>,
    /// Our rate by the other's, one for each block of four turns. Empty where a fake device computes.
    pub ratios: Vec<f64>,
    /// Products of one repetition of ours: what rotates over copies of the weights does several.
    pub products: f64,
    /// Where the weights are: `cold: 3 copies in turn`, `cached`.
    pub cache: String,
    /// What is expected to limit ours.
    pub limiter: Option<Limiter>,
    /// Largest relative distance of both results, or of a stream's from the same product in fp64; null where nothing was compared.
    pub difference: Option<f64>,
    /// Clocks and power meanwhile.
    pub strain: Strain,
}
