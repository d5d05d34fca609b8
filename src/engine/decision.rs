//! What decides: rules, findings on this machine, or the size of the model.
//!
//! The worst claim decides, the earliest stage first. A finding replaces the rules in its scope at its own level: a bad one competes
//! in their place, a good one removes the bad ones. A part that works never makes the whole work; only a rule or finding about the
//! whole can say so. Rules and findings are not counted against each other: one kernel that ran outweighs any number of documents.

use std::cmp::Reverse;

use warpscope_probes::rules::{DeviceFacts, Effect, Report, Rule, Stage};

use super::composition::Composition;
use super::findings::{Findings, stage_of, worst_of_strongest};
use super::matching::{RuleMatch, RuleMatches};
use super::memory::Memory;
use super::verdict::{Evidence, Finding, Level, Outcome, Scope};

/// What decided.
#[derive(Clone, Copy)]
pub(super) enum DecidedBy<'a> {
    Rule(&'a Rule),
    /// An answer to the whole question.
    Whole(&'a Evidence),
    /// An answer to a part of it.
    Part(&'a Finding),
    /// The model does not fit.
    Size,
    /// Rules for its parts, together.
    Parts,
    Nothing,
}

/// One claim about the outcome.
#[derive(Clone, Copy)]
struct Claim<'a> {
    outcome: Outcome,
    stage: Stage,
    level: Level,
    by: DecidedBy<'a>,
}

impl Claim<'_> {
    /// The worse outcome counts more, then the earlier stage, then the stronger evidence.
    fn weight(&self) -> (u8, Reverse<Stage>, Level) {
        (self.outcome.severity(), Reverse(self.stage), self.level)
    }
}

/// The outcome, and what decided it.
pub(super) struct Decision<'a> {
    pub(super) outcome: Outcome,
    /// Level of the deciding evidence; none when nothing is known.
    pub(super) level: Option<Level>,
    pub(super) by: DecidedBy<'a>,
    /// What the rules alone would decide; its message and fix belong to a verdict it agrees with.
    pub(super) rule: Option<&'a Rule>,
    /// The finding that confirms a rule's good outcome.
    pub(super) confirmed: Option<&'a Evidence>,
    pub(super) disputed: bool,
    /// Whether it would run, were it known that there is memory for the model.
    pub(super) is_memory_open: bool,
    /// What rules for parts say, where no rule speaks of the whole.
    pub(super) composition: Option<Composition<'a>>,
}

impl<'a> Decision<'a> {
    pub(super) fn new(
        matches: &RuleMatches<'a>,
        findings: &Findings<'a>,
        memory: &Memory,
        facts: &DeviceFacts<'_>,
    ) -> Self {
        let answerable = facts.sm.is_some() && !matches.is_cyclic();
        let whole = answerable && matches.applying().any(|one| supports_whole(&one));
        let composition = (answerable && !whole).then(|| Composition::new(matches, facts));
        let complete = composition.as_ref().is_some_and(Composition::is_complete);
        let unobstructed = composition.as_ref().is_some_and(Composition::is_unobstructed);
        let runs = whole || complete;
        let good = |outcome: Outcome| outcome.runs() || outcome == Outcome::NoObstacle;
        let counts = |claim: &Claim<'_>| !good(claim.outcome) || runs;
        let rules = || matches.applying().filter(is_claim);
        let standing = rules()
            .filter(|one| findings.about(one.rule).is_none_or(|found| !found.outcome.is_bad()));
        let claims = standing.map(|one| claim_of(&one));
        let parts = findings.standing().filter_map(|one| part_claim(one, matches));
        let too_big = memory.lack().map(|_| Claim {
            outcome: Outcome::Fails,
            stage: Stage::Memory,
            level: Level::Rule,
            by: DecidedBy::Size,
        });
        let first = decisive(claims.chain(parts).chain(too_big)).filter(counts);
        let rule = decisive(rules().map(|one| claim_of(&one))).filter(counts);
        let parts = match () {
            () if complete => Some(Outcome::Works),
            () if unobstructed => Some(Outcome::NoObstacle),
            () => None,
        };
        let rest = parts.map_or(DecidedBy::Nothing, |_| DecidedBy::Parts);
        let mut decision = Self {
            outcome: first.map(|claim| claim.outcome).or(parts).unwrap_or(Outcome::Unknown),
            level: first.map(|claim| claim.level).or(parts.map(|_| Level::Rule)),
            by: first.map_or(rest, |claim| claim.by),
            composition,
            rule: first.and_then(|claim| claim.rule()).or(rule.and_then(|claim| claim.rule())),
            confirmed: None,
            disputed: false,
            is_memory_open: false,
        };
        decision.confirm(matches, findings);
        decision.apply_whole(findings);
        decision.is_memory_open = *memory == Memory::Unknown && decision.outcome.runs();
        if decision.is_memory_open {
            decision.outcome = Outcome::NoObstacle;
        }
        // No rule speaks of damaged files.
        let is_damaged = decision.outcome.is_bad() && findings.repair().is_some();
        decision.disputed = !is_damaged && decision.is_disputed(matches, findings);
        decision
    }

