//! The reference: M0 in plain fp64, written apart from the decoder it grades.
//!
//! It shares with the decoder only the definition of the weights and the shape.

use super::golden::{Golden, GoldenStep};
use super::health::{Op, Place};
use super::shape::{EPSILON, LayerTensor, M0, MATRICES, NORMS, Profile, TensorId};

/// Weights of one layer. Exact in fp32, so half the memory of fp64 does.
struct Layer {
    matrices: [Vec<f32>; 7],
    norms: [Vec<f32>; 4],
    keys: Vec<f64>,
    values: Vec<f64>,
}

impl Layer {
    fn multiply(&self, tensor: LayerTensor, x: &[f64]) -> Vec<f64> {
        multiply(&self.matrices[tensor as usize], x)
    }
}

/// Sees a tensor and where it starts.
type Observer<'a> = Box<dyn FnMut(Place, &[f64]) + 'a>;

/// The model in fp64 with its key/value cache.
pub struct Oracle<'a> {
    layers: Vec<Layer>,
    embedding: Vec<f32>,
    final_norm: Vec<f32>,
    head: Vec<f32>,
    rope: Vec<(f64, f64)>,
    score_scale: f64,
    position: usize,
    observe: Observer<'a>,
}

fn matrix(tensor: TensorId, profile: Profile) -> Vec<f32> {
    tensor.grid(profile).weights().collect()
}

/// `weights · x`, row by row, in eight running sums.
fn multiply(weights: &[f32], x: &[f64]) -> Vec<f64> {
    let dot = |row: &[f32]| {
        let mut sums = [0.0; 8];
        for (w, x) in row.chunks_exact(8).zip(x.chunks_exact(8)) {
            for lane in 0..8 {
                sums[lane] += f64::from(w[lane]) * x[lane];
            }
        }
        sums.iter().sum()
    };
    weights.chunks_exact(x.len()).map(dot).collect()
}

fn rms_norm(x: &[f64], gains: &[f32]) -> Vec<f64> {
    let mean_square = x.iter().map(|v| v * v).sum::<f64>() / x.len() as f64;
    let factor = (mean_square + EPSILON).sqrt().recip();
    x.iter().zip(gains).map(|(v, g)| v * factor * f64::from(*g)).collect()
}

fn rotate(heads: &mut [f64], angles: &[(f64, f64)]) {
    let half = M0.head / 2;
    for head in heads.chunks_exact_mut(M0.head) {
        for (i, (cos, sin)) in angles.iter().enumerate() {
            let (a, b) = (head[i], head[i + half]);
            head[i] = a * cos - b * sin;
            head[i + half] = a * sin + b * cos;
        }
    }
}

