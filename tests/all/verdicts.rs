//! Every case of `tests/verdicts/*.toml` is asked of the built-in rules. Expected values come from the cited threads and sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;
use warpscope::engine::{
    Outcome, Question, StepKind, Target, Verdict, evaluate, evaluate_without_fixes,
};
use warpscope_kernels::Sm;
use warpscope_probes::rules::{Rule, RuleBase, Settings};

/// The rule files as they lie in `probes/rules`, so that a rule can be tried without compiling.
pub(super) fn base() -> &'static RuleBase {
    static BASE: LazyLock<RuleBase> = LazyLock::new(|| {
        let files = rule_files();
        let files: Vec<_> =
            files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        RuleBase::parse(&files).unwrap_or_else(|error| panic!("probes/rules/{error}"))
    });
    &BASE
}

fn rule_files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("probes/rules");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry"))
        .map(|entry| {
            let name = entry.file_name().into_string().expect("a plain name");
            (name, std::fs::read_to_string(entry.path()).expect("text"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn every_rule_file_is_compiled_in() {
    let names = |base: &RuleBase| -> BTreeSet<String> {
        base.rules().iter().map(|rule| format!("{} line {}", rule.id, rule.line)).collect()
    };
    let (compiled, there) = (names(RuleBase::builtin()), names(base()));
    let differ: Vec<_> = compiled.symmetric_difference(&there).collect();
    assert!(differ.is_empty(), "{differ:?}");
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Case>,
}

/// One question with the answer people got.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    gpu: String,
    sm: Sm,
    pci: Option<u32>,
    driver: Option<String>,
    framework: Option<String>,
    version: Option<String>,
    /// Row of the matrix to start from.
    row: Option<String>,
    /// Settings on top of the row's.
    #[serde(default)]
    set: Settings,
    outcome: Outcome,
    disputed: Option<bool>,
    /// Rule that decides: the first evidence.
    decides: Option<String>,
    /// Rules that must take part.
    #[serde(default)]
    speaks: Vec<String>,
    /// Rules that must not.
    #[serde(default)]
    silent: Vec<String>,
    /// Words the symptom must contain, as the user met them.
    symptom: Option<String>,
    /// Words one of the fixes must contain.
    fix: Option<String>,
    /// Words the first fix must not contain.
    fix_without: Option<String>,
    /// Words the reason must contain.
    reason: Option<String>,
    /// Where the expected answer comes from.
    truth: String,
}

impl Case {
    fn ask(&self, base: &RuleBase, file: &str) -> Verdict {
        let framework = self.framework.clone().unwrap_or_else(|| file.to_owned());
        let mut question = match &self.row {
            Some(id) => {
                let row =
                    base.configs().iter().find(|row| row.framework == framework && row.id == *id);
                Question::of_row(
                    base,
                    row.unwrap_or_else(|| panic!("{file}: no row {id} in {framework}")),
                )
            }
            None => Question { framework, ..Question::default() },
        };
        question.version = self.version.clone().or(question.version);
        question.config = question.config.with(&self.set);
        let target = Target {
            pci_device_id: self.pci,
            driver: self.driver.clone(),
            ..Target::of_sm(self.gpu.clone(), self.sm)
        };
        // Fixes cost most of an answer, and few cases speak of them.
        let speaks_of_fixes = self.fix.is_some() || self.fix_without.is_some();
        let evaluate = if speaks_of_fixes { evaluate } else { evaluate_without_fixes };
        evaluate(base, &target, &question, &[])
    }

    fn check(&self, verdict: &Verdict) -> Result<(), String> {
        let same = |what: &str, want: &str, got: &str| {
            (want == got).then_some(()).ok_or_else(|| format!("{what}: want {want}, got {got}"))
        };
        same("outcome", self.outcome.id(), verdict.outcome.id())?;
        if let Some(disputed) = self.disputed {
            same("disputed", &disputed.to_string(), &verdict.disputed.to_string())?;
        }
        if let Some(id) = &self.decides {
            same("decides", id, verdict.evidence.first().map_or("nothing", |one| &one.id))?;
        }
        let spoke = |id: &&String| {
            let step = verdict.steps.iter().find(|step| step.rule.as_ref() == Some(*id));
            step.is_some_and(|step| step.kind != StepKind::Undecided)
        };
        if let Some(id) = self.speaks.iter().find(|id| !spoke(id)) {
            return Err(format!("{id} should take part"));
        }
        if let Some(id) = self.silent.iter().find(spoke) {
            return Err(format!("{id} should not take part"));
        }
        let symptom = verdict.symptom.clone().unwrap_or_default();
        let fix = verdict.fix.clone().unwrap_or_default();
        let fixes: Vec<_> =
            verdict.fixes.iter().map(|fix| format!("{}\n{}", fix.title, fix.text)).collect();
        for (what, want, got) in [
            ("symptom", &self.symptom, &symptom),
            ("fix", &self.fix, &fixes.join("\n")),
            ("reason", &self.reason, &verdict.reason),
        ] {
            if want.as_ref().is_some_and(|want| !got.contains(want.as_str())) {
                return Err(format!("{what}: {want:?} is not in {got:?}"));
            }
        }
        match &self.fix_without {
            Some(words) if fix.contains(words.as_str()) => {
                Err(format!("fix: {words:?} in {fix:?}"))
            }
            _ => Ok(()),
        }
    }
}

fn cases() -> Vec<(String, Case)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verdicts");
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            continue;
        }
        let name =
            path.file_stem().and_then(|stem| stem.to_str()).expect("a plain name").to_owned();
        let text = std::fs::read_to_string(&path).expect("text");
        let file: File =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        cases.extend(file.case.into_iter().map(|case| (name.clone(), case)));
    }
    cases
}

