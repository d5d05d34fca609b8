//! Questions as people write them in issue trackers: the framework, its release and the settings that are understood.

use super::tests::{ask, expect_read};
use super::*;

/// Every question but those that are one line has rows of which each must have the settings.
const UNDERSTOOD: &[(&str, &str, &str)] = &[
    // Releases.
    ("vllm 0.6.3 awq", "vllm 0.6.3", "quantization=awq"),
    ("vllm v0.6.3", "vllm 0.6.3", ""),
    ("vllm awq 0.8.5", "vllm 0.8.5", "quantization=awq"),
    ("vllm=0.8.5 awq", "vllm 0.8.5", "quantization=awq"),
    ("llama.cpp b4567 Q4_K_M", "llama-cpp b4567", "quantization=q4_k_m"),
    ("torch 2.5.1 cu124", "torch 2.5.1", "wheel=cu124"),
    ("torch@2.5.1+cu124", "torch 2.5.1", "wheel=cu124"),
    ("torch@2.5.1+cpu", "torch 2.5.1", "wheel=cpu"),
    ("torch@2.6.0+rocm6.2", "torch 2.6.0", "wheel=rocm"),
    ("torch@2.5.1+cu123", "torch 2.5.1", "wheel=cu123"),
    ("torch 2.7.0 cuda 12.8", "torch 2.7.0", "cuda=12.8 wheel=cu128"),
    ("vllm 0.6.3+cu118", "vllm 0.6.3", "torch.wheel=cu118 cuda=11.8"),
    // Packages that a framework runs with.
    ("vllm 0.8.5 cuda 12.8 torch 2.6.0", "vllm 0.8.5", "cuda=12.8 torch=2.6.0"),
    (
        "transformers sdpa fp16 torch@2.6.0",
        "transformers 5.23.0",
        "attention=sdpa dtype=fp16 torch=2.6.0",
    ),
    (
        "transformers sdpa fp16 torch==2.6.0",
        "transformers 5.23.0",
        "attention=sdpa dtype=fp16 torch=2.6.0",
    ),
    (
        "transformers sdpa fp16 pytorch=2.6.0",
        "transformers 5.23.0",
        "attention=sdpa dtype=fp16 torch=2.6.0",
    ),
    (
        "transformers flash-attn",
        "transformers 5.23.0",
        "attention=flash_attention_2 flash-attn=2.7.4",
    ),
    (
        "transformers flash-attn 2.6.3",
        "transformers 5.23.0",
        "attention=flash_attention_2 flash-attn=2.6.3",
    ),
    ("transformers 4.40.0 fp16 cuda 12.1", "transformers 4.40.0", "cuda=12.1 dtype=fp16"),
    ("unsloth 2025-05 torch 2.6.0 triton 3.2.0", "unsloth", "torch=2.6.0 triton=3.2.0"),
    ("unsloth 2025.2 grpo vllm 0.7.2", "unsloth", "vllm=0.7.2"),
    ("flashinfer 0.6.11 torch 2.11.0+cu129", "flashinfer 0.6.11", "torch=2.11.0+cu129"),
    ("sageattention 2.2.0 triton 3.2.0", "sageattention 2.2.0", "triton=3.2.0"),
    ("transformer-engine 2.14.1 torch 2.11.0", "transformer-engine 2.14.1", "torch=2.11.0"),
    ("ollama torch 2.6.0", "ollama", "torch=2.6.0"),
    ("torch 2.12.0 cublas 13.5.1.27", "torch 2.12.0", "cublas=13.5.1.27"),
    ("torch 2.14.0 cu126", "torch 2.14.0", "wheel=cu126"),
    ("jax cuda 13", "jax", "cuda=13 wheel=cuda13"),
    // Settings that are called like a framework.
    ("vllm gguf", "vllm 0.33.0", "quantization=gguf"),
    ("vllm@0.33.0 fp16 xformers", "vllm 0.33.0", "attention=xformers dtype=fp16"),
    ("vllm@0.8.5 fp16 flashinfer", "vllm 0.8.5", "attention=flashinfer dtype=fp16"),
    ("vllm fa2", "vllm 0.33.0", "attention=flash_attn"),
    ("vllm bitsandbytes", "vllm 0.33.0", "quantization=bitsandbytes"),
    ("vllm bnb", "vllm 0.33.0", "quantization=bitsandbytes"),
    ("vllm triton", "vllm 0.33.0", "attention=triton_attn"),
    ("vllm awq marlin", "vllm 0.33.0", "kernel=marlin quantization=awq"),
    ("vllm flashmla", "vllm 0.33.0", "attention=flashmla"),
    ("vllm torchao", "vllm 0.33.0", "quantization=torchao"),
    ("sglang triton", "sglang 0.5.23", "attention=triton"),
    ("sglang flashinfer", "sglang 0.5.23", "attention=flashinfer"),
    ("transformers bitsandbytes", "transformers", "quantization=bitsandbytes"),
    ("transformers gguf", "transformers", "quantization=gguf"),
    ("comfyui gguf", "comfyui 0.14.1", "quantization=gguf"),
    ("comfyui xformers", "comfyui 0.14.1", "attention=xformers"),
    ("comfyui sageattention", "comfyui 0.14.1", "attention=sageattention"),
    ("tgi exl2", "tgi 3.3.7", "quantization=exl2"),
    // Number formats of weights.
    ("vllm nvfp4", "vllm 0.33.0", "quantization=nvfp4"),
    ("vllm@0.11.0 mxfp4", "vllm 0.11.0", "quantization=mxfp4"),
    ("vllm int4", "vllm 0.33.0", "quantization=int4"),
    ("vllm dtype=nvfp4", "vllm 0.33.0", "quantization=nvfp4"),
    ("nunchaku int4", "nunchaku 1.2.0", "quantization=int4"),
    ("nunchaku fp4", "nunchaku 1.2.0", "quantization=fp4"),
    ("transformers 4bit", "transformers", "quantization=nf4"),
    ("transformers load_in_8bit", "transformers", "quantization=llm_int8"),
    ("vllm bf16", "vllm 0.33.0", "dtype=bf16"),
    ("faster-whisper int8_float16", "ctranslate2 4.8.1", "compute_type=int8_float16"),
    ("vllm awq 4bit", "vllm 0.33.0", "quantization=awq"),
    ("vllm gptq int4", "vllm 0.33.0", "quantization=gptq"),
    ("vllm bnb 4bit", "vllm 0.33.0", "quantization=nf4"),
    ("transformers bitsandbytes 8bit", "transformers", "quantization=llm_int8"),
    ("transformers 8bit bitsandbytes", "transformers", "quantization=llm_int8"),
    ("vllm 4bit awq", "vllm 0.33.0", "quantization=awq"),
    ("transformers 4bit awq", "transformers", "quantization=awq"),
    ("vllm int4 autoround", "vllm 0.33.0", "quantization=auto-round"),
    ("vllm int8 w8a8", "vllm 0.33.0", "quantization=w8a8_int8"),
    ("tensorrt-llm w4a8_awq", "tensorrt-llm", "quantization=w4a8_awq"),
    ("tensorrt-llm 0.5.0 w4a16", "tensorrt-llm 0.5.0", "quantization=int4_weight_only"),
    ("tgi gptq marlin", "tgi 3.3.7", "kernel=marlin quantization=gptq"),
    ("tgi marlin gptq", "tgi 3.3.7", "kernel=marlin quantization=gptq"),
    ("tgi marlin", "tgi 3.3.7", "quantization=marlin"),
    // Names of settings, and options of command lines.
    ("llama.cpp kv=q8_0 gpus=3 os=windows", "llama-cpp", "kv_cache=q8_0 platform=windows tp=3"),
    ("mistral.rs isq=q4k", "mistralrs", "quantization=q4k"),
    ("sglang mxfp4 moe=flashinfer_mxfp4", "sglang", "kernel=flashinfer_mxfp4"),
    ("sglang --moe-runner-backend marlin", "sglang", "kernel=marlin"),
    ("tensorrt-llm backend=pytorch", "tensorrt-llm", "engine=pytorch"),
    (
        "vllm --quantization awq --kv-cache-dtype=fp8 --attention-backend FLASHINFER --dtype half -tp 2",
        "vllm 0.33.0",
        "attention=flashinfer dtype=fp16 kv_cache=fp8 quantization=awq tp=2",
    ),
    ("vllm awq --max-model-len 32768 enforce-eager", "vllm 0.33.0", "quantization=awq"),
    ("vllm --max-model-len 32768 0.8.5 awq", "vllm 0.8.5", "quantization=awq"),
    ("vllm python 3.9 0.8.5", "vllm 0.8.5", ""),
    ("vllm -- awq -", "vllm 0.33.0", "quantization=awq"),
    ("vllm awq --bf16-gemm-backend=torch --no-such-option", "vllm 0.33.0", "quantization=awq"),
    ("llama.cpp -ctk q8_0 -ctv q8_0", "llama-cpp", "kv_cache=q8_0"),
    ("llama.cpp --cache-type-k q8_0 --cache-type-v q4_0", "llama-cpp", "kv_cache=q8_0+q4_0"),
    ("llama.cpp -ctk q8_0", "llama-cpp", "kv_cache=q8_0+f16"),
    ("llama.cpp q8_0 -fa on", "llama-cpp", "attention=flash_attention quantization=q8_0"),
    ("vllm@0.19.0 fp8 moe=flashinfer_trtllm", "vllm 0.19.0", "kernel=flashinfer_trtllm"),
    ("flash-attn 2.5.9 attention=triton", "flash-attn 2.5.9", "attention=triton"),
    ("transformer-engine 2025-01 fused", "transformer-engine", "attention=fused"),
    ("torchao 0.8.0 autoquant torch.compile", "torchao 0.8.0", "quantization=autoquant"),
    ("tensorrt-llm 2024-01 int4", "tensorrt-llm", "quantization=int4_weight_only"),
    ("sglang diffusion", "sglang", "feature=diffusion"),
    ("ollama 0.1.23 no-avx", "ollama 0.1.23", "feature=no_avx"),
    // Commands that were pasted.
    ("vllm serve --quantization awq --port 8000", "vllm 0.33.0", "quantization=awq"),
    ("VLLM_USE_V1=0 vllm serve", "vllm 0.33.0", "engine=v0"),
    (
        "docker run --gpus all -p 8000:8000 vllm/vllm-openai:v0.11.0 --tensor-parallel-size 2",
        "vllm 0.11.0",
        "tp=2 wheel=docker",
    ),
    (
        "docker run --gpus all pytorch/pytorch:2.7.1-cuda12.8-cudnn9-runtime",
        "torch 2.7.1",
        "cuda=12.8 wheel=docker",
    ),
    ("pip install torch==2.7.1+cu128", "torch 2.7.1", "wheel=cu128"),
    ("vllm awq tp 2, torch 2.6.0;", "vllm 0.33.0", "quantization=awq torch=2.6.0 tp=2"),
    ("vllm awq TP8", "vllm 0.33.0", "quantization=awq tp=8"),
    ("vllm nightly awq", "vllm 0.33.0", "quantization=awq"),
    ("exllamav2 exl2 4.0bpw", "exllamav2", "quantization=exl2"),
    ("transformers load_in_4bit=True fp16", "transformers", "dtype=fp16 quantization=nf4"),
    ("llama.cpp q4_k_m --n-cpu-moe tensor-split", "llama-cpp", "quantization=q4_k_m"),
    // Generations, which are no releases.
    ("flash-attn 3", "flash-attn 3.0.0", "attention=flash_attention_3"),
    ("flash-attn-3 bf16", "flash-attn 3.0.0", "attention=flash_attention_3 dtype=bf16"),
    ("fa3", "flash-attn 3.0.0", "attention=flash_attention_3"),
    ("fa2", "flash-attn 2", "attention=flash_attention_2"),
    ("sglang flash-attn 3", "sglang", "attention=fa3"),
    // Models.
    ("vllm llama", "vllm 0.33.0", "model_type=llama"),
    ("vllm fp8 deepseek-v3 tp=8", "vllm 0.33.0", "model_type=deepseek_v3 tp=8"),
    ("sglang deepseek_v32", "sglang", "model_type=deepseek_v32"),
    ("sglang kimi_k3", "sglang", "model_type=kimi_k3"),
    ("ollama gpt-oss", "ollama", "model_type=gpt_oss"),
    ("comfyui flux", "comfyui", "model_type=flux"),
    ("comfyui ltx", "comfyui", "model_type=ltxv"),
    ("sglang glm5", "sglang", "model_type=glm_moe_dsa"),
    ("sglang glm5.2", "sglang", "model_type=glm_moe_dsa"),
    ("lmdeploy internvl2", "lmdeploy", "model_type=internvl_chat"),
    ("lmdeploy internvl", "lmdeploy", "model_type=internvl"),
    ("vllm qwen3_omni", "vllm 0.33.0", "model_type=qwen3_omni_moe"),
    ("transformers chatglm", "transformers", "model_type=chatglm"),
    // Jetsons and Arm CPUs.
    ("torch 2.5.0 jetpack 6.2", "torch 2.5.0", "wheel=jetpack"),
    ("ollama 0.6.7 jetpack 5", "ollama 0.6.7", "runner=jetpack5"),
    ("mlc-llm q4f16 jetpack 6.0", "mlc-llm", "quantization=q4f16 wheel=jetpack"),
    ("flash-attn 3 wheel aarch64", "flash-attn 3", "platform=linux-aarch64 wheel=pypi"),
    // Builds, systems, features, operations.
    ("vllm docker", "vllm 0.33.0", "wheel=docker"),
    ("comfyui docker cuda 12.6", "comfyui", "cuda=12.6 wheel=docker"),
    ("comfyui cuda 12.6 docker", "comfyui", "cuda=12.6 wheel=docker"),
    ("faster-whisper-xxl r245.2 float16", "ctranslate2 4.4.0", "compute_type=float16"),
    ("vllm cu118", "vllm 0.33.0", "torch.wheel=cu118 cuda=11.8"),
    ("vllm 0.15.1 cu130 torch 2.9.1", "vllm 0.15.1", "wheel=cu130 torch=2.9.1 torch.wheel=cu130"),
    ("lmdeploy 0.10.0 cu128", "lmdeploy 0.10.0", "wheel=cu128"),
    // A build behind a torch is torch's, and gives its CUDA to whom it matters.
    (
        "transformers 4.57.0 torch 2.7.1 cu128 fp16 sdpa",
        "transformers 4.57.0",
        "torch=2.7.1 torch.wheel=cu128 cuda=12.8",
    ),
    ("comfyui torch 2.7.0 cu128", "comfyui", "torch=2.7.0 torch.wheel=cu128"),
    ("comfyui cu128 torch 2.7.0", "comfyui", "torch=2.7.0 torch.wheel=cu128"),
    ("vllm 0.15.1 torch 2.9.1 cu130", "vllm 0.15.1", "torch=2.9.1 torch.wheel=cu130"),
    ("xformers 0.0.31 torch 2.7.1 cu128", "xformers 0.0.31", "torch=2.7.1 torch.wheel=cu128"),
    (
        "bitsandbytes 0.49.1 nf4 torch 2.10.0 cu128",
        "bitsandbytes 0.49.1",
        "cuda=12.8 torch=2.10.0 torch.wheel=cu128",
    ),
    ("bitsandbytes 0.45.5 windows torch 2.8 cu129", "bitsandbytes 0.45.5", "cuda=12.9"),
    ("flash-attn 2.8.3 torch 2.7.1+cu128", "flash-attn 2.8.3", "cuda=12.8 torch=2.7.1+cu128"),
    ("comfyui torch 2.7.0 cuda 12.8", "comfyui", "cuda=12.8 torch.wheel=cu128"),
    ("sageattention cu128", "sageattention", "cuda=12.8 torch.wheel=cu128"),
    ("jax cu124", "jax", "cuda=12.4 wheel=cuda12"),
    // The wheel of torch and the toolkit beside it differ.
    ("unsloth 2025.3 cu124 cuda 12.8 torch 2.6.0", "unsloth", "torch.wheel=cu124 cuda=12.8"),
    ("torch 2.6.0 cuda 12.8", "torch 2.6.0", "cuda=12.8"),
    ("torch 2.6.0 cu124 cuda 12.8", "torch 2.6.0", "wheel=cu124 cuda=12.8"),
    ("sageattention source cuda 12.8 torch 2.6 cu124", "sageattention", "cuda=12.8"),
    // A torch that is named gives the CUDA of its wheel on PyPI.
    ("bitsandbytes 0.43.3 torch 2.4.0", "bitsandbytes 0.43.3", "cuda=12.1 torch=2.4.0"),
    ("flash-attn 2.7.4 torch 2.6.0", "flash-attn 2.7.4", "cuda=12.4"),
    // So does the time of a release where its rows are younger.
    ("bitsandbytes 0.39.1 nf4", "bitsandbytes 0.39.1", "quantization=nf4"),
    ("bitsandbytes 0.43.3 nf4 torch 2.4.0", "bitsandbytes 0.43.3", "cuda=12.1"),
    ("torch nightly cu128", "torch", "wheel=nightly"),
    ("comfyui 2025-02 torch nightly cu128", "comfyui", "torch.wheel=nightly"),
    // Names behind a framework that are parts of it.
    ("mistral.rs 0.4.0 source cuda cudnn bf16", "mistralrs 0.4.0", "dtype=bf16 wheel=source"),
    ("mlc-llm q4f16_1 cuda", "mlc-llm", "quantization=q4f16_1"),
    ("comfyui bf16 triton torch 2.5.1", "comfyui", "dtype=bf16 torch=2.5.1 triton=3.1.0"),
    ("unsloth triton torch 2.7.1", "unsloth", "triton=3.3.1"),
    ("xformers 0.0.24 memory_efficient_attention bf16", "xformers 0.0.24", "dtype=bf16"),
    ("mamba-ssm 2.0.3 mamba2 causal-conv1d", "mamba 2.0.3", ""),
    ("jax 0.3.25 jaxlib 0.3.25", "jax 0.3.25", ""),
    ("transformers 4.55.0 mxfp4 transformers", "transformers 4.55.0", "quantization=mxfp4"),
    // Release files.
    (
        "llama.cpp b10853 windows cuda 12.4",
        "llama-cpp b10853",
        "cuda=12.4 platform=windows wheel=prebuilt",
    ),
    ("llama.cpp win-cuda-13.3", "llama-cpp", "cuda=13.3 platform=windows wheel=prebuilt"),
    ("koboldcpp 1.85 cu12 windows", "koboldcpp 1.85", "cuda=12 wheel=prebuilt"),
    ("koboldcpp_cu12.exe", "koboldcpp", "cuda=12 wheel=prebuilt"),
    ("xformers windows", "xformers", "platform=windows"),
    ("tgi Windows", "tgi 3.3.7", "platform=windows"),
    ("torch torch.compile", "torch 2.15.0", "feature=torch_compile"),
    ("comfyui torch.compile", "comfyui 0.14.1", "feature=torch_compile"),
    ("transformers training", "transformers", "operation=training"),
    ("vllm lora", "vllm 0.33.0", "feature=lora"),
    ("vllm v1", "vllm 0.33.0", "engine=v1"),
];

