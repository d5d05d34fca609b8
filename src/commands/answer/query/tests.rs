use super::*;

pub(super) fn ask(words: &[&str]) -> Result<Vec<String>, String> {
    let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
    let questions = read(RuleBase::builtin(), Words { words: &words, dtype: None })?.questions;
    let line = |one: Question| {
        format!("{} {} | {}", one.framework, one.version.unwrap_or_default(), one.config)
    };
    Ok(questions.into_iter().map(line).collect())
}

/// Expects every row that the words ask to be one of this framework, with all of these settings.
pub(super) fn expect_read(said: &str, words: &[&str], (framework, settings): (&str, &str)) {
    let lines = ask(words).unwrap_or_else(|error| panic!("{said}: {error}"));
    assert!(!lines.is_empty(), "{said}");
    for line in lines {
        let (asked, config) = line.split_once(" | ").expect("two parts");
        assert!(asked.starts_with(framework), "{said}: {line}");
        for setting in settings.split_whitespace() {
            assert!(config.split(' ').any(|one| one == setting), "{said}: {line}");
        }
    }
}

#[test]
fn words_pick_frameworks_and_rows() {
    assert!(ask(&["ktransformers"]).is_ok_and(|all| all.len() > 1));
    assert_eq!(ask(&["LMDeploy", "PyTorch"]), ask(&["lmdeploy:pytorch"]));
    assert_eq!(ask(&["vllm", "awq"]).map(|all| all.len()), Ok(1));
    assert_eq!(
        ask(&["vllm@0.8.5", "awq"]),
        Ok(vec!["vllm 0.8.5 | dtype=fp16 quantization=awq".to_owned()])
    );
    assert_eq!(ask(&["vllm@2025-04", "awq"]), ask(&["vllm@0.8.5", "awq"]));
    assert_eq!(ask(&["vllm==0.8.5", "quantization=awq"]), ask(&["vllm@0.8.5:awq"]));
    assert_eq!(ask(&["vila fa2"]), ask(&["vila", "attention=flash_attention_2"]));
}

#[test]
fn a_version_of_a_package_around_it_is_not_its_own() {
    assert!(ask(&["faster-whisper@1.1.1"]).is_ok_and(|all| all[0].starts_with("ctranslate2 4.")));
    assert_eq!(ask(&["whisperx@3.4.2"]), ask(&["ctranslate2@4.4.0"]));
    assert_eq!(ask(&["faster-whisper@1.0.3"]), ask(&["ctranslate2@4.4.0"]));
    for name in ["faster-whisper-xxl", "Faster-Whisper-XXL@r245.4"] {
        assert_eq!(ask(&[name]), ask(&["ctranslate2@4.6.0"]), "{name}");
    }
    assert!(ask(&["faster-whisper-xxl@2026-03"]).is_err());
    assert!(ask(&["whisperx@2.0"]).is_err_and(|error| error.contains("ctranslate2@VERSION")));
}

#[test]
fn short_words_for_weights_mean_what_the_framework_calls_them() {
    assert_eq!(
        ask(&["transformers", "quantization=int8"]),
        ask(&["transformers", "quantization=llm_int8"])
    );
    assert_eq!(ask(&["bitsandbytes", "int8"]), ask(&["bitsandbytes", "quantization=llm_int8"]));
    assert_eq!(ask(&["comfyui", "dtype=fp8"]), ask(&["comfyui", "quantization=fp8"]));
    assert_eq!(
        ask(&["torchao", "quantization=float8"]),
        ask(&["torchao", "quantization=float8_dynamic"])
    );
}

#[test]
fn dtypes_are_understood_in_every_spelling() {
    let want = ask(&["glm-4", "fp16"]).expect("rows");
    for word in ["float16", "half", "dtype=float16", "dtype=fp16"] {
        assert_eq!(ask(&["GLM-4", word]), Ok(want.clone()), "{word}");
    }
    assert!(want.iter().all(|line| line.contains("dtype=fp16")));
}

#[test]
fn a_number_format_is_a_compute_type_where_a_framework_has_those() {
    let want = ask(&["ctranslate2", "compute_type=int8"]);
    for word in ["int8", "dtype=int8"] {
        assert_eq!(ask(&["ctranslate2", word]), want, "{word}");
    }
    assert_eq!(want.map(|lines| lines.len()), Ok(1));
    assert_eq!(ask(&["faster-whisper", "bf16"]), ask(&["ctranslate2", "compute_type=bfloat16"]));
}

