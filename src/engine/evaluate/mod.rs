//! Rules and evidence into one verdict.
//!
//! The stages come in the order in which a start-up meets them. A rule that sends the framework on by another route changes the
//! configuration, and everything is asked again. Among rules the worst outcome decides, the earliest stage first, except that a rule
//! named in another's `overrides` does not count where the other speaks. Counting how specific rules are was rejected: a well-qualified
//! "works" about one thing would then hide a plain "fails" about another.
//!
//! Only a rule of the framework asked about, that speaks of everything asked, can say that the whole runs. Rules of the packages that
//! take part, and of the model, can only take that away.

use warpscope_probes::rules::{DeviceFacts, RuleBase, Version};

use super::age::as_of;
use super::findings::Findings;
use super::fix::fixes;
use super::memory::TooBig;
use super::question::Question;
use super::ruling::{By, Ruling};
use super::story::Story;
use super::target::Target;
use super::verdict::{Cell, Finding, Verdict};
use super::walk::{Plan, Walk};
use super::words::{Filler, has};

/// Answers one question for one device. `extra` is what inspection and live probes found about this very question.
pub fn evaluate(
    base: &RuleBase,
    target: &Target,
    question: &Question,
    extra: &[Finding],
) -> Verdict {
    let plan = Plan::new(base, question);
    let answer = Answer::new(&plan, target, extra.iter());
    Verdict { fixes: fixes(&answer), ..answer.verdict() }.with_first_fix()
}

/// The outcome alone, at a fraction of the cost of the whole answer.
pub fn cell(base: &RuleBase, target: &Target, question: &Question, extra: &[Finding]) -> Cell {
    cell_of(&Plan::new(base, question), target, extra.iter())
}

/// The outcome of a prepared question for one device.
pub(super) fn cell_of<'a>(
    plan: &'a Plan<'_>,
    target: &'a Target,
    extra: impl Iterator<Item = &'a Finding>,
) -> Cell {
    let Ruling { outcome, level, disputed, .. } = Answer::new(plan, target, extra).ruling;
    Cell { outcome, level, disputed }
}

/// A decided question, before it is told.
pub(super) struct Answer<'a> {
    pub(super) base: &'a RuleBase,
    pub(super) question: &'a Question,
    pub(super) target: &'a Target,
    pub(super) facts: DeviceFacts<'a>,
    pub(super) findings: Findings<'a>,
    /// Version asked about, once parsed.
    pub(super) version: Option<&'a Version>,
    pub(super) walk: Walk<'a>,
    pub(super) ruling: Ruling<'a>,
}

impl<'a> Answer<'a> {
    pub(super) fn new(
        plan: &'a Plan<'_>,
        target: &'a Target,
        extra: impl Iterator<Item = &'a Finding>,
    ) -> Self {
        let findings = Findings::new(plan.question, extra);
        let facts = target.facts();
        let walk = Walk::run(plan, &facts, &findings);
        let memory = target.memory_bytes.filter(|_| !plan.spills);
        let size = TooBig::of(plan.question, walk.settings(), memory);
        let ruling = Ruling::new(&walk, &findings, size, target.sm.is_some());
        let (base, question, version) = (plan.base, plan.question, plan.version.as_ref());
        Self { base, question, target, facts, findings, version, walk, ruling }
    }

    /// Everything but the ways out.
    fn verdict(&self) -> Verdict {
        let (ruling, question) = (&self.ruling, self.question);
        let fill = Filler::new(self.target, question);
        let framework = self.base.framework(&question.framework);
        let story = Story { answer: self, fill: &fill };
        let symptom = story.remedy().and_then(|rule| rule.symptom.as_deref());
        Verdict {
            gpu: self.target.label.clone(),
            framework: framework.map_or(&question.framework, |one| &one.name).clone(),
            version: question.version.clone().unwrap_or_else(|| "any".to_owned()),
            origin: question.origin,
            config: question.words(),
            outcome: ruling.outcome,
            level: ruling.level,
            disputed: ruling.disputed,
            reason: story.reason(),
            needs: story.needs(),
            has: self.has(),
            symptom: symptom.map(|text| fill.text(text)),
            fix: None,
            fixes: Vec::new(),
            as_of: as_of(self),
            steps: story.steps(),
            evidence: story.evidence(),
        }
    }

    fn has(&self) -> String {
        let has = has(self.base, self.target, self.ruling.rule, self.walk.settings());
        match self.ruling.by {
            By::Size(size) if !has.ends_with(" memory") => format!("{has}, {}", size.has()),
            _ => has,
        }
    }
}

impl Verdict {
    fn with_first_fix(mut self) -> Self {
        self.fix = self.fixes.first().map(|fix| fix.text.clone());
        self
    }
}

#[cfg(test)]
mod tests;
