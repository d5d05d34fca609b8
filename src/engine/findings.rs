//! Which rules a finding on this machine replaces.
//!
//! A finding about a stage covers its own software and no other: that vLLM's library contains code for a GPU says nothing about the
//! flash-attn package next to it. So findings about packages are considered too, each for its own rules.

use warpscope_probes::rules::{Rule, Stage};

use super::question::Question;
use super::verdict::{Evidence, Finding, Outcome, Scope};

/// Findings about one question on one device, by how much of it they answer.
#[derive(Default)]
pub(super) struct Findings<'f> {
    /// Those that answer all of it.
    pub(super) whole: Vec<&'f Finding>,
    /// Those that answer a part.
    pub(super) parts: Vec<&'f Finding>,
}

impl<'f> Findings<'f> {
    pub(super) fn new(question: &Question, extra: impl Iterator<Item = &'f Finding>) -> Self {
        let mut findings = Self::default();
        let relevant =
            |one: &&Finding| speaks_of(&one.framework, question) && is_about(one, question);
        for one in extra.filter(relevant) {
            let own = one.framework == question.framework;
            let list = match one.settles {
                Scope::Whole if own => &mut findings.whole,
                _ => &mut findings.parts,
            };
            list.push(one);
        }
        findings
    }

    /// Everything there is, answers to the whole first.
    pub(super) fn all(&self) -> impl Iterator<Item = &'f Finding> {
        self.whole.iter().chain(&self.parts).copied()
    }

    /// What mends installed files or packages, where these are at fault.
    pub(super) fn repair(&self) -> Option<&'f str> {
        let bad = |one: &&Finding| one.evidence.outcome.is_bad();
        self.all().filter(bad).find_map(|one| one.repair.as_deref())
    }

    /// The finding that replaces a rule: the worst of the strongest level.
    pub(super) fn about(&self, rule: &Rule) -> Option<&'f Evidence> {
        worst_of_strongest(self.parts.iter().filter(|one| answers(one, rule)).copied())
    }

    /// Parts that no stronger finding about the same part contradicts.
    pub(super) fn standing(&self) -> impl Iterator<Item = &'f Finding> {
        let outvoted = |one: &Finding| {
            self.parts.iter().any(|other| {
                (&other.framework, &other.settles) == (&one.framework, &one.settles)
                    && other.evidence.level > one.evidence.level
                    && other.evidence.outcome != Outcome::Unknown
            })
        };
        let known = |one: &&Finding| one.evidence.outcome != Outcome::Unknown;
        self.parts.iter().copied().filter(known).filter(move |one| !outvoted(one))
    }
}

/// Whether findings about this software are relevant: it is the framework asked about or one of its packages.
pub(super) fn speaks_of(framework: &str, question: &Question) -> bool {
    framework == question.framework || question.config.get(framework).is_some()
}

/// Whether a finding covers the configuration asked about.
fn is_about(finding: &Finding, question: &Question) -> bool {
    finding.only.iter().all(|(key, value)| question.config.get(key) == Some(value))
}

/// The worst of the strongest level that knows anything.
pub(super) fn worst_of_strongest<'f>(
    findings: impl Iterator<Item = &'f Finding>,
) -> Option<&'f Evidence> {
    let known = findings.map(|one| &one.evidence).filter(|one| one.outcome != Outcome::Unknown);
    known.reduce(|best, one| {
        let rank = |one: &Evidence| (one.level, one.outcome.severity());
        if rank(one) > rank(best) { one } else { best }
    })
}

/// Whether a finding about a part covers the rule.
pub(super) fn answers(finding: &Finding, rule: &Rule) -> bool {
    let own = || rule.framework == finding.framework;
    match &finding.settles {
        Scope::Whole => own(),
        Scope::Stage(stage) => rule.stage == *stage && own(),
        Scope::Rules(ids) => {
            let entry = rule.id.strip_suffix(".inside").unwrap_or(&rule.id);
            ids.iter().any(|id| *id == rule.id || id == entry)
        }
    }
}

/// The stage a finding about a part belongs to, given the rules about the configuration; none when it covers none of them.
pub(super) fn stage_of<'a>(
    finding: &Finding,
    rules: impl Iterator<Item = &'a Rule>,
) -> Option<Stage> {
    match finding.settles {
        Scope::Whole => Some(Stage::Kernels),
        Scope::Stage(stage) => Some(stage),
        Scope::Rules(_) => rules.filter(|rule| answers(finding, rule)).map(|rule| rule.stage).min(),
    }
}
