//! Ways out of an answer that says no or slow: what the rule advises, one setting changed, another version, another GPU.
//!
//! Everything but the rule's own text is tried on the engine first and offered only where it then runs, by what rules say and found
//! trouble allows. Changing two settings at once was left out: nobody can tell which of the two helped.

mod hardware;
mod launch;
mod levers;
mod versions;

use warpscope_probes::rules::Cost;

use super::evaluate::Answer;
use super::question::Question;
use super::ruling::severity;
use super::story::remedy;
use super::target::Target;
use super::verdict::{Finding, Fix, Outcome};
use super::walk::Plan;
use super::words::Filler;

/// Every way out of an answer, cheapest first, the rule's own before what the engine found.
pub(super) fn fixes(answer: &Answer<'_>) -> Vec<Fix> {
    let own = advice(answer);
    let mut tried = Vec::new();
    let outcome = answer.ruling.outcome;
    if outcome.is_bad() || outcome == Outcome::Slow {
        let trial = Trial { answer };
        tried.extend(levers::of(&trial));
        tried.extend(versions::of(&trial));
        tried.sort_by_key(|fix| fix.then.map(severity));
        tried.extend(hardware::of(&trial));
    }
    let mut fixes: Vec<Fix> = own.into_iter().chain(tried).collect();
    fixes.sort_by_key(|fix| fix.cost);
    without_twins(fixes)
}

/// What the rule itself advises. The engine cannot read a text, so what happens then is not claimed.
fn advice(answer: &Answer<'_>) -> Option<Fix> {
    let rule = remedy(answer)?;
    let text = Filler::new(answer.target, answer.question).command(rule.fix.as_deref()?);
    let text = text.replace(launch::ANY_MODEL, launch::model(answer.question));
    let title = match rule.fix_cost {
        Cost::Flag => "as the rule advises",
        Cost::Kernel => "another kernel, as the rule advises",
        Cost::Build => "another version or build, as the rule advises",
        Cost::Format => "another format of the model, as the rule advises",
        Cost::Hardware => "another GPU, as the rule advises",
    };
    Some(Fix { cost: rule.fix_cost, title: title.to_owned(), text, then: None })
}

fn without_twins(fixes: Vec<Fix>) -> Vec<Fix> {
    let mut kept: Vec<Fix> = Vec::new();
    for fix in fixes {
        match kept.iter_mut().find(|one| bare(&one.text) == bare(&fix.text)) {
            // The rule's own words, now tried.
            Some(twin) => twin.then = twin.then.or(fix.then),
            None => kept.push(fix),
        }
    }
    kept
}

/// The commands of a text without what is remarked on them.
fn bare(text: &str) -> Vec<&str> {
    let code = text.lines().filter(|line| !line.starts_with('#'));
    let code = code.filter_map(|line| line.split("   #").next()).map(str::trim);
    let commands: Vec<&str> = code.filter(|line| !line.is_empty()).collect();
    if commands.is_empty() { vec![text.trim()] } else { commands }
}

/// An answer somebody wants to get away from.
struct Trial<'t> {
    answer: &'t Answer<'t>,
}

impl Trial<'_> {
    /// How a changed question ends on this GPU, if it then runs and better than before. Trouble found in the binaries stays
    /// while the binaries do; that something was fine does not carry over to another configuration.
    fn changed(&self, question: &Question, same_binaries: bool) -> Option<Outcome> {
        let parts = self.answer.findings.parts.iter().copied();
        let kept = parts.filter(|one| same_binaries && one.evidence.outcome.is_bad());
        self.ask(question, self.answer.target, kept)
    }

    /// How the same question ends on another GPU, if it then runs and better than before.
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
        let outcome = Answer::new(&plan, target, findings.iter()).ruling.outcome;
        let better = severity(outcome) < severity(self.answer.ruling.outcome);
        (severity(outcome) < severity(Outcome::Unknown) && better).then_some(outcome)
    }
}

#[cfg(test)]
mod tests;
