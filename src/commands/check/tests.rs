use super::*;
use crate::commands::answer::query::{Words, read};
use crate::commands::cli::CliError;
use warpscope_kernels::Sm;
use warpscope_probes::model::Model;
use warpscope_probes::rules::Settings;

/// Rules made for these tests, and nothing else.
pub(crate) fn demo() -> RuleBase {
    let text = include_str!("../../../tests/rules/demo.toml");
    RuleBase::parse(&[("demo.toml", text)]).expect("the demo rules are read")
}

/// A model saved in fp16 with this quantisation.
pub(crate) fn fp16_model(quantization: &str) -> Model {
    let pairs = [
        ("model_type", "qwen2"),
        ("checkpoint_dtype", "fp16"),
        ("head_dim", "128"),
        ("quantization", quantization),
    ];
    Model {
        name: "Qwen2.5-7B-Instruct-AWQ".to_owned(),
        settings: Settings::new(pairs).expect("settings"),
        weight_bytes: Some(5_573_191_680),
        details: vec![("architecture", "Qwen2ForCausalLM".to_owned())],
        ..Model::default()
    }
}

const GPUS: &[(&str, u8, u8)] =
    &[("GTX 1060", 6, 1), ("Tesla V100", 7, 0), ("Tesla T4", 7, 5), ("H200", 9, 0)];

fn request(gpus: &[(&str, u8, u8)], words: &[&str]) -> CheckRequest {
    let target =
        |(name, major, minor): &(&str, u8, u8)| Target::of_sm(*name, Sm::new(*major, *minor));
    let gpus = gpus.iter().map(target).collect();
    let mut asked = Request { gpus, ..Request::default() };
    ask(&mut asked, words);
    CheckRequest { asked, ..CheckRequest::default() }
}

/// Asks about the demo rules in these words.
pub(crate) fn ask(request: &mut Request, words: &[&str]) {
    request.queries = words.iter().map(|word| (*word).to_owned()).collect();
    let words = Words { words: &request.queries, dtype: request.dtype.as_deref() };
    request.said = read(&demo(), words).unwrap_or_else(|error| panic!("{error}"));
}

fn check(request: &CheckRequest) -> (u8, String, String) {
    let mut out = Vec::new();
    let (exit, err) = match answer_all(&demo(), request, &mut out) {
        Ok(exit) => (exit, String::new()),
        Err(CliError::Usage(err)) => (Exit::Usage, err),
        Err(other) => panic!("{other}"),
    };
    (exit.code(), String::from_utf8(out).expect("text"), err)
}

#[test]
fn one_configuration_in_full_is_a_block() {
    let request = CheckRequest { detail: Detail::Long, ..request(&GPUS[..1], &["demo", "awq"]) };
    let (code, out, _) = check(&request);
    assert_eq!(code, 1);
    insta::assert_snapshot!(out);
}

/// Whatever the number of GPUs: a table, then each reason once for all GPUs that have it.
#[test]
fn reasons_stand_below_the_table() {
    for gpus in [&GPUS[..1], GPUS] {
        let (_, whole, _) = check(&request(gpus, &["demo"]));
        let brief = CheckRequest { detail: Detail::Brief, ..request(gpus, &["demo"]) };
        let (_, brief, _) = check(&brief);
        assert!(whole.starts_with(&brief) && whole.len() > brief.len(), "{whole}");
    }
    let (_, out, _) = check(&request(GPUS, &["demo", "awq"]));
    insta::assert_snapshot!(out);
}

#[test]
fn everything_is_a_table_grouped_by_framework() {
    let (code, out, _) = check(&request(GPUS, &[]));
    assert_eq!(code, 1);
    insta::assert_snapshot!(out);
}

#[test]
fn words_that_change_no_verdict_are_listed() {
    let mut request = request(&GPUS[..1], &["demo", "awq"]);
    request.asked.said.unheard = vec!["--enforce-eager".to_owned(), "mtp".to_owned()];
    assert!(check(&request).1.contains("\n\nnot considered: --enforce-eager, mtp\n\n"));
    request.form = Form::Json;
    let out: serde_json::Value = serde_json::from_str(&check(&request).1).expect("JSON");
    assert_eq!(out["not_considered"], serde_json::json!(["--enforce-eager", "mtp"]));
}

