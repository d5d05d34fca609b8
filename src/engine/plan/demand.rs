//! What is asked of a model: how much context, for how many at once, spread how.

use serde::Serialize;
use warpscope_probes::rules::Settings;

use super::framework::{Release, llama_build};

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Tokens of one request, prompt and answer.
    pub context: u64,
    /// Requests at once.
    pub concurrency: u64,
    /// Format of keys and values; the framework's default where absent.
    pub kv: Option<KvFormat>,
    /// How the model is spread.
    pub parallel: Parallel,
    /// Bytes of a weight that is not quantised, where it is loaded in another type than it was saved in.
    pub width: Option<f64>,
    /// How linear weights are quantised while they are loaded.
    pub packed: Option<AtLoad>,
    /// Version of the framework; the newest known where absent.
    pub release: Option<Release>,
    /// Options of the framework.
    pub tuning: Tuning,
}

/// Quantisation of weights that are saved in 16 bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtLoad {
    /// The value of `quantization` for it.
    pub format: &'static str,
    /// Bits of a weight, scales included.
    pub bits: f64,
}

/// Options that change what a framework takes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tuning {
    /// Share of the memory it may take.
    pub utilization: Option<f64>,
    /// Most sequences in one batch.
    pub sequences: Option<u64>,
    /// Most tokens in one batch.
    pub batched_tokens: Option<u64>,
    /// Without CUDA graphs.
    pub eager: bool,
    /// Every layer on the GPU, nothing in host memory.
    pub all_layers: bool,
    /// What the model sees.
    pub images: Images,
    /// Whether llama.cpp keeps all tokens of layers with a window.
    pub whole_windows: bool,
}

/// How many tokens an image may become: profile runs of vLLM load the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Images {
    /// A fixed number, or the model has no eyes.
    #[default]
    Fixed,
    /// As many as its size asks for.
    AnySize,
    /// Tiles of one size, with states of several layers of the tower for all of them.
    Tiled,
}

/// How a model is spread over a group of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Parallel {
    /// GPUs that share each layer.
    pub tp: u64,
    /// Stages of layers.
    pub pp: u64,
    /// Whether experts are spread whole instead of cut.
    pub ep: bool,
    /// Whole copies.
    pub dp: u64,
}

impl Default for Parallel {
    fn default() -> Self {
        Self { tp: 1, pp: 1, ep: false, dp: 1 }
    }
}

impl Parallel {
    /// GPUs of one copy.
    pub fn gpus(self) -> u64 {
        self.tp * self.pp
    }
}

/// Format of keys and values in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KvFormat {
    /// 16 bits.
    Fp16,
    /// 8-bit floats.
    Fp8,
    /// 8-bit integers with a scale a head.
    Int8,
    /// 4-bit integers with a scale a head.
    Int4,
    /// 4-bit floats, 16 with a scale in 8 bits.
    Nvfp4,
    /// ExLlama's 6-bit blocks of 32.
    Q6,
    /// llama.cpp's 8-bit blocks of 32.
    Q8,
    /// llama.cpp's 4-bit blocks of 32.
    Q4,
    /// 32 bits.
    Fp32,
}

impl KvFormat {
    const WORDS: &[(&str, Self)] = &[
        ("fp16", Self::Fp16),
        ("f16", Self::Fp16),
        ("bf16", Self::Fp16),
        ("auto", Self::Fp16),
        ("fp8", Self::Fp8),
        ("fp8_e4m3", Self::Fp8),
        ("fp8_e5m2", Self::Fp8),
        ("int8", Self::Int8),
        ("int8_per_token_head", Self::Int8),
        ("int4", Self::Int4),
        ("int4_per_token_head", Self::Int4),
        ("nvfp4", Self::Nvfp4),
        ("q6", Self::Q6),
        ("q8_0", Self::Q8),
        ("q8", Self::Q8),
        ("q4_0", Self::Q4),
        ("q4", Self::Q4),
        ("fp32", Self::Fp32),
    ];

