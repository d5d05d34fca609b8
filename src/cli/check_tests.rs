use super::*;
use warpscope_kernels::Sm;

fn check(gpus: &[(&str, u8, u8)], words: &[&str], json: bool) -> (u8, String, String) {
    let request = CheckRequest {
        gpus: gpus
            .iter()
            .map(|(name, major, minor)| Target::of_sm(*name, Sm::new(*major, *minor)))
            .collect(),
        queries: words.iter().map(|word| (*word).to_owned()).collect(),
        json,
        ..CheckRequest::default()
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = run(RuleBase::builtin(), &request, &mut out, &mut err).expect("writes to memory");
    (code, String::from_utf8(out).expect("text"), String::from_utf8(err).expect("text"))
}

fn text(gpu: (&str, u8, u8), words: &[&str], code: u8) -> String {
    let (got, out, err) = check(&[gpu], words, false);
    assert_eq!((got, err.as_str()), (code, ""), "{out}");
    out
}

#[test]
fn case_1_lmdeploy_on_pascal() {
    insta::assert_snapshot!(text(
        ("GTX 1060", 6, 1),
        &["lmdeploy@0.10.2", "fp16", "quantization=awq"],
        1
    ));
    insta::assert_snapshot!(text(("GTX 1060", 6, 1), &["lmdeploy", "pytorch", "triton=any"], 1));
}

#[test]
fn case_2_latte_in_4_bit_on_turing() {
    insta::assert_snapshot!(text(("RTX 2080 Ti", 7, 5), &["latte"], 4));
}

#[test]
fn case_3_glm_4_in_fp16_on_volta() {
    insta::assert_snapshot!(text(("V100", 7, 0), &["glm-4", "fp16", "vllm=0.8.5"], 1));
}

#[test]
fn case_4_ktransformers_image_on_turing_and_hopper() {
    insta::assert_snapshot!(text(("Tesla T4", 7, 5), &["ktransformers@0.1.1", "docker"], 1));
    insta::assert_snapshot!(text(("H100", 9, 0), &["ktransformers@0.1.1", "docker"], 1));
}

#[test]
fn case_5_vila_on_pascal() {
    insta::assert_snapshot!(text(("GTX 1060", 6, 1), &["vila"], 1));
}

#[test]
fn everything_for_some_gpus_is_a_table() {
    let gpus = [
        ("GTX 1060", 6, 1),
        ("V100", 7, 0),
        ("T4", 7, 5),
        ("A10", 8, 6),
        ("H200", 9, 0),
        ("RTX 5090", 12, 0),
    ];
    let (code, out, _) = check(&gpus, &[], false);
    assert_eq!(code, 1);
    insta::assert_snapshot!(out);
}

#[test]
fn json_has_the_promised_keys() {
    let (code, out, _) = check(&[("T4", 7, 5)], &["ktransformers@0.1.1", "docker"], true);
    assert_eq!(code, 1);
    let json: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(json["schema"], 1);
    let verdict = &json["verdicts"][0];
    for key in [
        "gpu",
        "framework",
        "version",
        "config",
        "outcome",
        "level",
        "disputed",
        "reason",
        "symptom",
        "fix",
    ] {
        assert!(!verdict[key].is_null(), "{key} in {verdict}");
    }
    for key in ["level", "outcome", "id", "detail", "source", "retrieved"] {
        assert!(verdict["evidence"][0][key].is_string(), "{key} in {verdict}");
    }
    assert_eq!((&verdict["outcome"], &verdict["level"]), (&"fails".into(), &"rule".into()));
}

#[test]
fn unknown_is_no_success() {
    assert_eq!(check(&[("RTX 2080 Ti", 7, 5)], &["latte", "4-bit"], false).0, 4);
    assert_eq!(check(&[("RTX 2080 Ti", 7, 5)], &["latte", "fp16", "not"], false).0, 0);
    assert_eq!(check(&[("RTX 2080 Ti", 7, 5)], &["vllm", "awq"], false).0, 0);
}

#[test]
fn misunderstandings_go_to_stderr_with_code_2() {
    let (code, out, err) = check(&[("T4", 7, 5)], &["ktransfomers"], false);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("did you mean ktransformers?"), "{err}");
    assert_eq!(check(&[], &["vllm"], false).0, 2);
}

#[test]
fn only_problems_leaves_the_rest_out() {
    let request = CheckRequest {
        gpus: vec![Target::of_sm("V100", Sm::new(7, 0))],
        queries: vec!["vllm".to_owned()],
        only_bad: true,
        ..CheckRequest::default()
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    run(RuleBase::builtin(), &request, &mut out, &mut err).expect("writes to memory");
    let out = String::from_utf8(out).expect("text");
    assert!(out.contains("AWQ · fp16: fails") && !out.contains(": works ("), "{out}");
}

#[test]
fn a_hostile_name_stays_text() {
    let (_, out, _) = check(&[("T4\u{1b}]0;owned\u{7}", 7, 5)], &["vllm", "awq"], false);
    assert!(!out.contains('\u{1b}') && out.contains("T4]0;owned"), "{out}");
}
