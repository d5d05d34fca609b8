use super::*;
use warpscope_kernels::Sm;
use warpscope_probes::rules::Settings;

const RULES: &str = r#"
framework = "demo"
name = "Demo"
version = "1.0"

[[rule]]
id = "demo.works"
versions = "all"
for = { dtype = "fp16" }
on = { sm = ">=7.0" }
stage = "kernels"
outcome = "works"
reason = "it has code for {sm}"
source = "a page"
retrieved = "2026-11"
confidence = "high"

[[rule]]
id = "demo.refused"
versions = ">=2.0"
for = { dtype = "fp16" }
on = { sm = ">=8.0" }
stage = "gate"
outside = "fails"
reason = "refused below sm_80"
needs = "sm_80"
symptom = "no {cc} here"
fix = "buy for {gpu}"
source = "a page"
retrieved = "2026-11"
confidence = "high"

[[rule]]
id = "demo.port"
versions = ">=2.0"
for = { dtype = "fp16", kernel = "ported" }
on = { sm = "7.5" }
stage = "gate"
outcome = "works"
overrides = ["demo.refused"]
reason = "the port has code for it"
source = "a page"
retrieved = "2026-11"
confidence = "high"

[[rule]]
id = "demo.auto"
versions = "all"
for = { dtype = "auto" }
stage = "dtype"
outcome = "fallback"
fallback = "float16"
route = { dtype = "fp16" }
reason = "takes float16"
source = "a page"
retrieved = "2026-11"
confidence = "high"

[[rule]]
id = "demo.driver"
versions = "all"
for = { dtype = "fp16" }
on = { driver = "<500" }
stage = "device"
outcome = "fails"
reason = "the driver is too old"
needs = "driver 500"
source = "a page"
retrieved = "2026-11"
confidence = "high"
"#;

fn base() -> RuleBase {
    RuleBase::parse(&[("demo.toml", RULES)]).expect("reads")
}

fn ask(version: Option<&str>, pairs: &[(&str, &str)]) -> Question {
    Question {
        framework: "demo".to_owned(),
        version: version.map(str::to_owned),
        config: Settings::new(pairs.iter().copied()).expect("good settings"),
        ..Question::default()
    }
}

fn gpu(major: u8, minor: u8) -> Target {
    Target::of_sm("card", Sm::new(major, minor))
}

fn fp16(version: &str, target: &Target) -> Verdict {
    evaluate(&base(), target, &ask(Some(version), &[("dtype", "fp16")]), &[])
}

fn found(level: Level, outcome: Outcome) -> Finding {
    let evidence = Evidence {
        level,
        outcome,
        id: "probe.demo".to_owned(),
        detail: "tried here".to_owned(),
        source: "this machine".to_owned(),
        retrieved: "2026-11-21".to_owned(),
    };
    Finding { framework: "demo".to_owned(), sm: None, settles: Settles::Whole, evidence }
}

#[test]
fn the_worst_rule_decides_and_its_texts_are_filled_in() {
    let verdict = fp16("2.0", &gpu(7, 5));
    assert_eq!((verdict.outcome, verdict.level), (Outcome::Fails, Some(Level::Rule)));
    assert_eq!(verdict.symptom.as_deref(), Some("no 7.5 here"));
    assert_eq!(verdict.fix.as_deref(), Some("buy for card"));
    assert_eq!(verdict.evidence[0].id, "demo.refused");
    assert_eq!(fp16("1.0", &gpu(7, 5)).outcome, Outcome::Works);
}

#[test]
fn a_rule_counts_again_where_nothing_overrides_it() {
    let question = ask(Some("2.0"), &[("dtype", "fp16"), ("kernel", "ported")]);
    assert_eq!(evaluate(&base(), &gpu(7, 5), &question, &[]).outcome, Outcome::Works);
    assert_eq!(evaluate(&base(), &gpu(7, 0), &question, &[]).outcome, Outcome::Fails);
}

