//! Memory of training: weights, gradients, states of the optimiser, activations.

use warpscope_probes::model::{Mlp, Shape, WeightRole};

use super::device::Device;
use super::estimate::{Estimate, GIB, Range};
use super::pool::Fits;

/// What is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Adapters beside frozen weights in 16 bits.
    Lora,
    /// Adapters beside frozen weights in 4 bits.
    Qlora,
    /// Every weight.
    Full,
}

/// How it is trained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Training {
    /// What is trained.
    pub method: Method,
    /// Tokens of a sequence.
    pub sequence: u64,
    /// Sequences of a step on one GPU.
    pub batch: u64,
    /// Whether activations are computed again in the backward pass.
    pub checkpointing: bool,
    /// Stage of ZeRO, 0 without.
    pub zero: u8,
    /// Bytes of optimiser state for a trained value: 8 for Adam in 32 bits, 2 for its 8-bit form.
    pub optimizer: f64,
}

/// What training takes on each GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrainingPlan {
    /// Whether it fits.
    pub fits: Fits,
    /// Weights.
    pub weights: Estimate,
    /// Gradients and states of the optimiser.
    pub states: Estimate,
    /// Activations and logits.
    pub activations: Estimate,
    /// All parts with the context.
    pub total: Range,
}

/// Adapters of rank 8 on all linear layers are a few thousandths of the values.
const ADAPTERS: Range = Range { low: 0.0005, mid: 0.003, high: 0.01 };
/// Bytes of a logit while the loss is computed: 16-bit logits, their 32-bit copy, the shifted copy, log-softmax and two gradients.
const LOGIT: Range = Range { low: 12.0, mid: 24.0, high: 26.0 };
/// Work space of 4-bit weights, as a share of the largest layer in 16 bits: unpacked in both passes.
const UNPACKED: f64 = 4.0;

/// Plans training on each GPU of a group.
pub fn training(shape: &Shape, group: &[Device], how: &Training) -> Option<TrainingPlan> {
    let device = group.iter().min_by(|a, b| a.free.total_cmp(&b.free))?;
    let shards = |from: u8| if how.zero >= from { group.len() as f64 } else { 1.0 };
    let values = shape.parameters() as f64;
    let saved = shape.weights.iter().map(|one| one.bytes as f64).sum::<f64>();
    let weights = match how.method {
        Method::Qlora => packed(shape),
        _ if shape.format.is_some() => saved,
        _ => values * 2.0,
    };
    let weights = Range::within(weights / shards(3), 0.03);
    // A 32-bit copy of what is trained, its gradient in 16 bits.
    let trained = match how.method {
        Method::Full => Range::within(values, 0.01),
        _ => Range {
            low: values * ADAPTERS.low,
            mid: values * ADAPTERS.mid,
            high: values * ADAPTERS.high,
        },
    };
    let states = trained * ((4.0 + how.optimizer) / shards(1) + 2.0 / shards(2));
    let activations = activations(shape, how);
    let context = Range::gib(0.4, 0.8, 1.6);
    let total = weights + states + activations + context;
    let fits = match () {
        () if total.high <= device.free => Fits::Fits,
        () if total.low <= device.free => Fits::Tight,
        () => Fits::DoesNotFit,
    };
    Some(TrainingPlan {
        fits,
        weights: Estimate::of_model(weights, shape.source),
        states: Estimate::rule(states),
        activations: Estimate::rule(activations),
        total,
    })
}

/// NF4 with double quantisation, ends in 16 bits; weights that are packed already stay so.
fn packed(shape: &Shape) -> f64 {
    let size = |one: &warpscope_probes::model::WeightGroup| match one.role {
        WeightRole::Attention | WeightRole::Mlp | WeightRole::Experts => {
            one.values as f64 * 4.127 / 8.0
        }
        _ => one.values as f64 * 2.0,
    };
    if shape.format.is_some() {
        return shape.weights.iter().map(|one| one.bytes as f64).sum();
    }
    shape.weights.iter().map(size).sum()
}

fn activations(shape: &Shape, how: &Training) -> Range {
    let tokens = (how.sequence * how.batch) as f64;
    let hidden = shape.hidden as f64;
    let inner = shape.layers.iter().map(|run| match run.mlp {
        Mlp::Dense { intermediate } => intermediate,
        Mlp::Experts { active, intermediate, shared, .. } => active * intermediate + shared,
        Mlp::Nothing => 0,
    });
    let inner = inner.max().unwrap_or(0) as f64;
    // Inputs of every matrix product, in 16 bits, and norms in 32; flash attention keeps no scores.
    let layer = tokens * (24.0 * hidden + 8.0 * inner);
    let depth = shape.depth() as f64;
    let kept =
        if how.checkpointing { depth * tokens * hidden * 2.0 + 2.0 * layer } else { depth * layer };
    let unpacked = match how.method {
        Method::Qlora => hidden * inner * 2.0 * UNPACKED,
        _ => 0.0,
    };
    let logits = LOGIT * (tokens * shape.vocab as f64);
    let mid = kept + unpacked;
    Range { low: mid * 0.7, mid, high: mid * 1.35 + 0.5 * GIB } + logits
}
