//! Every fix of every cell: what is offered does not fail by our own rules, and what it installs can be installed.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use warpscope::engine::{
    Assumptions, Fix, Origin, Outcome, Question, Row, Target, Verdict, evaluate, rows,
};
use warpscope_probes::catalogue::{Catalogue, what_if};
use warpscope_probes::driver::Driver;
use warpscope_probes::rules::{Cost, Framework, Settings, Version, VersionRange};

use super::verdicts::base;
use warpscope_probes::releases::fields;

/// One product for every kind of GPU that people name, from Maxwell to Blackwell.
const GPUS: [&str; 40] = [
    "GTX 980",
    "GTX 1060",
    "GTX 1080 Ti",
    "GTX 1650",
    "GTX 1660 Ti",
    "RTX 2060",
    "RTX 2080 Ti",
    "RTX 3060",
    "RTX 3080",
    "RTX 3090",
    "RTX 4060",
    "RTX 4070",
    "RTX 4090",
    "RTX 5060 Ti",
    "RTX 5070 Ti",
    "RTX 5080",
    "RTX 5090",
    "Tesla P4",
    "Tesla P40",
    "Tesla P100",
    "Tesla V100",
    "Titan V",
    "Tesla T4",
    "Quadro RTX 6000",
    "A2",
    "A10",
    "A30",
    "A40",
    "A100",
    "RTX A6000",
    "L4",
    "L40S",
    "RTX 6000 Ada",
    "H100",
    "H200",
    "B200",
    "B300",
    "RTX PRO 6000",
    "GB10",
    "Jetson AGX Orin 64GB",
];

fn target(name: &str) -> Target {
    let parts = Catalogue::load();
    let part =
        parts.find(name).ok().or_else(|| parts.parts().iter().find(|one| one.name.contains(name)));
    let part = part.unwrap_or_else(|| panic!("{name} is not in the catalogue"));
    Target::from_gpu(&what_if(part, 0), &Driver::default())
}

/// The answer to somebody who names all of it.
fn asked(target: &Target, question: &Question) -> Verdict {
    let named = Question { origin: Origin::Asked, ..question.clone() };
    let assumptions = Assumptions::default();
    let question = assumptions.asked(base(), &named).expect("no model contradicts it");
    evaluate(base(), target, &question, &assumptions.about(base(), target, &question))
}

/// Versions that pip can install, by package, ascending or not.
fn installable() -> BTreeMap<String, BTreeSet<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("probes/releases/installs.csv");
    let text = std::fs::read_to_string(path).expect("the table is there");
    let row = |line: &str| {
        let [package, versions]: [String; 2] = fields(line).try_into().expect("two columns");
        (package, versions.split(' ').map(str::to_owned).collect())
    };
    text.lines().skip(1).map(row).collect()
}

/// Requirements a text installs: package and range.
fn required(text: &str) -> Vec<(String, VersionRange)> {
    let lines = text.lines().filter(|line| line.contains("pip install"));
    let words = lines.flat_map(str::split_whitespace).map(|word| word.trim_matches(['\'', '"']));
    words
        .filter_map(|word| {
            let at = word.find(['<', '>', '=', '!'])?;
            let name = word[..at].split('[').next()?.to_owned();
            Some((name, word[at..].parse().ok()?))
        })
        .collect()
}

/// The newest release in a range that can be installed.
fn newest(all: &BTreeSet<String>, range: &VersionRange) -> Option<String> {
    let parsed = |text: &String| text.parse::<Version>().ok();
    let within = |text: &&String| range.contains(parsed(text).as_ref()) == Some(true);
    let order = |a: &&String, b: &&String| {
        let (a, b) = (parsed(a), parsed(b));
        a.zip(b).and_then(|(a, b)| a.compare(&b)).unwrap_or(Ordering::Equal)
    };
    all.iter().filter(within).max_by(order).cloned()
}

/// The question with another version of what a package belongs to; none where it has no part in it.
fn with_release(
    question: &Question,
    package: &str,
    version: String,
    fix: &str,
) -> Option<Question> {
    let is_it = |one: &&Framework| one.packages.iter().any(|own| own == package);
    let framework = base().frameworks().iter().find(is_it)?;
    let mut changed = question.clone();
    if framework.id == question.framework {
        changed.version = Some(version);
    } else {
        changed.config.get(&framework.id)?;
        changed.config.set(&framework.id, &version).ok()?;
    }
    let key = |id: &str| {
        if id == question.framework { "wheel".to_owned() } else { format!("{id}.wheel") }
    };
    if let Some((_, build)) = fix.split_once("/whl/") {
        let build = build.split_whitespace().next()?;
        changed.config.set(&key("torch"), build.trim_matches(['\'', '"'])).ok()?;
    } else if changed.config.get(&key(&framework.id)).is_some() {
        // Without an index it is that of PyPI.
        changed.config.set(&key(&framework.id), "pypi").ok()?;
    }
    Some(changed)
}

