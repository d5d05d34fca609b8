//! The largest batch a server prepares for.

use warpscope_probes::model::{Attention, Shape, WeightRole};

use super::demand::{Demand, Images};
use super::device::Device;
use super::estimate::GIB;
use super::framework::{Family, Release};

/// vLLM's V1 engine became the default; before it, a whole prompt was one batch.
const V1: Release = (0, 8, 0);
/// Until this, GPUs before Ampere and models whose encoder is attended to still got V0 (`arg_utils.py@v0.10.0:_is_v1_supported_oracle`).
const V1_EVERYWHERE: Release = (0, 11, 0);
/// From this on V0 cut prompts of text models into chunks where the context is longer than [`LONG`] and nothing slides
/// (`arg_utils.py@v0.5.3:create_engine_config`).
const CHUNKED: Release = (0, 5, 3);
/// Chunks of V0 grew from 512 to 2048 tokens (PR 10544).
const LARGER_CHUNKS: Release = (0, 6, 5);
/// Contexts beyond this were chunked.
const LONG: u64 = 32768;

/// Sizes of the largest batch a server prepares for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Batch {
    pub(super) tokens: f64,
    pub(super) sequences: f64,
}

impl Batch {
    /// What the demand says, else the framework's default for such a GPU.
    pub(super) fn new(shape: &Shape, demand: &Demand, family: Family, device: &Device) -> Self {
        let (tokens, sequences) = match family {
            Family::Vllm => vllm_batch(shape, demand, device),
            Family::Sglang => (sglang_chunk(device), 64),
            Family::Lmdeploy | Family::TensorRtLlm => (8192, 128),
            Family::Tgi => (demand.context.max(4096), 128),
            Family::LlamaCpp => (512, demand.concurrency),
            Family::KTransformers | Family::ExLlama => {
                (2048.min(demand.context), demand.concurrency)
            }
            Family::Transformers => (demand.context * demand.concurrency, demand.concurrency),
        };
        Self {
            tokens: demand.tuning.batched_tokens.unwrap_or(tokens) as f64,
            sequences: demand.most_at_once().unwrap_or(sequences) as f64,
        }
    }
}

/// Whether this vLLM runs the engine before V1 on such a GPU.
pub(super) fn is_v0(demand: &Demand, device: &Device) -> bool {
    let old = device.sm.is_some_and(|sm| sm < (8, 0)) || demand.tuning.images == Images::Tiled;
    let limit = if old { V1_EVERYWHERE } else { V1 };
    demand.release.is_some_and(|release| release < limit)
}

/// Defaults of an API server, as `arg_utils.py` has them since V1: larger from 70 GiB on (not an A100) and from 160 GiB on. NVML does not
/// tell of memory that is shared with the CPU, which counts as none (`arg_utils.py:get_batch_defaults`, read 2026-11-28).
fn vllm_batch(shape: &Shape, demand: &Demand, device: &Device) -> (u64, u64) {
    let told = if device.integrated { 0.0 } else { device.total };
    let large = told >= 70.0 * GIB && !device.name.contains("A100");
    match demand.release {
        Some(release) if is_v0(demand, device) && is_chunked(shape, demand, release) => {
            (if release < LARGER_CHUNKS { 512 } else { 2048 }, 256)
        }
        _ if is_v0(demand, device) => (demand.context.max(2048), 256),
        _ if told >= 160.0 * GIB => (16384, 1024),
        _ if large => (8192, 1024),
        _ => (2048, 256),
    }
}

fn sglang_chunk(device: &Device) -> u64 {
    match device.total {
        total if total < 20.0 * GIB => 2048,
        total if total < 60.0 * GIB => 4096,
        total if total < 160.0 * GIB => 8192,
        _ => 16384,
    }
}

fn is_chunked(shape: &Shape, demand: &Demand, release: Release) -> bool {
    let slides = shape
        .layers
        .iter()
        .any(|run| matches!(run.attention, Attention::Heads { window: Some(_), .. }));
    let sees = shape.group(WeightRole::Tower).is_some();
    release >= CHUNKED && demand.context > LONG && !slides && !sees
}