/// A build of the day, or a fork, may do what the release does not.
#[test]
fn words_that_may_change_a_verdict_leave_nothing_sure() {
    let mut request = request(&GPUS[1..2], &["demo", "awq"]);
    request.asked.said.open = vec!["fork".to_owned()];
    request.form = Form::Json;
    let out: serde_json::Value = serde_json::from_str(&check(&request).1).expect("JSON");
    assert_eq!(out["verdicts"][0]["outcome"], "fails");
    let doubts = out["verdicts"][0]["doubts"].to_string();
    assert!(doubts.contains("not considered, and it may matter: fork"), "{doubts}");
}

/// 80 columns hold fourteen GPUs beside names that are cut; more GPUs go below.
#[test]
fn a_table_fits_its_terminal() {
    for (count, tables) in [(14, 1), (18, 2), (40, 3)] {
        let gpus: Vec<_> = GPUS.iter().copied().cycle().take(count).collect();
        let mut narrow = request(&gpus, &[]);
        narrow.asked.style.width = Some(80);
        // Equal GPUs would share a column.
        for (at, gpu) in narrow.asked.gpus.iter_mut().enumerate() {
            gpu.label = format!("{} no. {at}", gpu.label);
        }
        let (_, out, _) = check(&narrow);
        let body = out.split("\n\n").skip(2);
        for line in body.flat_map(str::lines).filter(|line| line.contains('r')).take(10) {
            assert!(line.chars().count() <= 80, "{count}: {line}");
        }
        assert_eq!(out.matches("Demo Server 2.0.0").count(), tables, "{count}\n{out}");
    }
}

#[test]
fn a_table_shows_only_what_was_asked_for() {
    let shown = |only| {
        let mut some = request(&GPUS[1..3], &[]);
        some.only = Some(only);
        check(&some)
            .1
            .lines()
            .filter(|line| line.starts_with("  "))
            .filter(|line| line.ends_with(['r', '?', '!']))
            .map(|line| line.trim_end().to_owned())
            .collect::<Vec<_>>()
    };
    let names = |rows: &[String]| {
        rows.iter().map(|row| row.trim_start()[..3].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&shown(Only::Fails)), ["AWQ"]);
    assert!(
        shown(Only::Unknown).iter().all(|row| row.contains("FP8")),
        "{:?}",
        shown(Only::Unknown)
    );
    assert_eq!(names(&shown(Only::Problems)), ["AWQ", "FP8"]);
}

#[test]
fn a_model_picks_the_rows_that_load_it() {
    let mut about = request(&GPUS[1..3], &[]);
    about.asked.assumptions.model = Some(fp16_model("awq"));
    let (code, out, _) = check(&about);
    assert_eq!(code, 1);
    insta::assert_snapshot!(out);
}

#[test]
fn a_model_and_a_word_that_contradicts_it() {
    let mut about = request(GPUS, &["demo", "fp8"]);
    about.asked.assumptions.model = Some(fp16_model("awq"));
    let (code, _, err) = check(&about);
    assert_eq!(code, 2);
    assert!(
        err.contains("quantization fp8 was asked for, and Qwen2.5-7B-Instruct-AWQ is awq"),
        "{err}"
    );
    ask(&mut about.asked, &["demo:awq"]);
    assert_eq!(check(&about).0, 1);
}

/// No rule loads it, so nobody may read that it runs.
#[test]
fn a_model_nothing_loads_is_unknown() {
    let mut about = request(GPUS, &[]);
    about.asked.assumptions.model = Some(fp16_model("exl3"));
    let (code, out, _) = check(&about);
    assert_eq!((code, out.as_str()), (4, ""));
    let err = nothing_asked(&about.asked);
    assert!(err.contains("exl3") && err.contains("name a framework"), "{err}");
    ask(&mut about.asked, &["demo:fp16"]);
    assert_eq!(check(&about).0, 1, "GTX 1060 is below the wheel");
    let mut typed = request(GPUS, &[]);
    typed.asked.dtype = Some("fp64".to_owned());
    ask(&mut typed.asked, &[]);
    assert_eq!(check(&typed).0, 4);
}

