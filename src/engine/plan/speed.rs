//! Speed that may be expected: bytes that a token reads over bandwidth, and what a framework adds to each layer.
//!
//! Efficiencies are fitted to the speed benchmarks of Qwen2.5 (A100; vLLM 0.6.3, Transformers 4.46) and Qwen3 (H20; SGLang 0.4.6,
//! Transformers 4.51) at batch 1 and to `llama-bench` tables in llama.cpp's pull requests 4766, 4812 and 12183; those of other
//! frameworks are set beside the nearest of these. `tests/plan/speeds.csv` has the rows.

use serde::Serialize;
use warpscope_probes::model::{Attention, Mlp, Shape, WeightRole};

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
    /// Rows that a matrix product computes at least, needed or not.
    tile: f64,
}

impl Efficiency {
    fn new(shape: &Shape, family: Family) -> Self {
        let (bandwidth, micros, prefill) = match family {
            Family::Vllm => (0.80, 85.0, 0.50),
            Family::Sglang | Family::Lmdeploy => (0.80, 65.0, 0.50),
            Family::TensorRtLlm => (0.82, 50.0, 0.55),
            Family::Tgi => (0.75, 110.0, 0.45),
            Family::LlamaCpp | Family::KTransformers => (0.66, 35.0, 0.30),
            Family::ExLlama => (0.70, 40.0, 0.40),
            Family::Transformers => (0.62, eager_micros(shape), 0.35),
        };
        let tile = match family {
            Family::LlamaCpp | Family::KTransformers | Family::ExLlama | Family::Transformers => {
                1.0
            }
            // Marlin's tiles; those of tensor cores in 8 and 16 bits.
            _ if is_narrow(shape) => 16.0,
            _ => 64.0,
        };
        let unpacking =
            if shape.format.is_some() && !is_8bit(shape) && tile > 1.0 { UNPACKING } else { 0.0 };
        Self { bandwidth, layer: (micros + unpacking) * 1e-6, prefill, tile }
    }
}

/// Microseconds that Python takes for a layer: experts one after the other, unpacking 8-bit weights by operations of their own.
fn eager_micros(shape: &Shape) -> f64 {
    let bits = shape.format.as_ref().and_then(|format| format.bits);
    let (layer, expert) = match bits {
        Some(8.0) if is_8bit(shape) => (1650.0, 370.0),
        Some(8.0) => (1150.0, 150.0),
        Some(4.0) => (900.0, 86.0),
        _ => (750.0, 86.0),
    };
    let routed = shape.layers.iter().map(|run| match run.mlp {
        Mlp::Experts { routed, .. } => routed as f64,
        _ => 0.0,
    });
    layer + expert * routed.fold(0.0, f64::max)
}

/// Weights below 8 bits.
fn is_narrow(shape: &Shape) -> bool {
    shape.format.as_ref().and_then(|format| format.bits).is_some_and(|bits| bits < 8.0)
}

/// Weights and activations in 8 bits.
fn is_8bit(shape: &Shape) -> bool {
    let name = shape.format.as_ref().map_or("", |format| format.name.as_str());
    ["fp8", "w8a8", "finegrained_fp8"].iter().any(|start| name.starts_with(start))
}

/// Half the width of a range, as a factor.
const SPREAD: f64 = 1.4;
/// The same of frameworks that launch each operation from Python: the machine's own speed decides.
const EAGER_SPREAD: f64 = 1.6;
/// Microseconds that kernels for packed weights add to a layer.
const UNPACKING: f64 = 25.0;
/// Share of the peak that a product of few rows reaches on the tiles it computes.
const TILES: f64 = 0.65;
/// Share of the bandwidth that reading keys and values reaches.
const KV_READING: f64 = 0.75;
/// Seconds for a byte of keys and values in Transformers, which copies the cache for each token and reads it with few blocks.
const EAGER_KV: Range = Range { low: 3e-12, mid: 13e-12, high: 24e-12 };
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
    let work = Work {
        shape,
        device,
        family: framework.family,
        demand,
        efficiency: Efficiency::new(shape, framework.family),
        bandwidth: device.bandwidth?,
        peak: device.peak? * if is_8bit(shape) && device.at_least(8, 9) { 2.0 } else { 1.0 },
    };
    let time = work.token(plan);
    let decode = Range { low: 1.0 / time.high, mid: 1.0 / time.mid, high: 1.0 / time.low };
    let prefill = work.prefill();
    let prompt = demand.context as f64;
    let first_token =
        Range { low: prompt / prefill.high, mid: prompt / prefill.mid, high: prompt / prefill.low };
    let decode_total = decode * demand.concurrency.max(1) as f64;
    Some(Speed { decode, decode_total, prefill, first_token })
}

