//! Command lines as they are pasted, word by word.

use warpscope_probes::rules::RuleBase;

use super::tokens::{Token, tokens};

fn read(words: &str) -> String {
    let tokens = tokens(RuleBase::builtin(), &[words.to_owned()]).expect(words);
    let text = |token: &Token| match token {
        Token::Word(word) => word.clone(),
        Token::Unheard(word) => format!("({word})"),
        Token::Open(word) => format!("({word}?)"),
        Token::Term { word, .. } => word.clone(),
    };
    tokens.iter().map(text).collect::<Vec<_>>().join("|")
}

#[test]
fn options_are_read_as_they_stand_on_a_command_line() {
    for (words, want) in [
        ("vllm --quantization awq -tp 2", "vllm|quantization=awq|tp=2"),
        ("vllm --kv-cache-dtype=fp8 --dtype half", "vllm|kv_cache=fp8|dtype=half"),
        ("vllm --max-model-len 32768 awq", "vllm|(--max-model-len 32768)|awq"),
        ("vllm --max-model-len 32768 0.8.5", "vllm|(--max-model-len 32768)|0.8.5"),
        ("vllm max-model-len 32768, 0.8.5", "vllm|(max-model-len 32768)|0.8.5"),
        ("vllm python 3.9 0.8.5", "vllm|(python 3.9)|0.8.5"),
        ("vllm --enforce-eager 0.8.5", "vllm|(--enforce-eager)|0.8.5"),
        ("llama.cpp --n-cpu-moe q4_k_m", "llama.cpp|(--n-cpu-moe)|q4_k_m"),
        ("llama.cpp tensor-split 1,1 q8_0", "llama.cpp|(tensor-split 1,1)|q8_0"),
        ("llama.cpp -ts 3 1 -fa on -ngl 99", "llama.cpp|(-ts 3 1)|flash-attn|(-ngl 99)"),
        ("vllm driver 535 torch 2.6.0", "vllm|driver@535|torch@2.6.0"),
        ("torch 2.5.0 jetpack 6.2", "torch@2.5.0|jetpack@6.2"),
        ("flash-attn 3 bf16", "flash-attn-3|bf16"),
        ("vllm 3", "vllm|3"),
        ("vllm -- awq", "vllm|awq"),
        ("sglang --speculative-algorithm EAGLE fp8", "sglang|eagle|fp8"),
        ("transformers --load-in-4bit", "transformers|load-in-4bit"),
    ] {
        assert_eq!(read(words), want);
    }
}

#[test]
fn options_that_no_table_has_are_open_with_their_values() {
    for (words, want) in [
        ("vllm --no-such-option", "vllm|(--no-such-option?)"),
        ("vllm --no-such-option=awq fp16", "vllm|(--no-such-option=awq?)|fp16"),
        ("vllm --no-such-option some-value fp16", "vllm|(--no-such-option some-value?)|fp16"),
        ("vllm fp16 --no-such-option 3", "vllm|fp16|(--no-such-option 3?)"),
    ] {
        assert_eq!(read(words), want);
    }
    for words in ["vllm --no-such-option awq", "--no-such-option vllm"] {
        let error = tokens(RuleBase::builtin(), &[words.to_owned()]);
        assert!(error.is_err_and(|error| error.contains("write --no-such-option=")), "{words}");
    }
}

#[test]
fn commands_are_read_as_they_are_pasted() {
    for (words, want) in [
        ("vllm serve Qwen/Qwen3-8B --port 8000", "vllm|Qwen/Qwen3-8B|(--port 8000)"),
        (
            "CUDA_VISIBLE_DEVICES=0,1 python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B --tp 2",
            "(CUDA_VISIBLE_DEVICES=0,1)|sglang|model=Qwen/Qwen3-8B|tp=2",
        ),
        (
            "VLLM_USE_V1=0 VLLM_ATTENTION_BACKEND=XFORMERS vllm serve Qwen/Qwen3-8B",
            "vllm|Qwen/Qwen3-8B|engine=v0|attention=XFORMERS",
        ),
        (
            "llama-server -m Qwen3-8B-Q4_K_M.gguf -c 8192",
            "llama-cpp|model=Qwen3-8B-Q4_K_M.gguf|(-c 8192)",
        ),
        ("ollama run qwen3:8b", "ollama|qwen3:8b"),
        (
            "docker run --gpus all -p 8000:8000 vllm/vllm-openai:v0.11.0 --model Qwen/Qwen3-8B",
            "vllm@v0.11.0|wheel=docker|model=Qwen/Qwen3-8B",
        ),
        (
            "docker run --gpus all lmsysorg/sglang:latest python3 -m sglang.launch_server --tp 8",
            "sglang|wheel=docker|tp=8",
        ),
        ("pip install torch==2.7.1+cu128", "torch==2.7.1+cu128"),
        (
            "pip3 install torch torchvision --index-url https://download.pytorch.org/whl/cu128",
            "torch|(torchvision)|cu128",
        ),
        ("uv pip install vllm[audio]==0.8.5", "vllm==0.8.5"),
        (
            "lmdeploy serve api_server internlm/internlm2_5-7b-chat --tp 2",
            "lmdeploy|internlm/internlm2_5-7b-chat|tp=2",
        ),
    ] {
        assert_eq!(read(words), want);
    }
    let error = tokens(RuleBase::builtin(), &["docker run nvidia/cuda nvidia-smi".to_owned()]);
    assert!(error.is_err_and(|error| error.contains("name the framework")));
}
