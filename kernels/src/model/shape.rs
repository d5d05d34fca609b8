use std::str::FromStr;

use super::grid::{Grid, Pattern, hash};
use crate::named::{find, named};

/// Sizes of the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Width of the residual stream.
    pub width: usize,
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; each serves `heads / kv_heads` query heads.
    pub kv_heads: usize,
    /// Width of one head.
    pub head: usize,
    /// Width of the feed-forward part.
    pub ffn: usize,
    /// Layers.
    pub layers: usize,
    /// Tokens of the vocabulary.
    pub vocab: usize,
    /// Tokens of the prompt.
    pub prompt: usize,
    /// Tokens decoded greedily.
    pub decode: usize,
}

/// What numerics are shown on: small enough for a CPU, and for an fp64 reference.
pub const M0: Shape = Shape {
    width: 512,
    heads: 4,
    kv_heads: 2,
    head: 128,
    ffn: 1536,
    layers: 4,
    vocab: 1024,
    prompt: 32,
    decode: 32,
};

/// What throughput is measured on: layers of the size a 1.1-billion-parameter model has, with heads of 128. Every decode step
/// is timed at the position behind the prompt.
pub const M1: Shape = Shape {
    width: 2048,
    heads: 16,
    kv_heads: 4,
    head: 128,
    ffn: 5632,
    layers: 12,
    vocab: 8192,
    prompt: 512,
    decode: 1,
};

/// Added to the mean square in every RMSNorm. Small, so that a gain before a norm leaves the function unchanged.
pub(crate) const EPSILON: f64 = 1e-6;
/// Base of the rotary position encoding.
const ROPE_BASE: f64 = 10_000.0;
/// TunedConfig out of the first 1500 by `examples/golden.rs search`: no greedy step of the reference is a near tie, and the
/// largest `o_proj` output under [`Profile::Glm4`] passes the fp16 limit by a few percent only.
const PROMPT_SEED: u64 = 1227;
/// Gain of [`Profile::Glm4`], as a power of two.
const GLM4_GAIN_LOG2: i32 = 14;
/// Gain of the residual stream under [`Profile::Gemma3`].
const GEMMA3_GAIN_LOG2: i32 = 13;
/// Gain of queries, and of keys, under [`Profile::Kq`].
const KQ_GAIN_LOG2: i32 = 6;
/// Gain of `down_proj` under [`Profile::Cancel`], and that of its two cancelling groups on top.
const CANCEL_GAIN_LOG2: [i32; 2] = [13, 4];
/// Layer of which [`Profile::Cancel`] changes the feed-forward part.
const CANCEL_LAYER: usize = 2;
/// Makes its tensors others than those of the clean model; picked out of 60 because no greedy step is a near tie.
const CANCEL_SALT: u64 = 12 << 8;

impl Shape {
    /// Width of all key (or value) heads together.
    pub const fn kv_width(self) -> usize {
        self.kv_heads * self.head
    }

    /// Positions the key/value cache must hold.
    pub const fn positions(self) -> usize {
        self.prompt + self.decode
    }

    /// Multiply-adds per token in the layers' matrices.
    const fn layer_weights(self) -> usize {
        let attention = self.width * (2 * self.width + 2 * self.kv_width());
        self.layers * (attention + 3 * self.width * self.ffn)
    }

    /// Weights read per decoded token: all layers and the head; of the embedding one row.
    pub const fn weights_per_token(self) -> usize {
        self.layer_weights() + self.vocab * self.width + self.width
    }

    /// Floating-point operations of the prompt: matrices, causal attention, the head for the last token.
    pub fn prefill_flop(self) -> f64 {
        let pairs = self.prompt * (self.prompt + 1) / 2;
        let attention = 2 * self.layers * self.heads * self.head * pairs;
        let sum = self.prompt * self.layer_weights() + self.vocab * self.width + attention;
        2.0 * sum as f64
    }

    /// Cosine and sine per position and frequency, `head / 2` pairs a position.
    pub(crate) fn rope_table(self) -> Vec<(f64, f64)> {
        let half = self.head / 2;
        let angle =
            |position: usize, i: usize| position as f64 * ROPE_BASE.powf(-(i as f64) / half as f64);
        (0..self.positions() * half)
            .map(|n| angle(n / half, n % half))
            .map(|a| (a.cos(), a.sin()))
            .collect()
    }
}