#[test]
fn the_cuda_of_a_build_names_its_wheel() {
    let lines = ask(&["torch@2.7.0+cu128"]).expect("rows");
    let is_so = |line: &String| line.starts_with("torch 2.7.0 |") && line.contains("wheel=cu128");
    assert!(lines.iter().all(is_so), "{lines:?}");
    let lines = ask(&["torch@2.7.0", "cuda=12.8"]).expect("rows");
    assert!(lines.iter().all(is_so), "{lines:?}");
    // The toolkit beside it may be another.
    let lines = ask(&["torch@2.7.0+cu128", "cuda=12.6"]).expect("rows");
    assert!(lines.iter().all(|line| line.contains("cuda=12.6") && is_so(line)), "{lines:?}");
    assert!(ask(&["torch@2.7.0+cu128", "cu126"]).is_err());
}

#[test]
fn every_framework_can_be_asked_about() {
    for framework in RuleBase::builtin().frameworks() {
        assert!(ask(&[&framework.id]).is_ok_and(|lines| !lines.is_empty()), "{}", framework.id);
    }
}

#[test]
fn presets_hide_nothing() {
    let lines = ask(&["sglang", "dtype=fp16"]).expect("rows");
    let plain = |line: &String| line.contains("dtype=fp16") && !line.contains("quantization");
    assert!(lines.iter().any(plain), "{lines:?}");
    // What a checkpoint was saved in is no format that other rows take as well.
    assert_eq!(ask(&["vllm", "auto"]).map(|rows| rows.len()), Ok(4));
}

#[test]
fn a_package_in_a_row_can_be_given_a_version() {
    let lines = ask(&["glm-4", "fp16", "vllm==0.9.0"]).expect("rows");
    assert!(lines.iter().any(|line| line.contains("vllm=0.9.0")), "{lines:?}");
    let lines = ask(&["lmdeploy", "pytorch", "triton=3.3.0"]).expect("rows");
    let given = |line: &String| line.ends_with("engine=pytorch triton=3.3.0");
    assert!(!lines.is_empty() && lines.iter().all(given), "{lines:?}");
}

#[test]
fn a_second_framework_starts_a_second_question() {
    let lines = ask(&["vllm", "awq", "ktransformers", "docker"]).expect("rows");
    assert_eq!(lines.len(), 3);
    assert!(lines[1].starts_with("ktransformers 0.1.1"), "{lines:?}");
}

#[test]
fn a_preset_is_no_older_than_what_it_is_built_with() {
    let builds = |version: &str| ask(&["llama.cpp", version, "q4_0"]).expect("rows");
    let lines = builds("2024-01");
    assert!(lines.len() == 1 && lines[0].contains("cuda=12.8"), "{lines:?}");
    assert_eq!(builds("2026-01").len(), 3);
    let named = ask(&["llama.cpp", "2024-01", "q4_0", "cuda=13.0"]).expect("rows");
    assert!(named.len() == 1 && named[0].contains("cuda=13.0"), "{named:?}");
}

#[test]
fn no_words_ask_everything_once() {
    assert_eq!(ask(&[]).map(|all| all.len()), Ok(RuleBase::builtin().configs().len()));
}

#[test]
fn a_wrong_word_is_answered_with_the_nearest() {
    let message = |words: &[&str]| ask(words).expect_err("a mistake");
    assert!(message(&["vlmm"]).contains("did you mean vllm"));
    assert!(message(&["ktransformer"]).contains("did you mean ktransformers"));
    assert!(message(&["vllm", "awqq"]).contains("did you mean awq?"));
    assert!(message(&["sglang", "vlmm"]).contains("did you mean vllm?"));
    assert!(message(&["vllm", "attention=flashinfr"]).contains("did you mean flashinfer?"));
    assert!(message(&["vllm", "quantization=awq", "quantization=gptq"]).contains("contradict"));
    assert!(message(&["vllm@new"]).contains("not a version"));
    assert!(message(&["vllm", "dtyp=fp16"]).contains("known: engine, dtype"));
    assert!(message(&["\u{1b}[31m"]).contains("\\u{1b}"));
}
