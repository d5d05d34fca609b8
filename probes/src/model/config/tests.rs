use proptest::prelude::*;
use serde_json::json;

use super::*;

fn described(config: &Value, quant: Option<&Value>) -> String {
    describe(config, quant).expect("describes a model").settings.to_string()
}

/// What the `config.json` of well-known public models says, cut down to the keys that matter here (huggingface.co, as published).
#[test]
fn well_known_models() {
    for (name, config, settings) in [
        (
            "meta-llama/Llama-3.1-8B",
            json!({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096,
                   "num_attention_heads": 32, "num_key_value_heads": 8, "torch_dtype": "bfloat16"}),
            "checkpoint_dtype=bf16 head_dim=128 model_type=llama",
        ),
        (
            "Qwen/Qwen3-0.6B",
            json!({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 128,
                   "hidden_size": 1024, "num_attention_heads": 16, "sliding_window": null,
                   "torch_dtype": "bfloat16"}),
            "checkpoint_dtype=bf16 head_dim=128 model_type=qwen3",
        ),
        (
            "Qwen/Qwen2.5-7B-Instruct-AWQ",
            json!({"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 3584,
                   "num_attention_heads": 28, "torch_dtype": "float16", "quantization_config":
                   {"bits": 4, "group_size": 128, "modules_to_not_convert": null,
                    "quant_method": "awq", "version": "gemm", "zero_point": true}}),
            "checkpoint_dtype=fp16 head_dim=128 model_type=qwen2 quantization=awq",
        ),
        (
            "deepseek-ai/DeepSeek-V3",
            json!({"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3",
                   "hidden_size": 7168, "num_attention_heads": 128, "kv_lora_rank": 512,
                   "torch_dtype": "bfloat16", "quantization_config": {"activation_scheme": "dynamic",
                   "fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]}}),
            "checkpoint_dtype=bf16 model_type=deepseek_v3 quantization=fp8_block",
        ),
        (
            "openai/gpt-oss-20b",
            json!({"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "head_dim": 64,
                   "hidden_size": 2880, "num_attention_heads": 64, "sliding_window": 128,
                   "quantization_config": {"modules_to_not_convert": ["lm_head"],
                   "quant_method": "mxfp4"}}),
            "head_dim=64 model_type=gpt_oss quantization=mxfp4",
        ),
        (
            "google/gemma-3-4b-it",
            json!({"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3",
                   "torch_dtype": "bfloat16", "text_config": {"hidden_size": 2560,
                   "model_type": "gemma3_text", "num_hidden_layers": 34, "sliding_window": 1024},
                   "vision_config": {"hidden_size": 1152, "num_attention_heads": 16}}),
            "checkpoint_dtype=bf16 model_type=gemma3",
        ),
        (
            "zai-org/GLM-4-32B-0414",
            json!({"architectures": ["Glm4ForCausalLM"], "model_type": "glm4", "head_dim": 128,
                   "hidden_size": 6144, "num_attention_heads": 48, "torch_dtype": "bfloat16"}),
            "checkpoint_dtype=bf16 head_dim=128 model_type=glm4",
        ),
        (
            "openai-community/gpt2",
            json!({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_embd": 768,
                   "n_head": 12}),
            "head_dim=64 model_type=gpt2",
        ),
    ] {
        assert_eq!(described(&config, None), settings, "{name}");
    }
}

#[test]
fn what_is_told_besides() {
    let config = json!({"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss",
        "sliding_window": 128, "quantization_config": {"quant_method": "mxfp4"}});
    let details = describe(&config, None).expect("describes a model").details;
    let words = [
        ("architecture", "GptOssForCausalLM"),
        ("quantisation", "MXFP4: 4-bit floats, one scale per 32"),
        ("sliding window", "128 tokens"),
    ];
    assert_eq!(details, words.map(|(name, phrase)| (name, phrase.to_owned())));
    let unused =
        json!({"model_type": "qwen2", "sliding_window": 131_072, "use_sliding_window": false});
    assert_eq!(describe(&unused, None).expect("describes a model").details, []);
}

/// Layers that attend to everything have heads of 512 in Gemma 4; those are what kernels fail on.
#[test]
fn the_largest_head_counts() {
    let config =
        json!({"model_type": "gemma4", "text_config": {"head_dim": 256, "global_head_dim": 512}});
    assert_eq!(described(&config, None), "head_dim=512 model_type=gemma4");
}

#[test]
fn the_file_of_modelopt_is_read_where_the_configuration_is_silent() {
    let config = json!({"model_type": "llama", "torch_dtype": "bfloat16"});
    let quant = json!({"producer": {"name": "modelopt", "version": "0.23.0"}, "quantization":
        {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": ["lm_head"]}});
    let settings = "checkpoint_dtype=bf16 model_type=llama quantization=modelopt_fp4";
    assert_eq!(described(&config, Some(&quant)), settings);
}

#[test]
fn what_describes_no_model_is_said_so() {
    for config in [json!([]), json!({"version": "1.0", "truncation": null}), json!(7)] {
        let error = describe(&config, None).expect_err("no model");
        assert!(error.contains("neither model_type nor architectures"), "{error}");
    }
}

#[test]
fn odd_values_say_nothing() {
    let config = json!({"model_type": "a b\u{1b}[31m", "torch_dtype": "auto", "hidden_size": 100,
        "num_attention_heads": 0, "head_dim": -1, "quantization_config": {"quant_method": "\u{1b}"}});
    assert_eq!(described(&config, None), "");
}

fn any_json() -> impl Strategy<Value = Value> {
    let key = proptest::sample::select(vec![
        "model_type",
        "architectures",
        "text_config",
        "torch_dtype",
        "head_dim",
        "hidden_size",
        "num_attention_heads",
        "quantization_config",
        "quant_method",
        "config_groups",
        "weights",
        "num_bits",
        "group_size",
        "quantization",
        "producer",
    ]);
    let words =
        proptest::sample::select(vec!["compressed-tensors", "awq", "modelopt", "x", "float"]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        words.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key.clone(), inner, 0..8).prop_map(|map| map
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_configuration_makes_it_panic(config in any_json(), quant in any_json()) {
        let _ = describe(&config, Some(&quant));
    }
}