#[test]
fn every_word_is_understood() {
    for (words, framework, settings) in UNDERSTOOD {
        expect_read(words, &words.split(' ').collect::<Vec<_>>(), (framework, settings));
    }
}

/// What is no question says what is, or where to look.
#[test]
fn what_is_not_understood_is_an_error_that_says_how() {
    for (words, say) in [
        ("vllm>=0.9", "vllm@0.9"),
        ("vllm~=0.9.1 awq", "vllm@0.9.1"),
        ("vllm >=0.9", "as in 0.9"),
        ("torch.compile", "torch torch.compile"),
        ("awq", "name the framework before it"),
        ("vllm qwen2 llama", "qwen2 and llama are two models"),
        ("vllm gpt-oss-20b Qwen3-8B", "gpt-oss-20b and Qwen3-8B are two models"),
        ("vllm --no-such-option awq", "--no-such-option=awq"),
        ("--enforce-eager", "names no framework"),
        ("docker run nvidia/cuda nvidia-smi", "name the framework"),
        ("ollama jetpack 99", "known: 4, 5, 6, 7"),
        ("vllm driver 535.54.03 sglang driver 580.65.06", "two drivers of the same GPUs"),
        ("driver 535.54.03 vllm driver 580.65.06", "two drivers of the same GPUs"),
        ("llama.cpp -ctk q8_0 -ctk q4_0", "cache_type_k=q8_0 and cache_type_k=q4_0"),
        ("llama.cpp -ctk fp8_e4m3", "no kv_cache known of llama-cpp"),
        ("sglang petit_nvpf4", "did you mean petit_nvfp4?"),
        ("vllm driver=new", "not a version"),
    ] {
        let error = ask(&words.split(' ').collect::<Vec<_>>()).expect_err(words);
        assert!(error.contains(say), "{words}: {error}");
    }
}

