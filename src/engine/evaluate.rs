//! Rules and evidence into one verdict.
//!
//! The stages come in the order in which a start-up meets them. A rule that sends the framework on by another route changes the
//! configuration, and everything is asked again. Among rules the worst outcome decides, the earliest stage first, except that a rule
//! named in another's `overrides` does not count where the other speaks. Counting how specific rules are was rejected: a well-qualified
//! "works" about one thing would then hide a plain "fails" about another.
//!
//! Only a rule of the framework asked about can say that the whole thing runs. Rules of the packages that take part, and of the model,
//! can only take that away.

use std::collections::BTreeSet;

use warpscope_probes::rules::{
    DeviceFacts, Effect, Kind, MODELS, Report, Rule, RuleBase, Settings, Side, Version, kind_of,
};

use super::question::Question;
use super::target::Target;
use super::verdict::{Evidence, Level, Outcome, Step, StepKind, Verdict};
use super::words::{Filler, has, missing};

/// Routes are followed this often; a longer chain means that rules send each other in circles.
const MOST_DETOURS: usize = 6;

/// What people reported bears this after the id of the rule it hangs on, and is weaker than the rule.
const REPORT: &str = ".report";

/// Answers one question for one device. `extra` is what inspection and live probes found about this very question.
pub fn evaluate(
    base: &RuleBase,
    target: &Target,
    question: &Question,
    extra: &[Evidence],
) -> Verdict {
    let facts = target.facts();
    let walk = Walk::run(base, &facts, question);
    let ruling = walk.ruling(target);
    let fill = Filler::new(target, question);
    let evidence = walk.evidence(&fill, &ruling, extra);
    let top =
        evidence.iter().filter(|one| one.outcome != Outcome::Unknown).map(|one| one.level).max();
    let stronger = top.filter(|level| *level > Level::Rule || ruling.rule.is_none());
    let decided = stronger.and_then(|level| worst_at(&evidence, level)).filter(|one| {
        // An unknown device stays unknown unless something was found on it.
        one.level > Level::Rule || extra.contains(one)
    });
    let outcome = decided.map_or(ruling.outcome, |one| one.outcome);
    let level = decided.map(|one| one.level).or(ruling.rule.map(|_| Level::Rule));
    let agrees = decided.is_none()
        || outcome == ruling.outcome
        || outcome.is_bad() == ruling.outcome.is_bad();
    let speaker = ruling.rule.filter(|_| agrees || !outcome.is_bad());
    let remedy = speaker.filter(|_| outcome != Outcome::Works);
    Verdict {
        gpu: target.label.clone(),
        framework: base
            .framework(&question.framework)
            .map_or(question.framework.clone(), |one| one.name.clone()),
        version: question.version.clone().unwrap_or_else(|| "any".to_owned()),
        config: question.words(),
        outcome,
        level,
        disputed: disputed(&evidence, level, outcome),
        reason: decided
            .map_or_else(|| walk.reason(&fill, &ruling, &facts), |one| one.detail.clone()),
        needs: ruling.rule.map(|rule| fill.text(&rule.needs)).unwrap_or_default(),
        has: has(base, target, ruling.rule, &walk.settings),
        symptom: remedy.and_then(|rule| rule.symptom.as_deref()).map(|text| fill.text(text)),
        fix: remedy.and_then(|rule| rule.fix.as_deref()).map(|text| fill.text(text)),
        steps: walk.steps(&fill, &ruling, &facts, decided),
        evidence,
    }
}

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
fn severity(outcome: Outcome) -> u8 {
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

fn worst_at(evidence: &[Evidence], level: Level) -> Option<&Evidence> {
    let at_level =
        evidence.iter().filter(|one| one.level == level && one.outcome != Outcome::Unknown);
    at_level.reduce(
        |worst, one| if severity(one.outcome) > severity(worst.outcome) { one } else { worst },
    )
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

/// A rule that speaks of the question, or might.
#[derive(Clone, Copy)]
struct Found<'a> {
    rule: &'a Rule,
    /// Whether it belongs to the framework asked about.
    own: bool,
    /// Whether it is known to apply; otherwise a fact is missing.
    applies: bool,
}

impl Found<'_> {
    fn outcome(&self) -> Outcome {
        self.rule.effect.into()
    }
}

/// What was met on the way from the question to its end.
struct Walk<'a> {
    /// Rules that sent the framework on, in order.
    detours: Vec<Found<'a>>,
    /// Everything that speaks of the configuration arrived at, in order of stages.
    found: Vec<Found<'a>>,
    /// The configuration arrived at.
    settings: Settings,
    /// Version asked about, once parsed.
    version: Option<Version>,
}

