//! Speed that may be expected: bytes that a token reads over bandwidth, and what a framework adds to each layer.
//!
//! Efficiencies are fitted to the Qwen2.5 speed benchmark (A100, vLLM 0.6.3 and Transformers 4.46, batch 1) and to `llama-bench`
//! tables in llama.cpp's pull requests 3776, 4766 and 12183; those of other frameworks are set beside the nearest of these.

use serde::Serialize;
use warpscope_probes::model::{Shape, WeightRole};

use super::demand::Demand;
use super::device::Device;
use super::estimate::Range;
use super::framework::{Family, Framework};
use super::kv::Cache;
use super::placement::Plan;
use super::weights::{Slice, loaded, read_by_a_token};

/// How fast it will be; tokens per second and seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Speed {
    /// Tokens a second for each request.
    pub decode: Range,
    /// Tokens a second of all requests.
    pub decode_total: Range,
    /// Prompt tokens a second.
    pub prefill: Range,
    /// Seconds to the first token of a full prompt.
    pub first_token: Range,
}

/// How well a framework uses a GPU.
struct Efficiency {
    /// Share of the bandwidth that reading weights reaches.
    bandwidth: f64,
    /// Seconds each layer costs besides.
    layer: f64,
    /// Share of the peak that a long prompt reaches.
    prefill: f64,
    /// Whether launching a layer hides behind reading it.
    overlaps: bool,
}

impl Efficiency {
    fn new(family: Family) -> Self {
        let (bandwidth, micros, prefill) = match family {
            Family::Vllm => (0.80, 85.0, 0.50),
            Family::Sglang | Family::Lmdeploy => (0.80, 65.0, 0.50),
            Family::TensorRtLlm => (0.82, 50.0, 0.55),
            Family::Tgi => (0.75, 110.0, 0.45),
            Family::LlamaCpp | Family::KTransformers => (0.66, 35.0, 0.30),
            Family::ExLlama => (0.70, 40.0, 0.40),
            Family::Transformers => (0.62, 890.0, 0.35),
        };
        let overlaps = family == Family::Transformers;
        Self { bandwidth, layer: micros * 1e-6, prefill, overlaps }
    }
}

/// Half the width of a range, as a factor: nine of ten published rates lie within it.
const SPREAD: f64 = 1.4;
/// Seconds of an all-reduce of one token, two a layer: over NVLink, and over PCIe through host memory.
const NVLINK_REDUCE: f64 = 14e-6;
const PCIE_REDUCE: f64 = 45e-6;
/// Bandwidth of host memory, bytes a second: two channels of DDR4 to eight of DDR5.
const HOST: Range = Range { low: 40e9, mid: 90e9, high: 250e9 };
/// Kernels for 4-bit weights without asynchronous copies (below sm_80) reach so much less.
const OLD_PACKED: f64 = 0.6;

/// The speed on a group; none where its bandwidth is not known.
pub fn speed(
    shape: &Shape,
    group: &[Device],
    framework: &Framework,
    demand: &Demand,
    plan: &Plan,
) -> Option<Speed> {
    let device = group.iter().min_by(|a, b| a.free.total_cmp(&b.free))?;
    let (bandwidth, peak) = (device.bandwidth?, device.peak?);
    let family = framework.family;
    let efficiency = Efficiency::new(family);
    let tp = demand.parallel.tp as f64;
    let batch = demand.concurrency.max(1) as f64;
    let cache = Cache::new(shape, demand, family, Slice::WHOLE);
    // On average half of the context is filled.
    let kv = cache.bytes(demand.context / 2, demand.concurrency);
    let experts = loaded(shape, demand, WeightRole::Experts);
    let weights = read_by_a_token(shape, demand, batch);
    let packed = if shape.format.is_some() && !device.at_least(8, 0) && family != Family::LlamaCpp {
        OLD_PACKED
    } else {
        1.0
    };
    let reading = (weights + kv) / (bandwidth * efficiency.bandwidth * packed * tp);
    let operations = 2.0 * active(shape) * batch / (peak * efficiency.prefill * tp);
    let layers = shape.depth() as f64 * (efficiency.layer + reduce(device, demand));
    let busy = reading.max(operations);
    let step = if efficiency.overlaps { busy.max(layers) } else { busy + layers };
    let host = host_bytes(shape, demand, family, plan, experts, batch);
    let time = Range {
        low: step / SPREAD + host / HOST.high,
        mid: step + host / HOST.mid,
        high: step * SPREAD + host / HOST.low,
    };
    let decode = Range { low: 1.0 / time.high, mid: 1.0 / time.mid, high: 1.0 / time.low };
    let gpus = if family.is_tensor_parallel() { tp } else { 1.0 };
    let prefill = peak * efficiency.prefill * gpus / (2.0 * active(shape));
    let prefill = Range { low: prefill / 2.0, mid: prefill, high: prefill * 1.8 };
    let prompt = demand.context as f64;
    let first_token =
        Range { low: prompt / prefill.high, mid: prompt / prefill.mid, high: prompt / prefill.low };
    Some(Speed { decode, decode_total: decode * batch, prefill, first_token })
}

fn reduce(device: &Device, demand: &Demand) -> f64 {
    match demand.parallel.tp {
        0 | 1 => 0.0,
        _ if device.nvlink => 2.0 * NVLINK_REDUCE,
        _ => 2.0 * PCIE_REDUCE,
    }
}

/// Bytes that a token reads from host memory.
fn host_bytes(
    shape: &Shape,
    demand: &Demand,
    family: Family,
    plan: &Plan,
    experts: f64,
    batch: f64,
) -> f64 {
    let all = read_by_a_token(shape, demand, batch);
    match plan.offload {
        Some(offload) => all * (1.0 - offload.layers as f64 / offload.of.max(1) as f64),
        None if family == Family::KTransformers && experts > 0.0 => {
            let saved: f64 = shape.weights.iter().map(|group| group.bytes as f64).sum();
            (all - (saved - experts)).max(0.0)
        }
        None => 0.0,
    }
}

/// Parameters that serve one token.
fn active(shape: &Shape) -> f64 {
    let width = |role| shape.group(role).map_or(0.0, |group| group.values as f64);
    let share = shape.layers.iter().find_map(|run| match run.mlp {
        warpscope_probes::model::Mlp::Experts { routed, active, .. } if routed > 0 => {
            Some(active as f64 / routed as f64)
        }
        _ => None,
    });
    width(WeightRole::Attention)
        + width(WeightRole::Mlp)
        + width(WeightRole::Experts) * share.unwrap_or(1.0)
}
