//! The dimensions of a model: what its memory and its speed follow from.
//!
//! One [`Shape`] whether it was read from headers of weights, from a configuration or from the table of known models; only
//! [`ShapeSource`] tells them apart. What is not known is absent, never zero.

use super::quantization::WeightFormat;

/// Bits of a head in ExLlama's formats, as their converters choose them where nobody says otherwise.
pub const EXL_HEAD_BITS: f64 = 6.0;

/// Where dimensions and sizes come from, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShapeSource {
    /// Headers of the weights: sizes to the byte.
    Header,
    /// A configuration: sizes follow from dimensions.
    Config,
    /// The table of well-known models that comes with the program.
    Table,
    /// The table, for a format of which only the nearest is known.
    Nearest,
}

/// Dimensions of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Where sizes come from.
    pub source: ShapeSource,
    /// Width of the residual stream.
    pub hidden: u64,
    /// Tokens of the vocabulary, as the embedding is saved.
    pub vocab: u64,
    /// Longest context the model was made for, in tokens.
    pub max_context: Option<u64>,
    /// Whether embedding and output head are one tensor once loaded.
    pub tied_head: bool,
    /// Size of the part of a head that is rotated by a place in time, height and width; 0 where a place is one number.
    pub axes_dim: u64,
    /// Layers of the text that a vision tower feeds beside its input.
    pub fed_layers: u64,
    /// Runs of equal layers, in order.
    pub layers: Vec<LayerRun>,
    /// Weights by what they are for, each role once.
    pub weights: Vec<WeightGroup>,
    /// Format of the linear weights; absent where they are not quantised.
    pub format: Option<WeightFormat>,
}

/// Equal layers that follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerRun {
    /// How many there are.
    pub count: u64,
    /// What each keeps of the tokens before.
    pub attention: Attention,
    /// What each computes of one token.
    pub mlp: Mlp,
}

/// What a layer keeps of the tokens before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Attention {
    /// Keys and values of every token; of the last `window` tokens where there is one.
    Heads {
        /// Query heads.
        heads: u64,
        /// Heads of keys and values.
        kv_heads: u64,
        /// Size of a key.
        head_dim: u64,
        /// Size of a value; equal to `head_dim` in most models.
        value_dim: u64,
        /// Tokens a sliding or chunked layer looks back.
        window: Option<u64>,
    },
    /// Multi-head latent attention: one compressed row a token, whatever the number of heads.
    Latent {
        /// Query heads.
        heads: u64,
        /// Rank of the compressed queries; absent where they are projected at once.
        query_rank: Option<u64>,
        /// Rank of the compressed keys and values.
        rank: u64,
        /// Size of the rotated part kept beside it.
        rope_dim: u64,
        /// Size of a key of one head, unpacked.
        key_dim: u64,
        /// Size of a value of one head, unpacked.
        value_dim: u64,
        /// Size of the key that an indexer of sparse attention keeps of each token; 0 without one.
        index_dim: u64,
        /// Values kept of each token in flight until it is compressed along with its neighbours; 0 where tokens stay apart.
        in_flight: u64,
        /// Whether the file may be laid out for a cache of every head instead.
        unsure: bool,
    },
    /// Mamba, gated delta rule, short convolution: a state of constant size for each sequence.
    Recurrent {
        /// Values of that state.
        state: u64,
    },
    /// Keeps nothing: layers that share the cache of another, or have none.
    Nothing,
}

/// What a layer computes of one token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mlp {
    /// One gated or plain network.
    Dense {
        /// Its inner width.
        intermediate: u64,
    },
    /// Experts, of which some serve each token.
    Experts {
        /// Routed experts.
        routed: u64,
        /// Of these, how many serve a token.
        active: u64,
        /// Inner width of each.
        intermediate: u64,
        /// Inner width of what serves every token beside them; 0 where there is none.
        shared: u64,
    },
    /// None of its own.
    Nothing,
}

/// Weights of one role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightGroup {
    /// What they are for.
    pub role: WeightRole,
    /// How many values they are, before quantisation.
    pub values: u64,
    /// Bytes as they are saved, scales and zero points included.
    pub bytes: u64,
}

/// What weights are for: frameworks split, quantise and offload them by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WeightRole {
    /// The embedding of tokens.
    Embedding,
    /// The output head, where it is a tensor of its own.
    Head,
    /// Projections of attention, or what stands in for it.
    Attention,
    /// Dense networks and experts that serve every token.
    Mlp,
    /// Routed experts.
    Experts,
    /// Norms, biases, routers and other small tensors.
    Small,
    /// Towers that see or hear, and what joins them to the text.
    Tower,
    /// Heads that predict further tokens; loaded for speculative decoding only.
    Draft,
}

impl Shape {
    /// Number of layers.
    pub fn depth(&self) -> u64 {
        self.layers.iter().map(|run| run.count).sum()
    }

    /// Whether it reads a text at once and generates none: no layer keeps anything of the tokens before.
    pub fn is_encoder(&self) -> bool {
        !self.layers.is_empty() && self.layers.iter().all(|run| run.attention == Attention::Nothing)
    }

    /// Bytes of all weights as they are saved.
    pub fn weight_bytes(&self) -> u64 {
        self.weights.iter().fold(0, |sum, group| sum.saturating_add(group.bytes))
    }

    /// Number of parameters.
    pub fn parameters(&self) -> u64 {
        self.weights.iter().fold(0, |sum, group| sum.saturating_add(group.values))
    }

    /// Values and bytes of one role; absent where the model has none of it.
    pub fn group(&self, role: WeightRole) -> Option<&WeightGroup> {
        self.weights.iter().find(|group| group.role == role)
    }
}
