//! Work space of a framework, beside weights and cache.

use warpscope_probes::model::{Attention, Mlp, Shape, WeightRole};

use super::batch::{Batch, is_v0};
use super::compute_buffer::compute_buffer;
use super::demand::{Demand, Images};
use super::device::Device;
use super::estimate::{Estimate, GIB, MIB, Range};
use super::framework::{Family, Release};
use super::kv::states_apart;
use super::weights::loaded;

/// vLLM's sampler held nearly three times as much before this.
const SAMPLER_SHRUNK: Release = (0, 17, 0);
/// vLLM read the peak of its profile run from the driver, what its allocator had reserved and not used included
/// (`worker.py@v0.5.4:determine_num_available_blocks`; from the allocator since 0.6.4).
const RESERVED: std::ops::Range<Release> = (0, 4, 0)..(0, 6, 4);
/// Servers failed for want of cache where twice (issue 5248) and 3.4 times (issue 4429) the work space were left for it.
const RESERVED_AND_UNUSED: f64 = 4.0;

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
    gpus: usize,
) -> Estimate {
    let tp = demand.parallel.tp as f64;
    let widths = Widths::new(shape, tp);
    let batch = Batch::new(shape, demand, family, device);
    let vocab = shape.vocab as f64;
    match family {
        Family::Vllm => Estimate::rule(vllm(shape, demand, device, &widths, batch)),
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
        Family::LlamaCpp => Estimate::rule(compute_buffer(shape, demand, gpus)),
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
            Estimate::guess(Range { low: mid * 0.5, mid, high: mid * 1.5 + 1.0 * GIB })
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
fn vllm(shape: &Shape, demand: &Demand, device: &Device, widths: &Widths, batch: Batch) -> Range {
    let logits = batch.sequences * shape.vocab as f64 * 4.0;
    let shrunk = demand.release.is_none_or(|release| release >= SAMPLER_SHRUNK);
    let sampler = if shrunk { 3.5 * logits + 0.18 * GIB } else { 9.6 * logits };
    let between_stages =
        if demand.parallel.pp > 1 { batch.tokens * widths.hidden * 4.0 } else { 0.0 };
    let layer = widths.mlp(batch.tokens) + between_stages;
    let experts = widths.experts(batch.tokens);
    let tower = loaded(shape, demand, WeightRole::Tower) > 0.0;
    let images = if tower { pictures(demand, device, batch) } else { Range::default() };
    let split_k = split_k(shape, demand, widths, batch);
    let mid = if demand.parallel.pp > 1 { layer } else { sampler.max(layer) } + experts + split_k;
    let reserved = demand.release.is_some_and(|release| RESERVED.contains(&release));
    let high = sampler.max(layer) * 1.07 + experts * 1.2 + split_k + 0.15 * GIB;
    Range {
        low: layer.min(sampler) * 0.9,
        mid,
        high: if reserved { high * RESERVED_AND_UNUSED } else { high },
    } + images
        + states_apart(shape, demand)
}

/// The first AWQ kernel of vLLM summed eight partial outputs of a whole batch; from 0.4.1 on a large batch is unpacked and multiplied.
fn split_k(shape: &Shape, demand: &Demand, widths: &Widths, batch: Batch) -> f64 {
    let awq = shape.format.as_ref().is_some_and(|format| format.name == "awq");
    let early = demand.release.is_some_and(|release| release < (0, 4, 1));
    if awq && early { 8.0 * batch.tokens * 2.0 * widths.dense * 2.0 } else { 0.0 }
}

/// What towers add to a profile run. V0 gave every sequence an image of the largest size.
fn pictures(demand: &Demand, device: &Device, batch: Batch) -> Range {
    let early = is_v0(demand, device);
    match demand.tuning.images {
        Images::AnySize if early => Range {
            low: 0.2 * GIB,
            mid: (batch.sequences * 120.0 * MIB).max(1.0 * GIB),
            high: (batch.sequences * 220.0 * MIB).max(4.0 * GIB),
        },
        // No part of the tower is split: the stack of its states, 4 tiles of 1608 patches five times 1280 wide for each of 256 sequences, is
        // the 19.63 GiB that were refused where 56.6 were held already (vLLM issue 8903); with 128 on one GPU 60 GiB came to be held
        // (issue 9630).
        Images::Tiled => Range {
            low: batch.sequences * 240.0 * MIB,
            mid: batch.sequences * 285.0 * MIB,
            high: batch.sequences * 480.0 * MIB,
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