#[test]
fn a_detour_is_followed_to_its_end() {
    let auto = |sm| evaluate(&base(), &sm, &ask(Some("2.0"), &[("dtype", "auto")]), &[]);
    let verdict = auto(gpu(8, 0));
    assert_eq!(verdict.outcome, Outcome::Fallback);
    assert!(verdict.reason.contains("float16"), "{}", verdict.reason);
    assert_eq!(verdict.steps[0].kind, StepKind::Rerouted);
    assert_eq!(auto(gpu(7, 5)).outcome, Outcome::Fails);
}

#[test]
fn nothing_known_is_unknown_and_says_what_would_decide() {
    let verdict = fp16("1.0", &gpu(6, 1));
    assert_eq!((verdict.outcome, verdict.level), (Outcome::Unknown, None));
    assert!(verdict.evidence.is_empty() && verdict.reason.contains("driver"), "{}", verdict.reason);
    let nameless =
        evaluate(&base(), &Target::default(), &ask(Some("1.0"), &[("dtype", "fp16")]), &[]);
    assert_eq!(nameless.outcome, Outcome::Unknown);
    assert!(nameless.reason.contains("compute capability"), "{}", nameless.reason);
}

#[test]
fn a_claim_about_less_than_was_asked_is_no_works() {
    let question = ask(Some("1.0"), &[("dtype", "fp16"), ("quantization", "awq")]);
    assert_eq!(evaluate(&base(), &gpu(8, 0), &question, &[]).outcome, Outcome::Unknown);
}

#[test]
fn a_missing_fact_that_could_stop_it_is_said() {
    let verdict = fp16("1.0", &gpu(8, 0));
    assert_eq!(verdict.outcome, Outcome::Works);
    assert!(
        verdict.reason.contains("Not settled without the driver version"),
        "{}",
        verdict.reason
    );
    let new = Target { driver: Some("580.82.07".into()), ..gpu(8, 0) };
    assert!(!fp16("1.0", &new).reason.contains("Not settled"));
    let old = Target { driver: Some("470.57".into()), ..gpu(8, 0) };
    assert_eq!(fp16("1.0", &old).outcome, Outcome::Fails);
}

#[test]
fn the_strongest_evidence_decides_and_disagreement_is_kept() {
    let asked = ask(Some("2.0"), &[("dtype", "fp16")]);
    let live = [found(Level::Live, Outcome::Works)];
    let verdict = evaluate(&base(), &gpu(7, 5), &asked, &live);
    assert_eq!(
        (verdict.outcome, verdict.level, verdict.disputed),
        (Outcome::Works, Some(Level::Live), true)
    );
    assert!(verdict.fix.is_none() && verdict.evidence.len() == 3, "{:?}", verdict.evidence);
    let both = [found(Level::Inspected, Outcome::Works), found(Level::Live, Outcome::Fails)];
    let verdict = evaluate(&base(), &gpu(8, 0), &asked, &both);
    assert_eq!(
        (verdict.outcome, verdict.level, verdict.disputed),
        (Outcome::Fails, Some(Level::Live), true)
    );
    let silent = [found(Level::Live, Outcome::Unknown)];
    let verdict = evaluate(&base(), &gpu(8, 0), &asked, &silent);
    assert_eq!((verdict.outcome, verdict.level), (Outcome::Works, Some(Level::Rule)));
}

#[test]
fn rules_that_send_each_other_in_circles_end_in_unknown() {
    let circle = RULES.replace("route = { dtype = \"fp16\" }", "route = { dtype = \"bf16\" }")
        + r#"
[[rule]]
id = "demo.back"
versions = "all"
for = { dtype = "bf16" }
stage = "dtype"
outcome = "fallback"
fallback = "auto"
route = { dtype = "auto" }
reason = "goes back"
source = "a page"
retrieved = "2026-11"
confidence = "high"
"#;
    let base = RuleBase::parse(&[("demo.toml", &circle)]).expect("reads");
    let verdict = evaluate(&base, &gpu(8, 0), &ask(Some("1.0"), &[("dtype", "auto")]), &[]);
    assert_eq!(verdict.outcome, Outcome::Unknown);
}
