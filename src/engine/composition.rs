//! What rules for parts say of a question that no single rule covers.
//!
//! A good rule that names fewer keys than were asked decides those it names. Where good rules name every key, and every two keys that
//! meet in one kernel are named together, the parts make a whole. Otherwise nothing is known against the question and what nobody
//! named is silent; unless it is a key that decides which kernel runs, a cache beside a kernel that reads it, a model with kernels of its
//! own, or a value known to work on other devices or versions only: then the answer is open, but for a check of the framework that names
//! the value and lets the device pass. That a build was made for this device needs no rule: it takes nothing away.
//!
//! Layers of a model that draft tokens are made of its own kernels: what is said of the model and of drafting need not be said together.
//!
//! A good rule counts for less than it says in two steps: on a device that loads the code of the one it was seen on, and where the
//! question leaves the number format or a package open, and no other value of it is known to fail.

use warpscope_kernels::Sm;
use warpscope_probes::rules::{DeviceFacts, Effect, Rule};

use super::built_for::is_built_for;
use super::matching::{RuleMatch, RuleMatches};

/// Keys that meet in one kernel.
const MEET: &[(&str, &str)] = &[
    ("attention", "dtype"),
    ("attention", "kv_cache"),
    ("dtype", "kernel"),
    ("dtype", "quantization"),
    ("kernel", "quantization"),
];

/// Keys that change everything: another build, another engine, another thing that is done.
const EVERYWHERE: &[&str] = &[
    "arch_list",
    "compute_type",
    "engine",
    "feature",
    "operation",
    "operator",
    "platform",
    "runner",
    "wheel",
];

/// Keys that may be silent. Without an answer to any other the question is open.
const MAY_BE_SILENT: &[&str] = &["arch_list", "runner", "wheel"];

/// Builds their makers publish or describe. Any other is somebody else's, of which nothing follows from these.
pub(super) const OFFICIAL_WHEELS: &[&str] = &["docker", "pypi", "source"];

/// The device whose code another one loads: same major, lower minor, not of the Jetson line. From Blackwell on kernels are mostly built for
/// one device (`sm_100a`), and no other loads them.
const LOADS_CODE_OF: &[(Sm, Sm)] =
    &[(Sm::new(8, 6), Sm::new(8, 0)), (Sm::new(8, 9), Sm::new(8, 6))];

/// Why a good rule counts for less than it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Weakened {
    /// It was seen on a device whose code this one loads.
    OnKin(Sm),
    /// It names what the question leaves open.
    LeftOpen(Vec<&'static str>),
}

/// Rules for parts of one question on one device.
#[derive(Clone, Debug, Default)]
pub(super) struct Composition<'a> {
    /// Good rules that say a part of the question, in order of stages.
    pub(super) parts: Vec<&'a Rule>,
    /// Good rules that nearly apply.
    pub(super) near: Vec<(&'a Rule, Weakened)>,
    /// What no good rule names: kernels that are in the binary, or not.
    pub(super) silent: Vec<String>,
    /// What decides, and no good rule names.
    pub(super) open: Vec<String>,
}

impl<'a> Composition<'a> {
    pub(super) fn new(matches: &RuleMatches<'a>, facts: &DeviceFacts<'_>) -> Self {
        let parts: Vec<&Rule> =
            matches.applying().filter(is_good_part).map(|one| one.rule).collect();
        let composition = Self::of(matches, facts, parts.clone(), Vec::new());
        if composition.is_complete() {
            return composition;
        }
        Self::of(matches, facts, parts, matches.near(facts, kin))
    }

