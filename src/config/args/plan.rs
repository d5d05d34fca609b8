//! What a plan is asked for: the model, the load, the split.

use std::path::PathBuf;

use strum::{EnumString, VariantNames};

use super::spec::{Arg, ArgSpec, Form, operand, option, switch};
use crate::config::value::Kind;

/// What is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Train {
    /// Adapters beside 16-bit weights.
    Lora,
    /// Adapters beside 4-bit weights.
    Qlora,
    /// Every weight.
    Full,
}

args! {
    PLANNED: PathBuf = operand(Form::RequiredOperand, "MODEL", Kind::Path)
        .help("Model to plan: what --model of check takes");
    PLAN_FRAMEWORKS: Vec<String> = option("framework", "FRAMEWORK", Kind::List)
        .short('f')
        .help("The same as a word behind the model: only this framework; may be repeated");
    ON: Vec<String> = option("on", "INDEX", Kind::List)
        .help("GPUs of this machine by index: 0,1; all when not given");
    EACH: bool = switch(&[("each", "on")])
        .help("Plan each GPU on its own instead of all of them as a group");
    CONTEXT: Option<u64> = option("context", "TOKENS", Kind::Count)
        .short('c')
        .help("Tokens of a request, prompt and answer (with --train: of a sequence); when not given 8192, or what the model takes at most");
    CONCURRENCY: u64 = option("concurrency", "REQUESTS", Kind::Count)
        .default("1")
        .help("Requests at once (with --train: sequences of a step on each GPU)");
    KV_DTYPE: Option<String> = option("kv-dtype", "DTYPE", Kind::Text)
        .help("Format of the KV cache: fp16, fp8, nvfp4, int8, int4, q8_0, q6, q4_0");
    UTILIZATION: Option<f64> = option("utilization", "SHARE", Kind::Share)
        .help("The framework's own memory share (vLLM: of the GPU; LMDeploy and TensorRT-LLM: of what the weights leave free)");
    MAX_SEQS: Option<u64> = option("max-seqs", "REQUESTS", Kind::Count)
        .help("Most requests the framework prepares for; its own default when not given");
    BATCHED_TOKENS: Option<u64> = option("batched-tokens", "TOKENS", Kind::Count)
        .help("Most tokens of one batch; the framework's own default when not given");
    EAGER: bool = switch(&[("eager", "on")])
        .help("Without CUDA graphs");
    TP: Option<u64> = option("tp", "GPUS", Kind::Count)
        .help("Tensor parallelism: GPUs that share each layer; the best split when not given");
    PP: Option<u64> = option("pp", "STAGES", Kind::Count)
        .help("Pipeline parallelism: stages of layers");
    TRAIN: Option<Train> = option("train", "METHOD", Train::KIND)
        .help("Plan training instead of serving");
    ZERO: u64 = option("zero", "STAGE", Kind::Count)
        .default("0")
        .help("Stage of ZeRO for --train: 0 to 3");
    NO_CHECKPOINTING: bool = switch(&[("no-checkpointing", "on")])
        .help("Keep all activations while training instead of computing them again");
    ADAM8: bool = switch(&[("adam-8bit", "on")])
        .help("States of the optimiser in 8 bits for --train");
    WHY: bool = switch(&[("why", "on")])
        .help("Show every part of the memory with its range and source, and cheaper ways");
}
