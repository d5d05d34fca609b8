//! Who decides: rules, what was found here, or the size of the model.
//!
//! Among claims the worst decides, the earliest stage first. A finding stands in for the rules of its part at its own level: a bad one
//! competes in their place, a good one takes the bad ones out. A good part never makes the whole run; only a rule or a finding that
//! speaks of the whole can say so. Weighing rules against findings by number was rejected: one kernel that was tried outweighs any
//! number of pages.

use std::cmp::Reverse;

use warpscope_probes::rules::{Effect, Report, Rule, Stage};

use super::findings::{Findings, stage_of, worst_of_strongest};
use super::memory::TooBig;
use super::verdict::{Evidence, Finding, Level, Outcome, Settles};
use super::walk::{Found, Walk};

impl From<Effect> for Outcome {
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::Works => Self::Works,
            Effect::Fallback => Self::Fallback,
            Effect::Slow => Self::Slow,
            Effect::Partial => Self::Partial,
            Effect::WrongOutput => Self::WrongOutput,
            Effect::Fails => Self::Fails,
            Effect::Resolves | Effect::Unknown => Self::Unknown,
        }
    }
}

/// From harmless to worst. "Cannot be told" outweighs everything that runs, and anything known to go wrong outweighs it.
pub(super) fn severity(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Works => 0,
        Outcome::Fallback => 1,
        Outcome::Slow => 2,
        Outcome::Unknown => 3,
        Outcome::Partial => 4,
        Outcome::WrongOutput => 5,
        Outcome::Fails => 6,
    }
}

/// What decided.
#[derive(Clone, Copy)]
pub(super) enum By<'a> {
    Rule(&'a Rule),
    /// An answer to the whole question.
    Whole(&'a Evidence),
    /// An answer to a part of it.
    Part(&'a Finding),
    /// The weights do not fit.
    Size(TooBig),
    Nothing,
}

/// One claim about how it ends.
#[derive(Clone, Copy)]
struct Claim<'a> {
    outcome: Outcome,
    stage: Stage,
    level: Level,
    by: By<'a>,
}

impl Claim<'_> {
    /// What counts more: the worse, then the earlier, then the better known.
    fn weight(&self) -> (u8, Reverse<Stage>, Level) {
        (severity(self.outcome), Reverse(self.stage), self.level)
    }
}

/// How it ends, and who says so.
pub(super) struct Ruling<'a> {
    pub(super) outcome: Outcome,
    /// Level of what decided; none when nothing is known.
    pub(super) level: Option<Level>,
    pub(super) by: By<'a>,
    /// What the rules alone would say first; its message and fix go with a verdict it agrees with.
    pub(super) rule: Option<&'a Rule>,
    /// The finding that bears a rule's good answer out.
    pub(super) confirmed: Option<&'a Evidence>,
    pub(super) disputed: bool,
}

impl<'a> Ruling<'a> {
    pub(super) fn new(
        walk: &Walk<'a>,
        findings: &Findings<'a>,
        size: Option<TooBig>,
        sm_known: bool,
    ) -> Self {
        let runs =
            sm_known && !walk.is_circling() && walk.applying().any(|one| says_whole_runs(&one));
        let counts =
            |claim: &Claim<'_>| severity(claim.outcome) >= severity(Outcome::Unknown) || runs;
        let rules = || walk.applying().filter(is_claim);
        let standing = rules()
            .filter(|one| findings.about(one.rule).is_none_or(|found| !found.outcome.is_bad()));
        let claims = standing.map(|one| claim_of(&one));
        let parts = findings.standing().filter_map(|one| part_claim(one, walk));
        let too_big = size.map(|size| Claim {
            outcome: Outcome::Fails,
            stage: Stage::Memory,
            level: Level::Rule,
            by: By::Size(size),
        });
        let first = heaviest(claims.chain(parts).chain(too_big)).filter(counts);
        let rule = heaviest(rules().map(|one| claim_of(&one))).filter(counts);
        let mut ruling = Self {
            outcome: first.map_or(Outcome::Unknown, |claim| claim.outcome),
            level: first.map(|claim| claim.level),
            by: first.map_or(By::Nothing, |claim| claim.by),
            rule: first.and_then(|claim| claim.rule()).or(rule.and_then(|claim| claim.rule())),
            confirmed: None,
            disputed: false,
        };
        ruling.confirm(walk, findings);
        ruling.hear_whole(findings);
        ruling.disputed = ruling.is_disputed(walk, findings);
        ruling
    }

