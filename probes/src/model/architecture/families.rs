//! What a configuration leaves to its family.
//!
//! Source: `configuration_*.py` and `modeling_*.py` of transformers 4.57 and 5, read 2026-11.

/// A number that a configuration may leave out: its key, its value.
type Default = (&'static str, u64);

/// How layers that predict further tokens are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Draft {
    /// With the embedding and the head of the model.
    Shared,
    /// With an embedding and a head of their own.
    Copied,
    /// As that, and dense where the model's layers have experts.
    CopiedDense,
    /// Not at all.
    Left,
}

/// What follows from the type of a model alone.
#[derive(Debug)]
pub(super) struct Family {
    /// Whether the head is the embedding where the configuration does not say.
    pub(super) tied: bool,
    /// Whether networks have a gate beside what they gate: three matrices, not two.
    pub(super) gated: bool,
    /// Whether positions are learned.
    pub(super) positions: bool,
    /// Every so many layers one attends to everything, where the configuration has a window and no pattern.
    pub(super) pattern: Option<u64>,
    /// Whether attention has an output gate as wide as its queries.
    pub(super) output_gate: bool,
    /// Share of a head that is rotated, where the configuration does not say.
    pub(super) rotated: f64,
    /// Layers that predict further tokens, as they are saved.
    pub(super) draft: Draft,
    defaults: &'static [Default],
}

impl Family {
    const PLAIN: Self = Self {
        tied: false,
        gated: true,
        positions: false,
        pattern: None,
        output_gate: false,
        rotated: 1.0,
        draft: Draft::Shared,
        defaults: &[],
    };
    const TIED: Self = Self { tied: true, ..Self::PLAIN };
    /// Two matrices and no gate.
    const UNGATED: Self = Self { gated: false, ..Self::PLAIN };
    const TIED_UNGATED: Self = Self { tied: true, ..Self::UNGATED };
    const GPT2: Self = Self { positions: true, ..Self::TIED_UNGATED };
    const ENCODER: Self = Self { positions: true, ..Self::TIED_UNGATED };
    const DRAFTED: Self = Self { draft: Draft::Copied, ..Self::PLAIN };

    const fn every(self, layers: u64) -> Self {
        Self { pattern: Some(layers), ..self }
    }

    const fn with(self, defaults: &'static [Default]) -> Self {
        Self { defaults, ..self }
    }

    pub(super) fn default(&self, names: &[&str]) -> Option<u64> {
        self.defaults.iter().find(|row| names.contains(&row.0)).map(|row| row.1)
    }
}

const LLAMA_DEFAULTS: &[Default] = &[
    ("hidden_size", 4096),
    ("intermediate_size", 11008),
    ("num_hidden_layers", 32),
    ("num_attention_heads", 32),
    ("vocab_size", 32000),
];
const MISTRAL_DEFAULTS: &[Default] = &[
    ("hidden_size", 4096),
    ("intermediate_size", 14336),
    ("num_hidden_layers", 32),
    ("num_attention_heads", 32),
    ("num_key_value_heads", 8),
    ("vocab_size", 32000),
];
const GEMMA3_DEFAULTS: &[Default] = &[
    ("hidden_size", 2304),
    ("intermediate_size", 9216),
    ("num_hidden_layers", 26),
    ("num_attention_heads", 8),
    ("num_key_value_heads", 4),
    ("head_dim", 256),
    ("vocab_size", 262_208),
    ("sliding_window", 4096),
    ("max_position_embeddings", 131_072),
];
const GEMMA3N_DEFAULTS: &[Default] = &[
    ("hidden_size", 2048),
    ("intermediate_size", 16384),
    ("num_hidden_layers", 35),
    ("num_attention_heads", 8),
    ("num_key_value_heads", 2),
    ("head_dim", 256),
    ("vocab_size", 262_400),
    ("vocab_size_per_layer_input", 262_144),
    ("hidden_size_per_layer_input", 256),
    ("altup_num_inputs", 4),
    ("laurel_rank", 64),
    ("sliding_window", 512),
];
const LLAMA4_DEFAULTS: &[Default] =
    &[("attention_chunk_size", 8192), ("interleave_moe_layer_step", 1), ("head_dim", 128)];

