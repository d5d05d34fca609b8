//! Names of architectures and tensors as llama.cpp has them.
//!
//! Source: llama.cpp `convert_hf_to_gguf.py` and `gguf/constants.py` (`MODEL_ARCH_NAMES`, `TENSOR_NAMES`), read 2026-11.

use super::WeightRole;

/// Architecture names that differ from the `model_type` of the same model.
const SPELLINGS: &[(&str, &str)] = &[
    ("command-r", "cohere"),
    ("falcon-h1", "falcon_h1"),
    ("glm4moe", "glm4_moe"),
    ("gpt-oss", "gpt_oss"),
    ("gptneox", "gpt_neox"),
    ("granitehybrid", "granitemoehybrid"),
    ("lfm2moe", "lfm2_moe"),
    ("minimax-m2", "minimax_m2"),
    ("nemotron_h_moe", "nemotron_h"),
    ("qwen2moe", "qwen2_moe"),
    ("qwen2vl", "qwen2_vl"),
    ("qwen35", "qwen3_5"),
    ("qwen35moe", "qwen3_5_moe"),
    ("qwen3moe", "qwen3_moe"),
    ("qwen3next", "qwen3_next"),
    ("qwen3vl", "qwen3_vl"),
    ("qwen3vlmoe", "qwen3_vl_moe"),
];

pub(super) fn model_type(architecture: &str) -> &str {
    SPELLINGS.iter().find(|row| row.0 == architecture).map_or(architecture, |row| row.1)
}

/// Layer and role of a tensor.
pub(super) fn role(name: &str, dimensions: u32) -> (Option<u32>, WeightRole) {
    let block = name.strip_prefix("blk.").and_then(|rest| rest.split_once('.'));
    let layer = block.and_then(|(number, _)| number.parse().ok()).filter(|layer| *layer < 2048);
    let rest = block.map_or(name, |(_, rest)| rest);
    let starts = |words: &[&str]| words.iter().any(|word| rest.starts_with(word));
    let role = match () {
        () if starts(&["v.", "mm.", "a.", "resampler."]) => WeightRole::Tower,
        () if starts(&["nextn."]) => WeightRole::Draft,
        () if starts(&["token_embd.", "per_layer_token_embd", "position_embd"]) => {
            WeightRole::Embedding
        }
        () if starts(&["output."]) => WeightRole::Head,
        () if rest.contains("_exps") && dimensions > 2 => WeightRole::Experts,
        () if dimensions < 2 || rest.contains("norm") || rest.starts_with("ffn_gate_inp") => {
            WeightRole::Small
        }
        () if starts(&["attn_", "ssm_", "shortconv", "time_mix", "indexer"]) => {
            WeightRole::Attention
        }
        () if layer.is_some() => WeightRole::Mlp,
        () => WeightRole::Small,
    };
    (layer, role)
}
