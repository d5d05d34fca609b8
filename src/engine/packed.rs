//! A packed copy of a model of the table, where a question names a format that the model itself is not saved in: people quantise models, and
//! name the one they began with.

use warpscope_probes::model::{Model, ShapeSource, WeightFormat};

use super::vocabulary::{is_gguf, plain};

/// Formats that models are trained in, of which copies in other formats are made.
pub(super) const TRAINED_IN: &[&str] = &["mxfp4", "fp8_block"];

/// How publishers end the names of copies, and the formats they have.
const ENDS: &[(&str, &[&str])] = &[
    ("-AWQ", &["awq", "awq_gemm", "awq_marlin", "int4_awq", "w4a16_awq"]),
    ("-GPTQ-Int4", &["auto-round", "gptq", "gptq_marlin", "moe_wna16", "w4a16_gptq"]),
    ("-W4A16", &["int4", "int4_weight_only", "w4a16"]),
    ("-W8A8", &["w8a8", "w8a8_int8"]),
    ("-W8A16", &["int8_weight_only", "w8a16"]),
    ("-FP8", &["fp8", "fp8_e4m3", "w8a8_fp8"]),
    ("-NVFP4", &["modelopt_fp4", "nvfp4"]),
    ("-4.0bpw-exl2", &["exl2"]),
    ("-4.0bpw-exl3", &["exl3"]),
];

/// The copy of a model in this format. Where nobody knows how large it is, it is the model without its sizes. Files on this machine are what
/// they are, and have none.
pub(super) fn copy(model: &Model, format: &str) -> Option<Model> {
    let shape = model.shape.as_ref().filter(|shape| shape.source == ShapeSource::Table)?;
    let is_own = |own: &WeightFormat| TRAINED_IN.contains(&&*own.name);
    let named = model.settings.get("quantization");
    if named.is_some_and(|own| own.contains("fp8")) && format.contains("fp8") {
        // A name says no more than FP8.
        return Some(model.clone());
    }
    if !shape.format.as_ref().is_none_or(is_own) {
        return None;
    }
    let end = ENDS.iter().find(|row| row.1.contains(&format)).map(|row| row.0.to_owned());
    let gguf = || match format {
        "gguf" => Some("-GGUF:Q4_K_M".to_owned()),
        kind => is_gguf(&plain(kind)).then(|| format!("-GGUF:{}", kind.to_ascii_uppercase())),
    };
    let named = end.or_else(gguf).and_then(|end| Model::known(&format!("{}{end}", model.name)));
    Some(named.unwrap_or_else(|| Model {
        name: format!("{} in {format}", model.name),
        weight_bytes: None,
        shape: None,
        ..model.clone()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_of_the_table_have_copies_in_the_format_that_is_asked_for() {
        let copy = |id: &str, format: &str| {
            let copy = copy(&Model::known(id).expect("is in the table"), format)?;
            Some((copy.name, copy.shape.is_some()))
        };
        for (id, format, name, is_sized) in [
            ("Qwen/Qwen3-8B", "awq", "Qwen/Qwen3-8B-AWQ", true),
            ("Qwen/Qwen3-8B", "q6_k", "Qwen/Qwen3-8B-GGUF:Q6_K", true),
            ("openai/gpt-oss-20b", "gguf", "openai/gpt-oss-20b-GGUF:Q4_K_M", true),
            ("deepseek-ai/DeepSeek-R1", "nvfp4", "deepseek-ai/DeepSeek-R1-NVFP4", true),
            ("Qwen/Qwen3-8B", "q4f16_1", "Qwen/Qwen3-8B in q4f16_1", false),
            ("Qwen3-0.6B-FP8", "fp8_block", "Qwen3-0.6B-FP8", true),
        ] {
            assert_eq!(copy(id, format), Some((name.to_owned(), is_sized)));
        }
        assert_eq!(copy("Qwen/Qwen2.5-32B-Instruct-AWQ", "gptq"), None);
        let own = Model { name: "/models/llama".to_owned(), ..Model::default() };
        assert_eq!(super::copy(&own, "awq"), None);
    }
}
