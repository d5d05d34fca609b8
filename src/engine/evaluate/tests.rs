use super::*;
use crate::engine::{Evidence, Level, Origin, Outcome, Scope, StepKind};
use warpscope_kernels::Sm;
use warpscope_probes::rules::{Settings, Stage};

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
    Finding {
        framework: "demo".to_owned(),
        sm: None,
        uuid: None,
        settles: Scope::Whole,
        only: Settings::default(),
        repair: None,
        evidence,
    }
}

#[test]
fn the_worst_rule_decides_and_its_texts_are_filled_in() {
    let verdict = fp16("2.0", &gpu(7, 5));
    assert_eq!((verdict.outcome, verdict.level), (Outcome::Fails, Some(Level::Rule)));
    assert_eq!(verdict.symptom.as_deref(), Some("no 7.5 here"));
    assert!(verdict.fixes.iter().any(|fix| fix.text == "buy for card"), "{:?}", verdict.fixes);
    assert_eq!(verdict.evidence[0].id, "demo.refused");
    assert_eq!(fp16("1.0", &gpu(7, 5)).outcome, Outcome::Works);
}

#[test]
fn an_answer_is_sure_where_read_facts_name_everything_that_was_asked() {
    let with = |extra: &[(&str, &str)], confidence: &str| {
        let rules = RULES.replacen("confidence = \"high\"", confidence, 1);
        let base = RuleBase::parse(&[("demo.toml", &rules)]).expect("reads");
        let asked = [&[("dtype", "fp16")], extra].concat();
        let target = Target { driver: Some("580.65".to_owned()), ..gpu(8, 0) };
        let verdict = evaluate(&base, &target, &ask(Some("1.0"), &asked), &[]);
        assert_eq!(verdict.outcome, Outcome::Works);
        (verdict.confidence, verdict.doubts)
    };
    let read = "confidence = \"high\"";
    assert_eq!(with(&[], read), (Some(Confidence::High), vec![]));
    let inferred = vec!["demo.works is inferred from its source".to_owned()];
    assert_eq!(with(&[], "confidence = \"med\""), (Some(Confidence::Medium), inferred));
    let open = ["Demo is one part of what runs llama", "no rule of Demo names tp 4"];
    let open = open.map(str::to_owned).to_vec();
    let asked = [("head_dim", "128"), ("model_type", "llama"), ("tp", "4")];
    assert_eq!(with(&asked, read), (Some(Confidence::Medium), open));
    let doubts = fp16("3.0", &gpu(8, 0)).doubts;
    assert_eq!(
        doubts,
        ["a rule that might stop it is undecided", "newer than what the rules cover"]
    );
}

#[test]
fn what_is_unknown_is_neither_sure_nor_doubtful() {
    let verdict = evaluate(&base(), &gpu(8, 0), &ask(Some("1.0"), &[("dtype", "bf16")]), &[]);
    assert_eq!((verdict.outcome, verdict.confidence), (Outcome::Unknown, None));
    assert!(verdict.doubts.is_empty());
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
    let outcome = |more| {
        let question = ask(Some("1.0"), &[("dtype", "fp16"), more]);
        evaluate(&base(), &gpu(8, 0), &question, &[]).outcome
    };
    assert_eq!(outcome(("quantization", "awq")), Outcome::Unknown);
    assert_eq!(outcome(("platform", "windows")), Outcome::Unknown);
    assert_eq!(outcome(("platform", "wsl2")), Outcome::Works);
    assert_eq!(outcome(("runner", "cuda_v13")), Outcome::NoObstacle);
}

#[test]
fn running_it_and_an_official_build_say_nothing_where_no_rule_speaks_of_them() {
    let on = |rules: &str, more| {
        let base = RuleBase::parse(&[("demo.toml", rules)]).expect("reads");
        evaluate(&base, &gpu(8, 0), &ask(Some("1.0"), &[("dtype", "fp16"), more]), &[]).outcome
    };
    let (run, build) = (("operation", "inference"), ("wheel", "pypi"));
    for plain in [run, build] {
        assert_eq!(on(RULES, plain), Outcome::Works, "{plain:?}");
    }
    for other in [("operation", "training"), ("wheel", "cu118")] {
        assert_eq!(on(RULES, other), Outcome::Unknown, "{other:?}");
    }
    let port = |key: &str| RULES.replace("kernel = \"ported\"", key);
    assert_eq!(on(&port("operation = \"inference\""), run), Outcome::Unknown);
    assert_eq!(on(&port("operation = [\"inference\", \"unset\"]"), run), Outcome::Works);
    assert_eq!(on(&port("wheel = \"source\""), build), Outcome::NoObstacle);
}

