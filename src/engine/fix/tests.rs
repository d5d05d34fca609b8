use warpscope_kernels::Sm;
use warpscope_probes::rules::{RuleBase, Settings};

use super::*;
use crate::engine::{Evidence, Level, Verdict, evaluate};

/// Eager attention runs everywhere, flash attention from 8.0; int8 weights run slowly below 8.0; bf16 is refused below 8.0;
/// before 1.2 nothing runs below 7.0, and from 2.0 on nothing below 7.5.
const RULES: &str = r#"
framework = "demo"
name = "Demo"
version = "2.1"
packages = ["torch"]

[launch]
text = "demo serve {model}{args}"
lead = " "

[[launch.arg]]
key = "dtype"
write = "--dtype {value}"
names = { fp16 = "half", bf16 = "bfloat16", auto = "" }

[[launch.arg]]
key = "attention"
write = "--attention {value}"
names = { flash_attention_2 = "fa2" }

[[lever]]
key = "attention"
values = ["flash_attention_2", "sdpa", "eager"]
cost = "kernel"
say = "attention by {value}"

[[lever]]
key = "dtype"
values = ["bf16", "fp16"]
cost = "flag"
say = "compute in {value}"

[[rule]]
id = "demo.works"
versions = "all"
for = { dtype = ["fp16", "bf16"], attention = ["sdpa", "eager", "flash_attention_2"] }
stage = "kernels"
outcome = "works"
reason = "it has code for {sm}"
source = "a page"
retrieved = "2026-11"
confidence = "high"

[[rule]]
id = "demo.fa2"
versions = "all"
for = { attention = "flash_attention_2" }
on = { sm = ">=8.0" }
stage = "gate"
outside = "fails"
reason = "flash attention begins at sm_80"
needs = "sm_80"
fix = "demo serve MODEL --attention sdpa   # as the manual says"
fix_cost = "kernel"
source = "a page"
retrieved = "2026-11"
confidence = "high"

[[rule]]
id = "demo.eager"
versions = "all"
for = { attention = "eager" }
stage = "rate"
outcome = "slow"
reason = "eager attention is slow"
source = "a page"
retrieved = "2026-11"
confidence = "high"

[[rule]]
id = "demo.bf16"
versions = "all"
for = { dtype = "bf16" }
on = { sm = ">=8.0" }
stage = "dtype"
outside = "fails"
reason = "bf16 is refused below sm_80"
needs = "sm_80"
source = "a page"
retrieved = "2026-11"
confidence = "high"

[[rule]]
id = "demo.old"
versions = "<1.2"
on = { sm = ">=7.0" }
stage = "kernels"
outside = "fails"
reason = "it begins at sm_70"
needs = "sm_70"
source = "a page"
retrieved = "2026-11"
confidence = "high"

[[rule]]
id = "demo.new"
versions = ">=2.0"
on = { sm = ">=7.5" }
stage = "kernels"
outside = "fails"
reason = "it begins at sm_75"
needs = "sm_75"
source = "a page"
retrieved = "2026-11"
confidence = "high"
"#;

fn base() -> RuleBase {
    RuleBase::parse(&[("demo.toml", RULES)]).expect("reads")
}

fn ask(version: &str, pairs: &[(&str, &str)]) -> Question {
    Question {
        framework: "demo".to_owned(),
        version: Some(version.to_owned()),
        config: Settings::new(pairs.iter().copied()).expect("good settings"),
        ..Question::default()
    }
}

fn verdict(version: &str, pairs: &[(&str, &str)], sm: Sm) -> Verdict {
    evaluate(&base(), &Target::of_sm("card", sm), &ask(version, pairs), &[])
}

fn texts(verdict: &Verdict) -> Vec<(Cost, &str, Option<Outcome>)> {
    verdict.fixes.iter().map(|fix| (fix.cost, fix.text.as_str(), fix.then)).collect()
}

