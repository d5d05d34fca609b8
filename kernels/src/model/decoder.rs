use super::health::{Health, Op, Place};
use super::layers::Model;
use super::shape::{EPSILON, LayerTensor as T, M0};
use crate::cpu::{Storage, Team, attend, rms_norm, rotate, swiglu};

/// Keys and values of one layer, position by position.
#[derive(Default)]
struct Cache {
    keys: Vec<f32>,
    values: Vec<f32>,
}

/// M0 running in one number format.
pub struct Decoder {
    model: Model,
    team: Team,
    caches: Vec<Cache>,
    store: Store,
}

/// Rounds what is stored, and scans it.
struct Store {
    storage: Storage,
    health: Health,
    position: usize,
}

impl Store {
    /// Stores a tensor whose rows are tokens, from the current position on.
    fn put(&mut self, layer: usize, op: Op, width: usize, values: &mut [f32]) {
        self.storage.round(values);
        self.look(layer, op, width, values);
    }

    fn look(&mut self, layer: usize, op: Op, width: usize, values: &[f32]) {
        let first = Place { layer, op, token: self.position, channel: 0 };
        self.health.scan(first, width, values);
    }

    /// RMSNorm into a new tensor.
    fn norm(&mut self, layer: usize, op: Op, x: &[f32], gains: &[f32]) -> Vec<f32> {
        let mut out = vec![0.0; x.len()];
        rms_norm(x, gains, EPSILON as f32, &mut out);
        self.put(layer, op, gains.len(), &mut out);
        out
    }

    /// Adds to the residual stream.
    fn add(&mut self, layer: usize, op: Op, x: &mut [f32], addend: &[f32]) {
        x.iter_mut().zip(addend).for_each(|(x, a)| *x += a);
        self.put(layer, op, M0.width, x);
    }
}

/// Index of the largest number as torch finds it: the first NaN wins, then the first of equals.
///
/// All logits NaN therefore give token 0, which reads `!`.
pub fn argmax(logits: &[f32]) -> u32 {
    if let Some(nan) = logits.iter().position(|v| v.is_nan()) {
        return nan as u32;
    }
    (0..logits.len()).fold(0, |best, i| if logits[i] > logits[best] { i } else { best }) as u32
}

impl Decoder {
    /// A decoder at position 0.
    pub fn new(model: Model, team: Team) -> Self {
        let caches = (0..M0.layers).map(|_| Cache::default()).collect();
        let storage = model.format.storage();
        let store = Store { storage, health: Health::default(), position: 0 };
        Self { model, team, caches, store }
    }

    /// Forgets all tokens and what was found wrong.
    pub fn reset(&mut self) {
        self.store.position = 0;
        self.store.health = Health::default();
        for cache in &mut self.caches {
            cache.keys.clear();
            cache.values.clear();
        }
    }

    /// The weights.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The weights, to be changed between runs.
    pub fn model_mut(&mut self) -> &mut Model {
        &mut self.model
    }

    /// Non-finite numbers since the last reset.
    pub fn health(&self) -> &Health {
        &self.store.health
    }

    /// Bytes the next single-token step reads: weights, and keys and values as they are held, in fp32.
    pub fn bytes_per_step(&self) -> usize {
        let cached = 2 * self.caches.iter().map(|c| size_of_val(&c.keys[..])).sum::<usize>();
        self.model.bytes_per_token() + cached
    }

    /// Takes tokens and gives the logits of the next one. Logits stay in fp32, as samplers keep them.
    pub fn forward(&mut self, tokens: &[u32]) -> Vec<f32> {
        let mut x = vec![0.0; tokens.len() * M0.width];
        for (row, token) in x.chunks_exact_mut(M0.width).zip(tokens) {
            let token = *token as usize;
            self.model.embedding.expand(token..token + 1, row);
        }
        self.store.put(0, Op::Embedding, M0.width, &mut x);
        for layer in 0..M0.layers {
            self.attention(layer, &mut x);
            self.feed_forward(layer, &mut x);
        }
        self.store.position += tokens.len() - 1;
        let last = &x[x.len() - M0.width..];
        let hidden = self.store.norm(M0.layers - 1, Op::FinalNorm, last, &self.model.final_norm);
        let mut logits = vec![0.0; M0.vocab];
        self.team.multiply(&self.model.head, &hidden, &mut logits);
        self.store.look(M0.layers - 1, Op::Head, M0.vocab, &logits);
        self.store.position += 1;
        logits
    }

