//! Bytes of weights on the GPU that carries most of them.

use warpscope_probes::model::{EXL_HEAD_BITS, Mlp, Shape, ShapeSource, WeightGroup, WeightRole};

use super::demand::Demand;
use super::estimate::{Estimate, MIB, Range};
use super::framework::{Family, Release};
use super::latent;

/// What one GPU carries of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slice {
    /// Share of the layers.
    pub(super) layers: f64,
    /// GPUs that share each layer.
    pub(super) tp: f64,
    /// Whether it is one stage of several, with the embedding or the head, not both.
    pub(super) stage: bool,
}

impl Slice {
    /// The whole model on one GPU.
    pub(super) const WHOLE: Self = Self { layers: 1.0, tp: 1.0, stage: false };
}

/// Rotary tables, buffers and rounding of allocations beside the weights: 0.01 to 0.06 GiB in vLLM's logs of 26 models, none in those of
/// llama.cpp.
const BUFFERS: Range = Range { low: 0.0, mid: 20.0 * MIB, high: 70.0 * MIB };

/// Weights as they lie on a GPU.
pub(super) fn weights(shape: &Shape, demand: &Demand, family: Family, slice: Slice) -> Estimate {
    let bytes: f64 =
        shape.weights.iter().map(|group| on_gpu(shape, demand, family, slice, group)).sum();
    let bytes = bytes + latent::merged(shape, demand, family) * slice.layers / slice.tp;
    let packed = shape.format.is_some() || demand.packed.is_some();
    let unlisted = unlisted(shape) * slice.layers / slice.tp;
    let nearest = shape.source == ShapeSource::Nearest && unlisted == 0.0;
    let error = match shape.source {
        ShapeSource::Header => 0.005,
        _ if nearest => 0.15,
        _ if packed => 0.02,
        ShapeSource::Config => 0.01,
        ShapeSource::Table | ShapeSource::Nearest => 0.015,
    };
    let buffers = match family {
        Family::LlamaCpp => Range { mid: 0.0, ..BUFFERS },
        _ => BUFFERS,
    };
    let range = Range::within(bytes, error) + buffers + Range::exact(axes(shape, demand, family));
    // A stage in the middle has neither embedding nor head, and few ship with equal stages.
    let least = if slice.stage { bytes - ends(shape) / slice.tp } else { bytes };
    let range = Range { low: range.low.min(least * (1.0 - error)), ..range };
    // A tower is cut like the rest by some releases and kept whole by others.
    let tower = loaded(shape, demand, WeightRole::Tower);
    let larger = if nearest { bytes * 0.1 } else { unlisted };
    let high = range.high + tower * (1.0 - 1.0 / slice.tp) + larger;
    let range = Range { high, ..range };
    Estimate::of_model(range, shape.source)
}

/// vLLM from this on makes the table of rotations four times as long as the context, for videos (PR 12604, for Qwen2.5-VL).
const LONG_TABLES: Release = (0, 7, 2);

/// What vLLM holds beside the weights of models that rotate by axes: sines and cosines in 16 bits (`rotary_embedding/mrope.py`), and where
/// a tower feeds several layers a buffer of a batch for each (`qwen3_vl.py`); 0.27 GiB of Qwen3-VL-2B, as its log has them.
fn axes(shape: &Shape, demand: &Demand, family: Family) -> f64 {
    let old = demand.release.is_some_and(|release| release < LONG_TABLES);
    if family != Family::Vllm || old || shape.axes_dim == 0 {
        return 0.0;
    }
    let table = 4.0 * shape.max_context.unwrap_or(0) as f64 * shape.axes_dim as f64 * 2.0;
    let batch = demand.tuning.batched_tokens.unwrap_or(0) as f64;
    table + shape.fed_layers as f64 * batch * shape.hidden as f64 * 2.0
}

/// Bytes by which an NVFP4 copy is larger if it leaves attention, and networks beside experts, in 16 bits: of a copy that is known by its
/// name alone nobody knows (nvidia/Gemma-4-26B-A4B-NVFP4 has 17.9 GiB where all layers in NVFP4 are 14.5).
fn unlisted(shape: &Shape) -> f64 {
    let nvfp4 = shape.format.as_ref().is_some_and(|format| format.name == "modelopt_fp4");
    if !nvfp4 || shape.source != ShapeSource::Nearest {
        return 0.0;
    }
    let has_experts = shape.group(WeightRole::Experts).is_some();
    let may_stay = |group: &&WeightGroup| {
        group.role == WeightRole::Attention || has_experts && group.role == WeightRole::Mlp
    };
    let more = |group: &WeightGroup| group.values.saturating_mul(2).saturating_sub(group.bytes);
    shape.weights.iter().filter(may_stay).map(more).sum::<u64>() as f64
}

/// The larger of embedding and head.
fn ends(shape: &Shape) -> f64 {
    let size = |role| shape.group(role).map_or(0.0, |group| group.bytes as f64);
    size(WeightRole::Embedding).max(size(WeightRole::Head))
}

