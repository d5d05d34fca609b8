//! Questions as people write them in issue trackers: the framework, its release and the settings that are understood.

use super::tests::ask;

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
    ("vllm 0.6.3+cu118", "vllm 0.6.3", "wheel=cu118"),
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
    // Builds, systems, features, operations.
    ("vllm docker", "vllm 0.33.0", "wheel=docker"),
    ("vllm cu118", "vllm 0.33.0", "wheel=cu118"),
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
        let lines = ask(&words.split(' ').collect::<Vec<_>>())
            .unwrap_or_else(|error| panic!("{words}: {error}"));
        assert!(!lines.is_empty(), "{words}");
        for line in lines {
            let (asked, config) = line.split_once(" | ").expect("two parts");
            assert!(asked.starts_with(framework), "{words}: {line}");
            for setting in settings.split_whitespace() {
                assert!(config.split(' ').any(|one| one == setting), "{words}: {line}");
            }
        }
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
        ("vllm gpt-oss-20b", "--model gpt-oss-20b"),
        ("vllm llama", "--model"),
        ("vllm marlin", "quantization=marlin or kernel=marlin"),
        ("vllm int8", "w8a8_int8"),
        ("vllm dtype=int8", "w8a8_int8"),
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
        (["vllm", "transformers"], "transformers"),
        (["vllm", "sglang@0.5.0"], "sglang 0.5.0"),
        (["sglang", "torch"], "torch"),
        (["transformers", "vllm@0.9.0"], "vllm 0.9.0"),
        (["ollama", "torch@2.6.0"], "torch 2.6.0"),
    ] {
        let lines = ask(&words).expect("two questions");
        assert!(lines.iter().any(|line| line.starts_with(second)), "{words:?}: {lines:?}");
        assert!(lines[0].starts_with(words[0]), "{words:?}: {lines:?}");
    }
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

#[test]
fn the_option_means_what_the_word_does() {
    let asked = |words: &[&str], dtype: &str| {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        super::questions(warpscope_probes::rules::RuleBase::builtin(), &words, Some(dtype))
    };
    let same = |words: &[&str], dtype: &str, word: &str| {
        let mut all = words.to_vec();
        all.push(word);
        let all: Vec<_> = all.iter().map(|word| (*word).to_owned()).collect();
        let base = warpscope_probes::rules::RuleBase::builtin();
        assert_eq!(asked(words, dtype), super::questions(base, &all, None), "{words:?} {dtype}");
    };
    same(&["vllm"], "fp8", "quantization=fp8");
    same(&["vllm"], "nvfp4", "nvfp4");
    same(&["vllm"], "bf16", "bf16");
    same(&["ctranslate2"], "int8", "compute_type=int8");
    assert!(asked(&["vllm", "fp16"], "bf16").is_err_and(|error| error.contains("contradict")));
    let rows = asked(&[], "nvfp4").expect("rows");
    assert!(rows.iter().any(|row| row.framework == "vllm"));
}
