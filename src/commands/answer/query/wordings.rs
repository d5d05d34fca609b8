//! Questions in the words of people who do not know the program: each is answered, and what was left out is said.

use warpscope_probes::model::Model;

use super::tests::{ask, expect_read};
use super::*;

fn said(words: &str) -> Read {
    let typed = [words.to_owned()];
    let read = read(RuleBase::builtin(), Words { words: &typed, dtype: None });
    read.unwrap_or_else(|error| panic!("{words}: {error}"))
}

/// Words, what every row must begin with and have, and what is set aside as open.
const READ: &[(&str, &str, &str, &[&str])] = &[
    // Words that nobody knows cost confidence, and those around the matter nothing.
    ("vllm awq nonesuch", "vllm", "quantization=awq", &["nonesuch"]),
    ("lmdeploy something else", "lmdeploy", "", &["something", "else"]),
    ("vllm awq on a portable engine with the default kernels", "vllm", "quantization=awq", &[]),
    (
        "xformers==0.0.30 fp16 head dim 32 sequence 498",
        "xformers 0.0.30",
        "head_dim=32",
        &["sequence 498"],
    ),
    ("transformers==4.36 openchat 3.5", "transformers 4.36", "", &["openchat 3.5"]),
    (
        "nunchaku==0.3.0 wheel built from source on RTX 50 series",
        "nunchaku 0.3.0",
        "wheel=source",
        &["RTX 50"],
    ),
    ("triton==3.0.0 num_warps=8", "triton 3.0.0", "", &["num_warps=8"]),
    ("vllm none-such/of-nobody awq", "vllm", "quantization=awq", &[]),
    // Facets of one thing.
    ("ollama gguf q4_k_m", "ollama", "quantization=q4_k_m", &[]),
    ("llama.cpp q4_0 gguf", "llama-cpp", "quantization=q4_0", &[]),
    ("vllm compressed-tensors awq", "vllm", "quantization=awq", &[]),
    ("vllm awq compressed-tensors", "vllm", "quantization=awq", &[]),
    ("vllm compressed-tensors w8a8 block fp8", "vllm", "quantization=fp8_block", &[]),
    (
        "vllm modelopt_mixed nvfp4 experts fp8 dense",
        "vllm",
        "quantization=modelopt_mixed",
        &["experts", "dense"],
    ),
    ("vllm w4a16 autoround", "vllm", "quantization=w4a16", &[]),
    ("vllm awq_marlin awq int4", "vllm", "quantization=awq_marlin", &[]),
    ("sglang fp8 block quantization", "sglang", "quantization=fp8_block", &[]),
    ("unsloth 4bit lora", "unsloth", "quantization=nf4", &[]),
    ("unsloth lora 4bit", "unsloth", "quantization=nf4", &[]),
    ("lmdeploy==0.12.2 cu128 docker", "lmdeploy 0.12.2", "wheel=docker", &[]),
    ("lmdeploy==0.12.2 docker cu128", "lmdeploy 0.12.2", "wheel=docker", &[]),
    ("lmdeploy==0.12.2 source cu128", "lmdeploy 0.12.2", "wheel=source", &[]),
    ("torch==1.7.1 cu101 wheel", "torch 1.7.1", "wheel=cu101", &[]),
    // Terms of several words.
    (
        "flash-attn==2025-03 flash attention 2 fp16",
        "flash-attn 2",
        "attention=flash_attention_2",
        &[],
    ),
    ("sglang fa3 attention backend fp8 kv cache", "sglang", "attention=fa3 kv_cache=fp8", &[]),
    (
        "sglang attention-backend fa4 kv-cache-dtype fp8",
        "sglang",
        "attention=fa4 kv_cache=fp8",
        &[],
    ),
    ("vllm awq fp8 kv cache", "vllm", "kv_cache=fp8 quantization=awq", &[]),
    ("vllm w4a16 tensor parallel 2", "vllm", "quantization=w4a16 tp=2", &[]),
    ("tensorrt-llm int8 weight only", "tensorrt-llm", "quantization=int8_weight_only", &[]),
    ("tensorrt-llm int4 weight-only fp16", "tensorrt-llm", "quantization=int4_weight_only", &[]),
    ("exllamav3==2026-09 build from source", "exllamav3", "wheel=source", &[]),
    ("sglang tp 8 dp attention", "sglang", "tp=8", &["dp attention"]),
    ("sglang==0.3.2 awq enable-torch-compile", "sglang 0.3.2", "feature=torch_compile", &[]),
    ("tensorrt-llm==0.5.0 enable_context_fmha", "tensorrt-llm 0.5.0", "feature=context_fmha", &[]),
    ("axolotl full fine-tuning", "axolotl", "operation=training", &[]),
    ("triton fp8e4nv", "triton", "dtype=fp8_e4m3", &[]),
    ("comfyui e4m3fn", "comfyui", "quantization=fp8_e4m3fn", &[]),
    // Models.
    ("vllm llama 2 fp16", "vllm", "model_type=llama", &[]),
    ("sglang qwen2.5 fp16", "sglang", "model_type=qwen2", &[]),
    ("sglang==0.4.0 deepseek-r1", "sglang 0.4.0", "model_type=deepseek_v3", &[]),
    ("ktransformers==0.2.1 DeepSeek-R1", "ktransformers 0.2.1", "model_type=deepseek_v3", &[]),
    ("vllm Qwen3-Next-80B-A3B-Preview-FP8", "vllm", "quantization=fp8", &[]),
    ("vllm Qwen9-Next-FP8", "vllm", "quantization=fp8", &["Qwen9-Next-FP8"]),
    ("vllm Qwen fp8", "vllm", "quantization=fp8", &["Qwen"]),
    ("vllm Fara-7B half", "vllm", "dtype=fp16", &["Fara-7B"]),
    (
        "faster-whisper large-v3 float16",
        "ctranslate2",
        "model_type=whisper compute_type=float16",
        &[],
    ),
    ("whisper.cpp base.en", "whisper-cpp", "", &[]),
    (
        "transformers==5.9.0 fp8 kernels 0.14.1",
        "transformers 5.9.0",
        "quantization=fp8",
        &["kernels 0.14.1"],
    ),
    ("comfyui FLUX.1-schnell", "comfyui", "model_type=flux", &[]),
    ("xformers==0.0.21 diffusion", "xformers 0.0.21", "", &[]),
    // Programs in front of others.
    ("sgl-kernel==2026-08 fp16", "sglang", "dtype=fp16", &[]),
    ("llama-factory==2024-03 fp16", "transformers", "dtype=fp16", &[]),
    ("text-generation-webui==2025-04 exllamav2", "exllamav2", "", &[]),
    ("text-generation-webui==2025-04 torch 2.8 cu128", "torch 2.8", "", &[]),
    ("exllamav3==0.0.8 tabbyapi exl3", "exllamav3 0.0.8", "quantization=exl3", &[]),
    // Options that stand alone, and values that another release had.
    (
        "comfyui --use-split-cross-attention torch 2.11.0",
        "comfyui",
        "attention=split torch=2.11.0",
        &[],
    ),
    ("comfyui flux fp8 --fast torch 2.4", "comfyui", "model_type=flux torch=2.4", &["--fast"]),
    ("comfyui use-sage-attention", "comfyui", "attention=sageattention", &[]),
    (
        "VLLM_ATTENTION_BACKEND=TRITON_ATTN_VLLM_V1 vllm==0.10.1",
        "vllm 0.10.1",
        "attention=triton_attn",
        &[],
    ),
];