    fn of(
        matches: &RuleMatches<'a>,
        facts: &DeviceFacts<'_>,
        parts: Vec<&'a Rule>,
        near: Vec<(&'a Rule, Weakened)>,
    ) -> Self {
        let mut composition = Self { parts, near, ..Self::default() };
        let asked: Vec<(&str, &str)> = matches.keys_to_name().collect();
        let is_drafting = |key: &str| key == "feature" && matches.drafts_itself();
        for (at, (key, value)) in asked.iter().enumerate() {
            if !composition.names(&[key]) {
                composition.unnamed(matches, facts, (key, value));
                continue;
            }
            for (other, with) in &asked[at + 1..] {
                let meets = meet(key, other) && !is_drafting(key) && !is_drafting(other);
                let apart = meets && composition.names(&[other]);
                if apart && !composition.names(&[key, other]) {
                    let what = format!("{key} {value} together with {other} {with}");
                    composition.unnamed_together((key, other), what);
                }
            }
        }
        composition
    }

    /// Notes a key no good rule names here.
    fn unnamed(
        &mut self,
        matches: &RuleMatches<'a>,
        facts: &DeviceFacts<'_>,
        (key, value): (&str, &str),
    ) {
        if key == "arch_list" && facts.sm.is_some_and(|sm| is_built_for(value, sm)) {
            return;
        }
        let may_be = MAY_BE_SILENT.contains(&key);
        let foreign = key == "wheel" && !OFFICIAL_WHEELS.contains(&value);
        let elsewhere =
            || matches.own_rules().any(|rule| runs(rule) && rule.selector.names(key, value));
        let what = match key {
            "model_type" => format!("the kernels of {value} models"),
            _ => format!("{key} {value}"),
        };
        if may_be && !foreign && !elsewhere() || matches.passes_check(facts, (key, value)) {
            self.silent.push(what);
        } else {
            self.open.push(what);
        }
    }

    /// Notes two keys that no good rule names together. Each kernel reads a cache in its own way, or not at all.
    fn unnamed_together(&mut self, keys: (&str, &str), what: String) {
        if [keys.0, keys.1].contains(&"kv_cache") {
            self.open.push(what);
        } else {
            self.silent.push(what);
        }
    }

    /// Whether one good rule speaks of all of these keys.
    fn names(&self, keys: &[&&str]) -> bool {
        let near = self.near.iter().map(|one| one.0);
        let mut good = self.parts.iter().copied().chain(near);
        good.any(|rule| keys.iter().all(|key| rule.selector.has(key)))
    }

    /// Whether the parts make the whole.
    pub(super) fn is_complete(&self) -> bool {
        self.is_unobstructed() && self.near.is_empty() && self.silent.is_empty()
    }

    /// Whether something is known to work and nothing that decides is open.
    pub(super) fn is_unobstructed(&self) -> bool {
        let near = self.near.iter().map(|one| one.0);
        let mut good = self.parts.iter().copied().chain(near);
        self.open.is_empty() && good.any(|rule| rule.effect == Effect::Works)
    }
}

/// Good rules of the framework asked about. The version check of a framework that lets a device pass is not among them.
fn is_good_part(one: &RuleMatch<'_>) -> bool {
    one.own && runs(one.rule) && !one.refuted
}

fn runs(rule: &Rule) -> bool {
    matches!(rule.effect, Effect::Works | Effect::Fallback | Effect::Slow)
}

fn meet(one: &str, other: &str) -> bool {
    let everywhere = EVERYWHERE.contains(&one) || EVERYWHERE.contains(&other);
    everywhere || MEET.contains(&(one, other)) || MEET.contains(&(other, one))
}

/// The device whose code this one loads.
fn kin(sm: Sm) -> Option<Sm> {
    LOADS_CODE_OF.iter().find(|row| row.0 == Sm::new(sm.major, sm.minor)).map(|row| row.1)
}

#[cfg(test)]
mod tests {
    use warpscope_probes::rules::{RuleBase, Settings};

    use crate::engine::{Outcome, Question, Target, evaluate};

    const RULES: &str = r#"
framework = "demo"
common_models = ["llama"]
draft_layers = ["drafting"]

[[rule]]
id = "demo.models"
versions = "all"
for = { quantization = "fp8", model_type = ["drafting", "plain"] }
stage = "model"
outcome = "works"
reason = "it has their kernels"
source = "a page"
retrieved = "2026-11"
confidence = "high"

[[rule]]
id = "demo.drafts"
versions = "all"
for = { feature = "mtp" }
stage = "kernels"
outcome = "works"
reason = "drafts take the model's kernels"
source = "a page"
retrieved = "2026-11"
confidence = "high"
"#;

    #[test]
    fn drafting_is_joined_to_a_model_that_brings_the_layers_for_it() {
        let base = RuleBase::parse(&[("demo.toml", RULES)]).expect("reads");
        let outcome = |model: &str| {
            let pairs = [("quantization", "fp8"), ("model_type", model), ("feature", "mtp")];
            let question = Question {
                framework: "demo".to_owned(),
                version: Some("1.0".to_owned()),
                config: Settings::new(pairs).expect("good settings"),
                ..Question::default()
            };
            let target = Target::of_sm("card", warpscope_kernels::Sm::new(9, 0));
            evaluate(&base, &target, &question, &[]).outcome
        };
        assert_eq!(outcome("drafting"), Outcome::Works);
        assert_ne!(outcome("plain"), Outcome::Works);
        assert_eq!(outcome("unheard"), Outcome::Unknown);
    }
}
