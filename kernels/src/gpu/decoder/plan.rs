//! How much memory a decoder takes, tensor by tensor: to count it, and to take it.

use super::layout::{Activations, Kept, Layer, Layout, Matrix, Weights, heads};
use super::path::{Path, Storage, Sums};
use crate::gpu::family::elementwise::{FOUND_BYTES, STATE_BYTES, State};
use crate::gpu::family::w4::{self, awq, w4a8};
use crate::gpu::family::{attn, nf4};
use crate::gpu::{self, DeviceFacts, Element, MachineError, Slot};
use crate::model::{LayerTensor, MATRICES, OPS, Shape, TensorId};

/// Most tokens that packed weights are streamed for, tile by tile.
pub(super) const NARROW: usize = 64;

/// What a layout is made for.
#[derive(Clone, Copy)]
pub(super) struct Plan<'a> {
    /// Path to compute.
    pub(super) path: &'a Path,
    /// Sizes.
    pub(super) shape: Shape,
    /// Layers with weights of their own.
    pub(super) distinct: usize,
    /// Whether embedding and head are one matrix.
    pub(super) tied: bool,
}

/// Bytes of activations in eight bits, and of their scales and sums, for the most tokens and so many columns.
pub(super) fn eight_bits(columns: usize) -> [u64; 2] {
    let shape = gpu::Shape { m: w4a8::MOST_TOKENS, k: columns as u32, ..gpu::Shape::default() };
    w4a8::quantized_bytes(shape).map(|bytes| bytes.next_multiple_of(256) as u64)
}

/// Takes memory of so many bytes.
type Take<'a> = dyn FnMut(u64) -> Result<Slot, MachineError> + 'a;

/// Bytes of so many rows, part by part of a matrix; of packed weights the rows are a multiple of sixteen.
fn row_bytes(storage: Storage, element: Element, [n, k]: [usize; 2]) -> [usize; 3] {
    match storage {
        Storage::Dense => [n * k * element.bytes(), 0, 0],
        Storage::Int4 => [w4::packed_bytes(n, k), w4::scale_bytes(n, k), 0],
        Storage::Int4Zero => [n * k / 2, n * k / w4::GROUP * 2, n * k / w4::GROUP],
        Storage::Nf4 => [n * k / 2, n * k / nf4::BLOCK * 4, 0],
    }
}

/// Places matrices of as many columns behind each other, so that they are one as well: the latter is given last.
fn place_stack<const N: usize>(
    storage: Storage,
    element: Element,
    sizes: [[usize; 2]; N],
    take: &mut Take<'_>,
) -> Result<([Matrix; N], Matrix), MachineError> {
    let k = sizes[0][1];
    let all = sizes.iter().map(|size| size[0]).sum();
    let mut parts = [None; 3];
    for (part, bytes) in parts.iter_mut().zip(row_bytes(storage, element, [all, k])) {
        *part = if bytes == 0 { None } else { Some(take(bytes as u64)?) };
    }
    let nowhere = Slot { buffer: gpu::BufferId(0), offset: 0 };
    let matrix = |first: usize, n: usize| {
        let before = row_bytes(storage, element, [first, k]);
        let at = |part: usize| parts[part].map_or(nowhere, |slot| slot.plus(before[part] as u64));
        let weights = match storage {
            Storage::Dense => Weights::Dense(at(0)),
            Storage::Int4 => Weights::Int4(w4::Weights { words: at(0), scales: at(1) }),
            Storage::Int4Zero => {
                Weights::Int4Zero(awq::Weights { words: at(0), scales: at(1), zeros: at(2) })
            }
            Storage::Nf4 => Weights::Nf4(nf4::Weights { codes: at(0), maxima: at(1) }),
        };
        Matrix { n: n as u32, k: k as u32, weights }
    };
    let mut first = 0;
    let each = sizes.map(|[n, _]| {
        first += n;
        matrix(first - n, n)
    });
    Ok((each, matrix(0, all)))
}

