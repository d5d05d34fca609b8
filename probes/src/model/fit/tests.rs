use super::*;

const RULES: &str = r#"
framework = "server"
version = "1.0"

[[config]]
id = "fp16"
label = "fp16"
set = { dtype = "fp16" }

[[config]]
id = "awq"
label = "AWQ"
set = { dtype = "fp16", quantization = "awq_marlin" }

[[config]]
id = "fp8"
label = "FP8"
set = { dtype = "bf16", quantization = "fp8" }

[[config]]
id = "nf4"
label = "4-bit"
set = { dtype = "fp16", quantization = "nf4" }

[[config]]
id = "glm"
label = "GLM"
set = { dtype = "fp16", model_type = "glm4" }
"#;

const KERNELS: &str = r#"
framework = "kernels"

[[config]]
id = "fp16"
label = "fp16"
set = { dtype = "fp16" }
"#;

fn base() -> RuleBase {
    RuleBase::parse(&[("server.toml", RULES), ("kernels.toml", KERNELS)]).expect("reads")
}

fn model(pairs: &[(&str, &str)]) -> Model {
    let settings = Settings::new(pairs.iter().copied()).expect("settings");
    Model { name: "m".to_owned(), settings, ..Model::default() }
}

/// Rows of the server that can load the model, with what is then asked.
fn rows(model: &Model) -> Vec<String> {
    let base = base();
    let row = |row: &crate::rules::ConfigRow| {
        let settings = model.in_row(&base, &row.framework, &row.settings)?;
        Some(format!("{}.{}: {settings}", row.framework, row.id))
    };
    base.configs().iter().filter_map(row).collect()
}

#[test]
fn a_quantised_model_is_asked_about_rows_that_load_it() {
    let awq = model(&[("model_type", "qwen2"), ("quantization", "awq")]);
    let want = [
        "server.fp16: dtype=fp16 model_type=qwen2 quantization=awq_marlin",
        "server.awq: dtype=fp16 model_type=qwen2 quantization=awq_marlin",
    ];
    assert_eq!(rows(&awq), want);
}

#[test]
fn the_word_is_one_the_framework_knows() {
    let block = model(&[("quantization", "fp8_block")]);
    let want =
        ["server.fp16: dtype=fp16 quantization=fp8", "server.fp8: dtype=bf16 quantization=fp8"];
    assert_eq!(rows(&block)[..2], want);
}

/// A framework that tells block scales from one scale for all is not asked about the latter.
#[test]
fn a_coarse_word_counts_only_where_there_is_no_better_one() {
    let finer = format!(
        "{RULES}\n[[config]]\nid = \"block\"\nlabel = \"block\"\nset = {{ quantization = \"fp8_block\" }}\n"
    );
    let base = RuleBase::parse(&[("server.toml", &finer)]).expect("reads");
    let block = model(&[("quantization", "fp8_block")]);
    let row = |word: &str| {
        let row = Settings::new([("quantization", word)]).expect("settings");
        block.in_row(&base, "server", &row).map(|settings| settings.to_string())
    };
    assert_eq!(row("fp8"), None);
    assert_eq!(row("fp8_block").as_deref(), Some("quantization=fp8_block"));
}

#[test]
fn a_model_that_is_not_quantised_can_be_quantised_while_it_is_loaded() {
    let plain = model(&[("model_type", "llama"), ("checkpoint_dtype", "bf16")]);
    let ids: Vec<_> =
        rows(&plain).iter().filter_map(|row| Some(row.split_once(':')?.0.to_owned())).collect();
    assert_eq!(ids, ["server.fp16", "server.fp8", "server.nf4", "kernels.fp16"]);
}

#[test]
fn what_was_asked_for_by_name_is_kept_or_contradicted() {
    let base = base();
    let ask = |model: &Model, framework: &str, pairs: &[(&str, &str)]| {
        let asked = Settings::new(pairs.iter().copied()).expect("settings");
        model.asked(&base, framework, &asked).map(|settings| settings.to_string())
    };
    let awq = model(&[("quantization", "awq")]);
    let none = ask(&awq, "kernels", &[("dtype", "fp16")]);
    assert_eq!(none.as_deref(), Ok("dtype=fp16 quantization=awq"));
    for (model, pairs, words) in [
        (&awq, [("quantization", "nf4")], "quantization nf4 was asked for, and m is awq"),
        (&model(&[]), [("quantization", "awq")], "m is not quantised"),
        (
            &model(&[("model_type", "llama")]),
            [("model_type", "glm4")],
            "model_type glm4 was asked for",
        ),
    ] {
        let error = ask(model, "server", &pairs).expect_err(words);
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_framework_of_gguf_files_says_so() {
    let rules = "framework = \"llama\"\nname = \"llama.cpp\"\n[[config]]\nid = \"gguf\"\nlabel = \"GGUF\"\nset = { quantization = \"gguf\" }\n";
    let base = RuleBase::parse(&[("llama.toml", rules), ("server.toml", RULES)]).expect("reads");
    let gguf = Settings::new([("quantization", "gguf")]).expect("settings");
    let refused = model(&[]).asked(&base, "llama", &gguf).expect_err("no GGUF");
    assert!(
        refused.starts_with("llama.cpp runs GGUF files; m is saved as safetensors"),
        "{refused}"
    );
    let refused = model(&[]).asked(&base, "server", &gguf).expect_err("no GGUF");
    assert_eq!(refused, "quantization gguf was asked for, and m is not quantised");
}

/// People say FP8 of weights with a scale per block, which SGLang tells apart.
#[test]
fn a_coarser_name_of_its_own_format_contradicts_no_model() {
    let own = model(&[("quantization", "fp8_block")]);
    let asked = Settings::new([("quantization", "fp8"), ("tp", "4")]).expect("settings");
    let settings = own.asked(RuleBase::builtin(), "sglang", &asked).expect("is the same");
    assert_eq!(settings.to_string(), "quantization=fp8_block tp=4");
    let other = model(&[("quantization", "awq")]);
    assert!(other.asked(RuleBase::builtin(), "sglang", &asked).is_err());
}
