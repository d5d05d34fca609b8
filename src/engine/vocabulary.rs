//! The words a framework has for the values of a setting: those its rules and rows name, and what people say for them.

use std::collections::BTreeSet;

use warpscope_probes::rules::{Choice, RuleBase};

/// Keys whose values are names in the framework's own code. Others describe the model, the machine or the build and are open.
pub const CLOSED: &[&str] =
    &["attention", "compute_type", "engine", "kernel", "kv_cache", "quantization"];

/// Names of one thing, in [`plain`] spelling: of which setting, what people say, and the names frameworks have for it, best first.
const SYNONYMS: &[(&str, &[&str], &[&str])] = &[
    (
        "attention",
        &["fa", "fa2", "flash", "flashattn", "flashattn2", "flashattention", "flashattention2"],
        &["flashattention2", "flashattn", "flashattention", "flash"],
    ),
    ("attention", &["fa3", "flashattn3", "flashattention3"], &["fa3", "flashattention3", "flash3"]),
    ("attention", &["fa4", "flashattn4", "flashattention4"], &["fa4", "flashattention4"]),
    ("attention", &["triton", "tritonattn"], &["triton", "tritonattn"]),
    ("attention", &["sdpa", "torchsdpa"], &["sdpa", "torchsdpa", "torchnative"]),
    ("attention", &["sage", "sageattn", "sageattention"], &["sageattention", "sageattn", "sage"]),
    ("kv_cache", &["fp8", "e4m3", "fp8e4m3", "fp8e4m3fn"], &["fp8e4m3", "fp8"]),
    ("kv_cache", &["e5m2", "fp8e5m2"], &["fp8e5m2"]),
    ("kv_cache", &["8", "8bit", "int8", "q8", "q80"], &["int8", "q8", "q80"]),
    ("kv_cache", &["4", "4bit", "int4", "q4", "q40"], &["int4", "q4", "q40"]),
    ("kv_cache", &["f16", "fp16", "float16", "half"], &["fp16", "f16", "float16"]),
    ("kv_cache", &["bf16", "bfloat16"], &["bf16", "bfloat16"]),
    ("quantization", &["bitsandbytesnf4", "bnb4bit", "loadin4bit", "qlora"], &["nf4"]),
    ("quantization", &["bnb8bit", "loadin8bit", "int8"], &["llmint8"]),
    ("quantization", &["bnb", "bitsandbytes"], &["bitsandbytes", "bnb", "nf4"]),
    ("quantization", &["int4", "w4a16"], &["w4a16", "int4"]),
    // TensorRT-LLM's convert_checkpoint.py: --use_weight_only --weight_only_precision int4.
    ("quantization", &["int4", "w4a16"], &["int4weightonly"]),
    ("quantization", &["w8a16"], &["int8weightonly"]),
    ("quantization", &["w8a8"], &["w8a8int8", "int8smoothquant"]),
    ("quantization", &["float8"], &["float8dynamic", "fp8"]),
    (
        "quantization",
        &["fp8", "fp8e4m3", "fp8w8a8", "w8a8fp8"],
        &["fp8", "w8a8fp8", "fp8e4m3", "float8dynamic"],
    ),
    ("quantization", &["nvfp4", "modeloptfp4"], &["nvfp4", "modeloptfp4"]),
    ("quantization", &["fp8block", "blockwisefp8"], &["fp8block", "finegrainedfp8", "fp8"]),
    ("quantization", &["fp8e4m3fn", "fp8e4nv", "e4m3fn", "e4m3"], &["fp8e4m3fn", "fp8e4m3", "fp8"]),
    ("quantization", &["fp8e5m2", "fp8e5", "e5m2"], &["fp8e5m2"]),
    ("quantization", &["int8weightonly", "int8wo"], &["int8weightonly", "w8a16"]),
    ("quantization", &["int4weightonly", "int4wo"], &["int4weightonly", "w4a16", "int4"]),
    (
        "operation",
        &["finetune", "finetuning", "pretraining", "sft", "train", "training"],
        &["training", "finetuning"],
    ),
    ("model_type", &["ltx", "ltx2", "ltxvideo"], &["ltxv"]),
    ("wheel", &["image", "container"], &["docker"]),
    ("wheel", &["pip", "wheel", "whl"], &["pypi"]),
    ("platform", &["win", "win10", "win11"], &["windows"]),
];

