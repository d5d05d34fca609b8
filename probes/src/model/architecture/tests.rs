use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::model::{Attention, Mlp};

fn read(config: &Value) -> Option<Architecture> {
    let text = config.get("text_config");
    let sections: Vec<_> = std::iter::once(config).chain(text).collect();
    Architecture::of(&sections)
}

/// A small model with this type and these keys.
fn model(kind: &str, keys: Value) -> Value {
    let mut config = json!({"model_type": kind, "hidden_size": 64, "num_hidden_layers": 8, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 100, "max_position_embeddings": 4096});
    for (key, value) in keys.as_object().expect("an object") {
        config[key] = value.clone();
    }
    config
}

/// A letter for each layer: what it attends to or keeps.
fn letters(config: &Value) -> String {
    let layers = read(config).expect("is read").layers;
    let letter = |attention| match attention {
        Attention::Heads { window: None, .. } => 'F',
        Attention::Heads { .. } => 'S',
        Attention::Latent { .. } => 'L',
        Attention::Recurrent { .. } => 'R',
        Attention::Nothing => 'n',
    };
    layers
        .iter()
        .flat_map(|run| std::iter::repeat_n(letter(run.attention), run.count as usize))
        .collect()
}

/// As the modelling code of each family in transformers decides it.
#[test]
fn layers_slide_or_recur_as_their_family_says() {
    let linear = json!({"linear_num_value_heads": 2, "linear_num_key_heads": 2, "linear_key_head_dim": 8,
        "linear_value_head_dim": 8, "full_attention_interval": 4});
    for (config, expected) in [
        (model("mistral", json!({"sliding_window": 128})), "SSSSSSSS"),
        (model("mistral", json!({"sliding_window": null})), "FFFFFFFF"),
        (model("mistral", json!({"sliding_window": 4096})), "FFFFFFFF"),
        (
            model(
                "qwen2",
                json!({"sliding_window": 128, "use_sliding_window": false, "max_window_layers": 4}),
            ),
            "FFFFFFFF",
        ),
        (
            model(
                "qwen2",
                json!({"sliding_window": 128, "use_sliding_window": true, "max_window_layers": 6}),
            ),
            "FFFFFFSS",
        ),
        (model("gemma2", json!({"sliding_window": 128})), "SFSFSFSF"),
        (model("gemma3_text", json!({"sliding_window": 128})), "SSSSSFSS"),
        (model("cohere2", json!({"sliding_window": 128, "sliding_window_pattern": 4})), "SSSFSSSF"),
        (
            model("exaone4", json!({"sliding_window": 128, "sliding_window_pattern": "LLLG"})),
            "SSSFSSSF",
        ),
        (model("gpt_oss", json!({"sliding_window": 128})), "SFSFSFSF"),
        (model("llama4_text", json!({"attention_chunk_size": 128})), "SSSFSSSF"),
        (
            model(
                "mimo_v2_flash",
                json!({"sliding_window": 128, "hybrid_layer_pattern": [0, 1, 1, 1, 0, 1, 1, 1]}),
            ),
            "FSSSFSSS",
        ),
        (
            model(
                "olmo3",
                json!({"sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"]}),
            ),
            "SFSFSFSF",
        ),
        (
            model("gemma4_text", json!({"sliding_window": 128, "num_kv_shared_layers": 3})),
            "SSSSSnnn",
        ),
        (model("qwen3_next", linear), "RRRFRRRF"),
        (
            model(
                "nemotron_h",
                json!({"hybrid_override_pattern": "M-M*-M-E", "mamba_num_heads": 2, "mamba_head_dim": 8,
            "n_routed_experts": 4, "num_experts_per_tok": 2}),
            ),
            "RnRFnRnn",
        ),
        (model("jamba", json!({"attn_layer_period": 4, "attn_layer_offset": 2})), "RRFRRRFR"),
        (model("mamba", json!({})), "RRRRRRRR"),
        (
            model(
                "deepseek_v3",
                json!({"kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}),
            ),
            "LLLLLLLL",
        ),
    ] {
        assert_eq!(letters(&config), expected, "{config}");
    }
}

#[test]
fn experts_are_in_the_layers_their_family_says() {
    let experts = json!({"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32});
    for (keys, expected) in [
        (json!({}), "EEEEEEEE"),
        (json!({"first_k_dense_replace": 3}), "dddEEEEE"),
        (json!({"decoder_sparse_step": 2}), "dEdEdEdE"),
        (json!({"mlp_only_layers": [0, 7]}), "dEEEEEEd"),
        (json!({"moe_layer_freq": [0, 1, 1, 0, 1, 1, 1, 1]}), "dEEdEEEE"),
        (json!({"expert_layer_period": 2, "expert_layer_offset": 1}), "dEdEdEdE"),
        (json!({"interleave_moe_layer_step": 2}), "dEdEdEdE"),
        (json!({"num_dense_layers": 1}), "dEEEEEEE"),
        (json!({"moe_layers_enum": "4,5,6"}), "ddddEEEd"),
    ] {
        let mut config = model("some_moe", experts.clone());
        for (key, value) in keys.as_object().expect("an object") {
            config[key] = value.clone();
        }
        let layers = read(&config).expect("is read").layers;
        let letter = |mlp| if matches!(mlp, Mlp::Experts { .. }) { 'E' } else { 'd' };
        let found: String = layers
            .iter()
            .flat_map(|run| std::iter::repeat_n(letter(run.mlp), run.count as usize))
            .collect();
        assert_eq!(found, expected, "{keys}");
    }
}

#[test]
fn what_is_no_such_model_has_no_dimensions() {
    for config in [
        json!({"model_type": "llama"}),
        model("t5", json!({})),
        model("llama", json!({"num_hidden_layers": 1_000_000_000})),
        model("llama", json!({"num_attention_heads": 0})),
    ] {
        assert_eq!(read(&config), None, "{config}");
    }
}

const KEYS: &[&str] = &[
    "num_hidden_layers",
    "hidden_size",
    "vocab_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "sliding_window",
    "sliding_window_pattern",
    "layer_types",
    "layers_block_type",
    "hybrid_override_pattern",
    "num_experts",
    "num_experts_per_tok",
    "moe_intermediate_size",
    "moe_layer_freq",
    "kv_lora_rank",
    "q_lora_rank",
    "qk_rope_head_dim",
    "qk_nope_head_dim",
    "v_head_dim",
    "compress_ratios",
    "o_groups",
    "o_lora_rank",
    "index_n_heads",
    "index_head_dim",
    "linear_attn_config",
    "linear_num_value_heads",
    "linear_num_key_heads",
    "linear_key_head_dim",
    "linear_value_head_dim",
    "full_attention_interval",
    "kda_layers",
    "mamba_num_heads",
    "mamba_head_dim",
    "ssm_state_size",
    "n_groups",
    "conv_kernel",
    "attn_layer_period",
    "block_configs",
    "num_nextn_predict_layers",
    "hidden_size_per_layer_input",
    "altup_num_inputs",
    "vision_config",
    "depth",
    "patch_size",
    "num_kv_shared_layers",
    "global_head_dim",
    "expert_layer_period",
    "decoder_sparse_step",
    "text_config",
    "attn_type_list",
];
const KINDS: &[&str] = &[
    "llama",
    "qwen3_next",
    "nemotron_h",
    "jamba",
    "mamba",
    "mamba2",
    "falcon_h1",
    "gemma3n_text",
    "gemma4_text",
    "deepseek_v4",
    "lfm2",
    "recurrent_gemma",
    "nemotron-nas",
    "mpt",
    "exaone4",
    "gpt2",
];

fn any_config() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "LLLG",
        "M-*E",
        "mamba",
        "conv",
        "linear_attention",
        "sliding_attention",
        "",
    ]);
    let leaf = prop_oneof![
        (0_u64..9).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (0_u64..1 << 20).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        words.prop_map(Value::from),
    ];
    let inner = leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(KEYS), inner, 0..6).prop_map(|map| {
                map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
            }),
        ]
    });
    let pairs = prop::collection::btree_map(prop::sample::select(KEYS), inner, 0..12);
    (prop::sample::select(KINDS), pairs).prop_map(|(kind, pairs)| {
        let mut config = model(kind, json!({}));
        for (key, value) in pairs {
            config[key] = value;
        }
        config
    })
}

proptest! {
    #[test]
    fn no_configuration_makes_it_panic(config in any_config()) {
        if let Some(found) = read(&config) {
            prop_assert!(found.layers.iter().map(|run| run.count).sum::<u64>() <= MOST_LAYERS);
        }
    }
}