    /// Raises a rule's good outcome to the level of the finding that confirms it.
    fn confirm(&mut self, matches: &RuleMatches<'a>, findings: &Findings<'a>) {
        let DecidedBy::Rule(rule) = self.by else { return };
        let claims = || matches.applying().filter(supports_whole).map(|one| one.rule);
        let bears = |one: &&'a Finding| match (self.outcome, &one.settles) {
            (Outcome::Works, Scope::Stage(Stage::Kernels)) => true,
            (Outcome::Works, _) => claims().any(|rule| super::findings::answers(one, rule)),
            _ => super::findings::answers(one, rule),
        };
        let good = |one: &&'a Finding| !one.evidence.outcome.is_bad();
        if !self.outcome.is_bad() && self.outcome != Outcome::Unknown {
            let framework = &rule.framework;
            let own = findings.standing().filter(|one| one.framework == *framework);
            self.confirmed = worst_of_strongest(own.filter(good).filter(bears));
            self.level = self.level.max(self.confirmed.map(|one| one.level));
        }
    }

    /// A finding about the whole decides unless stronger evidence exists; among equals the worse.
    fn apply_whole(&mut self, findings: &Findings<'a>) {
        let Some(whole) = worst_of_strongest(findings.whole.iter().copied()) else { return };
        let stronger = Some(whole.level) > self.level;
        let worse =
            Some(whole.level) == self.level && whole.outcome.severity() > self.outcome.severity();
        if stronger || worse {
            self.outcome = whole.outcome;
            self.level = Some(whole.level);
            self.by = DecidedBy::Whole(whole);
            self.confirmed = None;
        }
    }

    /// Whether weaker evidence disagrees or, where nothing decides, the evidence contradicts itself.
    fn is_disputed(&self, matches: &RuleMatches<'_>, findings: &Findings<'_>) -> bool {
        let rules = || matches.applying().filter(|one| one.rule.effect != Effect::Resolves);
        let otherwise = |outcome: Outcome| {
            outcome != Outcome::Unknown && outcome.is_bad() != self.outcome.is_bad()
        };
        let reports = || rules().flat_map(|one| &one.rule.reports).map(said);
        let refuted = || rules().any(|one| one.refuted && one.rule.effect.is_bad());
        let whole = || findings.whole.iter().any(|one| otherwise(one.evidence.outcome));
        match self.by {
            DecidedBy::Nothing => self_contradictory(matches, findings) || refuted(),
            DecidedBy::Rule(_) if self.outcome == Outcome::Unknown => {
                self_contradictory(matches, findings)
            }
            DecidedBy::Rule(_) | DecidedBy::Parts => {
                reports().any(otherwise) || whole() || (refuted() && !self.outcome.is_bad())
            }
            DecidedBy::Size => whole(),
            DecidedBy::Part(part) => {
                let replaced = |one: &RuleMatch<'_>| super::findings::answers(part, one.rule);
                // A rule that agrees covers all it outweighs.
                let rules = rules().filter(replaced).map(|one| one.outcome());
                let worst = rules.max_by_key(|outcome| outcome.severity());
                worst.into_iter().chain(reports()).any(otherwise) || whole()
            }
            DecidedBy::Whole(found) => {
                let weaker = |level: Level| level < found.level;
                let found_too = findings.all().map(|one| &one.evidence);
                let found_too = found_too.filter(|one| weaker(one.level)).map(|one| one.outcome);
                let rules = rules().filter(|_| weaker(Level::Rule)).map(|one| one.outcome());
                rules.chain(reports()).chain(found_too).any(otherwise)
            }
        }
    }
}

impl<'a> Claim<'a> {
    fn rule(&self) -> Option<&'a Rule> {
        match self.by {
            DecidedBy::Rule(rule) => Some(rule),
            _ => None,
        }
    }
}

fn said(report: &Report) -> Outcome {
    report.outcome.into()
}

fn supports_whole(one: &RuleMatch<'_>) -> bool {
    one.whole && one.rule.effect != Effect::Resolves && one.outcome().runs()
}

/// A package or a part that works says nothing about the whole, and neither does a refuted rule.
fn is_claim(one: &RuleMatch<'_>) -> bool {
    let part = one.rule.effect == Effect::Works && !one.whole;
    one.rule.effect != Effect::Resolves && !part && !one.refuted
}

fn claim_of<'a>(one: &RuleMatch<'a>) -> Claim<'a> {
    Claim {
        outcome: one.outcome(),
        stage: one.rule.stage,
        level: Level::Rule,
        by: DecidedBy::Rule(one.rule),
    }
}

/// What a finding about a part claims about the whole: that it fails or runs worse, never that it works.
fn part_claim<'a>(finding: &'a Finding, matches: &RuleMatches<'_>) -> Option<Claim<'a>> {
    let Evidence { outcome, level, .. } = finding.evidence;
    let stage = stage_of(finding, matches.rules())?;
    let claims = outcome != Outcome::Works;
    claims.then_some(Claim { outcome, stage, level, by: DecidedBy::Part(finding) })
}

/// The first of the decisive.
fn decisive<'a>(claims: impl Iterator<Item = Claim<'a>>) -> Option<Claim<'a>> {
    claims.reduce(|first, one| if one.weight() > first.weight() { one } else { first })
}

/// Some evidence says yes, some no.
fn self_contradictory(matches: &RuleMatches<'_>, findings: &Findings<'_>) -> bool {
    let rules = || matches.applying().filter(|one| one.rule.effect != Effect::Resolves);
    let known = || {
        let reports = rules().flat_map(|one| &one.rule.reports).map(said);
        let found = findings.all().map(|one| one.evidence.outcome);
        rules().map(|one| one.outcome()).chain(reports).chain(found)
    };
    let good = |outcome: Outcome| !outcome.is_bad() && outcome != Outcome::Unknown;
    known().any(Outcome::is_bad) && known().any(good)
}