/// Later words replace nothing, in whatever order they come.
#[test]
fn words_that_exclude_each_other_contradict() {
    for (framework, one, other) in [
        ("vllm", "awq", "gptq"),
        ("vllm", "fp8", "awq"),
        ("vllm", "awq", "quantization=gptq"),
        ("transformers", "fa2", "sdpa"),
        ("vllm", "fp16", "bf16"),
        ("vllm", "docker", "source"),
        ("vllm@0.8.5", "awq", "0.9.0"),
    ] {
        for words in [[framework, one, other], [framework, other, one]] {
            let error = ask(&words).expect_err("a contradiction");
            assert!(error.contains("contradict"), "{words:?}: {error}");
        }
    }
}

#[test]
fn two_frameworks_stay_two_questions() {
    for (words, second) in [
        (["vllm", "sglang@0.5.0"], "sglang 0.5.0"),
        (["vllm", "vllm@0.9.0"], "vllm 0.9.0"),
        (["transformers", "vllm@0.9.0"], "vllm 0.9.0"),
        (["torch", "transformers@4.50.0"], "transformers 4.50.0"),
        (["cuda", "torch@2.6.0"], "torch 2.6.0"),
    ] {
        let lines = ask(&words).expect("two questions");
        assert!(lines.iter().any(|line| line.starts_with(second)), "{words:?}: {lines:?}");
        assert!(lines[0].starts_with(words[0]), "{words:?}: {lines:?}");
    }
}

