//! What a framework takes beside weights and cache: work space, graphs, context and libraries.

use warpscope_probes::model::{Attention, Mlp, Shape, WeightRole};

use super::demand::{Demand, Images};
use super::device::Device;
use super::estimate::{Estimate, GIB, MIB, Range};
use super::framework::Family;
use super::weights::loaded;

/// vLLM's sampler held nearly three times as much before this.
const SAMPLER_SHRUNK: (u32, u32, u32) = (0, 17, 0);
/// vLLM's V1 engine became the default; before it, a whole prompt was one batch.
const V1: (u32, u32, u32) = (0, 8, 0);

/// Sizes of the largest batch a server prepares for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Batch {
    pub(super) tokens: f64,
    pub(super) sequences: f64,
}

impl Batch {
    /// What the demand says, else the framework's default for such a GPU.
    pub(super) fn new(demand: &Demand, family: Family, device: &Device) -> Self {
        let (tokens, sequences) = match family {
            Family::Vllm => vllm_batch(demand, device),
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
            sequences: demand.tuning.sequences.unwrap_or(sequences) as f64,
        }
    }
}

/// Defaults of an API server, as `arg_utils.py` has them since V1: larger from 70 GiB on (not an A100) and from 160 GiB on.
fn vllm_batch(demand: &Demand, device: &Device) -> (u64, u64) {
    let large = device.total >= 70.0 * GIB && !device.name.contains("A100");
    match demand.release {
        Some(release) if release < V1 => (demand.context.max(2048), 256),
        _ if device.total >= 160.0 * GIB => (16384, 1024),
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

/// Widths that decide how large intermediate values are.
struct Widths {
    hidden: f64,
    dense: f64,
    expert: Option<(f64, f64)>,
}

impl Widths {
    fn new(shape: &Shape, tp: f64) -> Self {
        let (mut dense, mut expert) = (0, None);
        for run in &shape.layers {
            match run.mlp {
                Mlp::Dense { intermediate } => dense = dense.max(intermediate),
                Mlp::Experts { active, intermediate, shared, .. } => {
                    dense = dense.max(shared);
                    expert = Some((active as f64, intermediate as f64 / tp));
                }
                Mlp::Nothing => {}
            }
        }
        Self { hidden: shape.hidden as f64, dense: dense as f64 / tp, expert }
    }

    /// Gate, up and their product, and four rows of the residual stream, in 16 bits.
    fn mlp(&self, tokens: f64) -> f64 {
        tokens * (3.0 * self.dense + 4.0 * self.hidden) * 2.0
    }

    /// Rows of the fused expert kernel: gate and up (or the output, in the same place), and their product.
    fn experts(&self, tokens: f64) -> f64 {
        self.expert.map_or(0.0, |(active, inner)| {
            tokens * active * ((2.0 * inner).max(self.hidden) + inner) * 2.0
        })
    }
}

/// Work space of the largest batch.
pub(super) fn activations(
    shape: &Shape,
    demand: &Demand,
    family: Family,
    device: &Device,
) -> Estimate {
    let tp = demand.parallel.tp as f64;
    let widths = Widths::new(shape, tp);
    let batch = Batch::new(demand, family, device);
    let vocab = shape.vocab as f64;
    match family {
        Family::Vllm => Estimate::rule(vllm(shape, demand, &widths, batch)),
        Family::Sglang => Estimate::rule(sglang(shape, demand, device, batch)),
        Family::Lmdeploy => {
            let logits = (batch.tokens.min(8192.0) + 2.0 * batch.sequences) * vocab * 2.0 / tp;
            let mid = widths.mlp(batch.tokens) + widths.experts(batch.tokens) + 0.1 * GIB;
            Estimate::guess(Range { low: mid * 0.5, mid, high: mid * 1.5 + logits / 2.0 })
        }
        Family::Tgi | Family::TensorRtLlm => {
            let mid = widths.mlp(batch.tokens).max(batch.sequences * vocab * 8.0)
                + widths.experts(batch.tokens);
            Estimate::guess(Range { low: mid * 0.5, mid, high: mid * 1.5 + 2.0 * GIB })
        }
        Family::LlamaCpp => Estimate::rule(llama_cpp(shape, demand, &widths)),
        Family::Transformers => {
            // Fitted to peaks of PyTorch's allocator in the Qwen2.5 speed benchmark.
            let mid = widths.mlp(batch.tokens) + widths.experts(batch.tokens) + 0.03 * GIB;
            let mid = mid.max(untied(shape));
            let high = mid * 1.06 + 0.15 * GIB;
            Estimate::rule(Range { low: mid * 0.85, mid, high })
        }
        Family::KTransformers => Estimate::guess(Range::gib(0.5, 1.5, 4.0)),
        Family::ExLlama => {
            let mid = widths.mlp(batch.tokens) + batch.tokens.min(2048.0) * vocab;
            Estimate::guess(Range { low: mid * 0.5, mid, high: mid * 1.5 + 0.3 * GIB })
        }
    }
}

/// Checkpoints of AutoAWQ untie the head: until it is tied again, both are loaded.
fn untied(shape: &Shape) -> f64 {
    let awq = shape.format.as_ref().is_some_and(|format| format.name == "awq");
    let ends = shape.group(WeightRole::Embedding).map_or(0.0, |group| group.bytes as f64);
    if awq && shape.tied_head { ends } else { 0.0 }
}

/// Peak of vLLM's profile run: the sampler over as many rows as sequences, or the widest layer over a full batch; workspaces of
/// experts and towers stay beside it. Factors from logs of 26 dense and 8 expert models; before 0.17 from three.
fn vllm(shape: &Shape, demand: &Demand, widths: &Widths, batch: Batch) -> Range {
    let logits = batch.sequences * shape.vocab as f64 * 4.0;
    let shrunk = demand.release.is_none_or(|release| release >= SAMPLER_SHRUNK);
    let sampler = if shrunk { 3.5 * logits + 0.18 * GIB } else { 9.6 * logits };
    let between_stages =
        if demand.parallel.pp > 1 { batch.tokens * widths.hidden * 4.0 } else { 0.0 };
    let layer = widths.mlp(batch.tokens) + between_stages;
    let experts = widths.experts(batch.tokens);
    let tower = loaded(shape, demand, WeightRole::Tower) > 0.0;
    let images = if tower { pictures(demand, batch) } else { Range::default() };
    let split_k = split_k(shape, demand, widths, batch);
    let mid = if demand.parallel.pp > 1 { layer } else { sampler.max(layer) } + experts + split_k;
    Range {
        low: layer.min(sampler) * 0.9,
        mid,
        high: sampler.max(layer) * 1.07 + experts * 1.2 + split_k + 0.15 * GIB,
    } + images
}

/// The first AWQ kernel of vLLM summed eight partial outputs of a whole batch; from 0.4.1 on a large batch is unpacked and multiplied.
fn split_k(shape: &Shape, demand: &Demand, widths: &Widths, batch: Batch) -> f64 {
    let awq = shape.format.as_ref().is_some_and(|format| format.name == "awq");
    let early = demand.release.is_some_and(|release| release < (0, 4, 1));
    if awq && early { 8.0 * batch.tokens * 2.0 * widths.dense * 2.0 } else { 0.0 }
}

/// What towers add to a profile run. V0 gave every sequence an image of the largest size.
fn pictures(demand: &Demand, batch: Batch) -> Range {
    let early = demand.release.is_some_and(|release| release < V1);
    match demand.tuning.images {
        Images::AnySize if early => Range {
            low: 0.2 * GIB,
            mid: (batch.sequences * 120.0 * MIB).max(1.0 * GIB),
            high: (batch.sequences * 220.0 * MIB).max(4.0 * GIB),
        },
        // One image of 16k tokens, whose patches attend to all others: 16 GiB were seen (vLLM issue 18124).
        Images::AnySize => Range::gib(0.2, 6.0, 18.0),
        Images::Fixed => Range::gib(0.0, 0.25, 0.6),
    }
}

/// What `mem_fraction_static` leaves: 512 MiB, 1.5 per token of a chunk, 1 GiB for eight GPUs, and graphs; at least 10 GiB on large GPUs.
fn sglang(shape: &Shape, demand: &Demand, device: &Device, batch: Batch) -> Range {
    if let Some(share) = demand.tuning.utilization {
        return Range::exact(device.usable * (1.0 - share));
    }
    let gpus = demand.parallel.gpus() as f64;
    let latent = shape.layers.iter().any(|run| matches!(run.attention, Attention::Latent { .. }));
    let graphs =
        if latent { 1536.0 } else { 2.0 * if device.total < 40.0 * GIB { 24.0 } else { 256.0 } };
    let reserved = 512.0 + 1.5 * batch.tokens.max(2048.0) + gpus / 8.0 * 1024.0 + graphs;
    let least = if device.total > 60.0 * GIB { 10.0 * GIB } else { 0.0 };
    let mid = (reserved * MIB).max(least);
    Range { low: mid * 0.8, mid, high: mid * 1.1 }
}

/// llama.cpp's compute buffer: logits of a micro-batch and the widest layer in 32 bits. Without flash attention the scores as well.
fn llama_cpp(shape: &Shape, demand: &Demand, widths: &Widths) -> Range {
    let tokens = 512.0;
    let inner = widths.dense.max(widths.expert.map_or(0.0, |(active, inner)| active * inner));
    let mid = tokens * 4.0 * (shape.vocab as f64 + 2.0 * inner + 4.0 * widths.hidden);
    let heads = shape.layers.iter().find_map(|run| match run.attention {
        Attention::Heads { heads, .. } | Attention::Latent { heads, .. } => Some(heads),
        _ => None,
    });
    let scores = heads.unwrap_or(0) as f64 * demand.context as f64 * tokens * 4.0;
    if demand.splits_rows() {
        let mid = mid + scores;
        return Range { low: mid * 0.6, mid, high: mid * 1.5 };
    }
    Range { low: mid * 0.4, mid, high: mid * 1.2 + scores.min(1.0 * GIB) }
}

/// CUDA graphs. vLLM 0.19 logged 0.5 to 1.9 GiB for 35 to 67 batch sizes.
pub(super) fn graphs(demand: &Demand, family: Family, batch: Batch) -> Estimate {
    let some =
        if batch.sequences > 256.0 { Range::gib(0.5, 1.0, 1.9) } else { Range::gib(0.1, 0.5, 1.2) };
    let few = if batch.sequences <= 16.0 { Range::gib(0.05, 0.15, 0.5) } else { some };
    match family {
        _ if demand.tuning.eager => Estimate::rule(Range::default()),
        Family::Vllm => Estimate::rule(few),
        Family::TensorRtLlm => Estimate::guess(Range::gib(0.1, 0.4, 1.0)),
        Family::Tgi => Estimate::guess(Range::gib(0.2, 0.6, 1.2)),
        // Within what SGLang reserves; the others use none, or few.
        _ => Estimate::rule(Range::default()),
    }
}

/// What PyTorch's allocator does not count: collectives and work space of libraries, as vLLM logs it ("non-torch").
pub(super) fn libraries(demand: &Demand, family: Family, device: &Device) -> Estimate {
    let range = match (demand.parallel.tp, family) {
        (1, Family::Vllm) if demand.parallel.pp > 1 => Range::gib(0.02, 0.07, 0.4),
        (1, Family::Vllm) => Range::gib(0.05, 0.25, 0.5),
        (1, _) => Range::gib(0.0, 0.1, 0.3),
        // NVLink switches and symmetric memory: 2.07 to 2.13 GiB on H100. Boards over PCIe hold NCCL's channels only.
        _ if device.nvlink && device.at_least(9, 0) => Range::gib(0.6, 2.1, 2.25),
        _ => Range::gib(0.2, 0.6, 1.3),
    };
    Estimate::rule(range)
}

/// The CUDA context with loaded kernels. 0.51 GiB on an H100 before weights, 1.53 once NCCL is up; 256 MiB on a 3090 with lazy loading.
pub(super) fn context(demand: &Demand, device: &Device) -> Estimate {
    let range = match (demand.parallel.gpus(), device.at_least(9, 0)) {
        (1, true) => Range::gib(0.4, 0.51, 0.8),
        (1, false) => Range::gib(0.2, 0.35, 0.7),
        (_, true) => Range::gib(0.6, 1.53, 2.0),
        (_, false) => Range::gib(0.3, 0.6, 1.2),
    };
    Estimate::rule(range)
}