#[test]
fn the_cheapest_way_out_comes_first_and_hardware_last() {
    let verdict =
        verdict("1.5", &[("dtype", "fp16"), ("attention", "flash_attention_2")], Sm::new(7, 5));
    assert_eq!(
        texts(&verdict),
        [
            (Cost::Kernel, "demo serve MODEL --attention sdpa", Some(Outcome::Works)),
            (
                Cost::Kernel,
                "demo serve <model> --dtype half --attention sdpa",
                Some(Outcome::Works)
            ),
            (
                Cost::Hardware,
                "works on sm_80 (A100/A800/A30), sm_86 (RTX 30, A2/A10/A16/A40, RTX A), sm_87 (Jetson Orin); \
                 also sm_89, sm_90, sm_100, sm_103, sm_107, sm_110, sm_120, sm_121",
                Some(Outcome::Works)
            ),
        ]
    );
    assert_eq!(verdict.fix.as_deref(), Some(verdict.fixes[0].text.as_str()));
    assert_eq!(verdict.fixes[1].title, "attention by sdpa");
}

#[test]
fn a_lever_keeps_every_other_setting_and_the_model() {
    let mut question = ask("1.5", &[("dtype", "bf16"), ("attention", "sdpa")]);
    question.model = Some("GLM-4-32B".to_owned());
    let card = Target::of_sm("card", Sm::new(7, 5));
    let text = |question: &Question| evaluate(&base(), &card, question, &[]).fix;
    let want = "demo serve GLM-4-32B --dtype half --attention sdpa";
    assert_eq!(text(&question).as_deref(), Some(want));
    for foreign in ["a;reboot", "$(reboot)", "", "-rf", "{args}", "a b", "\u{1b}[31m"] {
        question.model = Some(foreign.to_owned());
        let want = "demo serve <model> --dtype half --attention sdpa";
        assert_eq!(text(&question).as_deref(), Some(want), "{foreign:?}");
    }
}

#[test]
fn what_is_slow_is_offered_only_what_is_faster() {
    let verdict = verdict("1.5", &[("dtype", "fp16"), ("attention", "eager")], Sm::new(7, 5));
    assert_eq!(verdict.outcome, Outcome::Slow);
    let want = ("demo serve <model> --dtype half --attention sdpa", Some(Outcome::Works));
    assert_eq!(texts(&verdict), [(Cost::Kernel, want.0, want.1)]);
}

#[test]
fn another_version_is_named_as_far_as_it_runs() {
    let plain = [("dtype", "fp16"), ("attention", "sdpa")];
    let line = |version: &str, sm: Sm| {
        let verdict = verdict(version, &plain, sm);
        let fix = verdict.fixes.iter().find(|fix| fix.cost == Cost::Build);
        fix.map(|fix| (fix.text.clone(), fix.title.clone()))
    };
    let of = |text: &str, title: &str| Some((text.to_owned(), title.to_owned()));
    let dropped = line("2.1", Sm::new(7, 0));
    assert_eq!(dropped, of("pip install 'torch>=1.2,<2.0'", "Demo 1.2, before 2.0"));
    let between = line("1.0", Sm::new(6, 1));
    assert_eq!(between, of("pip install 'torch>=1.2,<2.0'", "Demo 1.2, before 2.0"));
    let open = RULES.replace("versions = \">=2.0\"", "versions = \"==2.0\"");
    let base = RuleBase::parse(&[("demo.toml", &open)]).expect("reads");
    let card = Target::of_sm("card", Sm::new(6, 1));
    let verdict = evaluate(&base, &card, &ask("2.0", &plain), &[]);
    assert_eq!(verdict.fix.as_deref(), Some("pip install 'torch>=2.1'"));
}

#[test]
fn nothing_is_offered_that_does_not_run() {
    let verdict = verdict("1.5", &[("dtype", "fp32"), ("attention", "sdpa")], Sm::new(7, 5));
    assert_eq!((verdict.outcome, verdict.fixes), (Outcome::Unknown, vec![]));
    let bad = Finding {
        framework: "demo".to_owned(),
        sm: None,
        uuid: None,
        settles: crate::engine::Scope::Stage(warpscope_probes::rules::Stage::Kernels),
        only: Settings::default(),
        repair: None,
        evidence: Evidence {
            level: Level::Inspected,
            outcome: Outcome::Fails,
            id: "inspect.demo".to_owned(),
            detail: "the library holds no code for this GPU".to_owned(),
            source: "the library".to_owned(),
            retrieved: "2026-11-21".to_owned(),
        },
    };
    let question = ask("1.5", &[("dtype", "fp16"), ("attention", "sdpa")]);
    let verdict = evaluate(&base(), &Target::of_sm("card", Sm::new(7, 5)), &question, &[bad]);
    assert!(verdict.fixes.iter().all(|fix| fix.cost == Cost::Build), "{:?}", verdict.fixes);
    assert_eq!(verdict.fix.as_deref(), Some("pip install 'torch>=2.0'"));
}