fn on_gpu(
    shape: &Shape,
    demand: &Demand,
    family: Family,
    slice: Slice,
    group: &WeightGroup,
) -> f64 {
    let bytes = loaded_group(shape, demand, group);
    let cut = bytes * slice.layers / slice.tp;
    match group.role {
        // A tied head is the embedding once loaded.
        WeightRole::Head if shape.tied_head => 0.0,
        WeightRole::Draft => 0.0,
        // ExLlama looks tokens up in host memory as well; a tied head is quantised and loaded beside, a tower on demand.
        WeightRole::Embedding if is_exl(shape) && shape.tied_head => {
            group.values as f64 * EXL_HEAD_BITS / 8.0
        }
        WeightRole::Embedding | WeightRole::Tower if is_exl(shape) => 0.0,
        // llama.cpp looks tokens up in host memory; a tied head is a second copy, on the GPU.
        WeightRole::Embedding if family == Family::LlamaCpp && !shape.tied_head => 0.0,
        WeightRole::Experts if family == Family::KTransformers => 0.0,
        WeightRole::Experts => cut * padding(shape, family),
        WeightRole::Embedding | WeightRole::Head if family.is_tensor_parallel() => {
            ends_on_gpu(shape, slice, group, bytes)
        }
        WeightRole::Embedding | WeightRole::Head => bytes,
        WeightRole::Small => bytes * slice.layers,
        WeightRole::Tower => bytes / slice.tp,
        WeightRole::Attention if family.is_tensor_parallel() => {
            let copied = latent::replicated(shape, group.values);
            cut + bytes * slice.layers * copied * (1.0 - 1.0 / slice.tp)
        }
        WeightRole::Attention | WeightRole::Mlp => cut,
    }
}

fn is_exl(shape: &Shape) -> bool {
    shape.format.as_ref().is_some_and(|format| format.name.starts_with("exl"))
}

/// vLLM pads the inner width of MXFP4 experts: 2880 to 3072, 64.4 GiB of gpt-oss-120b where its files have 60.8.
const MXFP4_PAD: u64 = 256;

/// What padding adds to experts, as a factor.
fn padding(shape: &Shape, family: Family) -> f64 {
    let mxfp4 = shape.format.as_ref().is_some_and(|format| format.name == "mxfp4");
    let inner = shape.layers.iter().find_map(|run| match run.mlp {
        Mlp::Experts { intermediate, .. } if intermediate > 0 => Some(intermediate),
        _ => None,
    });
    match inner {
        Some(inner) if mxfp4 && family == Family::Vllm => {
            inner.next_multiple_of(MXFP4_PAD) as f64 / inner as f64
        }
        _ => 1.0,
    }
}

/// Of several stages the worst carries the embedding or the head, whichever is larger; a tied one is needed at both ends.
fn ends_on_gpu(shape: &Shape, slice: Slice, group: &WeightGroup, bytes: f64) -> f64 {
    let other = match group.role {
        WeightRole::Embedding => WeightRole::Head,
        _ => WeightRole::Embedding,
    };
    let smaller = shape.group(other).is_some_and(|other| {
        other.bytes > group.bytes || other.bytes == group.bytes && group.role == WeightRole::Head
    });
    if slice.stage && smaller && !shape.tied_head { 0.0 } else { bytes / slice.tp }
}

/// Bytes of a role once loaded, on all GPUs together.
pub(super) fn loaded(shape: &Shape, demand: &Demand, role: WeightRole) -> f64 {
    shape.group(role).map_or(0.0, |group| loaded_group(shape, demand, group))
}

fn loaded_group(shape: &Shape, demand: &Demand, group: &WeightGroup) -> f64 {
    let linear =
        matches!(group.role, WeightRole::Attention | WeightRole::Mlp | WeightRole::Experts);
    let values = group.values as f64;
    match (demand.packed, demand.width) {
        _ if shape.format.is_some() => group.bytes as f64,
        (Some(packed), _) if linear => values * packed.bits / 8.0,
        (_, Some(width)) => values * width,
        // Saved in 32 bits, loaded in 16: what `auto` does.
        _ if group.bytes >= group.values.saturating_mul(4) => values * 2.0,
        _ => group.bytes as f64,
    }
}

/// Bytes that one token reads: every weight but the routed experts that do not serve it, and one row of the embedding.
pub(super) fn read_by_a_token(shape: &Shape, demand: &Demand, batch: f64) -> f64 {
    let size = |role| loaded(shape, demand, role);
    let head = if shape.tied_head { size(WeightRole::Embedding) } else { size(WeightRole::Head) };
    let dense = [WeightRole::Attention, WeightRole::Mlp, WeightRole::Small];
    let dense: f64 = dense.into_iter().map(size).sum();
    head + dense + size(WeightRole::Experts) * experts_touched(shape, batch)
}

/// Share of the routed experts that serve at least one token of a batch, each choosing on its own.
fn experts_touched(shape: &Shape, batch: f64) -> f64 {
    let share = shape.layers.iter().find_map(|run| match run.mlp {
        Mlp::Experts { routed, active, .. } if routed > 0 => Some(active as f64 / routed as f64),
        _ => None,
    });
    share.map_or(1.0, |share| 1.0 - (1.0 - share).powf(batch.max(1.0)))
}
