//! A question with its decision for one device.

use std::cell::OnceCell;

use warpscope_probes::rules::{DeviceFacts, RuleBase, Version};

use super::age::Age;
use super::candidates::Plan;
use super::decision::Decision;
use super::device::Device;
use super::findings::Findings;
use super::matching::RuleMatches;
use super::memory::Memory;
use super::question::Question;
use super::target::Target;
use super::verdict::Finding;

/// A decided question, before it is put into words.
pub(super) struct Answer<'a> {
    pub(super) base: &'a RuleBase,
    pub(super) question: &'a Question,
    pub(super) device: &'a Device<'a>,
    pub(super) target: &'a Target,
    pub(super) facts: DeviceFacts<'a>,
    pub(super) findings: Findings<'a>,
    /// Version asked about, once parsed.
    pub(super) version: Option<&'a Version>,
    /// How it compares with the versions the rules cover, once looked up: releases are read from text.
    pub(super) age: &'a OnceCell<Option<Age>>,
    pub(super) matches: RuleMatches<'a>,
    /// Whether there is memory for the model, whether or not that decides.
    pub(super) memory: Memory,
    pub(super) decision: Decision<'a>,
}

impl<'a> Answer<'a> {
    pub(super) fn new(
        plan: &'a Plan<'_>,
        device: &'a Device<'a>,
        extra: impl Iterator<Item = &'a Finding>,
    ) -> Self {
        let findings = Findings::new(plan.question, extra);
        let (target, facts) = (device.target, device.facts());
        let matches = RuleMatches::run(plan, device, &findings);
        let memory = match plan.spills {
            true => Memory::NotAsked,
            false => Memory::of(plan.question, matches.settings(), target),
        };
        let decision = Decision::new(&matches, &findings, &memory, &facts);
        let (base, question, version) = (plan.base, plan.question, plan.version.as_ref());
        let age = &plan.age;
        Self {
            base,
            question,
            device,
            target,
            facts,
            findings,
            version,
            age,
            matches,
            memory,
            decision,
        }
    }
}
