//! A question with its decision for one device.

use std::cell::OnceCell;

use warpscope_probes::rules::{DeviceFacts, RuleBase, Version};

use super::age::Age;
use super::decision::Decision;
use super::findings::Findings;
use super::matching::{Plan, RuleMatches};
use super::memory::TooBig;
use super::question::Question;
use super::target::Target;
use super::verdict::Finding;

/// A decided question, before it is put into words.
pub(super) struct Answer<'a> {
    pub(super) base: &'a RuleBase,
    pub(super) question: &'a Question,
    pub(super) target: &'a Target,
    pub(super) facts: DeviceFacts<'a>,
    pub(super) findings: Findings<'a>,
    /// Version asked about, once parsed.
    pub(super) version: Option<&'a Version>,
    /// How it compares with the versions the rules cover, once looked up: releases are read from text.
    pub(super) age: &'a OnceCell<Option<Age>>,
    pub(super) matches: RuleMatches<'a>,
    /// What the model lacks of memory, whether or not that decides.
    pub(super) too_big: Option<TooBig>,
    pub(super) decision: Decision<'a>,
}

impl<'a> Answer<'a> {
    pub(super) fn new(
        plan: &'a Plan<'_>,
        target: &'a Target,
        extra: impl Iterator<Item = &'a Finding>,
    ) -> Self {
        let findings = Findings::new(plan.question, extra);
        let facts = target.facts();
        let matches = RuleMatches::run(plan, &facts, &findings);
        let too_big =
            (!plan.spills).then(|| TooBig::of(plan.question, matches.settings(), target)).flatten();
        let decision = Decision::new(&matches, &findings, too_big.is_some(), &facts);
        let (base, question, version) = (plan.base, plan.question, plan.version.as_ref());
        let age = &plan.age;
        Self { base, question, target, facts, findings, version, age, matches, too_big, decision }
    }
}