/// The tokens every path starts from. Token 0 never occurs in it.
pub fn prompt() -> Vec<u32> {
    seeded_prompt(PROMPT_SEED)
}

/// The prompt that belongs to a seed; public for the search that chose the seed.
#[doc(hidden)]
pub fn seeded_prompt(seed: u64) -> Vec<u32> {
    let last = M0.vocab as u64 - 1;
    (0..M0.prompt as u64).map(|i| 1 + (hash(u64::MAX - seed, i) % last) as u32).collect()
}

named! {
    /// What is done to the weights before they meet a number format.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Profile in
    /// Every profile with its id.
    PROFILES {
        /// Every tensor of unit order.
        Clean = "clean",
        /// `o_proj` of layer 1 is 2^14 larger, as activations of GLM-4 are: the norm behind it takes the gain away again, so
        /// the function is the same, but the value in between needs more than fp16 can hold.
        Glm4 = "glm4",
        /// The embedding and the gains of the norms behind attention and feed-forward part are 2^13 larger, and with them the
        /// residual stream, as Gemma 3's outgrows fp16. Each norm before a block takes it away: the function is the same.
        Gemma3 = "gemma3",
        /// Queries and keys are 2^6 larger each and scores are scaled by 2^-12 more: their products leave fp16's range before
        /// they are scaled. Only a path that stores raw scores in fp16 sees it.
        Kq = "kq",
        /// `down_proj` of layer 2 is 2^13 larger, and two groups of its inputs, which are equal, have weights of opposite sign
        /// 2^4 larger still: a partial sum passes 65 504, the whole one does not. Another function than the others', with
        /// golden data of its own.
        Cancel = "cancel",
    }
}

/// Profiles that run when none is asked for.
pub const LIVE_PROFILES: &[Profile] = &[Profile::Clean, Profile::Glm4];

impl Profile {
    /// Power of two by which the group scales of a matrix, or the gains of a norm, are multiplied.
    pub fn gain_log2(self, tensor: TensorId) -> i32 {
        match (self, tensor) {
            (Self::Glm4, TensorId::Layer(1, LayerTensor::O)) => GLM4_GAIN_LOG2,
            (Self::Gemma3, TensorId::Embedding) => GEMMA3_GAIN_LOG2,
            (
                Self::Gemma3,
                TensorId::Layer(_, LayerTensor::PostAttnNorm | LayerTensor::PostMlpNorm),
            ) => GEMMA3_GAIN_LOG2,
            (Self::Kq, TensorId::Layer(_, LayerTensor::Q | LayerTensor::K)) => KQ_GAIN_LOG2,
            (Self::Cancel, TensorId::Layer(CANCEL_LAYER, LayerTensor::Down)) => CANCEL_GAIN_LOG2[0],
            _ => 0,
        }
    }

    /// What ties the weights of a tensor to each other.
    fn pattern(self, tensor: TensorId) -> Pattern {
        match (self, tensor) {
            (Self::Cancel, TensorId::Layer(CANCEL_LAYER, LayerTensor::Gate | LayerTensor::Up)) => {
                Pattern::RepeatedRows
            }
            (Self::Cancel, TensorId::Layer(CANCEL_LAYER, LayerTensor::Down)) => {
                Pattern::Cancelling { gain_log2: CANCEL_GAIN_LOG2[1] }
            }
            _ => Pattern::Free,
        }
    }

    /// Factor on the product of a query and a key: 1/√head, less what the two have gained.
    pub fn score_scale(self) -> f64 {
        let gain = match self {
            Self::Kq => 2 * KQ_GAIN_LOG2,
            _ => 0,
        };
        (M0.head as f64).sqrt().recip() * f64::from(-gain).exp2()
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        find(PROFILES, text, "a profile")
    }
}

/// Tensors of one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerTensor {
    /// Query projection.
    Q,
    /// Key projection.
    K,
    /// Value projection.
    V,
    /// Output projection of the attention.
    O,
    /// Gate of the feed-forward part.
    Gate,
    /// Up projection of the feed-forward part.
    Up,
    /// Down projection of the feed-forward part.
    Down,
    /// Norm before the attention.
    InputNorm,
    /// Norm behind the attention.
    PostAttnNorm,
    /// Norm before the feed-forward part.
    PreMlpNorm,
    /// Norm behind the feed-forward part.
    PostMlpNorm,
}

/// Matrices of a layer, in the order of [`LayerTensor`].
pub(crate) const MATRICES: [LayerTensor; 7] = {
    use LayerTensor as T;
    [T::Q, T::K, T::V, T::O, T::Gate, T::Up, T::Down]
};