/// Words for a width, and the formats that have it: read as one where the framework has no other of them.
const WIDTHS: &[(&str, &[&str])] = &[
    (
        "4bit",
        &[
            "nf4",
            "awq",
            "awqmarlin",
            "gptq",
            "gptqmarlin",
            "exl2",
            "int4",
            "int4awq",
            "int4weightonly",
        ],
    ),
    ("4bit", &["autoround", "marlin", "w4a16"]),
    ("8bit", &["llmint8", "gptq", "int8", "w8a8", "w8a8int8", "int8smoothquant", "int8weightonly"]),
];

/// The framework's own word for what people mean by a value; none where it has none, or where more than one could be meant.
pub fn meant<'a>(base: &'a RuleBase, framework: &str, key: &str, value: &str) -> Option<&'a str> {
    let known = known(base, framework, key);
    let mut said = plain(value);
    if let Some(backend) = said.strip_suffix("vllmv1").filter(|_| key == "attention") {
        // As the releases with both engines spell those of the second.
        said = backend.to_owned();
    }
    let named = |name: &str| known.iter().copied().find(|word| plain(word) == name);
    let groups = SYNONYMS.iter().filter(|row| row.0 == key && row.1.contains(&&said[..]));
    let exact = known.get(value).copied().or_else(|| named(&said));
    let loaded = || (key == "quantization").then(|| on_loading(&said).and_then(named)).flatten();
    exact
        .map(|word| loaded().unwrap_or(word))
        .or_else(|| groups.flat_map(|row| row.2).find_map(|name| named(name)))
        .or_else(|| (key == "quantization").then(|| only_format(&said, named)).flatten())
        .or_else(|| (key == "quantization" && is_gguf(&said)).then(|| named("gguf")).flatten())
}

/// The format of bitsandbytes that a framework means which has this word as well as that format.
fn on_loading(said: &str) -> Option<&'static str> {
    match said {
        "4bit" | "bnb4bit" | "loadin4bit" => Some("nf4"),
        "8bit" | "bnb8bit" | "loadin8bit" | "int8" => Some("llmint8"),
        "bnb" => Some("bitsandbytes"),
        _ => None,
    }
}

/// Whether a word only says how wide the weights of a format are: `AWQ 4bit`.
pub(crate) fn has_width(format: &str, word: &str) -> bool {
    let width = width(word);
    WIDTHS.iter().any(|row| row.0 == width && row.1.contains(&&plain(format)[..]))
}

/// Whether a word says how wide weights are.
pub(crate) fn is_width(word: &str) -> bool {
    let width = width(word);
    WIDTHS.iter().any(|row| row.0 == width)
}

fn width(word: &str) -> String {
    let said = plain(word);
    match said.strip_prefix("int") {
        Some(bits) => format!("{bits}bit"),
        None => said,
    }
}

/// The one format of a width that is known.
fn only_format<'a>(said: &str, named: impl Fn(&str) -> Option<&'a str>) -> Option<&'a str> {
    let (_, formats) = WIDTHS.iter().find(|row| row.0 == said)?;
    let mut known = formats.iter().filter_map(|format| named(format));
    known.next().filter(|_| known.next().is_none())
}

/// Whether a word names one of GGUF's types of blocks, or their size: `q4km`, `iq2xxs`, `q8`.
pub(crate) fn is_gguf(said: &str) -> bool {
    let said = said.strip_prefix("ud").unwrap_or(said);
    let kind = ["iq", "tq", "q"].iter().find_map(|kind| said.strip_prefix(kind));
    kind.is_some_and(|rest| {
        let rest = rest.strip_prefix(|first: char| matches!(first, '1'..='8'));
        rest.is_some_and(|rest| rest.len() <= 3 && rest.chars().all(|c| "01klmnsx".contains(c)))
    })
}

/// Letters and digits only, in lower case: `Flash-Attention 2` and `flash_attention_2` are one word.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether a rule, a row or a list of names has this value.
pub(crate) fn knows(base: &RuleBase, framework: &str, key: &str, value: &str) -> bool {
    known(base, framework, key).contains(value)
}