const FAMILIES: &[(&str, Family)] = &[
    ("bamba", Family::PLAIN),
    ("bert", Family::ENCODER),
    ("bloom", Family::TIED_UNGATED),
    ("codegen", Family::UNGATED),
    ("cohere", Family::TIED),
    ("cohere2", Family::TIED.every(4)),
    ("deepseek_v3", Family::DRAFTED),
    ("deepseek_v32", Family::DRAFTED),
    ("ernie4_5", Family::TIED),
    ("ernie4_5_moe", Family::TIED),
    ("exaone4", Family::PLAIN.every(4)),
    ("falcon", Family::TIED_UNGATED),
    ("falcon_mamba", Family::PLAIN),
    ("gemma", Family::TIED),
    ("gemma2", Family::TIED.every(2)),
    ("gemma3", Family::TIED.every(6).with(GEMMA3_DEFAULTS)),
    ("gemma3_text", Family::TIED.every(6).with(GEMMA3_DEFAULTS)),
    ("gemma3n", Family::TIED.every(5).with(GEMMA3N_DEFAULTS)),
    ("gemma3n_text", Family::TIED.every(5).with(GEMMA3N_DEFAULTS)),
    ("gemma4", Family::TIED.every(6)),
    ("gemma4_text", Family::TIED.every(6)),
    ("glm4_moe", Family::DRAFTED),
    ("glm4_moe_lite", Family::DRAFTED),
    ("glm_moe_dsa", Family::DRAFTED),
    ("gpt2", Family::GPT2),
    ("gpt_bigcode", Family::GPT2),
    ("gpt_neo", Family::GPT2.every(2)),
    ("gpt_neox", Family::UNGATED),
    ("gpt_oss", Family::PLAIN.every(2)),
    ("gptj", Family::UNGATED),
    ("lfm2", Family::TIED),
    ("lfm2_moe", Family::TIED),
    ("llama", Family::PLAIN.with(LLAMA_DEFAULTS)),
    ("llama4", Family::PLAIN.with(LLAMA4_DEFAULTS)),
    ("llama4_text", Family::PLAIN.with(LLAMA4_DEFAULTS)),
    ("mamba", Family::TIED),
    ("mamba2", Family::PLAIN),
    ("minimax_m2", Family { draft: Draft::Left, ..Family::PLAIN }),
    ("minimax_m3", Family { draft: Draft::Left, ..Family::PLAIN }),
    ("minicpm", Family::TIED),
    ("minicpm3", Family::TIED),
    ("mistral", Family::PLAIN.with(MISTRAL_DEFAULTS)),
    ("modernbert", Family::TIED),
    ("mpt", Family::TIED_UNGATED),
    ("nemotron", Family::UNGATED),
    ("nemotron_h", Family::UNGATED),
    ("olmo3", Family::PLAIN.every(4)),
    ("opt", Family::GPT2),
    ("persimmon", Family::UNGATED),
    ("phi", Family::UNGATED),
    ("phi3small", Family::TIED),
    ("qwen3_5_moe_text", Family { output_gate: true, rotated: 0.25, ..Family::PLAIN }),
    ("qwen3_5_text", Family { output_gate: true, rotated: 0.25, ..Family::PLAIN }),
    ("qwen3_next", Family { output_gate: true, rotated: 0.25, ..Family::PLAIN }),
    ("recurrent_gemma", Family::TIED),
    ("roberta", Family::ENCODER),
    ("smollm3", Family::TIED),
    ("starcoder2", Family::TIED_UNGATED),
    ("step3p5", Family { draft: Draft::CopiedDense, ..Family::PLAIN }),
    ("step3p7", Family { draft: Draft::CopiedDense, ..Family::PLAIN }),
    ("xlm-roberta", Family::ENCODER),
];

pub(super) fn family(kind: &str) -> &'static Family {
    const PLAIN: &Family = &Family::PLAIN;
    FAMILIES.iter().find(|row| row.0 == kind).map_or(PLAIN, |row| &row.1)
}

/// Whether places in time, height and width rotate parts of a head, where a configuration leaves it out.
pub(super) fn rotates_by_axes(kind: &str) -> bool {
    let kind = kind.strip_suffix("_text").unwrap_or(kind);
    ["qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"].contains(&kind)
}

/// Types whose configuration has the same words and means something else by them: rarer encoders, translators, speech.
pub(super) fn is_foreign(kind: &str) -> bool {
    const FOREIGN: &[&str] = &[
        "albert",
        "bart",
        "clip",
        "deberta",
        "deberta-v2",
        "distilbert",
        "electra",
        "m2m_100",
        "marian",
        "mbart",
        "mpnet",
        "mt5",
        "nomic_bert",
        "pegasus",
        "siglip",
        "speecht5",
        "t5",
        "vits",
        "wav2vec2",
        "whisper",
        "xlnet",
        "rwkv",
        "rwkv5",
        "rwkv6",
        "rwkv7",
        "openelm",
    ];
    FOREIGN.contains(&kind)
}