#[test]
fn a_build_for_this_very_device_takes_nothing_away() {
    let outcome = |list| {
        let question = ask(Some("1.0"), &[("dtype", "fp16"), ("arch_list", list)]);
        evaluate(&base(), &gpu(8, 0), &question, &[]).outcome
    };
    for own in ["native", "8.0", "8.0a", "7.5+8.0", "8.0+ptx"] {
        assert_eq!(outcome(own), Outcome::Works, "{own}");
    }
    for other in ["7.5", "9.0", "8.0.1"] {
        assert_eq!(outcome(other), Outcome::NoObstacle, "{other}");
    }
}

/// Rules for parts make a whole unless two of their keys meet in one kernel and no rule names both.
#[test]
fn parts_make_a_whole_where_they_do_not_meet() {
    let part = |id: &str, key: &str| {
        format!(
            "[[rule]]\nid = \"demo.{id}\"\nversions = \"all\"\nfor = {{ {key} }}\non = {{ sm = \">=8.0\" }}\nstage = \"kernels\"\n\
             outcome = \"works\"\nreason = \"{id} does\"\nsource = \"a page\"\nretrieved = \"2026-11\"\nconfidence = \"high\"\n"
        )
    };
    let text = RULES.to_owned()
        + &part("attention", "attention = \"sdpa\", dtype = \"fp16\"")
        + &part("awq", "quantization = \"awq\", dtype = \"fp16\"")
        + &part("cache", "kv_cache = \"fp8\"");
    let base = RuleBase::parse(&[("demo.toml", &text)]).expect("reads");
    let answer = |sm, pairs: &[(&str, &str)]| evaluate(&base, &sm, &ask(Some("1.0"), pairs), &[]);
    let (sdpa, awq) = (("attention", "sdpa"), ("quantization", "awq"));
    let apart = answer(gpu(8, 0), &[("dtype", "fp16"), sdpa, awq]);
    assert_eq!(apart.outcome, Outcome::Works);
    assert!(apart.reason.contains("attention does") && apart.reason.contains("awq does"));
    let cached = answer(gpu(8, 0), &[("dtype", "fp16"), sdpa, ("kv_cache", "fp8")]);
    assert_eq!(cached.outcome, Outcome::Unknown);
    let open = "no rule covers attention sdpa together with kv_cache fp8";
    assert!(cached.reason.starts_with(open), "{}", cached.reason);
    let chosen = answer(gpu(8, 0), &[("dtype", "fp16"), ("runner", "cuda_v13")]);
    assert_eq!(chosen.outcome, Outcome::NoObstacle);
    let silent = chosen.stages.iter().find(|one| !one.silent.is_empty()).expect("one is silent");
    assert_eq!(silent.silent, ["runner cuda_v13"]);
    assert_eq!(answer(gpu(7, 5), &[("dtype", "fp16"), sdpa, awq]).outcome, Outcome::Unknown);
    // Seen on the device whose code this one loads; nothing is said of the number format.
    assert_eq!(answer(gpu(7, 5), &[awq]).outcome, Outcome::Unknown);
    assert_eq!(answer(gpu(8, 6), &[awq]).outcome, Outcome::NoObstacle);
}

#[test]
fn a_model_with_kernels_of_its_own_works_where_a_rule_names_it() {
    let named = |rules: &str, model| {
        let listed = "version = \"1.0\"\ncommon_models = [\"llama\"]";
        let rules = rules.replace("version = \"1.0\"", listed);
        let base = RuleBase::parse(&[("demo.toml", &rules)]).expect("reads");
        let question = ask(Some("1.0"), &[("dtype", "fp16"), ("model_type", model)]);
        evaluate(&base, &gpu(8, 0), &question, &[])
    };
    assert_eq!(named(RULES, "llama").outcome, Outcome::Works);
    let other = named(RULES, "deepseek_v3");
    assert_eq!(other.outcome, Outcome::Unknown);
    let open = "no rule covers the kernels of deepseek_v3 models";
    assert!(other.reason.starts_with(open), "{}", other.reason);
    let seen = "for = { dtype = \"fp16\", model_type = [\"deepseek_v3\", \"unset\"] }";
    let seen = RULES.replacen("for = { dtype = \"fp16\" }", seen, 1);
    assert_eq!(named(&seen, "deepseek_v3").outcome, Outcome::Works);
    assert_eq!(named(&seen, "gemma4").outcome, Outcome::Unknown);
    // A framework that lists no models makes no difference between them.
    let pairs = [("dtype", "fp16"), ("model_type", "deepseek_v3")];
    let unlisted = evaluate(&base(), &gpu(8, 0), &ask(Some("1.0"), &pairs), &[]);
    assert_eq!(unlisted.outcome, Outcome::Works);
}

