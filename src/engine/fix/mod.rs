//! Fixes for an answer that says no or slow: the rule's advice, one option changed, another version, another GPU.
//!
//! Everything is evaluated first, the rule's own text as far as it is understood, and offered only where it then runs or nothing speaks
//! against it. Two options are never changed at once:
//! nobody could tell which of them helped.

mod advice;
mod frameworks;
mod gpus;
mod hardware;
mod launch;
mod options;
mod paste;
mod versions;

use warpscope_probes::rules::{Cost, RuleBase};

use super::answer::Answer;
use super::candidates::Plan;
use super::device::Device;
use super::question::Question;
use super::target::Target;
use super::verdict::{Finding, Fix, Outcome};
use super::words::Filler;

/// The command that starts the framework with the configuration of a question, where its rules say how.
pub fn start_command(base: &RuleBase, target: &Target, question: &Question) -> Option<String> {
    let launch = base.framework(&question.framework)?.launch.as_ref()?;
    Some(launch::text(launch, question, &Filler::new(target, question)))
}

/// Every fix for an answer: what is known to run before what is not, then the cheapest first, another GPU last.
pub(super) fn fixes(answer: &Answer<'_>) -> Vec<Fix> {
    let outcome = answer.decision.outcome;
    if let Some(repair) = answer.findings.repair().filter(|_| outcome.is_bad()) {
        let title = "repair what is installed".to_owned();
        return vec![Fix { cost: Cost::Build, title, text: repair.to_owned(), then: None }];
    }
    let attempt = Attempt { answer };
    let mut fixes: Vec<Fix> = advice::of(&attempt).into_iter().collect();
    let fails = outcome.is_bad() || outcome == Outcome::Slow;
    // Who names a model wants it to run, if need be where it is known to.
    let open = outcome == Outcome::Unknown && answer.question.config.get("model_type").is_some();
    if fails {
        let mut tried = options::of(&attempt);
        tried.extend(versions::of(&attempt));
        tried.sort_by_key(|fix| fix.then.map(Outcome::severity));
        fixes.extend(tried);
    }
    let runs = fixes.iter().any(|fix| fix.then == Some(Outcome::Works));
    if open || outcome.is_bad() && !runs {
        fixes.extend(frameworks::of(&attempt));
    }
    if fails {
        fixes.extend(gpus::of(&attempt));
        fixes.extend(hardware::of(&attempt));
    }
    fixes.sort_by_key(|fix| (fix.cost == Cost::Hardware, fix.then.is_none(), fix.cost));
    deduplicated(fixes)
}

fn deduplicated(fixes: Vec<Fix>) -> Vec<Fix> {
    let mut kept: Vec<Fix> = Vec::new();
    for fix in fixes {
        match kept.iter_mut().find(|one| one.text.trim() == fix.text.trim()) {
            // The rule's own text, now evaluated.
            Some(twin) => twin.then = twin.then.or(fix.then),
            None => kept.push(fix),
        }
    }
    kept
}

/// An answer to be improved on.
struct Attempt<'t> {
    answer: &'t Answer<'t>,
}

impl Attempt<'_> {
    /// The outcome of a changed question on this GPU, if it runs and better than before. Bad findings about the binaries stay valid
    /// as long as the binaries do; good ones do not carry over to another configuration.
    fn changed(&self, question: &Question, same_binaries: bool) -> Option<Outcome> {
        let parts = self.answer.findings.parts.iter().copied();
        let kept = parts.filter(|one| same_binaries && one.evidence.outcome.is_bad());
        self.ask(question, kept)
    }

    /// The outcome of another question on this GPU, whatever it is.
    fn outcome_of(&self, question: &Question) -> Outcome {
        let plan = Plan::new(self.answer.base, question);
        Answer::new(&plan, self.answer.device, std::iter::empty()).decision.outcome
    }

    /// The outcome of the same question, prepared once, on another GPU, if it runs and better than before.
    fn elsewhere(&self, plan: &Plan<'_>, target: &Target) -> Option<Outcome> {
        let anywhere = |one: &&Finding| one.sm.is_none() && one.evidence.outcome.is_bad();
        let device = Device::new(self.answer.base, target);
        self.ask_prepared(plan, &device, self.answer.findings.all().filter(anywhere))
    }

    /// The outcome of a question on a group of GPUs like this one, if it runs and better than before.
    fn beside(&self, question: &Question, group: &Target) -> Option<Outcome> {
        let bad = |one: &&Finding| one.evidence.outcome.is_bad();
        let device = Device::new(self.answer.base, group);
        let plan = Plan::new(self.answer.base, question);
        self.ask_prepared(&plan, &device, self.answer.findings.all().filter(bad))
    }

    /// The outcome of another question on this GPU, if it runs and better than before.
    fn ask<'f>(
        &self,
        question: &Question,
        findings: impl Iterator<Item = &'f Finding>,
    ) -> Option<Outcome> {
        let plan = Plan::new(self.answer.base, question);
        self.ask_prepared(&plan, self.answer.device, findings)
    }

    fn ask_prepared<'f>(
        &self,
        plan: &Plan<'_>,
        device: &Device<'_>,
        findings: impl Iterator<Item = &'f Finding>,
    ) -> Option<Outcome> {
        let findings: Vec<Finding> = findings.cloned().collect();
        let outcome = Answer::new(plan, device, findings.iter()).decision.outcome;
        let better = outcome.severity() < self.answer.decision.outcome.severity();
        (outcome.runs() && better).then_some(outcome)
    }
}

#[cfg(test)]
mod tests;