/// Norms of a layer, likewise.
pub(crate) const NORMS: [LayerTensor; 4] = {
    use LayerTensor as T;
    [T::InputNorm, T::PostAttnNorm, T::PreMlpNorm, T::PostMlpNorm]
};

/// Every tensor of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TensorId {
    /// Token embedding.
    Embedding,
    /// Norm before the head.
    FinalNorm,
    /// Head: hidden state to logits.
    Head,
    /// Tensor of a layer, counted from 0.
    Layer(usize, LayerTensor),
}

impl TensorId {
    /// Number that enters the hash: a tensor's weights never change when another one is added.
    fn number(self) -> u64 {
        match self {
            Self::Embedding => 1,
            Self::FinalNorm => 2,
            Self::Head => 3,
            Self::Layer(layer, tensor) => 16 * (layer as u64 + 1) + tensor as u64,
        }
    }

    /// Rows and columns of a matrix, in a decoder of a shape.
    pub fn size(self, s: Shape) -> [usize; 2] {
        use LayerTensor::{Down, Gate, K, O, Q, Up, V};
        match self {
            Self::Embedding | Self::Head => [s.vocab, s.width],
            Self::Layer(_, K | V) => [s.kv_width(), s.width],
            Self::Layer(_, Gate | Up) => [s.ffn, s.width],
            Self::Layer(_, Down) => [s.width, s.ffn],
            Self::Layer(_, Q) => [s.heads * s.head, s.width],
            Self::Layer(_, O) => [s.width, s.heads * s.head],
            Self::FinalNorm | Self::Layer(..) => [1, s.width],
        }
    }

    /// The exact weights of a matrix. The exponents keep the output of every projection of unit order.
    pub fn grid(self, profile: Profile) -> Grid {
        let exponent = match self {
            Self::Embedding => -2,
            Self::FinalNorm => -5,
            Self::Layer(_, LayerTensor::Down) => -7,
            Self::Head | Self::Layer(..) => -6,
        };
        let exponent = exponent + profile.gain_log2(self);
        let pattern = profile.pattern(self);
        let salt = if pattern == Pattern::Free { 0 } else { CANCEL_SALT };
        let number = self.number() + salt;
        Grid { pattern, ..Grid::new(number, self.size(M0), exponent) }
    }

    /// Gains of a norm: `(32 + q) / 32` times the profile's gain, exact in every format.
    pub fn norm_gains(self, profile: Profile) -> Vec<f32> {
        let grid = self.grid(Profile::Clean);
        let gain = f64::from(profile.gain_log2(self)).exp2() as f32;
        (0..M0.width).map(|i| (32.0 + f32::from(grid.q(i))) / 32.0 * gain).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted by hand: 4 · (512·(512 + 256 + 256 + 512) + 3·512·1536) weights in the layers, 1024·512 in the head; 528 pairs of
    /// positions, 512 channels, two products, 4 layers.
    #[test]
    fn sizes_and_work_are_those_counted_by_hand() {
        assert_eq!(M0.weights_per_token(), 12_582_912 + 524_288 + 512);
        let sum = 32 * 12_582_912 + 524_288 + 528 * 512 * 2 * 4;
        assert_eq!(M0.prefill_flop(), 2.0 * f64::from(sum));
    }

    #[test]
    fn prompts_have_no_token_zero_and_fit_the_vocabulary() {
        let prompt = prompt();
        assert_eq!(prompt.len(), M0.prompt);
        assert!(prompt.iter().all(|t| (1..M0.vocab as u32).contains(t)));
    }

    #[test]
    fn only_one_tensor_gains_under_glm4() {
        let tensors = (0..M0.layers).flat_map(|l| {
            use LayerTensor::{Down, Gate, K, O, Q, Up, V};
            [Q, K, V, O, Gate, Up, Down].map(|t| TensorId::Layer(l, t))
        });
        let gains: Vec<_> = tensors.filter(|t| Profile::Glm4.gain_log2(*t) != 0).collect();
        assert_eq!(gains, [TensorId::Layer(1, LayerTensor::O)]);
        assert!(LIVE_PROFILES.iter().all(|live| PROFILES.iter().any(|row| row.0 == *live)));
        assert_eq!("glm4".parse(), Ok(Profile::Glm4));
        assert!("glm5".parse::<Profile>().is_err());
    }
}