/// What there is to do, and with what.
struct Work<'a> {
    shape: &'a Shape,
    device: &'a Device,
    family: Family,
    demand: &'a Demand,
    efficiency: Efficiency,
    bandwidth: f64,
    peak: f64,
}

impl Work<'_> {
    /// Seconds of one step: a token for each request.
    fn token(&self, plan: &Plan) -> Range {
        let tp = self.demand.parallel.tp as f64;
        let batch = self.demand.concurrency.max(1) as f64;
        let weights = read_by_a_token(self.shape, self.demand, batch);
        let reading = weights / (self.bandwidth * self.efficiency.bandwidth * self.packed() * tp);
        let rows = batch.max(self.efficiency.tile);
        let computing = 2.0 * active(self.shape) * rows / (self.peak * TILES * tp);
        let layers =
            self.shape.depth() as f64 * (self.efficiency.layer + reduce(self.device, self.demand));
        let busy = reading.max(computing);
        let kv = self.kv(tp);
        let eager = self.family == Family::Transformers;
        let spread = if eager { EAGER_SPREAD } else { SPREAD };
        // Python launches while the GPU computes.
        let step = |kv: f64| if eager { (busy + kv).max(layers) } else { busy + layers + kv };
        let host = self.host(plan, weights, batch);
        Range {
            low: step(kv.low) / spread + host / HOST.high,
            mid: step(kv.mid) + host / HOST.mid,
            high: step(kv.high) * spread + host / HOST.low,
        }
    }

    /// Seconds of reading keys and values. On average half of the context is filled.
    fn kv(&self, tp: f64) -> Range {
        let cache = Cache::new(self.shape, self.demand, self.family, Slice::WHOLE);
        let bytes = cache.bytes(self.demand.context / 2, self.demand.concurrency);
        match self.family {
            Family::Transformers => EAGER_KV * bytes,
            _ => Range::exact(bytes / (self.bandwidth * KV_READING * tp)),
        }
    }

    /// Prompt tokens a second over a prompt of the whole context.
    fn prefill(&self) -> Range {
        let gpus =
            if self.family.is_tensor_parallel() { self.demand.parallel.tp as f64 } else { 1.0 };
        let operations =
            2.0 * active(self.shape) + attention(self.shape, self.demand.context as f64);
        let rate = self.peak * self.efficiency.prefill * gpus / operations;
        Range { low: rate / 2.0, mid: rate, high: rate * 1.8 }
    }

    fn packed(&self) -> f64 {
        let own = matches!(self.family, Family::LlamaCpp | Family::KTransformers);
        if self.shape.format.is_some() && !self.device.at_least(8, 0) && !own {
            OLD_PACKED
        } else {
            1.0
        }
    }

    /// Bytes that a token reads from host memory.
    fn host(&self, plan: &Plan, all: f64, batch: f64) -> f64 {
        let experts = loaded(self.shape, self.demand, WeightRole::Experts);
        match plan.offload {
            Some(offload) => all * (1.0 - offload.layers as f64 / offload.of.max(1) as f64),
            None if self.family == Family::KTransformers && experts > 0.0 => {
                all - read_by_a_token(&without_experts(self.shape), self.demand, batch)
            }
            None => 0.0,
        }
    }
}

fn without_experts(shape: &Shape) -> Shape {
    let mut rest = shape.clone();
    rest.weights.retain(|group| group.role != WeightRole::Experts);
    rest
}

fn reduce(device: &Device, demand: &Demand) -> f64 {
    match demand.parallel.tp {
        0 | 1 => 0.0,
        _ if device.nvlink => 2.0 * NVLINK_REDUCE,
        _ => 2.0 * PCIE_REDUCE,
    }
}

/// Operations of attention for each token of a prompt: scores and sums over half of the tokens before it.
fn attention(shape: &Shape, prompt: f64) -> f64 {
    let layer = |run: &warpscope_probes::model::LayerRun| match run.attention {
        Attention::Heads { heads, head_dim, window, .. } => {
            let seen = window.map_or(prompt / 2.0, |window| (window as f64).min(prompt / 2.0));
            4.0 * (heads * head_dim * run.count) as f64 * seen
        }
        Attention::Latent { heads, rank, rope_dim, .. } => {
            2.0 * (heads * (2 * rank + rope_dim) * run.count) as f64 * prompt / 2.0
        }
        Attention::Recurrent { .. } | Attention::Nothing => 0.0,
    };
    shape.layers.iter().map(layer).sum()
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