#[test]
fn what_it_runs_with_chooses_no_configuration() {
    for (framework, words) in [
        ("transformers@4.40.0", "cuda 12.1"),
        ("transformers@4.40.0", "triton 3.4.0"),
        ("vllm", "docker"),
        ("vllm", "aarch64"),
        ("flash-attn", "source"),
    ] {
        let with = ask(&[framework, words]).expect("rows");
        assert_eq!(with.len(), ask(&[framework]).expect("rows").len(), "{with:?}");
    }
    let attention = |words: &[&str]| ask(words).expect("rows").concat();
    for word in ["sdpa", "flash_attention_2"] {
        assert!(attention(&["transformers@4.40.0", "fp16", "cuda 12.1"]).contains(word), "{word}");
    }
    assert!(ask(&["torch@2.14.0", "cu126"]).expect("rows").len() > 3);
}

#[test]
fn what_is_said_beside_the_questions_is_kept() {
    let said = |words: &str| {
        let words = [words.to_owned()];
        read(RuleBase::builtin(), Words { words: &words, dtype: None }).expect(&words[0])
    };
    for words in ["comfyui driver 573.24", "comfyui driver=573.24", "comfyui nvidia-driver==573.24"]
    {
        let said = said(words);
        assert_eq!(said.driver.as_deref(), Some("573.24"), "{words}");
        assert!(said.questions.iter().all(|one| one.framework == "comfyui"), "{words}");
    }
    assert_eq!(said("driver 580.82.07").driver, None);
    for words in ["driver 535.54.03 vllm 0.11.0 fp16", "vllm fp16 driver 535.54.03 sglang fp16"] {
        let said = said(words);
        assert_eq!(said.driver.as_deref(), Some("535.54.03"), "{words}");
        assert!(said.questions.iter().all(|one| one.framework != "driver"), "{words}");
    }
    let open = |words: &str| (said(words).open, said(words).unheard);
    let both = |word: &str| (vec![word.to_owned()], vec![word.to_owned()]);
    assert_eq!(open("vllm awq --no-such-option 3"), both("--no-such-option 3"));
    assert_eq!(open("vllm awq --enforce-eager"), (vec![], vec!["--enforce-eager".to_owned()]));
    assert_eq!(open("llama.cpp mtp"), both("mtp"));
    assert!(said("torch jetpack 6.2").is_jetson && !said("torch").is_jetson);
    assert_eq!(said("vllm awq gpt-oss-20b").model.as_deref(), Some("gpt-oss-20b"));
    assert_eq!(
        said("vllm --enforce-eager --max-model-len 32768 awq").unheard,
        ["--enforce-eager", "--max-model-len 32768"]
    );
    assert_eq!(said("llama.cpp mtp").unheard, ["mtp"]);
    assert!(said("sglang mtp").unheard.is_empty());
    assert_eq!(said("torch jetpack 6.2").unheard, ["jetpack 6.2"]);
}

