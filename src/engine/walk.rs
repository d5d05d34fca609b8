//! From a question to the rules that speak of it, following the routes a framework takes by itself.

use std::collections::BTreeSet;

use warpscope_probes::rules::{
    DeviceFacts, Effect, Kind, MODELS, Rule, RuleBase, Settings, Side, Version, kind_of,
};

use super::question::Question;
use super::verdict::Outcome;

/// Routes are followed this often; a longer chain means that rules send each other in circles.
const MOST_DETOURS: usize = 6;

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

/// A rule that speaks of the configuration, whatever the device.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    rule: &'a Rule,
    /// Whether it belongs to the framework asked about.
    own: bool,
    /// Whether that is certain; otherwise a version is missing.
    certain: bool,
}

/// A rule that speaks of the question, or might.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) rule: &'a Rule,
    /// Whether it belongs to the framework asked about.
    pub(super) own: bool,
    /// Whether it is known to apply; otherwise a fact is missing.
    pub(super) applies: bool,
}

impl Found<'_> {
    fn outcome(&self) -> Outcome {
        self.rule.effect.into()
    }
}

/// A question prepared for any number of devices.
pub(super) struct Plan<'a> {
    pub(super) base: &'a RuleBase,
    pub(super) question: &'a Question,
    version: Option<Version>,
    candidates: Vec<Candidate<'a>>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(base: &'a RuleBase, question: &'a Question) -> Self {
        let version = question.version.as_deref().and_then(|text| text.parse().ok());
        let candidates = candidates(base, &question.framework, version.as_ref(), &question.config);
        Self { base, question, version, candidates }
    }
}

fn candidates<'a>(
    base: &'a RuleBase,
    framework: &str,
    version: Option<&Version>,
    settings: &Settings,
) -> Vec<Candidate<'a>> {
    let mut candidates = Vec::new();
    let mut gather = |id: &str, version: Option<&Version>, own: bool| {
        for rule in base.rules_of(id) {
            // "Runs", said of less than was asked, says nothing here.
            let less = || own && rule.effect == Effect::Works && !rule.selector.covers(settings);
            match (rule.selector.matches(settings), rule.versions.contains(version)) {
                (Some(false), _) | (_, Some(false)) => {}
                _ if less() => {}
                (selected, within) => {
                    let certain = selected.is_some() && within.is_some();
                    candidates.push(Candidate { rule, own, certain });
                }
            }
        }
    };
    gather(framework, version, true);
    gather(MODELS, None, false);
    let package = |key: &str| key != framework && kind_of(key) == Ok(Kind::Package);
    for (key, value) in settings.iter().filter(|(key, _)| package(key)) {
        gather(key, value.parse().ok().as_ref(), false);
    }
    candidates.sort_by_key(|one| (one.rule.stage, !one.own));
    candidates
}

/// What was met on the way from the question to its end.
pub(super) struct Walk<'a> {
    /// Rules that sent the framework on, in order.
    pub(super) detours: Vec<Found<'a>>,
    /// Everything that speaks of the configuration arrived at, in order of stages.
    pub(super) found: Vec<Found<'a>>,
    /// The configuration arrived at.
    pub(super) settings: Settings,
    /// Version asked about, once parsed.
    pub(super) version: Option<Version>,
}

/// What the rules say, and the rule that decided.
pub(super) struct Ruling<'a> {
    pub(super) outcome: Outcome,
    pub(super) rule: Option<&'a Rule>,
}

impl<'a> Walk<'a> {
    pub(super) fn run(plan: &Plan<'a>, facts: &DeviceFacts<'_>) -> Self {
        let mut walk = Self {
            detours: Vec::new(),
            found: on(&plan.candidates, plan.base, facts),
            settings: plan.question.config.clone(),
            version: plan.version.clone(),
        };
        while let Some(detour) = walk.detour() {
            walk.settings = walk.settings.with(&detour.rule.route);
            walk.detours.push(detour);
            let version = walk.version.as_ref();
            let next = candidates(plan.base, &plan.question.framework, version, &walk.settings);
            walk.found = on(&next, plan.base, facts);
        }
        walk
    }

    /// The next rule that sends the framework on, unless something stops it first.
    fn detour(&self) -> Option<Found<'a>> {
        let known = || self.found.iter().filter(|one| one.applies);
        let sends = |one: &&Found<'_>| {
            !one.rule.route.is_empty() && self.settings.with(&one.rule.route) != self.settings
        };
        let next = known().find(sends)?;
        let stopped =
            known().any(|one| one.rule.effect.is_bad() && one.rule.stage <= next.rule.stage);
        (!stopped && self.detours.len() < MOST_DETOURS).then_some(*next)
    }

    /// Rules known to apply: those that sent it on, then those that speak of where it arrived.
    pub(super) fn applying(&self) -> impl Iterator<Item = Found<'a>> {
        self.detours.iter().copied().chain(self.found.iter().copied().filter(|one| one.applies))
    }

    /// Rules that would speak if a missing fact were known.
    pub(super) fn undecided(&self) -> impl Iterator<Item = Found<'a>> {
        self.found.iter().copied().filter(|one| !one.applies)
    }

    /// The worst of what the rules say, earliest stage first; nothing runs on a device of unknown compute capability.
    pub(super) fn ruling(&self, sm_known: bool) -> Ruling<'a> {
        let whole = |one: &Found<'_>| one.own && one.rule.selector.covers(&self.settings);
        let mut runs = false;
        let mut worst: Option<Found<'a>> = None;
        for one in self.applying().filter(|one| one.rule.effect != Effect::Resolves) {
            let whole = severity(one.outcome()) < severity(Outcome::Unknown) && whole(&one);
            runs |= whole;
            // What a package can do, or a part of what was asked, says nothing about the whole.
            if one.rule.effect == Effect::Works && !whole {
                continue;
            }
            if worst.is_none_or(|worst| severity(one.outcome()) > severity(worst.outcome())) {
                worst = Some(one);
            }
        }
        let circling = self.detours.len() == MOST_DETOURS;
        let counts = |one: &Found<'_>| {
            one.rule.effect.is_bad()
                || one.rule.effect == Effect::Unknown
                || (runs && sm_known && !circling)
        };
        match worst.filter(counts) {
            Some(one) => Ruling { outcome: one.outcome(), rule: Some(one.rule) },
            None => Ruling { outcome: Outcome::Unknown, rule: None },
        }
    }
}

/// The candidates that speak of this device, less those another one overrides.
fn on<'a>(
    candidates: &[Candidate<'a>],
    base: &RuleBase,
    facts: &DeviceFacts<'_>,
) -> Vec<Found<'a>> {
    let find = |one: &Candidate<'a>| {
        let holds = one.rule.on.holds(facts, base.parts());
        let speaks = holds.map(|holds| holds == (one.rule.side == Side::Inside));
        let applies = one.certain && speaks.is_some();
        (speaks != Some(false)).then_some(Found { rule: one.rule, own: one.own, applies })
    };
    let mut found: Vec<Found<'a>> = candidates.iter().filter_map(find).collect();
    let speaking = found.iter().filter(|one| one.applies);
    let silenced: BTreeSet<&str> =
        speaking.flat_map(|one| one.rule.overrides.iter().map(String::as_str)).collect();
    found.retain(|one| !silenced.contains(one.rule.id.as_str()));
    found
}
