use super::*;
use crate::commands::answer::query::{Words, read};
use crate::commands::answer::text::Style;
use crate::commands::check::tests::{ask, demo, fp16_model};
use crate::engine::{Level, Outcome, Target};
use warpscope_kernels::Sm;
use warpscope_probes::rules::Cost;

fn request(gpu: (&str, u8, u8), words: &[&str]) -> WhyRequest {
    let mut asked = Request {
        gpus: vec![Target::of_sm(gpu.0, Sm::new(gpu.1, gpu.2))],
        style: Style { width: Some(80), ..Style::default() },
        ..Request::default()
    };
    ask(&mut asked, words);
    WhyRequest { asked, everything: true, ..WhyRequest::default() }
}

fn why(request: &WhyRequest) -> Result<(u8, String), String> {
    let mut out = Vec::new();
    let exit = answer_all(&demo(), request, &mut out).map_err(|error| error.to_string())?;
    Ok((exit.code(), String::from_utf8(out).expect("text")))
}

fn told(gpu: (&str, u8, u8), words: &[&str], want: u8) -> String {
    let (code, text) = why(&request(gpu, words)).expect("is understood");
    assert_eq!(code, want, "{text}");
    text
}

#[test]
fn a_refusal_is_told_from_its_beginning() {
    insta::assert_snapshot!(told(("Tesla V100", 7, 0), &["demo:awq"], 1));
}

#[test]
fn without_all_three_lines_say_it() {
    let mut short = request(("Tesla V100", 7, 0), &["demo:awq"]);
    short.everything = false;
    insta::assert_snapshot!(why(&short).expect("is understood").1);
}

#[test]
fn gpus_of_one_name_are_counted() {
    let mut short = request(("Tesla V100", 7, 0), &["demo:awq"]);
    short.everything = false;
    let one = why(&short).expect("is understood").1;
    short.asked.gpus = vec![short.asked.gpus[0].clone(); 8];
    let eight = why(&short).expect("is understood").1;
    assert_eq!(eight, one.replace("Tesla V100", "8x Tesla V100"));
}

#[test]
fn the_chain_shows_the_detour_and_where_it_ends() {
    insta::assert_snapshot!(told(("Tesla T4", 7, 5), &["demo", "auto"], 0));
}

#[test]
fn what_nobody_knows_is_said_so() {
    insta::assert_snapshot!(told(("RTX 4090", 8, 9), &["demo@1.5", "fp8"], 4));
}

#[test]
fn a_model_stands_above_the_answer() {
    let mut about = request(("Tesla T4", 7, 5), &["demo:auto"]);
    about.asked.assumptions.model = Some(fp16_model("awq"));
    insta::assert_snapshot!(why(&about).expect("is understood").1);
}

#[test]
fn a_dtype_may_be_given_as_an_option() {
    let mut typed = request(("Tesla T4", 7, 5), &["demo"]);
    typed.asked.dtype = Some("float16".to_owned());
    ask(&mut typed.asked, &["demo"]);
    let (_, text) = why(&typed).expect("is understood");
    assert!(text.contains("dtype=fp16") && !text.contains("dtype=auto"), "{text}");
    let words = Words { words: &["demo".to_owned()], dtype: Some("fp17") };
    let err = read(&demo(), words).map(|_| ()).expect_err("no format");
    assert!(err.contains("warpscope dtypes"), "{err}");
}

#[test]
fn one_fix_is_printed_as_it_is() {
    let mut fix = request(("Tesla V100", 7, 0), &["demo", "awq"]);
    fix.fix = Some(1);
    let text = "demo serve model-gptq\n";
    assert_eq!(why(&fix), Ok((1, text.to_owned())));
    fix.fix = Some(0);
    assert!(why(&fix).expect_err("none").contains("from 1"));
    fix.fix = Some(99);
    assert!(why(&fix).expect_err("none").contains("no fix 99"));
    let mut fine = request(("Tesla T4", 7, 5), &["demo", "awq"]);
    fine.fix = Some(1);
    assert_eq!(why(&fine), Ok((0, String::new())));
}

#[test]
fn a_file_that_is_there_is_not_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("fix.sh");
    let mut write = request(("Tesla V100", 7, 0), &["demo", "awq"]);
    write.write = Some(file.clone());
    assert_eq!(why(&write).map(|told| told.0), Ok(1));
    let text = "demo serve model-gptq\n";
    assert_eq!(std::fs::read_to_string(&file).expect("is there"), text);
    std::fs::write(&file, "mine").expect("writes");
    let error = why(&write).expect_err("is there");
    assert!(error.contains("fix.sh exists") && error.contains("another file"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).expect("is there"), "mine");
    write.write = Some(folder.path().join("nowhere/fix.sh"));
    assert!(why(&write).expect_err("no folder").contains("cannot write"));
    ask(&mut write.asked, &["demo:auto"]);
    assert!(why(&write).expect_err("nothing to fix").contains("nothing was written"));
}

#[test]
fn fixes_are_numbered_with_their_cost_and_what_follows() {
    let fix = |cost, title: &str, then| Fix {
        cost,
        title: title.to_owned(),
        text: format!("run {title}\n"),
        then,
    };
    let question = Question { framework: "demo".to_owned(), ..Question::default() };
    let verdict = Verdict {
        gpu: "T4".to_owned(),
        framework: "Demo".to_owned(),
        version: "2".to_owned(),
        origin: crate::engine::Origin::Known,
        config: "awq".to_owned(),
        outcome: Outcome::Fails,
        level: Some(Level::Rule),
        disputed: false,
        confidence: None,
        doubts: Vec::new(),
        reason: "it does".to_owned(),
        needs: String::new(),
        has: String::new(),
        symptom: None,
        fix: Some("run a\n".to_owned()),
        fixes: vec![fix(Cost::Flag, "a", Some(Outcome::Works)), fix(Cost::Hardware, "b", None)],
        as_of: Some("the rule is older than version 2".to_owned()),
        evidence: Vec::new(),
        steps: Vec::new(),
        stages: Vec::new(),
    };
    let text = explained(&question, &verdict, Style::default());
    insta::assert_snapshot!(text);
    let answers = [(&question, verdict)];
    assert_eq!(fixes(&answers, 2).expect("is there"), ["run b"]);
}

#[test]
fn why_without_words_asks_for_them() {
    assert!(why(&request(("V100", 7, 0), &[])).expect_err("no words").contains("name a framework"));
}

#[test]
fn json_names_what_was_set_aside() {
    let mut request = request(("Tesla V100", 7, 0), &["demo:awq"]);
    request.json = true;
    let said = |request: &WhyRequest| -> serde_json::Value {
        let (_, text) = why(request).expect("is understood");
        serde_json::from_str(text.lines().next().expect("a line")).expect("JSON")
    };
    assert_eq!(said(&request).get("not_considered"), None);
    request.asked.said.unheard = vec!["fork".to_owned()];
    assert_eq!(said(&request)["not_considered"], serde_json::json!(["fork"]));
    assert_eq!(said(&request)["outcome"], "fails");
}
