use std::sync::Arc;

use super::shape::{LayerTensor, M0, Profile, TensorId};
use crate::cpu::{Format, Matrix};

/// Weights of one layer.
pub struct Layer {
    /// Gains of the norm before the attention.
    pub input_norm: Vec<f32>,
    /// Query projection.
    pub q: Arc<Matrix>,
    /// Key projection.
    pub k: Arc<Matrix>,
    /// Value projection.
    pub v: Arc<Matrix>,
    /// Output projection of the attention.
    pub o: Arc<Matrix>,
    /// Gains of the norm behind the attention.
    pub post_attn_norm: Vec<f32>,
    /// Gains of the norm before the feed-forward part.
    pub pre_mlp_norm: Vec<f32>,
    /// Gate projection.
    pub gate: Arc<Matrix>,
    /// Up projection.
    pub up: Arc<Matrix>,
    /// Down projection.
    pub down: Arc<Matrix>,
    /// Gains of the norm behind the feed-forward part.
    pub post_mlp_norm: Vec<f32>,
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
            for (tensor, matrix) in layer.matrices_mut() {
                let id = TensorId::Layer(l, tensor);
                if differs(id) {
                    *matrix = Arc::new(Matrix::from_grid(&id.grid(to), self.format));
                }
            }
            layer.post_attn_norm = TensorId::Layer(l, LayerTensor::PostAttnNorm).norm_gains(to);
            layer.post_mlp_norm = TensorId::Layer(l, LayerTensor::PostMlpNorm).norm_gains(to);
        }
    }

    /// Bytes of weights read per decoded token.
    pub fn bytes_per_token(&self) -> usize {
        let layer = |l: &Layer| {
            let matrices = [&l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down];
            matrices.iter().map(|m| m.bytes()).sum::<usize>()
        };
        let layers: usize = self.layers.iter().map(layer).sum();
        layers + self.head.bytes() + self.embedding.bytes() / M0.vocab
    }
}

impl Layer {
    fn matrices_mut(&mut self) -> [(LayerTensor, &mut Arc<Matrix>); 7] {
        use LayerTensor as T;
        [
            (T::Q, &mut self.q),
            (T::K, &mut self.k),
            (T::V, &mut self.v),
            (T::O, &mut self.o),
            (T::Gate, &mut self.gate),
            (T::Up, &mut self.up),
            (T::Down, &mut self.down),
        ]
    }

    fn new(l: usize, format: Format, profile: Profile) -> Self {
        use LayerTensor as T;
        let matrix = |t: T| {
            let grid = TensorId::Layer(l, t).grid(profile);
            Arc::new(Matrix::from_grid(&grid, format))
        };
        let norm = |t: T| TensorId::Layer(l, t).norm_gains(profile);
        Self {
            input_norm: norm(T::InputNorm),
            q: matrix(T::Q),
            k: matrix(T::K),
            v: matrix(T::V),
            o: matrix(T::O),
            post_attn_norm: norm(T::PostAttnNorm),
            pre_mlp_norm: norm(T::PreMlpNorm),
            gate: matrix(T::Gate),
            up: matrix(T::Up),
            down: matrix(T::Down),
            post_mlp_norm: norm(T::PostMlpNorm),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_per_token_are_weights_times_their_size() {
        let bytes = |format| Model::new(format, Profile::Clean).bytes_per_token();
        let weights = M0.weights_per_token();
        assert_eq!(bytes(Format::Fp32), 4 * weights);
        assert_eq!(bytes(Format::Bf16), 2 * weights);
        assert_eq!(bytes(Format::Int4), weights / 2 + weights / 128 * 2);
    }
}
