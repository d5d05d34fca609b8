use serde_json::json;

use super::*;
use crate::rules::check_value;

#[test]
fn words_are_unique_and_can_stand_in_a_rule() {
    for one in QUANTIZATIONS {
        assert_eq!(QUANTIZATIONS.iter().filter(|row| row.word == one.word).count(), 1);
        for word in one.also.iter().chain(one.coarse).chain([&one.word]) {
            assert_eq!(check_value("quantization", word), Ok(()));
        }
        let apart = |word: &&str| *word != one.word && !one.also.contains(word);
        assert!(!one.meaning.is_empty() && one.coarse.iter().all(apart), "{}", one.word);
    }
}

/// Configurations as the tools that quantise write them; the word and the detail of each.
fn written() -> Vec<(Value, &'static str, &'static str)> {
    let linear = |weights: Value, activations: Value, format: &str| {
        json!({"config_groups": {"group_0": {"input_activations": activations,
            "output_activations": null, "targets": ["Linear"], "weights": weights}},
            "format": format, "ignore": ["lm_head"], "quant_method": "compressed-tensors"})
    };
    let int = |bits: i64| json!({"num_bits": bits, "type": "int", "group_size": 128});
    let float = |bits: i64| json!({"num_bits": bits, "type": "float", "strategy": "tensor"});
    let none = Value::Null;
    vec![
        (
            json!({"bits": 4, "group_size": 128, "desc_act": true, "sym": true, "quant_method": "gptq"}),
            "gptq",
            "4 bit, groups of 128, act-order",
        ),
        (
            json!({"bits": 4, "group_size": -1, "desc_act": false, "quant_method": "gptq"}),
            "gptq",
            "4 bit, one group per row",
        ),
        (
            json!({"w_bit": 4, "q_group_size": 128, "quant_method": "awq"}),
            "awq",
            "4 bit, groups of 128",
        ),
        (
            json!({"load_in_4bit": true, "load_in_8bit": false, "quant_method": "bitsandbytes",
                   "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true}),
            "nf4",
            "4 bit, scales quantised too",
        ),
        (json!({"load_in_4bit": true, "quant_method": "bitsandbytes"}), "fp4", "4 bit"),
        (json!({"load_in_8bit": true, "load_in_4bit": false}), "llm_int8", "8 bit"),
        (
            json!({"quant_method": "fp8", "activation_scheme": "static"}),
            "fp8",
            "static activations",
        ),
        (
            json!({"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}),
            "fp8_block",
            "blocks of 128×128, dynamic activations",
        ),
        (json!({"quant_method": "fbgemm_fp8"}), "fbgemm_fp8", ""),
        (json!({"quant_method": "mxfp4"}), "mxfp4", ""),
        (json!({"quant_method": "modelopt", "quant_algo": "FP8"}), "modelopt", "FP8"),
        (
            json!({"quant_method": "modelopt_fp4", "quant_algo": "NVFP4", "group_size": 16}),
            "modelopt_fp4",
            "NVFP4, groups of 16",
        ),
        (
            json!({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}),
            "modelopt_mixed",
            "MIXED_PRECISION",
        ),
        (linear(int(4), none.clone(), "pack-quantized"), "w4a16", "4-bit integer weights"),
        (
            linear(int(8), int(8), "int-quantized"),
            "w8a8_int8",
            "8-bit integer weights, 8-bit integer activations",
        ),
        (
            linear(float(8), float(8), "float-quantized"),
            "w8a8_fp8",
            "8-bit float weights, 8-bit float activations",
        ),
        (linear(float(8), none.clone(), "naive-quantized"), "w8a16_fp8", "8-bit float weights"),
        (
            linear(float(4), float(4), "nvfp4-pack-quantized"),
            "nvfp4",
            "4-bit float weights, 4-bit float activations",
        ),
        (linear(float(4), none, "nvfp4-pack-quantized"), "nvfp4a16", "4-bit float weights"),
        (json!({"quant_method": "EXL3", "bits": 4.0}), "exl3", ""),
    ]
}

#[test]
fn what_each_tool_writes() {
    for (config, word, detail) in written() {
        let said = of(&config).expect("says something");
        assert_eq!((said.word.as_str(), said.detail.as_str()), (word, detail), "{config}");
        assert!(row(word).is_some(), "{word} has no row");
    }
    assert_eq!(of(&json!({})), None);
    assert_eq!(of(&json!("awq")), None);
}

#[test]
fn zero_points_and_mixtures_have_words_of_their_own() {
    let group = |bits: i64, symmetric: bool| {
        json!({"weights": {"num_bits": bits, "type": "int", "symmetric": symmetric},
               "input_activations": null})
    };
    let said = |groups: Value| {
        let config = json!({"quant_method": "compressed-tensors", "config_groups": groups});
        of(&config).expect("says something").word
    };
    assert_eq!(said(json!({"group_0": group(4, false)})), "w4a16_asym");
    assert_eq!(said(json!({"group_0": group(3, true)})), "wna16");
    assert_eq!(said(json!({"group_0": group(4, true), "group_1": group(4, true)})), "w4a16");
    assert_eq!(said(json!({"a": group(4, true), "b": group(8, true)})), "compressed-tensors");
    assert_eq!(said(json!({})), "compressed-tensors");
}

#[test]
fn words_differ_by_more_than_their_joints() {
    assert!(same_word("compressed-tensors", "compressed_tensors"));
    assert!(!same_word("w4a16", "w8a16") && !same_word("fp8", "fp8_block"));
}