/// Every value that a rule, a row or a list of names has for a key.
pub(crate) fn known<'a>(base: &'a RuleBase, framework: &str, key: &str) -> BTreeSet<&'a str> {
    let rows = base.configs().iter().filter(|row| row.framework == framework);
    let rows = rows.filter_map(|row| row.settings.get(key));
    let levers = base.framework(framework).into_iter().flat_map(|one| &one.levers);
    let levers =
        levers.filter(|one| one.key == key).flat_map(|one| one.values.iter().map(String::as_str));
    let rules = base.rules_of(framework).flat_map(|rule| {
        let chosen = rule.selector.iter().filter(|one| one.0 == key).flat_map(|one| match one.1 {
            Choice::OneOf(values) => values.iter().map(String::as_str).collect(),
            Choice::Within(_) => Vec::new(),
        });
        chosen.chain(rule.route.get(key))
    });
    let names = base.framework(framework).and_then(|one| one.names.get(key));
    let names = names.into_iter().flatten().map(String::as_str);
    rows.chain(levers).chain(rules).chain(names).filter(|value| *value != "unset").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_say_is_read_as_the_name_the_framework_has() {
        let base = RuleBase::builtin();
        for (framework, key, said, want) in [
            // As vLLM's own variable VLLM_ATTENTION_BACKEND spells them.
            ("vllm", "attention", "FLASHINFER", Some("flashinfer")),
            ("vllm", "attention", "TRITON_ATTN", Some("triton_attn")),
            ("vllm", "attention", "TORCH_SDPA", Some("torch_sdpa")),
            ("vllm", "attention", "fa2", Some("flash_attn")),
            // As VLLM_ATTENTION_BACKEND had them from 0.8 to 0.10 (vllm-project/vllm@v0.10.1:vllm/platforms/interface.py).
            ("vllm", "attention", "TRITON_ATTN_VLLM_V1", Some("triton_attn")),
            ("vllm", "attention", "FLASH_ATTN_VLLM_V1", Some("flash_attn")),
            ("vllm", "attention", "FLASHINFER_VLLM_V1", Some("flashinfer")),
            ("axolotl", "operation", "SFT", Some("training")),
            ("comfyui", "quantization", "e4m3fn", Some("fp8_e4m3fn")),
            ("vllm", "attention", "triton", Some("triton_attn")),
            ("vllm", "kv_cache", "fp8_e4m3", Some("fp8_e4m3")),
            ("vllm", "quantization", "AWQ-Marlin", Some("awq_marlin")),
            ("vllm", "quantization", "Q4_K_M", Some("gguf")),
            ("sglang", "attention", "trtllm-mha", Some("trtllm_mha")),
            ("transformers", "attention", "fa2", Some("flash_attention_2")),
            ("transformers", "attention", "Flash Attention 3", Some("flash_attention_3")),
            ("llama-cpp", "quantization", "Q4_K_M", Some("q4_k_m")),
            ("llama-cpp", "quantization", "q4", Some("gguf")),
            ("llama-cpp", "kv_cache", "int8", Some("q8_0")),
            ("diffusers", "quantization", "4-bit", Some("nf4")),
            ("axolotl", "quantization", "4bit", Some("nf4")),
            ("tgi", "quantization", "load_in_4bit", Some("nf4")),
            ("sglang", "quantization", "fp8_w8a8", Some("fp8")),
            // Words of a rule that turns them into the format.
            ("transformers", "quantization", "4bit", Some("nf4")),
            ("transformers", "quantization", "load_in_8bit", Some("llm_int8")),
            ("autogptq", "quantization", "4bit", Some("4bit")),
            ("torchao", "quantization", "float8", Some("float8_dynamic")),
            ("tensorrt-llm", "quantization", "int4", Some("int4_weight_only")),
            ("torchao", "quantization", "int4", Some("int4")),
            ("comfyui", "model_type", "LTX-2", Some("ltxv")),
            ("ktransformers", "wheel", "image", Some("docker")),
            ("xformers", "platform", "Win11", Some("windows")),
            // AWQ, GPTQ, NF4 or a format of their own: nobody can tell. Nor whether INT8 is of weights or of products.
            ("exllamav2", "quantization", "4bit", None),
            ("tgi", "quantization", "4bit", None),
            ("lmdeploy", "quantization", "4bit", None),
            ("vllm", "quantization", "int8", None),
            ("vllm", "attention", "flashinfr", None),
            ("llama-cpp", "quantization", "q9", None),
        ] {
            assert_eq!(meant(base, framework, key, said), want, "{framework} {key}={said}");
        }
    }

    #[test]
    fn names_of_synonyms_are_plain() {
        for (key, said, names) in SYNONYMS {
            let open = ["model_type", "operation", "platform", "wheel"];
            assert!(CLOSED.contains(key) || open.contains(key), "{key}");
            for word in said.iter().chain(*names) {
                assert_eq!(plain(word), **word);
            }
        }
    }
}
