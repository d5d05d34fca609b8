//! What must hold of every answer, over random GPUs, versions and configurations.
//!
//! Versions are drawn from those the rules name and a little beside them, settings from the values rules and rows use, so that random
//! questions meet rules often.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::{Index, subsequence};
use warpscope::engine::{
    Assumptions, Cell, Evidence, Finding, Fix, Level, Outcome, Question, Scope, Target, Verdict,
    evaluate, evaluate_without_fixes, matrix, versions_of,
};
use warpscope_kernels::Sm;
use warpscope_probes::rules::{
    ANY_VERSION, Choice, Cost, KEYS, Kind, RuleBase, STAGES, Settings, check_value, kind_of,
};

use super::verdicts::{SMS, base};

/// Values that rules and rows use, by key.
static VALUES: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(|| values(base()));

fn values(base: &RuleBase) -> BTreeMap<String, Vec<String>> {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut add = |key: &str, value: &str| {
        let known = values.entry(key.to_owned()).or_default();
        if !known.iter().any(|one| one == value) {
            known.push(value.to_owned());
        }
    };
    for rule in base.rules() {
        for (key, choice) in rule.selector.iter() {
            if let Choice::OneOf(values) = choice {
                let good = values.iter().filter(|value| check_value(key, value).is_ok());
                good.for_each(|value| add(key, value));
            }
        }
    }
    for row in base.configs() {
        row.settings.iter().for_each(|(key, value)| add(key, value));
    }
    for (key, kind, _) in KEYS {
        match kind {
            Kind::Package => {
                add(key, ANY_VERSION);
                versions_of(base, key)
                    .iter()
                    .flat_map(|one| beside(one))
                    .for_each(|one| add(key, &one));
            }
            Kind::Dtype => ["auto", "fp16", "bf16", "fp32"].iter().for_each(|one| add(key, one)),
            Kind::Word => add(key, "nobody-asks-for-this"),
            Kind::Count => add(key, "3"),
        }
    }
    values
}

/// A version, and versions just after it.
fn beside(version: &str) -> Vec<String> {
    let near = [version.to_owned(), format!("{version}.1"), format!("{version}.post1")];
    near.into_iter().filter(|one| Settings::new([("torch", one.as_str())]).is_ok()).collect()
}

fn settings() -> impl Strategy<Value = Settings> {
    let keys: Vec<&'static str> = KEYS.iter().map(|row| row.0).collect();
    subsequence(keys, 0..=4).prop_flat_map(|keys| {
        let tuned = proptest::collection::vec(any::<Index>(), keys.len());
        tuned.prop_map(move |tuned| {
            let pairs = keys.iter().zip(tuned).filter_map(|(key, pick)| {
                let values = VALUES.get(*key)?;
                Some((*key, pick.get(values).as_str()))
            });
            Settings::new(pairs).expect("values that rules and rows use")
        })
    })
}

/// A row of the matrix with some of its settings changed, or a configuration out of nothing.
fn question() -> impl Strategy<Value = Question> {
    let version = (any::<Index>(), any::<Index>(), any::<bool>());
    (any::<Index>(), any::<bool>(), version, settings(), proptest::option::of(0_u64..200)).prop_map(
        |(row, from_row, (at, near, named), changed, gib)| {
            let base = base();
            let mut question = Question::of_row(base, row.get(base.configs()));
            let start = if from_row { question.config.clone() } else { Settings::default() };
            question.config = start.with(&changed);
            question.weight_bytes = gib.map(|gib| gib << 30);
            let known = versions_of(base, &question.framework);
            if named && !known.is_empty() {
                question.version =
                    Some(near.get(&beside(at.get(known.as_slice()).as_str())).clone());
            }
            question
        },
    )
}

fn target() -> impl Strategy<Value = Target> {
    let driver = prop_oneof![
        Just(None),
        "(4|5)[0-9]0\\.[1-9][0-9]".prop_map(Some),
        Just(Some("not a version".to_owned()))
    ];
    let memory = proptest::option::of(1_u64..200);
    (any::<Index>(), any::<Option<u16>>(), driver, memory).prop_map(|(sm, id, driver, memory)| {
        let (major, minor) = *sm.get(SMS);
        Target {
            pci_device_id: id.map(u32::from),
            driver,
            memory_bytes: memory.map(|gib| gib << 30),
            ..Target::of_sm("a card", Sm::new(major, minor))
        }
    })
}

/// Findings about a framework or a package of the question, about a whole, a stage or some rules.
fn findings(question: &Question) -> impl Strategy<Value = Vec<Finding>> + use<> {
    let packages = question.config.iter().filter(|one| kind_of(one.0) == Ok(Kind::Package));
    let about: Vec<String> = std::iter::once(question.framework.as_str())
        .chain(packages.map(|one| one.0))
        .map(str::to_owned)
        .collect();
    let ids: Vec<String> =
        base().rules_of(&question.framework).map(|rule| rule.id.to_string()).collect();
    let settles = prop_oneof![
        Just(Scope::Whole),
        any::<Index>().prop_map(|at| Scope::Stage(at.get(STAGES).0)),
        any::<Index>().prop_map(move |at| Scope::Rules(
            (!ids.is_empty()).then(|| at.get(&ids).clone()).into_iter().collect()
        )),
    ];
    let outcome = prop_oneof![
        Just(Outcome::Works),
        Just(Outcome::Slow),
        Just(Outcome::Partial),
        Just(Outcome::Fails),
        Just(Outcome::Unknown)
    ];
    let level = prop_oneof![Just(Level::Inspected), Just(Level::Live)];
    let one = (any::<Index>(), settles, outcome, level).prop_map(
        move |(framework, settles, outcome, level)| Finding {
            framework: framework.get(&about).clone(),
            sm: None,
            uuid: None,
            settles,
            only: Settings::default(),
            repair: None,
            evidence: Evidence {
                level,
                outcome,
                id: "probe.any".to_owned(),
                detail: "tried here".to_owned(),
                source: "this machine".to_owned(),
                retrieved: "2026-11-21".to_owned(),
            },
        },
    );
    proptest::collection::vec(one, 0..4)
}