#[test]
fn a_missing_fact_that_could_stop_it_is_said() {
    let verdict = fp16("1.0", &gpu(8, 0));
    assert_eq!(verdict.outcome, Outcome::Works);
    assert!(verdict.reason.contains("Still open without the driver version"), "{}", verdict.reason);
    let new = Target { driver: Some("580.82.07".into()), ..gpu(8, 0) };
    assert!(!fp16("1.0", &new).reason.contains("Still open"));
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

fn part(settles: Scope, level: Level, outcome: Outcome) -> Finding {
    Finding { settles, ..found(level, outcome) }
}

fn asked(version: &str, target: &Target, extra: &[Finding]) -> Verdict {
    evaluate(&base(), target, &ask(Some(version), &[("dtype", "fp16")]), extra)
}

#[test]
fn good_kernels_bear_a_works_out_and_do_not_lift_a_gate() {
    let kernels = [part(Scope::Stage(Stage::Kernels), Level::Inspected, Outcome::Works)];
    let verdict = asked("1.0", &gpu(8, 0), &kernels);
    assert_eq!((verdict.outcome, verdict.level), (Outcome::Works, Some(Level::Inspected)));
    assert_eq!(verdict.evidence[0].id, "probe.demo");
    assert!(
        !verdict.disputed && verdict.reason.contains("confirmed on this machine"),
        "{}",
        verdict.reason
    );
    let refused = asked("2.0", &gpu(7, 5), &kernels);
    assert_eq!((refused.outcome, refused.level), (Outcome::Fails, Some(Level::Rule)));
    assert!(!refused.disputed && refused.evidence[0].id == "demo.refused");
}

#[test]
fn good_kernels_alone_do_not_make_it_run() {
    let kernels = [part(Scope::Stage(Stage::Kernels), Level::Inspected, Outcome::Works)];
    let verdict = asked("1.0", &gpu(6, 1), &kernels);
    assert_eq!((verdict.outcome, verdict.level), (Outcome::Unknown, None));
    assert!(
        verdict.reason.starts_with("the binaries contain code for this GPU"),
        "{}",
        verdict.reason
    );
    assert_eq!(verdict.evidence.len(), 1);
}

#[test]
fn bad_kernels_decide_unless_an_earlier_stage_stops_it() {
    let kernels = [part(Scope::Stage(Stage::Kernels), Level::Inspected, Outcome::Fails)];
    let verdict = asked("1.0", &gpu(8, 0), &kernels);
    assert_eq!((verdict.outcome, verdict.level), (Outcome::Fails, Some(Level::Inspected)));
    assert!(
        verdict.disputed && verdict.reason.contains("A documented rule disagrees"),
        "{}",
        verdict.reason
    );
    let refused = asked("2.0", &gpu(7, 5), &kernels);
    assert_eq!(
        (refused.level, refused.evidence[0].id.as_str()),
        (Some(Level::Rule), "demo.refused")
    );
}

#[test]
fn a_rule_found_untrue_here_is_kept_and_disputed() {
    let tried = [part(Scope::Rules(vec!["demo.refused".to_owned()]), Level::Live, Outcome::Works)];
    let verdict = asked("2.0", &gpu(7, 5), &tried);
    assert_eq!((verdict.outcome, verdict.disputed), (Outcome::Works, true));
    assert!(verdict.reason.contains("refused below sm_80"), "{}", verdict.reason);
    assert!(verdict.evidence.iter().any(|one| one.id == "demo.refused"));
    assert!(verdict.steps.iter().any(|one| one.text.contains("disproved on this machine")));
}

#[test]
fn what_was_found_about_a_rule_that_does_not_speak_decides_nothing() {
    let elsewhere = [part(Scope::Rules(vec!["demo.auto".to_owned()]), Level::Live, Outcome::Fails)];
    assert_eq!(asked("1.0", &gpu(8, 0), &elsewhere).outcome, Outcome::Works);
    let mut stranger = [part(Scope::Stage(Stage::Kernels), Level::Inspected, Outcome::Fails)];
    stranger[0].framework = "other".to_owned();
    assert_eq!(asked("1.0", &gpu(8, 0), &stranger).outcome, Outcome::Works);
}

#[test]
fn a_stronger_finding_about_the_same_part_outvotes_a_weaker_one() {
    let kernels = Scope::Stage(Stage::Kernels);
    let both = [
        part(kernels.clone(), Level::Inspected, Outcome::Fails),
        part(kernels, Level::Live, Outcome::Works),
    ];
    let verdict = asked("1.0", &gpu(8, 0), &both);
    assert_eq!((verdict.outcome, verdict.level), (Outcome::Works, Some(Level::Live)));
}

#[test]
fn weights_larger_than_the_memory_fail_whatever_the_rules_say() {
    let mut question = ask(Some("1.0"), &[("dtype", "fp16"), ("checkpoint_dtype", "bf16")]);
    question.weight_bytes = Some(61 << 30);
    let card = |gib: u64| Target { memory_bytes: Some(gib << 30), ..gpu(8, 0) };
    let verdict = evaluate(&base(), &card(40), &question, &[]);
    assert_eq!((verdict.outcome, verdict.level), (Outcome::Fails, Some(Level::Rule)));
    assert_eq!(verdict.reason, "the weights alone need 61.0 GiB, and this GPU has 40.0 GiB");
    assert!(verdict.needs.contains("61.0 GiB") && verdict.has.contains("40.0 GiB memory"));
    assert_eq!(verdict.evidence[0].id, "memory.weights");
    assert_eq!(evaluate(&base(), &card(80), &question, &[]).outcome, Outcome::Works);
    let spilling = RULES.replace("version = \"1.0\"", "version = \"1.0\"\nspills = true");
    let base = RuleBase::parse(&[("demo.toml", &spilling)]).expect("reads");
    assert_eq!(evaluate(&base, &card(40), &question, &[]).outcome, Outcome::Works);
}

#[test]
fn an_answer_about_a_version_nobody_has_read_says_so() {
    let warning = fp16("3.0", &gpu(8, 0)).as_of.expect("a warning");
    for word in ["Demo 3.0", "1.0", "2026-11"] {
        assert!(warning.contains(word), "{warning}");
    }
    assert_eq!(fp16("1.0", &gpu(8, 0)).as_of, None);
    let closed = RULES.replace("versions = \"all\"", "versions = \"<4.0\"");
    let base = RuleBase::parse(&[("demo.toml", &closed)]).expect("reads");
    let question = ask(Some("3.0"), &[("dtype", "fp16")]);
    assert_eq!(evaluate(&base, &gpu(8, 0), &question, &[]).as_of, None);
}

#[test]
fn the_origin_of_the_version_goes_with_the_answer() {
    let question = Question { origin: Origin::Installed, ..ask(Some("1.0"), &[("dtype", "fp16")]) };
    let verdict = evaluate(&base(), &gpu(8, 0), &question, &[]);
    let json = serde_json::to_value(&verdict).expect("serialises");
    assert_eq!(json["origin"], "installed");
}

/// A package that takes part: what was found about it counts for its rules, and for no others.
#[test]
fn a_finding_about_a_package_answers_its_rules_only() {
    let triton = r#"
framework = "triton"

[[rule]]
id = "triton.dot"
versions = ">=3.3,<3.4"
on = { sm = ">=8.0" }
stage = "kernels"
outside = "fails"
reason = "its compiler aborts"
needs = "sm_80"
source = "a page"
retrieved = "2026-11"
confidence = "high"
"#;
    let base = RuleBase::parse(&[("demo.toml", RULES), ("triton.toml", triton)]).expect("reads");
    let question = ask(Some("1.0"), &[("dtype", "fp16"), ("triton", "3.3.1")]);
    let mut one = part(Scope::Stage(Stage::Kernels), Level::Live, Outcome::Works);
    let answer = |found: &[Finding]| evaluate(&base, &gpu(7, 5), &question, found);
    assert_eq!(answer(&[]).outcome, Outcome::Fails);
    assert_eq!(answer(&[one.clone()]).outcome, Outcome::Fails);
    one.framework = "triton".to_owned();
    let verdict = answer(&[one.clone()]);
    assert_eq!((verdict.outcome, verdict.level), (Outcome::Works, Some(Level::Rule)));
    assert!(verdict.disputed, "{}", verdict.reason);
    one.settles = Scope::Whole;
    assert_eq!(answer(&[one.clone()]).outcome, Outcome::Works);
    one.evidence.outcome = Outcome::Fails;
    assert_eq!(answer(&[one]).level, Some(Level::Live));
    let other = answer(&[]);
    let fix = other.fixes.iter().find(|fix| fix.cost == warpscope_probes::rules::Cost::Build);
    assert_eq!(fix.map(|fix| fix.text.as_str()), Some("use triton 3.4 or newer"));
}