    /// The format a word of the command line or of a configuration means.
    pub fn parse(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|row| row.0 == word).map(|row| row.1)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|row| row.1 == self).map_or("", |row| row.0)
    }

    /// Bytes of a value, scales included. Blocks as ggml defines them: 34 and 18 bytes for 32 values.
    pub fn bytes(self) -> f64 {
        match self {
            Self::Fp32 => 4.0,
            Self::Fp16 => 2.0,
            Self::Fp8 => 1.0,
            Self::Int8 => 1.0 + 4.0 / 128.0,
            Self::Int4 => 0.5 + 4.0 / 128.0,
            Self::Nvfp4 => 0.5 + 1.0 / 16.0,
            Self::Q6 => 26.0 / 32.0,
            Self::Q8 => 34.0 / 32.0,
            Self::Q4 => 18.0 / 32.0,
        }
    }
}

/// Bits of weights that a configuration quantises on loading: bitsandbytes' NF4 keeps an fp32 scale for 64 weights.
const AT_LOAD: &[(&str, f64)] = &[
    ("nf4", 4.5),
    ("fp4", 4.5),
    ("bitsandbytes", 4.5),
    ("llm_int8", 8.0),
    ("fp8", 8.0),
    ("fbgemm_fp8", 8.0),
    ("experts_int8", 8.0),
    ("eetq", 8.0),
];

/// Whether a configuration with this format quantises weights that are saved in 16 bits.
pub fn is_packed_on_loading(quantization: &str) -> bool {
    AT_LOAD.iter().any(|row| row.0 == quantization)
}

/// Model types whose towers take an image in its own size, as their processors document.
const ANY_SIZE: &[&str] =
    &["qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "pixtral", "mistral3", "kimi_vl"];

/// Llama 3.2's cross attention, which vLLM ran on V0 alone until it dropped it.
const TILED: &[&str] = &["mllama"];

/// Model types whose windows llama.cpp leaves out: `phi3.cpp` says that they are disabled, the graphs of the others know none.
const WITHOUT_WINDOWS: &[&str] = &["mistral", "mixtral", "phi3", "phimoe", "starcoder2"];

/// llama.cpp before this split rows of weights, and kept the cache and its work on the first GPU (PR 4766).
const LAYERS_SPLIT: u32 = 1842;

impl Demand {
    /// Whether this is a llama.cpp that splits rows instead of layers.
    pub(super) fn splits_rows(&self) -> bool {
        llama_build(self.release).is_some_and(|build| build < LAYERS_SPLIT)
    }

    /// The server's limit of requests at once, where the question sets it.
    pub(super) fn most_at_once(&self) -> Option<u64> {
        self.tuning.sequences.or(Some(self.concurrency).filter(|count| *count > 1))
    }

    /// One request of `context` tokens on one GPU.
    pub fn new(context: u64) -> Self {
        Self {
            context,
            concurrency: 1,
            kv: None,
            parallel: Parallel::default(),
            width: None,
            packed: None,
            release: None,
            tuning: Tuning::default(),
        }
    }

    /// Takes from a configuration what memory depends on. `quantized` says whether the weights are so already.
    pub fn configured(mut self, config: &Settings, quantized: bool) -> Self {
        if !quantized {
            self.width = match config.get("dtype") {
                Some("fp32" | "tf32") => Some(4.0),
                Some("fp16" | "bf16") => Some(2.0),
                _ => None,
            };
            let word = config.get("quantization");
            let row = AT_LOAD.iter().find(|row| word == Some(row.0));
            self.packed = row.map(|(format, bits)| AtLoad { format, bits: *bits });
        }
        let count = |key: &str| config.get(key)?.parse().ok().filter(|count: &u64| *count > 0);
        if let Some(tp) = count("tp") {
            self.parallel.tp = tp;
        }
        if let Some(pp) = count("pp") {
            self.parallel.pp = pp;
        }
        self.kv = self.kv.or_else(|| KvFormat::parse(config.get("kv_cache")?));
        let is_of =
            |types: &[&str]| config.get("model_type").is_some_and(|own| types.contains(&own));
        if is_of(ANY_SIZE) {
            self.tuning.images = Images::AnySize;
        }
        if is_of(TILED) {
            self.tuning.images = Images::Tiled;
        }
        self.tuning.whole_windows = is_of(WITHOUT_WINDOWS);
        self
    }
}
