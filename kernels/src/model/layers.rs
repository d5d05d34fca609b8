use std::sync::Arc;

use super::shape::{LayerTensor, M0, MATRICES, NORMS, Profile, TensorId};
use crate::cpu::{Format, Matrix};

/// Weights of one layer.
pub struct Layer {
    matrices: [Arc<Matrix>; 7],
    norms: [Vec<f32>; 4],
}

/// The weights of M0 in one number format.
pub struct Model {
    /// Number format of the matrices and of every stored activation.
    pub format: Format,
    /// Token embedding, one row per token.
    pub embedding: Matrix,
    /// The layers.
    pub layers: Vec<Layer>,
    /// Gains of the norm before the head.
    pub final_norm: Vec<f32>,
    /// Head: hidden state to logits.
    pub head: Arc<Matrix>,
    /// Cosine and sine per position and frequency.
    pub rope: Vec<(f32, f32)>,
    /// Factor on the products of queries and keys.
    pub score_scale: f32,
}

impl Model {
    /// Generates the weights of a profile.
    pub fn new(format: Format, profile: Profile) -> Self {
        let matrix = |tensor: TensorId| Matrix::from_grid(&tensor.grid(profile), format);
        let rope = M0.rope_table().into_iter().map(|(c, s)| (c as f32, s as f32)).collect();
        Self {
            format,
            embedding: matrix(TensorId::Embedding),
            layers: (0..M0.layers).map(|l| Layer::new(l, format, profile)).collect(),
            final_norm: TensorId::FinalNorm.norm_gains(profile),
            head: Arc::new(matrix(TensorId::Head)),
            rope,
            score_scale: profile.score_scale() as f32,
        }
    }

    /// Changes to another profile; only the matrices in which the two differ are generated again.
    pub fn set_profile(&mut self, from: Profile, to: Profile) {
        let differs = |id: TensorId| id.grid(from) != id.grid(to);
        if differs(TensorId::Embedding) {
            self.embedding = Matrix::from_grid(&TensorId::Embedding.grid(to), self.format);
        }
        self.score_scale = to.score_scale() as f32;
        for (l, layer) in self.layers.iter_mut().enumerate() {
            for (tensor, matrix) in MATRICES.into_iter().zip(&mut layer.matrices) {
                let id = TensorId::Layer(l, tensor);
                if differs(id) {
                    *matrix = Arc::new(Matrix::from_grid(&id.grid(to), self.format));
                }
            }
            for (tensor, gains) in NORMS.into_iter().zip(&mut layer.norms) {
                *gains = TensorId::Layer(l, tensor).norm_gains(to);
            }
        }
    }

    /// Bytes of weights read per decoded token.
    pub fn bytes_per_token(&self) -> usize {
        let matrices = self.layers.iter().flat_map(|layer| &layer.matrices);
        let layers: usize = matrices.map(|matrix| matrix.bytes()).sum();
        layers + self.head.bytes() + self.embedding.bytes() / M0.vocab
    }
}

impl Layer {
    fn new(l: usize, format: Format, profile: Profile) -> Self {
        let grid = |tensor| TensorId::Layer(l, tensor).grid(profile);
        let matrix = |tensor| Arc::new(Matrix::from_grid(&grid(tensor), format));
        let norm = |tensor| TensorId::Layer(l, tensor).norm_gains(profile);
        Self { matrices: MATRICES.map(matrix), norms: NORMS.map(norm) }
    }

    /// One of its matrices.
    pub fn matrix(&self, tensor: LayerTensor) -> &Arc<Matrix> {
        &self.matrices[tensor as usize]
    }

    /// Gains of one of its norms.
    pub fn norm(&self, tensor: LayerTensor) -> &[f32] {
        &self.norms[tensor as usize - LayerTensor::InputNorm as usize]
    }
}