impl Plan<'_> {
    fn layer(&self, take: &mut Take<'_>) -> Result<Layer, MachineError> {
        use LayerTensor as T;
        let size = |tensor| TensorId::Layer(0, tensor).size(self.shape);
        let (storage, element) = (self.path.weights, self.path.activations);
        let ([q, k, v], qkv) = place_stack(storage, element, [T::Q, T::K, T::V].map(size), take)?;
        let ([o], _) = place_stack(storage, element, [size(T::O)], take)?;
        let ([gate, up], both) = place_stack(storage, element, [T::Gate, T::Up].map(size), take)?;
        let ([down], _) = place_stack(storage, element, [size(T::Down)], take)?;
        let (matrices, stacked) = ([q, k, v, o, gate, up, down], [qkv, both]);
        let mut gains = || take(4 * self.shape.width as u64);
        Ok(Layer { matrices, stacked, norms: [gains()?, gains()?, gains()?, gains()?] })
    }

    fn activations(
        &self,
        facts: &DeviceFacts,
        take: &mut Take<'_>,
    ) -> Result<Activations, MachineError> {
        let Self { path, shape: s, .. } = *self;
        let size = path.activations.bytes();
        // One token's queries, keys and values lie behind each other, and so do gate and up: three rows at least.
        let mut rows = |width: usize, size: usize| take((s.prompt.max(3) * width * size) as u64);
        let wide = if path.wide { Element::F32.bytes() } else { size };
        let (queries, keys) = (s.heads * s.head, s.kv_width());
        let [x, normed] = [rows(s.width, size)?, rows(s.width, size)?];
        let [q, k, v] = [rows(queries, size)?, rows(keys, size)?, rows(keys, size)?];
        let [context, out] = [rows(queries, size)?, rows(s.width, wide)?];
        let [gate, up] = [rows(s.ffn, size)?, rows(s.ffn, size)?];
        let pieces = attn::splits(facts, path.activations, heads(s), s.positions() as u32);
        Ok(Activations {
            x,
            spare: take((s.width * size) as u64)?,
            normed,
            q,
            k,
            v,
            context,
            out,
            gate,
            up,
            logits: take(4 * s.vocab as u64)?,
            pieces: attn::Scratch {
                parts: take(attn::part_bytes(heads(s), pieces))?,
                arrivals: take(attn::arrival_bytes(heads(s)))?,
            },
            scratch: take(self.scratch_bytes())?,
        })
    }

    /// Bytes that products need in between.
    fn scratch_bytes(&self) -> u64 {
        let s = self.shape;
        let size = |tensor| -> usize { TensorId::Layer(0, tensor).size(s).into_iter().product() };
        if self.path.sums == Sums::Int32 {
            return eight_bits(s.ffn.max(s.width)).into_iter().sum();
        }
        let widens = self.path.weights != Storage::Dense && s.prompt > NARROW;
        let widest = MATRICES.map(size).into_iter().max().filter(|_| widens);
        // A buffer of nothing cannot be taken.
        (widest.unwrap_or(1) * self.path.activations.bytes()) as u64
    }

    fn kept(&self, take: &mut Take<'_>) -> Result<Kept, MachineError> {
        let s = self.shape;
        let cache = (s.positions() * s.kv_width() * self.path.activations.bytes()) as u64;
        let mut caches = Vec::with_capacity(s.layers);
        for _ in 0..s.layers {
            caches.push([take(cache)?, take(cache)?]);
        }
        Ok(Kept {
            state: State(take(STATE_BYTES)?),
            prompt: take(4 * s.prompt as u64)?,
            tape: take(4 * s.decode as u64)?,
            history: take((4 * s.decode * s.vocab) as u64)?,
            found: take((s.layers * OPS.len()) as u64 * FOUND_BYTES)?,
            rope: take((s.positions() * s.head * 4) as u64)?,
            caches,
        })
    }

    /// Takes the memory of a decoder, tensor by tensor.
    pub(super) fn lay_out(
        &self,
        facts: &DeviceFacts,
        take: &mut Take<'_>,
    ) -> Result<Layout, MachineError> {
        let (shape, element) = (self.shape, self.path.activations);
        let mut layers = Vec::with_capacity(self.distinct);
        for _ in 0..self.distinct {
            layers.push(self.layer(take)?);
        }
        let size = TensorId::Head.size(shape);
        let ([head], _) = place_stack(Storage::Dense, element, [size], take)?;
        let embedding = match head.weights {
            Weights::Dense(slot) if self.tied => slot,
            _ => take((shape.vocab * shape.width * element.bytes()) as u64)?,
        };
        Ok(Layout {
            shape,
            score_scale: (shape.head as f32).sqrt().recip(),
            layers,
            embedding,
            final_norm: take(4 * shape.width as u64)?,
            head,
            activations: self.activations(facts, take)?,
            kept: self.kept(take)?,
        })
    }

    /// Bytes of the matrices of one layer.
    fn layer_bytes(&self) -> f64 {
        let bits = match self.path.weights {
            Storage::Dense => 8.0 * self.path.activations.bytes() as f64,
            // A 16-bit scale for 128, a 32-bit maximum for 64.
            Storage::Int4 => 4.0 + 16.0 / w4::GROUP as f64,
            Storage::Int4Zero => 4.0 + 24.0 / w4::GROUP as f64,
            Storage::Nf4 => 4.0 + 32.0 / nf4::BLOCK as f64,
        };
        let numbers = |tensor| TensorId::Layer(0, tensor).size(self.shape).into_iter().product();
        let numbers: usize = MATRICES.into_iter().map(|tensor| -> usize { numbers(tensor) }).sum();
        numbers as f64 * bits / 8.0
    }

    /// Bytes of weights that every token decoded reads: all layers, the head, a row of the embedding.
    pub(super) fn streamed_bytes(&self) -> f64 {
        let s = self.shape;
        let dense = (s.vocab + 1) * s.width * self.path.activations.bytes();
        s.layers as f64 * self.layer_bytes() + dense as f64
    }

    /// Bytes of weights that are distinct.
    pub(super) fn weight_bytes(&self) -> f64 {
        let s = self.shape;
        let tables = if self.tied { 1 } else { 2 };
        let dense = tables * s.vocab * s.width * self.path.activations.bytes();
        self.distinct as f64 * self.layer_bytes() + dense as f64
    }

    /// Bytes that [`Plan::lay_out`] takes.
    pub(super) fn bytes(&self, facts: &DeviceFacts) -> u64 {
        let mut total = 0;
        let mut count = |bytes: u64| {
            // A machine aligns what it gives.
            total += bytes.next_multiple_of(256);
            Ok(Slot { buffer: gpu::BufferId(0), offset: 0 })
        };
        let counted = self.lay_out(facts, &mut count);
        counted.map_or(u64::MAX, |_| total)
    }
}