/// What is wrong with a fix of a question on a device.
fn wrong(
    fix: &Fix,
    question: &Question,
    target: &Target,
    known: &BTreeMap<String, BTreeSet<String>>,
) -> Option<String> {
    if fix.then.is_some_and(|then| !then.runs()) {
        return Some("does not run".to_owned());
    }
    if fix.text.lines().any(|line| line.starts_with('#') || line.contains("   #")) {
        return Some("is an essay".to_owned());
    }
    if fix.command().is_none()
        && ["pip install", "docker run"].iter().any(|one| fix.text.contains(one))
    {
        return Some("hides a command in a sentence".to_owned());
    }
    // More than the line that installs may be asked for: then the engine alone was asked.
    let alone = fix.text.trim().starts_with("pip install") && !fix.text.contains("&&");
    for (package, range) in required(&fix.text) {
        let Some(all) = known.get(&package) else {
            return Some(format!("{package} is in no table"));
        };
        let Some(version) = newest(all, &range) else {
            return Some(format!("{package}{} does not exist", range.as_str()));
        };
        let changed =
            with_release(question, &package, version.clone(), &fix.text).filter(|_| alone);
        let then = changed.map(|changed| asked(target, &changed).outcome);
        if let Some(then) = then.filter(|then| then.is_bad()) {
            return Some(format!("{package} {version} {then}"));
        }
    }
    None
}

#[test]
fn no_fix_fails_and_every_fix_exists() {
    let (rows, known) = (rows(base(), &Assumptions::default()), installable());
    let mut bad = BTreeSet::new();
    let mut asked = 0;
    for target in GPUS.map(target) {
        for Row { question, framework, config } in &rows {
            for fix in evaluate(base(), &target, question, &[]).fixes {
                asked += 1;
                if let Some(what) = wrong(&fix, question, &target, &known) {
                    bad.insert(format!(
                        "{framework} {config} on {}: {} ({what})",
                        target.label, fix.text
                    ));
                }
            }
        }
    }
    println!("{} cells, {asked} fixes", rows.len() * GPUS.len());
    assert!(asked > 1000, "{asked} fixes");
    let lines: Vec<_> = bad.iter().map(String::as_str).collect();
    assert!(bad.is_empty(), "{} of {asked}:\n{}", bad.len(), lines.join("\n"));
}

/// Settings by their keys.
type Pairs = &'static [(&'static str, &'static str)];

/// Questions that name a release, of GPUs it has no code for.
const NAMED: &[(&str, &str, &str, Pairs)] = &[
    ("RTX 5090", "torch", "2.4.0", &[("dtype", "bf16")]),
    ("RTX 5090", "torch", "2.5.1", &[("wheel", "cu124")]),
    ("RTX 5090", "torch", "2.5.1", &[("wheel", "cu124"), ("dtype", "bf16")]),
    ("RTX 5090", "torch", "2.6.0", &[("wheel", "cu124")]),
    ("RTX 5090", "torch", "2.6.0", &[("wheel", "cu126")]),
    ("B200", "torch", "2.7.1", &[("wheel", "cu126"), ("dtype", "bf16")]),
    ("RTX 5090", "bitsandbytes", "0.45.0", &[("quantization", "nf4")]),
    ("RTX 5090", "sglang", "0.4.6", &[]),
];

#[test]
fn who_names_a_release_is_told_of_one_that_runs() {
    let known = installable();
    for (gpu, framework, version, config) in NAMED {
        let question = Question {
            framework: (*framework).to_owned(),
            version: Some((*version).to_owned()),
            config: Settings::new(config.iter().copied()).expect("good settings"),
            ..Question::default()
        };
        let target = target(gpu);
        let verdict = asked(&target, &question);
        assert!(verdict.outcome.is_bad(), "{gpu} {framework} {version}: {}", verdict.outcome);
        let wrong = verdict.fixes.iter().find_map(|fix| wrong(fix, &question, &target, &known));
        assert_eq!(wrong, None, "{gpu} {framework} {version}: {:?}", verdict.fixes);
        let installs = |fix: &Fix| fix.cost == Cost::Build && fix.then == Some(Outcome::Works);
        assert!(
            verdict.fixes.iter().any(installs),
            "{gpu} {framework} {version} {config:?}: {:?}",
            verdict.fixes
        );
    }
}
