use serde::{Deserialize, Serialize};

use super::case::{Case, Content};
use super::machine::{DeviceFacts, Plan};
use super::shape::Shape;
use super::variant::Variant;
use crate::Dtype;

/// How a device would run a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "route")]
pub enum Route {
    /// By the instruction the kernel is about.
    Native {
        /// That instruction: `mma.m16n8k16`.
        by: String,
    },
    /// By other instructions; never to be read as a rate of the format.
    Emulated {
        /// What stands in, and why: `two int8 mma: sm_90 has no int4 tensor cores`.
        by: String,
    },
    /// Not at all.
    Absent {
        /// Why not.
        why: String,
    },
}

/// What is expected to limit a kernel at the size given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// Device memory.
    Memory,
    /// The arithmetic named by the kernel.
    Arithmetic,
    /// Launches and dependencies.
    Latency,
}

/// One kernel at one size, ready to be timed.
pub struct Work {
    /// The size.
    pub shape: Shape,
    /// Contents of the buffers, generated on the device.
    pub buffers: Vec<Content>,
    /// What one repetition launches. Operands rotate over the buffers so that none is found in the cache.
    pub plan: Plan,
    /// Bytes that must move per repetition.
    pub bytes: f64,
    /// Operations per repetition, a multiply-add counting as two.
    pub flops: f64,
    /// What is expected to limit it.
    pub limiter: Limiter,
    /// Name of the variant that is launched; empty where the kernel has one way only.
    pub variant: &'static str,
}

impl Work {
    /// Those that can be and fit in so many bytes.
    pub(super) fn fitting(
        bytes: u64,
        works: impl Iterator<Item = Result<Self, String>>,
    ) -> Vec<Self> {
        let size = |work: &Self| work.buffers.iter().map(|b| b.bytes() as u64).sum::<u64>();
        works.filter_map(Result::ok).filter(|work| size(work) <= bytes).collect()
    }
}

/// One kernel of the registry.
pub struct GpuKernel {
    /// Stable id: `gemm.f16`.
    pub id: &'static str,
    /// What it is, in half a sentence: `fp16 product, fp32 accumulation`.
    pub title: &'static str,
    /// Image it is in.
    pub family: &'static str,
    /// Number format it stands for.
    pub dtype: Dtype,
    /// How a device would run it.
    pub route: fn(&DeviceFacts) -> Route,
    /// The ways a device can compute it, at most [`super::MOST_VARIANTS`]; empty where there is one only. [`DeviceFacts::with_variant`] forces
    /// one, else the kernel chooses by the size.
    pub variants: fn(&DeviceFacts) -> Vec<Variant>,
    /// Cases of every variant that prove it, over ragged sizes. Empty only where the route is absent.
    pub cases: fn(&DeviceFacts) -> Vec<Case>,
    /// The default sizes to time, smallest first, within so many bytes; empty where nothing is to be timed.
    pub works: fn(&DeviceFacts, u64) -> Vec<Work>,
    /// The size a user asks for, or why it cannot be.
    pub work: fn(&DeviceFacts, Shape) -> Result<Work, String>,
}

impl GpuKernel {
    /// A kernel with one variant and no times of its own, to be completed by everything that tells kernels apart.
    pub(crate) const UNTIMED: Self = Self {
        id: "",
        title: "",
        family: "",
        dtype: Dtype::Fp32,
        route: |_| Route::Absent { why: "nothing says how".to_owned() },
        variants: |_| Vec::new(),
        cases: |_| Vec::new(),
        works: |_, _| Vec::new(),
        work: |_, _| Err("it is not timed by itself".to_owned()),
    };
}