#[test]
fn every_question_is_answered() {
    for (words, framework, settings, open) in READ {
        expect_read(words, &[words], (framework, settings));
        assert_eq!(said(words).open, *open, "{words}");
    }
}

#[test]
fn names_of_models_are_joined_before_a_number_is_a_release() {
    for (words, release, model) in [
        ("vllm==0.5.3 llama 3.1 70b awq", "0.5.3", "llama-3.1-70b"),
        ("vllm llama 3.1 70b 0.8.5", "0.8.5", "llama-3.1-70b"),
        ("ollama==0.12.0 gpt-oss 120b flash attention", "0.12.0", "gpt-oss-120b"),
        ("unsloth==2025.4 qwen3 0.6b bnb 4bit", "2025.4", "qwen3-0.6b"),
        ("vllm==0.8.5 phi-4 14b", "0.8.5", "phi-4"),
    ] {
        let said = said(words);
        assert_eq!(said.model.as_deref(), Some(model), "{words}");
        assert!(
            said.questions.iter().all(|one| one.version.as_deref() == Some(release)),
            "{words}"
        );
    }
}

#[test]
fn what_is_left_out_is_said() {
    let said = said("vllm awq on kaggle qwen3-next-80b-preview with tabbyapi");
    assert_eq!(
        said.unheard,
        ["tabbyapi", "on", "preview of qwen3-next-80b-preview", "with", "kaggle"]
    );
    assert_eq!(said.open, ["kaggle"]);
}