#[test]
fn a_model_too_large_needs_a_larger_gpu() {
    let mut question =
        ask("1.5", &[("dtype", "fp16"), ("attention", "sdpa"), ("checkpoint_dtype", "fp16")]);
    question.weight_bytes = Some(61 << 30);
    let card = Target { memory_bytes: Some(24 << 30), ..Target::of_sm("card", Sm::new(8, 9)) };
    let verdict = evaluate(&base(), &card, &question, &[]);
    let last = verdict.fixes.last().expect("a way out");
    assert!(last.title.ends_with("with more than 61.0 GiB"), "{}", last.title);
}

#[test]
fn what_a_rule_advises_and_the_engine_tried_is_offered_once() {
    let advice = "demo serve <model> --dtype half --attention sdpa   # as the manual says";
    let rules = RULES.replace("demo serve MODEL --attention sdpa   # as the manual says", advice);
    let base = RuleBase::parse(&[("demo.toml", &rules)]).expect("reads");
    let mut question = ask("1.5", &[("dtype", "fp16"), ("attention", "flash_attention_2")]);
    question.model = Some("glm".to_owned());
    let verdict = evaluate(&base, &Target::of_sm("card", Sm::new(7, 5)), &question, &[]);
    let first = &verdict.fixes[0];
    assert_eq!(first.text, "demo serve glm --dtype half --attention sdpa");
    assert!(first.title.ends_with("as the manual says"), "{}", first.title);
    assert_eq!((first.then, verdict.fixes.len()), (Some(Outcome::Works), 2));
}

#[test]
fn no_version_and_no_gpu_brings_a_command_of_its_own() {
    let rules = RULES.replace(
        "demo serve MODEL --attention sdpa   # as the manual says",
        "pip install 'demo=={version}'   # on {gpu}",
    );
    let base = RuleBase::parse(&[("demo.toml", &rules)]).expect("reads");
    let advice = |version: &str, gpu: &str| {
        let question = ask(version, &[("dtype", "fp16"), ("attention", "flash_attention_2")]);
        let card = Target::of_sm(gpu, Sm::new(7, 5));
        let fixes = evaluate(&base, &card, &question, &[]).fixes;
        fixes
            .into_iter()
            .find(|fix| fix.text.starts_with("pip install 'demo=="))
            .map(|fix| format!("{} ({})", fix.text, fix.title))
    };
    let told = advice("1.5+cu128", "NVIDIA T4");
    assert_eq!(
        told.as_deref(),
        Some(
            "pip install 'demo==1.5+cu128' (another kernel, recommended by the rule: on NVIDIA T4)"
        )
    );
    for hostile in ["1.5'; reboot #", "1.5\nreboot", "$(reboot)", "1.5\u{1b}[2J", "`reboot`"] {
        let told = advice(hostile, "T4\nreboot");
        assert_eq!(
            told.as_deref(),
            Some(
                "pip install 'demo==<version>' (another kernel, recommended by the rule: on <GPU>)"
            ),
            "{hostile:?}"
        );
    }
}

#[test]
fn advice_that_fails_here_is_not_given() {
    let advice = |text: &str| {
        let rules = RULES.replace("demo serve MODEL --attention sdpa   # as the manual says", text);
        let base = RuleBase::parse(&[("demo.toml", &rules)]).expect("reads");
        let question = ask("1.5", &[("dtype", "fp16"), ("attention", "flash_attention_2")]);
        let fixes = evaluate(&base, &Target::of_sm("card", Sm::new(7, 0)), &question, &[]).fixes;
        fixes.into_iter().find(|fix| fix.text == text).map(|fix| fix.then)
    };
    assert_eq!(advice("demo serve MODEL --attention eager"), Some(Some(Outcome::Slow)));
    assert_eq!(advice("demo serve MODEL --dtype bfloat16 --attention eager"), None);
    assert_eq!(advice("pip install 'torch>=2.0'"), None);
    assert_eq!(advice("ask somebody"), Some(None));
}