    fn attention(&mut self, l: usize, x: &mut [f32]) {
        let Self { model, team, caches, store } = self;
        let (layer, cache) = (&model.layers[l], &mut caches[l]);
        let normed = store.norm(l, Op::InputNorm, x, layer.norm(T::InputNorm));
        let mut project = |op, tensor, x: &[f32]| {
            let matrix = layer.matrix(tensor);
            let mut out = vec![0.0; x.len() / matrix.cols() * matrix.rows()];
            team.multiply(matrix, x, &mut out);
            store.put(l, op, matrix.rows(), &mut out);
            out
        };
        let mut query = project(Op::QProj, T::Q, &normed);
        let mut key = project(Op::KProj, T::K, &normed);
        let value = project(Op::VProj, T::V, &normed);
        rotate_rows(&mut query, M0.width, &model.rope[store.position * M0.head / 2..]);
        rotate_rows(&mut key, M0.kv_width(), &model.rope[store.position * M0.head / 2..]);
        store.put(l, Op::RopeQ, M0.width, &mut query);
        store.put(l, Op::RopeK, M0.kv_width(), &mut key);
        cache.keys.extend(&key);
        cache.values.extend(&value);
        let mut context = cache.attend(&query, store.position, model.score_scale);
        store.put(l, Op::Attention, M0.width, &mut context);
        let mut out = vec![0.0; x.len()];
        team.multiply(layer.matrix(T::O), &context, &mut out);
        store.put(l, Op::OProj, M0.width, &mut out);
        let rescued = store.norm(l, Op::PostAttnNorm, &out, layer.norm(T::PostAttnNorm));
        store.add(l, Op::AttnResidual, x, &rescued);
    }

    fn feed_forward(&mut self, l: usize, x: &mut [f32]) {
        let Self { model, team, store, .. } = self;
        let layer = &model.layers[l];
        let tokens = x.len() / M0.width;
        let normed = store.norm(l, Op::PreMlpNorm, x, layer.norm(T::PreMlpNorm));
        let (mut gate, mut up) = (vec![0.0; tokens * M0.ffn], vec![0.0; tokens * M0.ffn]);
        team.multiply(layer.matrix(T::Gate), &normed, &mut gate);
        store.put(l, Op::GateProj, M0.ffn, &mut gate);
        team.multiply(layer.matrix(T::Up), &normed, &mut up);
        store.put(l, Op::UpProj, M0.ffn, &mut up);
        swiglu(&mut gate, &up);
        store.put(l, Op::Swiglu, M0.ffn, &mut gate);
        let mut out = normed;
        team.multiply(layer.matrix(T::Down), &gate, &mut out);
        store.put(l, Op::DownProj, M0.width, &mut out);
        let rescued = store.norm(l, Op::PostMlpNorm, &out, layer.norm(T::PostMlpNorm));
        store.add(l, Op::MlpResidual, x, &rescued);
    }
}

/// Rotates the heads of each token; `rope` starts at the first token's position.
fn rotate_rows(rows: &mut [f32], width: usize, rope: &[(f32, f32)]) {
    for (row, angles) in rows.chunks_exact_mut(width).zip(rope.chunks_exact(M0.head / 2)) {
        rotate(row, angles);
    }
}

impl Cache {
    /// Attention of all query heads of the tokens from `position` on; each sees itself and what came before.
    fn attend(&self, query: &[f32], position: usize, scale: f32) -> Vec<f32> {
        let per_kv = M0.heads / M0.kv_heads;
        let mut out = vec![0.0; query.len()];
        let heads = query.chunks_exact(M0.head).zip(out.chunks_exact_mut(M0.head));
        for (i, (query, out)) in heads.enumerate() {
            let (token, head) = (i / M0.heads, i % M0.heads);
            let first = head / per_kv * M0.head;
            let end = (position + token + 1) * M0.kv_width();
            let (keys, values) = (&self.keys[first..end], &self.values[first..end]);
            attend(query, keys, values, (M0.kv_width(), scale), out);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `torch.argmax` (documented: NaN is treated as the maximum; of several, the first on CPU).
    #[test]
    fn argmax_lets_nan_win() {
        assert_eq!(argmax(&[1.0, 3.0, 3.0, 2.0]), 1);
        assert_eq!(argmax(&[1.0, f32::NAN, 9.0, f32::NAN]), 1);
        assert_eq!(argmax(&[f32::NAN; 5]), 0);
        assert_eq!(argmax(&[f32::NEG_INFINITY, f32::INFINITY]), 1);
    }
}
