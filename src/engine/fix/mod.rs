//! Fixes for an answer that says no or slow: the rule's advice, one option changed, another version, another GPU.
//!
//! Everything but the rule's own text is evaluated first and offered only where it then runs. Two options are never changed at once:
//! nobody could tell which of them helped.

mod hardware;
mod launch;
mod options;
mod versions;

use warpscope_probes::rules::{Cost, RuleBase};

use super::answer::Answer;
use super::explanation::remedy;
use super::matching::Plan;
use super::question::Question;
use super::target::Target;
use super::verdict::{Finding, Fix, Outcome};
use super::words::Filler;

/// The command that starts the framework with the configuration of a question, where its rules say how.
pub fn start_command(base: &RuleBase, target: &Target, question: &Question) -> Option<String> {
    let launch = base.framework(&question.framework)?.launch.as_ref()?;
    Some(launch::text(launch, question, &Filler::new(target, question)))
}

/// Every fix for an answer, cheapest first, the rule's own before those the engine found.
pub(super) fn fixes(answer: &Answer<'_>) -> Vec<Fix> {
    let own = advice(answer);
    let mut tried = Vec::new();
    let outcome = answer.decision.outcome;
    if outcome.is_bad() || outcome == Outcome::Slow {
        let attempt = Attempt { answer };
        tried.extend(options::of(&attempt));
        tried.extend(versions::of(&attempt));
        tried.sort_by_key(|fix| fix.then.map(Outcome::severity));
        tried.extend(hardware::of(&attempt));
    }
    let mut fixes: Vec<Fix> = own.into_iter().chain(tried).collect();
    fixes.sort_by_key(|fix| fix.cost);
    deduplicated(fixes)
}

/// The rule's own advice. The engine cannot evaluate prose, so its outcome is not claimed.
fn advice(answer: &Answer<'_>) -> Option<Fix> {
    let rule = remedy(answer)?;
    let text = Filler::new(answer.target, answer.question).command(rule.fix.as_deref()?);
    let text = text.replace(launch::ANY_MODEL, launch::model(answer.question));
    let title = match rule.fix_cost {
        Cost::Flag => "recommended by the rule",
        Cost::Kernel => "another kernel, recommended by the rule",
        Cost::Build => "another version or build, recommended by the rule",
        Cost::Format => "another model format, recommended by the rule",
        Cost::Hardware => "another GPU, recommended by the rule",
    };
    Some(Fix { cost: rule.fix_cost, title: title.to_owned(), text, then: None })
}

fn deduplicated(fixes: Vec<Fix>) -> Vec<Fix> {
    let mut kept: Vec<Fix> = Vec::new();
    for fix in fixes {
        match kept.iter_mut().find(|one| bare(&one.text) == bare(&fix.text)) {
            // The rule's own text, now evaluated.
            Some(twin) => twin.then = twin.then.or(fix.then),
            None => kept.push(fix),
        }
    }
    kept
}

/// The commands of a text without their comments.
fn bare(text: &str) -> Vec<&str> {
    let code = text.lines().filter(|line| !line.starts_with('#'));
    let code = code.filter_map(|line| line.split("   #").next()).map(str::trim);
    let commands: Vec<&str> = code.filter(|line| !line.is_empty()).collect();
    if commands.is_empty() { vec![text.trim()] } else { commands }
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
        self.ask(question, self.answer.target, kept)
    }

    /// The outcome of the same question on another GPU, if it runs and better than before.
    fn elsewhere(&self, target: &Target) -> Option<Outcome> {
        let anywhere = |one: &&Finding| one.sm.is_none() && one.evidence.outcome.is_bad();
        self.ask(self.answer.question, target, self.answer.findings.all().filter(anywhere))
    }

    fn ask<'f>(
        &self,
        question: &Question,
        target: &Target,
        findings: impl Iterator<Item = &'f Finding>,
    ) -> Option<Outcome> {
        let findings: Vec<Finding> = findings.cloned().collect();
        let plan = Plan::new(self.answer.base, question);
        let outcome = Answer::new(&plan, target, findings.iter()).decision.outcome;
        let better = outcome.severity() < self.answer.decision.outcome.severity();
        (outcome.severity() < Outcome::Unknown.severity() && better).then_some(outcome)
    }
}

#[cfg(test)]
mod tests;