/// FlashAttention 1, 2, 3 and 4 are packages of the first number; PyTorch 1 had no wheel for CUDA 12.6.
#[test]
fn a_release_is_not_asked_of_another_generation() {
    let attentions = |words: &[&str]| -> Vec<String> {
        let lines = ask(words).expect("rows");
        let attention = |line: &String| {
            let mut settings =
                line.split([' ', '|']).filter_map(|one| one.strip_prefix("attention="));
            settings.next().unwrap_or_default().to_owned()
        };
        lines.iter().map(attention).collect()
    };
    for (version, attention) in [
        ("1.0.9", "flash_attention_1"),
        ("2.8.3", "flash_attention_2"),
        ("3.0.0", "flash_attention_3"),
    ] {
        for dtype in ["fp16", "bf16"] {
            let found = attentions(&[&format!("flash-attn@{version}"), dtype]);
            assert!(!found.is_empty() && found.iter().all(|one| one == attention), "{found:?}");
        }
    }
    assert!(attentions(&["flash-attn", "bf16"]).contains(&"flash_attention_2".to_owned()));
    let lines = ask(&["torch@1.12.1"]).expect("rows");
    assert!(!lines.is_empty() && lines.iter().all(|line| !line.contains("cu126")), "{lines:?}");
}

fn rows(words: &[String], dtype: Option<&str>) -> Result<Vec<Question>, String> {
    Ok(read(RuleBase::builtin(), Words { words, dtype })?.questions)
}