fn question_and_findings() -> impl Strategy<Value = (Question, Vec<Finding>)> {
    question().prop_flat_map(|question| {
        let found = findings(&question);
        (Just(question), found)
    })
}

fn runs(outcome: Outcome) -> bool {
    !outcome.is_bad() && outcome != Outcome::Unknown
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn nothing_runs_without_evidence((question, found) in question_and_findings(), target in target()) {
        let verdict = evaluate_without_fixes(base(), &target, &question, &found);
        if runs(verdict.outcome) {
            prop_assert!(verdict.level.is_some());
            let good = |one: &Evidence| runs(one.outcome);
            prop_assert!(verdict.evidence.iter().any(good), "{:?}", verdict);
        }
        prop_assert!(!verdict.reason.is_empty());
    }

    #[test]
    fn a_gpu_of_unknown_compute_capability_runs_nothing(question in question(), target in target()) {
        let blind = Target { sm: None, ..target };
        let verdict = evaluate_without_fixes(base(), &blind, &question, &[]);
        prop_assert!(!runs(verdict.outcome), "{:?}", verdict);
    }

    #[test]
    fn more_memory_breaks_nothing(question in question(), target in target(), more in 0_u64..200) {
        let small = Target { memory_bytes: Some(target.memory_bytes.unwrap_or(1 << 30)), ..target };
        let large = Target { memory_bytes: small.memory_bytes.map(|bytes| bytes + (more << 30)), ..small.clone() };
        let before = evaluate_without_fixes(base(), &small, &question, &[]);
        let after = evaluate_without_fixes(base(), &large, &question, &[]);
        prop_assert!(before.outcome.is_bad() || !after.outcome.is_bad(), "{:?}\n{:?}", before, after);
        prop_assert!(!runs(before.outcome) || runs(after.outcome), "{:?}\n{:?}", before, after);
    }

    #[test]
    fn a_question_no_rule_speaks_of_is_unknown_and_says_what_would_settle_it(target in target(), settings in settings()) {
        let speaks = |key: &str| kind_of(key) == Ok(Kind::Package) || key == "model_type";
        let settings = Settings::new(settings.iter().filter(|one| !speaks(one.0))).expect("a part of good settings");
        let framework = "nobody-wrote-rules-for-this".to_owned();
        let question = Question { framework, config: settings, ..Question::default() };
        // What a driver says of a GPU holds for whatever runs on it.
        let target = Target { driver: None, ..target };
        let verdict = evaluate(base(), &target, &question, &[]);
        prop_assert_eq!(verdict.outcome, Outcome::Unknown);
        prop_assert!(verdict.reason.contains("would settle"), "{}", verdict.reason);
        prop_assert!(verdict.fixes.is_empty());
    }

    /// What is offered as a way out and was tried runs; hardware comes last; the first is the one that is copied.
    #[test]
    fn ways_out_run_and_are_in_order((question, found) in question_and_findings(), target in target()) {
        let verdict = evaluate(base(), &target, &question, &found);
        for fix in &verdict.fixes {
            prop_assert!(fix.then.is_none_or(Outcome::runs), "{:?}", fix);
            prop_assert!(!fix.text.trim().is_empty() && !fix.title.trim().is_empty(), "{:?}", fix);
        }
        let order = |fix: &Fix| (fix.cost == Cost::Hardware, fix.then.is_none(), fix.cost);
        prop_assert!(verdict.fixes.is_sorted_by_key(order));
        prop_assert_eq!(verdict.fix.as_ref(), verdict.fixes.first().map(|fix| &fix.text));
        if verdict.outcome == Outcome::Works {
            prop_assert!(verdict.fixes.is_empty());
        }
    }
}

/// The matrix is the same answers side by side.
#[test]
fn the_matrix_agrees_with_the_whole_answers() {
    let targets: Vec<Target> =
        SMS.iter().map(|(major, minor)| Target::of_sm("a card", Sm::new(*major, *minor))).collect();
    let table = matrix(base(), &targets, &Assumptions::default());
    for (row, cells) in table.rows.iter().zip(&table.cells) {
        for (target, cell) in targets.iter().zip(cells) {
            let long = evaluate_without_fixes(base(), target, &row.question, &[]);
            let Verdict { outcome, level, disputed, confidence, .. } = long;
            let long = Cell { outcome, level, disputed, confidence };
            assert_eq!(*cell, long, "{}", row.config);
        }
    }
}