#[test]
fn what_is_done_in_several_ways_is_asked_in_each() {
    for (words, open) in [
        ("flash-attn forward backward fp16", &[][..]),
        ("sglang moe mtp fp8", &["mtp together with moe"][..]),
    ] {
        let said = said(words);
        let keys = ["operation", "feature"];
        let values: BTreeSet<&str> = said
            .questions
            .iter()
            .flat_map(|one| keys.iter().filter_map(|key| one.config.get(key)))
            .collect();
        assert!(values.len() >= 2, "{words}: {values:?}");
        assert_eq!(said.open, open, "{words}");
    }
}

#[test]
fn a_word_with_several_meanings_is_asked_in_all_of_them() {
    let values = |words: &str, key: &str| -> BTreeSet<String> {
        let values = said(words).questions.into_iter();
        values.filter_map(|one| one.config.get(key).map(str::to_owned)).collect()
    };
    let int8 = values("tensorrt-llm int8", "quantization");
    assert!(int8.contains("int8_smoothquant") && int8.contains("int8_weight_only"), "{int8:?}");
    assert_eq!(values("tensorrt-llm int8 quantization=int8_weight_only", "quantization").len(), 1);
    let vllm = values("vllm int8", "quantization");
    assert!(vllm.contains("w8a8_int8") && vllm.len() > 1, "{vllm:?}");
    assert_eq!(values("vllm int8", "quantization"), values("vllm dtype=int8", "quantization"));
    assert!(values("vllm marlin", "kernel").contains("marlin"));
    assert!(values("vllm marlin", "quantization").contains("marlin"));
}

#[test]
fn a_program_in_front_of_several_says_which() {
    for (words, say) in [
        ("text-generation-webui==2025-04", "runs llama.cpp, ExLlamaV3, ExLlamaV2, transformers or"),
        ("gpustack fp16", "runs vLLM, SGLang or TensorRT-LLM; name one"),
    ] {
        let error = ask(&[words]).expect_err(words);
        assert!(error.contains(say), "{words}: {error}");
    }
    assert_eq!(said("trl fp16").unheard, ["trl (answered for transformers)"]);
}

#[test]
fn a_model_and_a_format_are_a_packed_copy_of_it() {
    let base = RuleBase::builtin();
    let about = |words: &str| -> Vec<(String, String)> {
        let said = said(words);
        let model = said.model.as_deref().and_then(Model::known);
        let assumptions = Assumptions { model, ..Assumptions::default() };
        let asked =
            said.about(base, &assumptions).unwrap_or_else(|error| panic!("{words}: {error}"));
        let format = |one: &Question| one.config.get("quantization").unwrap_or_default().to_owned();
        asked.iter().map(|one| (one.model.clone().unwrap_or_default(), format(one))).collect()
    };
    for (words, model, format) in [
        ("vllm Qwen2.5-7B-Instruct awq", "Qwen2.5-7B-Instruct-AWQ", "awq"),
        ("llama.cpp Qwen3-32B q6_k gguf", "Qwen3-32B-GGUF:Q6_K", "q6_k"),
        ("vllm DeepSeek-R1-0528 w4a16", "DeepSeek-R1-0528-W4A16", "w4a16"),
        ("mlc-llm Qwen3-30B-A3B q4f16_1", "Qwen3-30B-A3B in q4f16_1", "q4f16_1"),
        // That is what people call its own format.
        ("sglang MiniMax-M2.5 fp8", "MiniMax-M2.5", "fp8_block"),
    ] {
        let found = about(words);
        assert!(!found.is_empty(), "{words}");
        for one in found {
            assert_eq!(one, (model.to_owned(), format.to_owned()), "{words}");
        }
    }
    // Without a word for a format, nothing is packed.
    assert!(about("vllm Qwen3-8B").iter().all(|one| one.0 == "Qwen3-8B"));
}