/// What the rules say, and the rule that decided.
struct Ruling<'a> {
    outcome: Outcome,
    rule: Option<&'a Rule>,
}

impl<'a> Walk<'a> {
    fn run(base: &'a RuleBase, facts: &DeviceFacts<'_>, question: &Question) -> Self {
        let version = question.version.as_deref().and_then(|text| text.parse().ok());
        let mut walk = Self {
            detours: Vec::new(),
            found: Vec::new(),
            settings: question.config.clone(),
            version,
        };
        loop {
            walk.found = walk.speaking(base, facts, &question.framework);
            let Some(detour) = walk.detour() else { return walk };
            walk.settings = walk.settings.with(&detour.rule.route);
            walk.detours.push(detour);
        }
    }

    fn speaking(
        &self,
        base: &'a RuleBase,
        facts: &DeviceFacts<'_>,
        framework: &str,
    ) -> Vec<Found<'a>> {
        let mut found = Vec::new();
        let mut gather = |id: &str, version: Option<&Version>, own: bool| {
            for rule in base.rules_of(id) {
                let applies = applies(rule, version, &self.settings, facts, base);
                // "Runs", said of less than was asked, says nothing here.
                let less =
                    || own && rule.effect == Effect::Works && !rule.selector.covers(&self.settings);
                if applies != Some(false) && !less() {
                    found.push(Found { rule, own, applies: applies.is_some() });
                }
            }
        };
        gather(framework, self.version.as_ref(), true);
        gather(MODELS, None, false);
        for (key, value) in self
            .settings
            .iter()
            .filter(|(key, _)| kind_of(key) == Ok(Kind::Package) && *key != framework)
        {
            gather(key, value.parse().ok().as_ref(), false);
        }
        let silenced: BTreeSet<&str> = found
            .iter()
            .filter(|one| one.applies)
            .flat_map(|one| one.rule.overrides.iter().map(String::as_str))
            .collect();
        found.retain(|one| !silenced.contains(one.rule.id.as_str()));
        found.sort_by_key(|one| (one.rule.stage, !one.own));
        found
    }

    /// The next rule that sends the framework on, unless something stops it first.
    fn detour(&self) -> Option<Found<'a>> {
        let known = || self.found.iter().filter(|one| one.applies);
        let next = known().find(|one| self.settings.with(&one.rule.route) != self.settings)?;
        let stopped =
            known().any(|one| one.rule.effect.is_bad() && one.rule.stage <= next.rule.stage);
        (!stopped && self.detours.len() < MOST_DETOURS).then_some(*next)
    }

    /// Rules known to apply: those that sent it on, then those that speak of where it arrived.
    fn applying(&self) -> impl Iterator<Item = Found<'a>> {
        self.detours.iter().copied().chain(self.found.iter().copied().filter(|one| one.applies))
    }

    /// Rules that would speak if a missing fact were known.
    fn undecided(&self) -> impl Iterator<Item = Found<'a>> {
        self.found.iter().copied().filter(|one| !one.applies)
    }

    fn ruling(&self, target: &Target) -> Ruling<'a> {
        let mut claims: Vec<_> =
            self.applying().filter(|one| one.rule.effect != Effect::Resolves).collect();
        let whole = |one: &Found<'_>| one.own && one.rule.selector.covers(&self.settings);
        let runs = claims
            .iter()
            .any(|one| severity(one.outcome()) < severity(Outcome::Unknown) && whole(one));
        // What a package can do, or a part of what was asked, says nothing about the whole.
        claims.retain(|one| one.rule.effect != Effect::Works || whole(one));
        let worst = claims.into_iter().reduce(|worst, one| {
            if severity(one.outcome()) > severity(worst.outcome()) { one } else { worst }
        });
        let circling = self.detours.len() == MOST_DETOURS;
        match worst {
            Some(one) if one.rule.effect.is_bad() => {
                Ruling { outcome: one.outcome(), rule: Some(one.rule) }
            }
            Some(one) if runs && target.sm.is_some() && !circling => {
                Ruling { outcome: one.outcome(), rule: Some(one.rule) }
            }
            Some(one) if one.rule.effect == Effect::Unknown => {
                Ruling { outcome: Outcome::Unknown, rule: Some(one.rule) }
            }
            _ => Ruling { outcome: Outcome::Unknown, rule: None },
        }
    }

    fn reason(&self, fill: &Filler<'_>, ruling: &Ruling<'_>, facts: &DeviceFacts<'_>) -> String {
        let Some(rule) = ruling.rule else { return self.why_unknown(facts) };
        let mut reason = fill.text(&rule.reason);
        if let Some(route) = &rule.fallback {
            reason = format!("{reason}; it runs by another route: {}", fill.text(route));
        }
        let doubt =
            self.undecided().find(|one| one.rule.effect.is_bad() && !ruling.outcome.is_bad());
        if let Some(doubt) = doubt {
            let needed =
                missing(doubt.rule, self.version.as_ref(), &self.settings, facts).join(" and ");
            reason = format!(
                "{reason}. Not settled without the {needed}: {}",
                fill.text(&doubt.rule.reason)
            );
        }
        reason
    }

    /// What would decide it, where no rule does.
    fn why_unknown(&self, facts: &DeviceFacts<'_>) -> String {
        if facts.sm.is_none() {
            return "the compute capability of this GPU is not known, and everything depends on it"
                .to_owned();
        }
        let needed: BTreeSet<String> = self
            .undecided()
            .flat_map(|one| missing(one.rule, self.version.as_ref(), &self.settings, facts))
            .collect();
        if needed.is_empty() {
            return "no rule speaks of this combination; inspecting the installed binaries or running it here would decide"
                .to_owned();
        }
        let needed: Vec<_> = needed.into_iter().collect();
        format!("no rule decides without the {}; naming it would", needed.join(" and the "))
    }

    fn evidence(
        &self,
        fill: &Filler<'_>,
        ruling: &Ruling<'_>,
        extra: &[Evidence],
    ) -> Vec<Evidence> {
        let mut seen = BTreeSet::new();
        let mut rules: Vec<_> = self
            .applying()
            .filter(|one| one.rule.effect != Effect::Resolves && seen.insert(one.rule.id.as_str()))
            .collect();
        rules.sort_by_key(|one| !ruling.rule.is_some_and(|rule| rule.id == one.rule.id));
        let ours = rules.into_iter().flat_map(|one| {
            let claim = claim(one.rule, fill);
            std::iter::once(claim)
                .chain(one.rule.reports.iter().map(|report| report_of(report, one.rule)))
        });
        let mut evidence: Vec<_> = extra.iter().cloned().chain(ours).collect();
        evidence.sort_by_key(|one| std::cmp::Reverse(one.level));
        evidence
    }

    fn steps(
        &self,
        fill: &Filler<'_>,
        ruling: &Ruling<'_>,
        facts: &DeviceFacts<'_>,
        decided: Option<&Evidence>,
    ) -> Vec<Step> {
        let step = |one: &Found<'_>, kind: StepKind, text: String| Step {
            stage: one.rule.stage.words().to_owned(),
            kind,
            rule: Some(one.rule.id.clone()),
            text,
        };
        let mut steps: Vec<_> = self
            .detours
            .iter()
            .map(|one| {
                let text =
                    format!("{}; goes on with {}", fill.text(&one.rule.reason), one.rule.route);
                step(one, StepKind::Rerouted, text)
            })
            .collect();
        for one in &self.found {
            let decides =
                ruling.rule.is_some_and(|rule| rule.id == one.rule.id) && decided.is_none();
            let (kind, text) = match (one.applies, decides, one.rule.effect.is_bad()) {
                (false, ..) => {
                    let needed = missing(one.rule, self.version.as_ref(), &self.settings, facts)
                        .join(" and ");
                    (
                        StepKind::Undecided,
                        format!("needs the {needed}: {}", fill.text(&one.rule.reason)),
                    )
                }
                (_, true, _) => (StepKind::Decides, fill.text(&one.rule.reason)),
                (_, _, true) => (StepKind::Stops, fill.text(&one.rule.reason)),
                _ => (StepKind::Passes, fill.text(&one.rule.reason)),
            };
            steps.push(step(one, kind, text));
        }
        steps.extend(decided.map(|one| Step {
            stage: "found here".to_owned(),
            kind: StepKind::Decides,
            rule: Some(one.id.clone()),
            text: one.detail.clone(),
        }));
        steps
    }
}

fn applies(
    rule: &Rule,
    version: Option<&Version>,
    settings: &Settings,
    facts: &DeviceFacts<'_>,
    base: &RuleBase,
) -> Option<bool> {
    // Cheapest first: most rules are of other configurations.
    let selected = rule.selector.matches(settings);
    if selected == Some(false) {
        return selected;
    }
    let versions = rule.versions.contains(version);
    let on = rule.on.holds(facts, base.parts()).map(|holds| holds == (rule.side == Side::Inside));
    match (selected, versions, on) {
        (_, Some(false), _) | (_, _, Some(false)) => Some(false),
        (Some(true), Some(true), Some(true)) => Some(true),
        _ => None,
    }
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
