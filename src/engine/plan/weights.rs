//! Bytes of weights on the GPU that carries most of them.

use warpscope_probes::model::{
    Attention, EXL_HEAD_BITS, LayerRun, Mlp, Shape, ShapeSource, WeightGroup, WeightRole,
};

use super::demand::Demand;
use super::estimate::{Estimate, MIB, Range};
use super::framework::Family;
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

/// Rotary tables, buffers and rounding of allocations beside the weights: 0.01 to 0.06 GiB in vLLM's logs of 26 models.
const BUFFERS: Range = Range { low: 0.0, mid: 20.0 * MIB, high: 70.0 * MIB };

/// Weights as they lie on a GPU.
pub(super) fn weights(shape: &Shape, demand: &Demand, family: Family, slice: Slice) -> Estimate {
    let bytes: f64 =
        shape.weights.iter().map(|group| on_gpu(shape, demand, family, slice, group)).sum();
    let bytes = bytes + latent::merged(shape, demand, family) * slice.layers / slice.tp;
    let packed = shape.format.is_some() || demand.packed.is_some();
    let error = match shape.source {
        ShapeSource::Header => 0.005,
        ShapeSource::Nearest => 0.1,
        _ if packed => 0.02,
        ShapeSource::Config => 0.01,
        ShapeSource::Table => 0.015,
    };
    let range = Range::within(bytes, error) + BUFFERS;
    // A stage in the middle has neither embedding nor head, and few ship with equal stages.
    let least = if slice.stage { bytes - ends(shape) / slice.tp } else { bytes };
    let range = Range { low: range.low.min(least * (1.0 - error)), ..range };
    // A tower is cut like the rest by some releases and kept whole by others.
    let tower = loaded(shape, demand, WeightRole::Tower);
    let larger = unlisted(shape).max(if shape.source == ShapeSource::Nearest { 0.1 } else { 0.0 });
    let high = range.high + tower * (1.0 - 1.0 / slice.tp) + bytes * larger;
    let range = Range { high, ..range };
    Estimate::of_model(range, shape.source)
}

/// By its name alone, an NVFP4 copy of a hybrid model may be as well one that leaves its recurrent layers in 16 bits, or one that does
/// not: up to a quarter more (club-3090 issue 1047: 19.75 GiB where all layers in NVFP4 are 17.8).
fn unlisted(shape: &Shape) -> f64 {
    let format = shape.format.as_ref().map(|format| format.name.as_str());
    let nvfp4 = matches!(format, Some("modelopt_fp4" | "nvfp4"));
    let recurs = |run: &LayerRun| matches!(run.attention, Attention::Recurrent { .. });
    let hybrid = shape.layers.iter().any(recurs);
    if nvfp4 && hybrid && shape.source == ShapeSource::Table { 0.25 } else { 0.0 }
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
        _ if group.bytes >= group.values * 4 => values * 2.0,
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
