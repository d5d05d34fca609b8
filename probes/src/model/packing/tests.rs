use serde_json::json;

use super::*;
use crate::model::quantization;

const QUERY: &str = "model.layers.3.self_attn.q_proj";

fn part(role: WeightRole, name: &str) -> Part {
    Part { role, name: name.to_owned(), rows: 4096, columns: 4096, count: 1, linear: true }
}

/// Bits of a value of a matrix of 4096 by 4096 under a configuration.
fn bits(config: &Value, role: WeightRole, name: &str) -> f64 {
    let word = quantization::of(config).expect("is one").word;
    let packing = Packing::of(config, &word).expect("is known");
    let bytes = weigh(&[part(role, name)], Some(&packing), 2)[0].bytes;
    bytes as f64 * 8.0 / (4096.0 * 4096.0)
}

/// Bits as the formats are published: 4 + 16/128 for a scale and 4/128 for a zero point of a group of 128, and so on.
#[test]
fn formats_have_their_published_bits() {
    let tensors = |weights: Value| {
        json!({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}},
               "ignore": ["lm_head"]})
    };
    for (config, expected) in [
        (json!({"quant_method": "awq", "bits": 4, "group_size": 128}), 4.156_25),
        (json!({"quant_method": "awq", "bits": 4, "group_size": 64}), 4.312_5),
        (json!({"quant_method": "awq", "bits": "4", "group_size": "64"}), 4.312_5),
        // A group index of 32 bits for every column.
        (json!({"quant_method": "gptq", "bits": 4, "group_size": 128}), 4.156_25 + 32.0 / 4096.0),
        (json!({"quant_method": "gptq", "bits": 8, "group_size": 32}), 8.75 + 32.0 / 4096.0),
        (
            tensors(json!({"num_bits": 4, "type": "int", "symmetric": true, "group_size": 128})),
            4.125,
        ),
        (
            tensors(json!({"num_bits": 4, "type": "int", "symmetric": false, "group_size": 128})),
            4.156_25,
        ),
        (
            tensors(json!({"num_bits": 8, "type": "float", "strategy": "channel"})),
            8.0 + 16.0 / 4096.0,
        ),
        (tensors(json!({"num_bits": 4, "type": "float", "group_size": 16})), 4.5),
        (json!({"quant_method": "fp8", "weight_block_size": [128, 128]}), 8.0 + 32.0 / 16384.0),
        (json!({"quant_method": "fp8"}), 8.0),
        (
            json!({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4"}),
            4.5,
        ),
        (
            json!({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4",
                   "bnb_4bit_use_double_quant": true}),
            4.127,
        ),
        (json!({"quant_algo": "NVFP4", "group_size": 16}), 4.5),
        (json!({"quant_method": "exl3", "bits": 3.5, "head_bits": 6}), 3.5),
    ] {
        let found = bits(&config, WeightRole::Attention, QUERY);
        assert!((found - expected).abs() < 0.001, "{config}: {found} instead of {expected}");
    }
    let mxfp4 = json!({"quant_method": "mxfp4"});
    assert_eq!(bits(&mxfp4, WeightRole::Experts, "model.layers.0.mlp.experts.0.up_proj"), 4.25);
    assert_eq!(bits(&mxfp4, WeightRole::Attention, QUERY), 16.0);
}

#[test]
fn heads_and_towers_stay_as_they_are_where_the_format_leaves_them() {
    let (head, tower) = (WeightRole::Head, WeightRole::Tower);
    let awq = json!({"quant_method": "awq", "bits": 4, "group_size": 128});
    let nf4 =
        json!({"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4"});
    let listed = json!({"quant_algo": "NVFP4", "group_size": 16, "exclude_modules": ["visual*"]});
    let exl3 = json!({"quant_method": "exl3", "bits": 3.5, "head_bits": 6});
    for (config, role, name, expected) in [
        (&awq, head, "lm_head", 16.0),
        (&awq, tower, "visual.blocks.0.attn", 16.0),
        (&nf4, head, "lm_head", 16.0),
        (&nf4, tower, "visual.blocks.0.attn", 4.5),
        (&listed, head, "lm_head", 4.5),
        (&listed, tower, "visual.blocks.0.attn", 16.0),
        (&exl3, head, "lm_head", 6.0),
    ] {
        assert_eq!(bits(config, role, name), expected, "{config} {name}");
    }
}

/// Lists as they stand in configurations of GLM-5, Kimi K2.5, Qwen3 and gpt-oss.
#[test]
fn lists_of_layers_are_read_as_their_makers_mean_them() {
    for (pattern, name, is_meant) in [
        ("lm_head", "lm_head", true),
        ("lm_head", QUERY, false),
        ("visual", "visual.blocks.0.attn", true),
        ("model.layers.3.self_attn.q_proj", QUERY, true),
        ("model.layers.3.self_attn", QUERY, true),
        ("model.layers.33.self_attn", QUERY, false),
        ("language_model.model.layers.3.self_attn*", QUERY, true),
        ("model.layers.*.self_attn", QUERY, true),
        ("model.layers.3*", "model.layers.30.mlp.up_proj", true),
        ("mlp.gate", "model.layers.3.mlp.gate_proj", false),
        ("mlp.gate", "model.layers.3.mlp.gate", true),
        ("re:.*self_attn.*", QUERY, true),
        (r"re:.*mlp\.(gate|up|down)_proj.*", "model.layers.3.mlp.up_proj", true),
        (r"re:.*mlp\.(gate|up|down)_proj.*", "model.layers.3.mlp.experts.0.up_proj", false),
        ("re:self_attn", QUERY, false),
        ("re:(", QUERY, false),
    ] {
        assert_eq!(Patterns::of(&[pattern]).matches(name), is_meant, "{pattern} {name}");
    }
}

#[test]
fn groups_of_layers_have_formats_of_their_own() {
    let config = json!({"quant_method": "compressed-tensors", "ignore": ["lm_head"], "config_groups": {
        "group_0": {"targets": ["re:.*self_attn.*"], "weights": {"num_bits": 8, "type": "float"}},
        "group_1": {"targets": ["re:.*mlp.*"], "weights": {"num_bits": 4, "type": "float", "group_size": 16}}}});
    assert_eq!(bits(&config, WeightRole::Attention, QUERY).round(), 8.0);
    assert_eq!(bits(&config, WeightRole::Mlp, "model.layers.3.mlp.up_proj"), 4.5);
    assert_eq!(bits(&config, WeightRole::Head, "lm_head"), 16.0);
}

#[test]
fn what_is_not_known_has_no_size() {
    assert!(Packing::of(&json!({"quant_method": "tomorrow"}), "tomorrow").is_none());
    assert!(
        Packing::of(&json!({"bits": 1e300}), "gptq")
            .is_some_and(|one| one.format.bits == Some(4.0))
    );
}