#[test]
fn the_option_means_what_the_word_does() {
    let asked = |words: &[&str], dtype: &str| {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        rows(&words, Some(dtype))
    };
    let same = |words: &[&str], dtype: &str, word: &str| {
        let mut all = words.to_vec();
        all.push(word);
        let all: Vec<_> = all.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(asked(words, dtype), rows(&all, None), "{words:?} {dtype}");
    };
    same(&["vllm"], "fp8", "quantization=fp8");
    same(&["vllm"], "nvfp4", "nvfp4");
    same(&["vllm"], "bf16", "bf16");
    same(&["ctranslate2"], "int8", "compute_type=int8");
    assert!(asked(&["vllm", "fp16"], "bf16").is_err_and(|error| error.contains("contradict")));
    let rows = asked(&[], "nvfp4").expect("rows");
    assert!(rows.iter().any(|row| row.framework == "vllm"));
}

#[test]
fn what_follows_a_torch_is_not_the_framework_s_own() {
    for words in ["comfyui torch 2.7.0 cu128", "vllm 0.15.1 torch 2.9.1 cu130"] {
        let lines = ask(&words.split(' ').collect::<Vec<_>>()).expect("rows");
        assert!(lines.iter().all(|line| !line.contains(" wheel=")), "{lines:?}");
    }
    // Wheels for CUDA 12.8 begin with 2.7: it is the toolkit's.
    let lines = ask(&["torch@2.6.0", "cuda 12.8"]).expect("rows");
    assert!(lines.iter().all(|line| !line.contains("cu128")), "{lines:?}");
    let old = ask(&["bitsandbytes@0.43.3", "nf4"]).expect("rows");
    let is_of_its_time = |line: &String| line.contains("cuda=11.8") || line.contains("cuda=12.1");
    assert!(!old.is_empty() && old.iter().all(is_of_its_time), "{old:?}");
    let lines = ask(&["unsloth@2025.2.1"]).expect("rows");
    assert!(lines.iter().all(|line| !line.contains("triton=")), "{lines:?}");
    let lines = ask(&["jax@0.3.25"]).expect("rows");
    assert!(lines.len() == 1 && lines[0].contains("wheel=cuda11"), "{lines:?}");
}

#[test]
fn parts_of_a_framework_open_no_question() {
    for (words, framework) in [
        ("mlc-llm q4f16_1 cuda", "mlc-llm"),
        ("comfyui triton torch 2.5.1", "comfyui"),
        ("aphrodite 0.6.5 flashinfer", "aphrodite"),
        ("mamba-ssm 2.0.3 mamba2", "mamba"),
        ("jax 0.2.25 jaxlib 0.1.74", "jax"),
        ("transformers 4.55.0 training transformers", "transformers"),
        ("vllm transformers", "vllm"),
        ("sglang torch", "sglang"),
    ] {
        let lines = ask(&words.split(' ').collect::<Vec<_>>()).expect(words);
        let of_it = |line: &String| line.split(' ').next() == Some(framework);
        assert!(lines.iter().all(of_it), "{words}: {lines:?}");
    }
}