#[test]
fn every_case_gets_the_answer_people_got() {
    let base = base();
    let mut wrong = Vec::new();
    let cases = cases();
    for (file, case) in &cases {
        assert!(!case.truth.trim().is_empty(), "{file}: {} has no source", case.gpu);
        assert!(base.rule(&case.truth).is_none(), "{file}: {} is a rule, no source", case.truth);
        let verdict = case.ask(base, file);
        if let Err(what) = case.check(&verdict) {
            wrong.push(format!(
                "{file}: {} ({}) {} [{}] {}: {what}\n    {:?}",
                case.gpu,
                case.sm,
                case.version.as_deref().unwrap_or("row"),
                case.set,
                case.truth,
                verdict
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn every_rule_has_a_case_where_it_speaks_and_one_where_it_must_not() {
    let base = base();
    let mut seen: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
    let cases = cases();
    for (_, case) in &cases {
        for id in case.decides.iter().chain(&case.speaks) {
            seen.entry(id).or_default().0 = true;
        }
        for id in &case.silent {
            seen.entry(id).or_default().1 = true;
        }
    }
    let lacking = |rule: &&Rule| !seen.get(&*rule.id).is_some_and(|both| both.0 && both.1);
    let lacking: Vec<_> = base
        .rules()
        .iter()
        .filter(lacking)
        .map(|rule| {
            let seen = seen.get(&*rule.id).copied().unwrap_or_default();
            format!("probes/rules/{}.toml:{}: {}: {seen:?}", rule.framework, rule.line, rule.id)
        })
        .collect();
    assert!(lacking.is_empty(), "without a case (speaks, must not):\n{}", lacking.join("\n"));
    let strays: Vec<_> = seen.keys().filter(|id| base.rule(id).is_none()).collect();
    assert!(strays.is_empty(), "cases name rules that are not there: {strays:?}");
}

#[test]
fn ids_are_unique_and_sources_dated() {
    let base = base();
    for rule in base.rules() {
        assert_eq!(
            base.rules().iter().filter(|other| other.id == rule.id).count(),
            1,
            "{}",
            rule.id
        );
        assert!(!rule.source.is_empty() && rule.retrieved.starts_with("20"), "{}", rule.id);
    }
    for row in base.configs() {
        assert!(Question::of_row(base, row).framework == row.framework);
    }
}

/// Words for frameworks are read without regard to case and joints, so two that differ only there would mean one thing.
#[test]
fn no_word_means_two_frameworks() {
    let plain = |text: &str| text.replace(['-', '_', '.', ' '], "").to_lowercase();
    let mut owners: BTreeMap<String, &str> = BTreeMap::new();
    for one in base().frameworks() {
        for word in one.aliases.iter().chain([&one.id, &one.name]) {
            let owner = owners.entry(plain(word)).or_insert(&one.id);
            assert_eq!(*owner, one.id, "{word}");
        }
    }
}

/// Every compute capability NVIDIA has sold since Maxwell.
pub(super) const SMS: &[(u8, u8)] = &[
    (5, 0),
    (5, 2),
    (5, 3),
    (6, 0),
    (6, 1),
    (6, 2),
    (7, 0),
    (7, 2),
    (7, 5),
    (8, 0),
    (8, 6),
    (8, 7),
    (8, 9),
    (9, 0),
    (10, 0),
    (10, 3),
    (11, 0),
    (12, 0),
    (12, 1),
];

/// Two equally specific rules about the same configuration that give opposite answers for the same GPU and version.
fn contradictions(base: &RuleBase) -> Vec<String> {
    let mut found = Vec::new();
    for (at, one) in base.rules().iter().enumerate() {
        for other in &base.rules()[at + 1..] {
            let alike = one.framework == other.framework
                && one.selector == other.selector
                && one.versions.is_all() == other.versions.is_all()
                && one.on.len() == other.on.len()
                && one.effect.is_bad() != other.effect.is_bad()
                && !one.overrides.contains(&other.id)
                && !other.overrides.contains(&one.id);
            if alike
                && SMS.iter().any(|(major, minor)| meet(one, other, Sm::new(*major, *minor), base))
            {
                found.push(format!("{} and {}", one.id, other.id));
            }
        }
    }
    found
}

fn meet(one: &Rule, other: &Rule, sm: Sm, base: &RuleBase) -> bool {
    use warpscope_probes::rules::{DeviceFacts, Side};
    let device = DeviceFacts { sm: Some(sm), ..DeviceFacts::default() };
    let on = |rule: &Rule| {
        let holds = rule.on.holds(&device, base.parts());
        holds.is_some_and(|holds| holds == (rule.side == Side::Inside))
    };
    let versions = one.versions.bounds().chain(other.versions.bounds()).map(Some).chain([None]);
    let both = |version| {
        one.versions.contains(version) == Some(true)
            && other.versions.contains(version) == Some(true)
    };
    on(one) && on(other) && versions.into_iter().any(both)
}

#[test]
fn equally_specific_rules_do_not_contradict_each_other() {
    assert_eq!(contradictions(base()), Vec::<String>::new());
}

#[test]
fn a_contradiction_would_be_found() {
    let rule = |id: &str, outcome: &str| {
        format!(
            "[[rule]]\nid = \"demo.{id}\"\nversions = \">=1.0\"\nfor = {{ dtype = \"fp16\" }}\non = {{ sm = \">=8.0\" }}\n\
             stage = \"gate\"\noutcome = \"{outcome}\"\nreason = \"r\"\nneeds = \"n\"\nsource = \"s\"\n\
             retrieved = \"2026-11\"\nconfidence = \"high\"\n"
        )
    };
    let text = format!("framework = \"demo\"\n{}{}", rule("a", "works"), rule("b", "fails"));
    let base = RuleBase::parse(&[("demo.toml", &text)]).expect("reads");
    assert_eq!(contradictions(&base), ["demo.a and demo.b"]);
}

/// A compute capability nobody knows never works, and more memory never breaks anything.
#[test]
fn no_answer_comes_from_nothing() {
    let base = base();
    let unknown = Target { label: "a card".to_owned(), ..Target::default() };
    for row in base.configs() {
        let question = Question::of_row(base, row);
        let blind = evaluate_without_fixes(base, &unknown, &question, &[]);
        assert!(
            blind.outcome == Outcome::Unknown || blind.outcome.is_bad(),
            "{}: {:?}",
            row.label,
            blind.outcome
        );
        for (major, minor) in SMS {
            let small = Target::of_sm("card", Sm::new(*major, *minor));
            let large = Target { memory_bytes: Some(192 << 30), ..small.clone() };
            let (small, large) = (
                evaluate_without_fixes(base, &small, &question, &[]),
                evaluate_without_fixes(base, &large, &question, &[]),
            );
            let worse = !small.outcome.is_bad() && large.outcome.is_bad();
            assert!(!worse, "{} on {major}.{minor}", row.label);
            let proven = small.outcome == Outcome::Unknown || !small.evidence.is_empty();
            assert!(proven, "{} on {major}.{minor} has no evidence", row.label);
        }
    }
}

/// That torch has a type says nothing of a wheel: where a type runs, the wheel alone does.
#[test]
fn no_type_runs_in_a_wheel_that_is_not_known_to() {
    let minors = (5..=13).map(|minor| format!("1.{minor}.0"));
    let versions: Vec<String> =
        minors.chain((0..=15).map(|minor| format!("2.{minor}.0"))).collect();
    let wheels = "pypi cu101 cu102 cu111 cu113 cu115 cu116 cu117 cu118 cu121 cu124 cu126 cu128 cu129 cu130 cu132";
    let mut alone = BTreeSet::new();
    for (major, minor) in [(5, 2), (6, 1), (7, 0), (7, 5), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)]
    {
        let target = Target::of_sm("card", Sm::new(major, minor));
        for (version, wheel) in
            versions.iter().flat_map(|one| wheels.split(' ').map(move |wheel| (one, wheel)))
        {
            let ask = |pairs: &[(&str, &str)]| {
                let question = Question {
                    framework: "torch".to_owned(),
                    version: Some(version.clone()),
                    config: Settings::new(pairs.iter().copied()).expect("good settings"),
                    ..Question::default()
                };
                evaluate_without_fixes(base(), &target, &question, &[]).outcome
            };
            let typed = ask(&[("wheel", wheel), ("dtype", "bf16")]);
            if typed.runs() && !ask(&[("wheel", wheel)]).runs() {
                alone.insert(format!("{version}+{wheel} on {major}.{minor}"));
            }
        }
    }
    assert!(alone.is_empty(), "{alone:?}");
}
