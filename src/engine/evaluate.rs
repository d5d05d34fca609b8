//! Rules and evidence into one verdict.
//!
//! The stages come in the order in which a start-up meets them. A rule that sends the framework on by another route changes the
//! configuration, and everything is asked again. Among rules the worst outcome decides, the earliest stage first, except that a rule
//! named in another's `overrides` does not count where the other speaks. Counting how specific rules are was rejected: a well-qualified
//! "works" about one thing would then hide a plain "fails" about another.
//!
//! Only a rule of the framework asked about, that speaks of everything asked, can say that the whole runs. Rules of the packages that
//! take part, and of the model, can only take that away.

use std::collections::BTreeSet;

use warpscope_probes::rules::{DeviceFacts, Effect, Report, Rule, RuleBase};

use super::question::Question;
use super::target::Target;
use super::verdict::{Cell, Evidence, Finding, Level, Outcome, Settles, Step, StepKind, Verdict};
use super::walk::{Found, Plan, Ruling, Walk, severity};
use super::words::{Filler, has, missing};

/// What people reported bears this after the id of the rule it hangs on, and is weaker than the rule.
const REPORT: &str = ".report";

/// Answers one question for one device. `extra` is what inspection and live probes found about this very question.
pub fn evaluate(
    base: &RuleBase,
    target: &Target,
    question: &Question,
    extra: &[Finding],
) -> Verdict {
    answer(&Plan::new(base, question), target, extra)
}

/// The outcome alone, at a fraction of the cost of the whole answer.
pub fn cell(base: &RuleBase, target: &Target, question: &Question, extra: &[Finding]) -> Cell {
    cell_of(&Plan::new(base, question), target, extra)
}

/// The outcome of a prepared question for one device.
pub(super) fn cell_of(plan: &Plan<'_>, target: &Target, extra: &[Finding]) -> Cell {
    let verdict = answer(plan, target, extra);
    Cell { outcome: verdict.outcome, level: verdict.level, disputed: verdict.disputed }
}

/// Answers a prepared question for one device.
pub(super) fn answer(plan: &Plan<'_>, target: &Target, extra: &[Finding]) -> Verdict {
    let whole = extra.iter().filter(|one| one.settles == Settles::Whole);
    let extra: Vec<Evidence> = whole.map(|one| one.evidence.clone()).collect();
    let extra = extra.as_slice();
    let (base, question) = (plan.base, plan.question);
    let facts = target.facts();
    let walk = Walk::run(plan, &facts);
    let ruling = walk.ruling(target.sm.is_some());
    let fill = Filler::new(target, question);
    let decided = strongest(extra, &ruling);
    let outcome = decided.map_or(ruling.outcome, |one| one.outcome);
    let level = decided.map(|one| one.level).or(ruling.rule.map(|_| Level::Rule));
    // A rule's symptom and fix go with a verdict it agrees with.
    let agrees = outcome.is_bad() == ruling.outcome.is_bad();
    let remedy = ruling.rule.filter(|_| agrees && outcome != Outcome::Works);
    let story = Story { walk: &walk, ruling: &ruling, fill: &fill, facts: &facts, decided };
    let evidence = story.evidence(extra);
    Verdict {
        gpu: target.label.clone(),
        framework: base
            .framework(&question.framework)
            .map_or(&question.framework, |one| &one.name)
            .clone(),
        version: question.version.clone().unwrap_or_else(|| "any".to_owned()),
        config: question.words(),
        outcome,
        level,
        disputed: disputed(&evidence, level, outcome),
        reason: story.reason(),
        needs: ruling.rule.map(|rule| fill.text(&rule.needs)).unwrap_or_default(),
        has: has(base, target, ruling.rule, &walk.settings),
        symptom: remedy.and_then(|rule| rule.symptom.as_deref()).map(|text| fill.text(text)),
        fix: remedy.and_then(|rule| rule.fix.as_deref()).map(|text| fill.text(text)),
        fixes: Vec::new(),
        as_of: None,
        steps: story.steps(),
        evidence,
    }
}

/// What was found here decides over rules: the worst of the strongest level that knows anything.
fn strongest<'e>(extra: &'e [Evidence], ruling: &Ruling<'_>) -> Option<&'e Evidence> {
    let known = || extra.iter().filter(|one| one.outcome != Outcome::Unknown);
    let level = known().map(|one| one.level).max()?;
    let worse = |a: &'e Evidence, b: &'e Evidence| {
        if severity(b.outcome) > severity(a.outcome) { b } else { a }
    };
    let worst = known().filter(|one| one.level == level).reduce(worse)?;
    let heavier = ruling.rule.is_none() || severity(worst.outcome) > severity(ruling.outcome);
    (level > Level::Rule || heavier).then_some(worst)
}

/// Weaker evidence says otherwise, or reports contradict each other where nothing else decides.
fn disputed(evidence: &[Evidence], level: Option<Level>, outcome: Outcome) -> bool {
    let known = || evidence.iter().filter(|one| one.outcome != Outcome::Unknown);
    if outcome == Outcome::Unknown {
        return known().any(|one| one.outcome.is_bad()) && known().any(|one| !one.outcome.is_bad());
    }
    let weaker = |one: &Evidence| Some(one.level) < level || one.id.ends_with(REPORT);
    known().any(|one| weaker(one) && one.outcome.is_bad() != outcome.is_bad())
}