/// Softmax attention of one query head over all cached positions, whose rows have a stride and the head's numbers from a place on.
pub(crate) fn attend(
    query: &[f64],
    [keys, values]: [&[f64]; 2],
    (stride, first): (usize, usize),
    scale: f64,
) -> Vec<f64> {
    let at = first..first + query.len();
    let rows = |cache| <[f64]>::chunks_exact(cache, stride).map(|row| &row[at.clone()]);
    let scores: Vec<f64> = rows(keys)
        .map(|key| query.iter().zip(key).map(|(q, k)| q * k).sum::<f64>() * scale)
        .collect();
    let top = scores.iter().copied().fold(f64::MIN, f64::max);
    let weights: Vec<f64> = scores.iter().map(|s| (s - top).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mut out = vec![0.0; query.len()];
    for (weight, value) in weights.iter().zip(rows(values)) {
        out.iter_mut().zip(value).for_each(|(o, v)| *o += weight / total * v);
    }
    out
}

impl<'a> Oracle<'a> {
    /// Builds the weights of a profile. `observe` sees every tensor of every token in order of execution.
    pub fn new(profile: Profile, observe: impl FnMut(Place, &[f64]) + 'a) -> Self {
        Self::stored(profile, |_, weights| weights, observe)
    }

    /// As [`Oracle::new`], with the matrices of the layers as a lossy storage format keeps them.
    pub fn stored(
        profile: Profile,
        store: impl Fn(TensorId, Vec<f32>) -> Vec<f32>,
        observe: impl FnMut(Place, &[f64]) + 'a,
    ) -> Self {
        let layer = |l: usize| {
            let id = |tensor| TensorId::Layer(l, tensor);
            Layer {
                matrices: MATRICES.map(|tensor| store(id(tensor), matrix(id(tensor), profile))),
                norms: NORMS.map(|tensor| id(tensor).norm_gains(profile)),
                keys: Vec::new(),
                values: Vec::new(),
            }
        };
        Self {
            layers: (0..M0.layers).map(layer).collect(),
            embedding: matrix(TensorId::Embedding, profile),
            final_norm: TensorId::FinalNorm.norm_gains(profile),
            head: matrix(TensorId::Head, profile),
            rope: M0.rope_table(),
            score_scale: profile.score_scale(),
            position: 0,
            observe: Box::new(observe),
        }
    }

    /// Takes one token and gives the logits of the next.
    pub fn step(&mut self, token: u32) -> Vec<f64> {
        let at = token as usize * M0.width;
        let mut x: Vec<f64> =
            self.embedding[at..at + M0.width].iter().map(|w| f64::from(*w)).collect();
        for layer in 0..M0.layers {
            x = self.attention(layer, x);
            x = self.feed_forward(layer, x);
        }
        self.position += 1;
        multiply(&self.head, &rms_norm(&x, &self.final_norm))
    }

    /// Forgets all tokens, keeps the weights.
    pub fn reset(&mut self) {
        self.position = 0;
        for layer in &mut self.layers {
            layer.keys.clear();
            layer.values.clear();
        }
    }

    fn see(&mut self, layer: usize, op: Op, values: &[f64]) {
        (self.observe)(Place { layer, op, token: self.position, channel: 0 }, values);
    }

    fn attention(&mut self, l: usize, x: Vec<f64>) -> Vec<f64> {
        let half = M0.head / 2;
        let layer = &mut self.layers[l];
        let normed = rms_norm(&x, &layer.norms[0]);
        let angles = &self.rope[self.position * half..][..half];
        let mut query = layer.multiply(LayerTensor::Q, &normed);
        let mut key = layer.multiply(LayerTensor::K, &normed);
        let value = layer.multiply(LayerTensor::V, &normed);
        rotate(&mut query, angles);
        rotate(&mut key, angles);
        layer.keys.extend(&key);
        layer.values.extend(&value);
        let per_kv = M0.heads / M0.kv_heads;
        let context: Vec<f64> = (0..M0.heads)
            .flat_map(|h| {
                let query = &query[h * M0.head..][..M0.head];
                let place = (M0.kv_width(), h / per_kv * M0.head);
                attend(query, [&layer.keys, &layer.values], place, self.score_scale)
            })
            .collect();
        let out = layer.multiply(LayerTensor::O, &context);
        let rescued = rms_norm(&out, &layer.norms[1]);
        let sum: Vec<f64> = x.iter().zip(rescued).map(|(a, b)| a + b).collect();
        for (op, values) in [
            (Op::InputNorm, &normed),
            (Op::RopeQ, &query),
            (Op::RopeK, &key),
            (Op::VProj, &value),
            (Op::Attention, &context),
            (Op::OProj, &out),
            (Op::AttnResidual, &sum),
        ] {
            self.see(l, op, values);
        }
        sum
    }

    fn feed_forward(&mut self, l: usize, x: Vec<f64>) -> Vec<f64> {
        let layer = &self.layers[l];
        let normed = rms_norm(&x, &layer.norms[2]);
        let gate = layer.multiply(LayerTensor::Gate, &normed);
        let up = layer.multiply(LayerTensor::Up, &normed);
        let silu = |g: f64| g / (1.0 + (-g).exp());
        let mixed: Vec<f64> = gate.iter().zip(&up).map(|(g, u)| silu(*g) * u).collect();
        let out = layer.multiply(LayerTensor::Down, &mixed);
        let rescued = rms_norm(&out, &layer.norms[3]);
        let sum: Vec<f64> = x.iter().zip(rescued).map(|(a, b)| a + b).collect();
        for (op, values) in [
            (Op::PreMlpNorm, &normed),
            (Op::GateProj, &gate),
            (Op::UpProj, &up),
            (Op::Swiglu, &mixed),
            (Op::DownProj, &out),
            (Op::MlpResidual, &sum),
        ] {
            self.see(l, op, values);
        }
        sum
    }

    /// Reads the prompt and decodes greedily.
    pub fn run(&mut self, prompt: &[u32]) -> Golden {
        self.run_for(prompt, M0.decode)
    }

    /// Reads a prompt and decodes so many tokens greedily.
    pub fn run_for(&mut self, prompt: &[u32], tokens: usize) -> Golden {
        self.reset();
        let mut logits = Vec::new();
        for &token in prompt {
            logits = self.step(token);
        }
        let mut steps = Vec::with_capacity(tokens);
        while steps.len() < tokens {
            if let Some(GoldenStep { token, .. }) = steps.last() {
                logits = self.step(*token);
            }
            steps.push(GoldenStep::new(&logits));
        }
        Golden { steps }
    }
}