#[test]
fn an_installed_version_is_used_unless_another_is_asked_for() {
    use crate::engine::{AssumedVersion, Assumptions, Origin};
    let mut some = request(&GPUS[..1], &["demo", "fp16"]);
    let given = AssumedVersion { version: "0.9".to_owned(), origin: Origin::Installed };
    some.asked.assumptions.versions.insert("demo".to_owned(), given);
    some.form = Form::Json;
    let told = |some: &CheckRequest| {
        let json: serde_json::Value = serde_json::from_str(&check(some).1).expect("JSON");
        let one = &json["verdicts"][0];
        [&one["version"], &one["origin"]].map(|text| text.as_str().expect("text").to_owned())
    };
    assert_eq!(told(&some), ["0.9", "installed"]);
    ask(&mut some.asked, &["demo@1.7", "awq"]);
    assert_eq!(told(&some), ["1.7", "asked"]);
    some.asked.assumptions = Assumptions::default();
    ask(&mut some.asked, &["demo", "awq"]);
    assert_eq!(told(&some), ["2.0.0", "known"]);
}

#[test]
fn json_has_the_promised_keys() {
    let mut some = request(&GPUS[1..2], &["demo@1.0", "awq"]);
    some.form = Form::Json;
    let (code, out, _) = check(&some);
    assert_eq!(code, 1);
    let json: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&json["schema"], &json["counts"]["fails"]), (&1.into(), &1.into()));
    let verdict = &json["verdicts"][0];
    for key in [
        "gpu",
        "framework",
        "version",
        "origin",
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
fn markdown_and_csv() {
    let mut some = request(&[("Tesla|V100", 7, 0), GPUS[2]], &[]);
    some.form = Form::Markdown;
    insta::assert_snapshot!("markdown", check(&some).1);
    some.form = Form::Csv;
    insta::assert_snapshot!("csv", check(&some).1);
}

#[test]
fn every_line_of_the_csv_has_the_columns_of_its_head() {
    let mut some = request(GPUS, &[]);
    some.form = Form::Csv;
    let (_, out, _) = check(&some);
    // Commas between quotes are no separators.
    let columns = |line: &str| {
        line.split('"').step_by(2).map(|part| part.matches(',').count()).sum::<usize>()
    };
    let counts: Vec<_> = out.lines().map(columns).collect();
    assert_eq!(counts.len(), 1 + 4 * GPUS.len());
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
}

#[test]
fn unknown_is_no_success() {
    let accepted = |setting: &str| {
        let mut silent = request(&GPUS[2..3], &["demo", "awq", setting]);
        let code = check(&silent).0;
        silent.asked.accept_no_obstacle = true;
        (code, check(&silent).0)
    };
    assert_eq!(accepted("runner=cuda_v13"), (4, 0));
    assert_eq!(accepted("platform=windows"), (4, 4));
    assert_eq!(check(&request(&GPUS[2..3], &["demo", "fp8"])).0, 4);
    assert_eq!(check(&request(&GPUS[2..3], &["demo", "fp16"])).0, 4);
    assert_eq!(check(&request(&GPUS[2..3], &["demo", "awq"])).0, 0);
}

#[test]
fn a_misunderstanding_names_what_is_near() {
    let words = Words { words: &["dmeo".to_owned()], dtype: None };
    let err = read(&demo(), words).map(|_| ()).expect_err("no such framework");
    assert!(err.contains("did you mean demo?"), "{err}");
}

#[test]
fn a_hostile_name_stays_text() {
    for form in [Form::Text, Form::Markdown, Form::Csv] {
        let mut some = request(&[("T4\u{1b}]0;owned\u{7}", 7, 5)], &["demo", "awq"]);
        some.form = form;
        let out = check(&some).1;
        assert!(!out.contains('\u{1b}') && out.contains("owned"), "{out}");
    }
}