/// Everything that is told about how a verdict came to be.
struct Story<'a> {
    walk: &'a Walk<'a>,
    ruling: &'a Ruling<'a>,
    fill: &'a Filler<'a>,
    facts: &'a DeviceFacts<'a>,
    decided: Option<&'a Evidence>,
}

impl Story<'_> {
    fn reason(&self) -> String {
        if let Some(one) = self.decided {
            return one.detail.clone();
        }
        let Some(rule) = self.ruling.rule else { return self.why_unknown() };
        let mut reason = self.fill.text(&rule.reason);
        if let Some(route) = &rule.fallback {
            reason = format!("{reason}; it runs by another route: {}", self.fill.text(route));
        }
        let doubtful = |one: &Found<'_>| one.rule.effect.is_bad() && !self.ruling.outcome.is_bad();
        if let Some(doubt) = self.walk.undecided().find(doubtful) {
            let needed = self.missing(doubt.rule).join(" and ");
            reason = format!(
                "{reason}. Not settled without the {needed}: {}",
                self.fill.text(&doubt.rule.reason)
            );
        }
        reason
    }

    /// What would decide it, where no rule does.
    fn why_unknown(&self) -> String {
        if self.facts.sm.is_none() {
            return "the compute capability of this GPU is not known, and everything depends on it"
                .to_owned();
        }
        let needed: BTreeSet<String> =
            self.walk.undecided().flat_map(|one| self.missing(one.rule)).collect();
        if needed.is_empty() {
            return "no rule speaks of this combination; inspecting the installed binaries or running it here would decide"
                .to_owned();
        }
        let needed: Vec<_> = needed.into_iter().collect();
        format!("no rule decides without the {}; naming it would", needed.join(" and the "))
    }

    fn missing(&self, rule: &Rule) -> Vec<String> {
        missing(rule, self.walk.version.as_ref(), &self.walk.settings, self.facts)
    }

    fn decides(&self, rule: &Rule) -> bool {
        self.ruling.rule.is_some_and(|deciding| deciding.id == rule.id)
    }

    /// Strongest first; among rules the one that decided first.
    fn evidence(&self, extra: &[Evidence]) -> Vec<Evidence> {
        let mut rules: Vec<&Rule> = Vec::new();
        for one in self.walk.applying().filter(|one| one.rule.effect != Effect::Resolves) {
            if !rules.iter().any(|rule| rule.id == one.rule.id) {
                rules.push(one.rule);
            }
        }
        rules.sort_by_key(|rule| !self.decides(rule));
        let ours = rules.into_iter().flat_map(|rule| {
            let reports = rule.reports.iter().map(|report| report_of(report, rule));
            std::iter::once(claim(rule, self.fill)).chain(reports)
        });
        let mut evidence: Vec<_> = extra.iter().cloned().chain(ours).collect();
        evidence.sort_by_key(|one| std::cmp::Reverse(one.level));
        evidence
    }

    fn steps(&self) -> Vec<Step> {
        let detours = self.walk.detours.iter().map(|one| {
            let text =
                format!("{}; goes on with {}", self.fill.text(&one.rule.reason), one.rule.route);
            step(one.rule, StepKind::Rerouted, text)
        });
        let rules = self.walk.found.iter().map(|one| self.step_of(one));
        let found_here = self.decided.map(|one| Step {
            stage: "found here".to_owned(),
            kind: StepKind::Decides,
            rule: Some(one.id.clone()),
            text: one.detail.clone(),
        });
        detours.chain(rules).chain(found_here).collect()
    }

    fn step_of(&self, one: &Found<'_>) -> Step {
        let text = self.fill.text(&one.rule.reason);
        if !one.applies {
            let needed = self.missing(one.rule).join(" and ");
            return step(one.rule, StepKind::Undecided, format!("needs the {needed}: {text}"));
        }
        let kind = match self.decided {
            None if self.decides(one.rule) => StepKind::Decides,
            _ if one.rule.effect.is_bad() => StepKind::Stops,
            _ => StepKind::Passes,
        };
        step(one.rule, kind, text)
    }
}

fn step(rule: &Rule, kind: StepKind, text: String) -> Step {
    Step { stage: rule.stage.words().to_owned(), kind, rule: Some(rule.id.clone()), text }
}

fn claim(rule: &Rule, fill: &Filler<'_>) -> Evidence {
    let user = if rule.user { " (your rule)" } else { "" };
    Evidence {
        level: Level::Rule,
        outcome: rule.effect.into(),
        id: rule.id.clone(),
        detail: format!("{}{user}", fill.text(&rule.reason)),
        source: rule.source.clone(),
        retrieved: rule.retrieved.clone(),
    }
}

fn report_of(report: &Report, rule: &Rule) -> Evidence {
    Evidence {
        level: Level::Rule,
        outcome: report.outcome.into(),
        id: format!("{}{REPORT}", rule.id),
        detail: report.detail.clone(),
        source: report.source.clone(),
        retrieved: report.retrieved.clone(),
    }
}

#[cfg(test)]
#[path = "evaluate_tests.rs"]
mod tests;
