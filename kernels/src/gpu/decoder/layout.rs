//! Where the tensors of a decoder are.

use crate::gpu::family::attn::{Scratch, arrival_bytes};
use crate::gpu::family::elementwise::{Heads, State};
use crate::gpu::family::w4::{self, awq};
use crate::gpu::family::{nf4, token};
use crate::gpu::{Machine, MachineError, Slot};
use crate::model::{LayerTensor, Shape};

/// Weights of a matrix.
#[derive(Clone, Copy, Debug)]
pub(super) enum Weights {
    /// Row by row, as activations are stored.
    Dense(Slot),
    /// Packed 4-bit integers.
    Int4(w4::Weights),
    /// The same with zero points.
    Int4Zero(awq::Weights),
    /// NF4 codes.
    Nf4(nf4::Weights),
}

/// A matrix: y = x·Wᵀ.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matrix {
    /// Output channels.
    pub(super) n: u32,
    /// Input channels.
    pub(super) k: u32,
    /// Its weights.
    pub(super) weights: Weights,
}

impl Matrix {
    /// Its weights as the products of one token take them, where they do.
    pub(super) fn of_token(&self) -> Option<token::Weights> {
        match self.weights {
            Weights::Dense(weights) => Some(token::Weights::Dense(weights)),
            Weights::Int4(weights) => Some(token::Weights::Int4(weights)),
            Weights::Nf4(weights) => Some(token::Weights::Nf4(weights)),
            Weights::Int4Zero(_) => None,
        }
    }
}

/// Weights of a layer.
pub(super) struct Layer {
    /// As [`MATRICES`].
    pub(super) matrices: [Matrix; 7],
    /// Q, K and V as one matrix, and gate and up.
    pub(super) stacked: [Matrix; 2],
    /// Gains, as [`NORMS`].
    pub(super) norms: [Slot; 4],
}

impl Layer {
    /// One of its matrices.
    pub(super) fn matrix(&self, tensor: LayerTensor) -> &Matrix {
        &self.matrices[tensor as usize]
    }

    /// The gains of one of its norms.
    pub(super) fn norm(&self, tensor: LayerTensor) -> Slot {
        self.norms[tensor as usize - LayerTensor::InputNorm as usize]
    }
}

/// Activations of a step, as many rows as the prompt has tokens.
pub(super) struct Activations {
    /// Residual stream.
    pub(super) x: Slot,
    /// Its other place, of one token: where it is written while it is read.
    pub(super) spare: Slot,
    /// Result of a norm.
    pub(super) normed: Slot,
    /// Queries.
    pub(super) q: Slot,
    /// Keys.
    pub(super) k: Slot,
    /// Values.
    pub(super) v: Slot,
    /// Result of the attention.
    pub(super) context: Slot,
    /// Output of attention or feed-forward part, in fp32 where the path is wide.
    pub(super) out: Slot,
    /// Gate, and then its product with `up`.
    pub(super) gate: Slot,
    /// Up projection.
    pub(super) up: Slot,
    /// Logits of the last token, fp32.
    pub(super) logits: Slot,
    /// What the decode attention has in between.
    pub(super) pieces: Scratch,
    /// What a product has in between: a matrix at full width, or activations in eight bits.
    pub(super) scratch: Slot,
}

/// What is kept from step to step.
pub(super) struct Kept {
    /// Token, position, step.
    pub(super) state: State,
    /// Prompt.
    pub(super) prompt: Slot,
    /// Tokens chosen.
    pub(super) tape: Slot,
    /// Logits of every step.
    pub(super) history: Slot,
    /// What the scans found, layer by layer as [`OPS`].
    pub(super) found: Slot,
    /// Cosines and sines.
    pub(super) rope: Slot,
    /// Keys and values of every layer.
    pub(super) caches: Vec<[Slot; 2]>,
}

/// A decoder in device memory.
pub(super) struct Layout {
    /// Its sizes.
    pub(super) shape: Shape,
    /// Factor on the products of queries and keys.
    pub(super) score_scale: f32,
    /// Distinct layers; those of the model take turns.
    pub(super) layers: Vec<Layer>,
    /// Token embedding.
    pub(super) embedding: Slot,
    /// Gains of the norm before the head.
    pub(super) final_norm: Slot,
    /// Head.
    pub(super) head: Matrix,
    /// Activations.
    pub(super) activations: Activations,
    /// What is kept.
    pub(super) kept: Kept,
}

impl Layout {
    /// Makes the counters of the decode attention zero; every launch leaves them so.
    pub(super) fn clear_arrivals(&self, machine: &mut dyn Machine) -> Result<(), MachineError> {
        let bytes = arrival_bytes(heads(self.shape)) as usize;
        machine.write(self.activations.pieces.arrivals, &vec![0; bytes])
    }
}

/// Heads of a shape.
pub(super) fn heads(shape: Shape) -> Heads {
    let [heads, kv_heads, head] = [shape.heads, shape.kv_heads, shape.head].map(|n| n as u32);
    Heads { heads, kv_heads, head }
}