    /// A good answer of a rule is as well known as what was found about it.
    fn confirm(&mut self, walk: &Walk<'a>, findings: &Findings<'a>) {
        let By::Rule(rule) = self.by else { return };
        let claims = || walk.applying().filter(says_whole_runs).map(|one| one.rule);
        let bears = |one: &&'a Finding| match (self.outcome, &one.settles) {
            (Outcome::Works, Settles::Stage(Stage::Kernels)) => true,
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

    /// What was found about the whole decides over all that is not better known; among equals the worse.
    fn hear_whole(&mut self, findings: &Findings<'a>) {
        let Some(whole) = worst_of_strongest(findings.whole.iter().copied()) else { return };
        let stronger = Some(whole.level) > self.level;
        let worse =
            Some(whole.level) == self.level && severity(whole.outcome) > severity(self.outcome);
        if stronger || worse {
            self.outcome = whole.outcome;
            self.level = Some(whole.level);
            self.by = By::Whole(whole);
            self.confirmed = None;
        }
    }

    /// Whether weaker evidence says otherwise, or what is known contradicts itself where nothing decides.
    fn is_disputed(&self, walk: &Walk<'_>, findings: &Findings<'_>) -> bool {
        let rules = || walk.applying().filter(|one| one.rule.effect != Effect::Resolves);
        let otherwise = |outcome: Outcome| {
            outcome != Outcome::Unknown && outcome.is_bad() != self.outcome.is_bad()
        };
        let reports = || rules().flat_map(|one| &one.rule.reports).map(said);
        let refuted = || rules().any(|one| one.refuted && one.rule.effect.is_bad());
        let whole = || findings.whole.iter().any(|one| otherwise(one.evidence.outcome));
        match self.by {
            By::Nothing => self_contradictory(walk, findings) || refuted(),
            By::Rule(_) if self.outcome == Outcome::Unknown => self_contradictory(walk, findings),
            By::Rule(_) => {
                reports().any(otherwise) || whole() || (refuted() && !self.outcome.is_bad())
            }
            By::Size(_) => whole(),
            By::Part(part) => {
                let replaced = |one: &Found<'_>| super::findings::answers(part, one.rule);
                // A rule that says the same speaks for all it outweighs.
                let rules = rules().filter(replaced).map(|one| one.outcome());
                let worst = rules.max_by_key(|outcome| severity(*outcome));
                worst.into_iter().chain(reports()).any(otherwise) || whole()
            }
            By::Whole(found) => {
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
            By::Rule(rule) => Some(rule),
            _ => None,
        }
    }
}

fn said(report: &Report) -> Outcome {
    report.outcome.into()
}

fn says_whole_runs(one: &Found<'_>) -> bool {
    one.whole
        && one.rule.effect != Effect::Resolves
        && severity(one.outcome()) < severity(Outcome::Unknown)
}

/// What a package can do, or a part of what was asked, says nothing about the whole; nor does what was found not to be so.
fn is_claim(one: &Found<'_>) -> bool {
    let part = one.rule.effect == Effect::Works && !one.whole;
    one.rule.effect != Effect::Resolves && !part && !one.refuted
}

fn claim_of<'a>(one: &Found<'a>) -> Claim<'a> {
    Claim {
        outcome: one.outcome(),
        stage: one.rule.stage,
        level: Level::Rule,
        by: By::Rule(one.rule),
    }
}

/// What a finding about a part claims of the whole: that it goes wrong or runs less well, never that it works.
fn part_claim<'a>(finding: &'a Finding, walk: &Walk<'_>) -> Option<Claim<'a>> {
    let Evidence { outcome, level, .. } = finding.evidence;
    let stage = stage_of(finding, walk.rules())?;
    let claims = outcome != Outcome::Works;
    claims.then_some(Claim { outcome, stage, level, by: By::Part(finding) })
}

/// The first of the heaviest.
fn heaviest<'a>(claims: impl Iterator<Item = Claim<'a>>) -> Option<Claim<'a>> {
    claims.reduce(|first, one| if one.weight() > first.weight() { one } else { first })
}

/// Some of what is known says yes, some no.
fn self_contradictory(walk: &Walk<'_>, findings: &Findings<'_>) -> bool {
    let rules = || walk.applying().filter(|one| one.rule.effect != Effect::Resolves);
    let known = || {
        let reports = rules().flat_map(|one| &one.rule.reports).map(said);
        let found = findings.all().map(|one| one.evidence.outcome);
        rules().map(|one| one.outcome()).chain(reports).chain(found)
    };
    let good = |outcome: Outcome| !outcome.is_bad() && outcome != Outcome::Unknown;
    known().any(Outcome::is_bad) && known().any(good)
}
