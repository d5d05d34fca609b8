//! From a question to the rules that speak of it, following the routes a framework takes by itself.

use std::cell::RefCell;
use std::rc::Rc;

use warpscope_probes::rules::{
    DeviceFacts, Effect, MODELS, Rule, RuleBase, Settings, Side, Version,
};

use super::findings::Findings;
use super::question::Question;
use super::verdict::Outcome;

/// Routes are followed this often; a longer chain means that rules send each other in circles.
const MOST_DETOURS: usize = 6;

/// A rule that speaks of the configuration, whatever the device.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    rule: &'a Rule,
    /// Whether it belongs to the framework asked about.
    own: bool,
    /// Whether it belongs to it and speaks of everything that was asked.
    whole: bool,
    /// Whether that is certain; otherwise a version is missing.
    certain: bool,
}

/// A rule that speaks of the question, or might.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) rule: &'a Rule,
    /// Whether it belongs to the framework asked about and speaks of everything that was asked.
    pub(super) whole: bool,
    /// Whether it is known to apply; otherwise a fact is missing.
    pub(super) applies: bool,
    /// Whether it was found here that what it warns of does not happen.
    pub(super) refuted: bool,
}

impl Found<'_> {
    pub(super) fn outcome(&self) -> Outcome {
        self.rule.effect.into()
    }

    /// Whether it says no, and nothing found here says otherwise.
    fn stops(&self) -> bool {
        self.applies && self.rule.effect.is_bad() && !self.refuted
    }
}

/// A configuration arrived at, with the rules that speak of it.
struct Route<'a> {
    settings: Settings,
    candidates: Vec<Candidate<'a>>,
}

/// A question prepared for any number of devices. Routes that devices are sent on by are prepared when the first one takes them.
pub(super) struct Plan<'a> {
    pub(super) base: &'a RuleBase,
    pub(super) question: &'a Question,
    /// Version asked about, once parsed.
    pub(super) version: Option<Version>,
    /// Whether the framework keeps what does not fit in the memory of the machine.
    pub(super) spills: bool,
    /// The configuration asked about first.
    routes: RefCell<Vec<Rc<Route<'a>>>>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(base: &'a RuleBase, question: &'a Question) -> Self {
        let version: Option<Version> =
            question.version.as_deref().and_then(|text| text.parse().ok());
        let spills = base.framework(&question.framework).is_some_and(|one| one.spills);
        let plan = Self { base, question, version, spills, routes: RefCell::default() };
        plan.route(question.config.clone());
        plan
    }

    fn route(&self, settings: Settings) -> Rc<Route<'a>> {
        let known = self.routes.borrow().iter().find(|one| one.settings == settings).cloned();
        known.unwrap_or_else(|| {
            let candidates = self.candidates(&settings);
            let route = Rc::new(Route { settings, candidates });
            self.routes.borrow_mut().push(Rc::clone(&route));
            route
        })
    }

    fn start(&self) -> Rc<Route<'a>> {
        Rc::clone(&self.routes.borrow()[0])
    }

    fn candidates(&self, settings: &Settings) -> Vec<Candidate<'a>> {
        let framework = &self.question.framework;
        let mut candidates = Vec::new();
        let mut gather = |id: &str, version: Option<&Version>, own: bool| {
            for rule in self.base.rules_of(id) {
                let (selected, within) =
                    (rule.selector.matches(settings), rule.versions.contains(version));
                if selected == Some(false) || within == Some(false) {
                    continue;
                }
                let whole = own && rule.selector.covers(settings);
                // "Runs", said of less than was asked, says nothing here.
                if own && rule.effect == Effect::Works && !whole {
                    continue;
                }
                let certain = selected.is_some() && within.is_some();
                candidates.push(Candidate { rule, own, whole, certain });
            }
        };
        gather(framework, self.version.as_ref(), true);
        gather(MODELS, None, false);
        for (key, value) in settings.packages().filter(|(key, _)| key != framework) {
            gather(key, value.parse().ok().as_ref(), false);
        }
        candidates.sort_by_key(|one| (one.rule.stage, !one.own));
        candidates
    }
}

/// What was met on the way from the question to its end.
pub(super) struct Walk<'a> {
    /// Rules that sent the framework on, in order.
    pub(super) detours: Vec<Found<'a>>,
    /// Everything that speaks of the configuration arrived at, in order of stages.
    pub(super) found: Vec<Found<'a>>,
    route: Rc<Route<'a>>,
}

impl<'a> Walk<'a> {
    pub(super) fn run(plan: &Plan<'a>, facts: &DeviceFacts<'_>, findings: &Findings<'_>) -> Self {
        let route = plan.start();
        let found = on(&route, plan.base, facts, findings);
        let mut walk = Self { detours: Vec::new(), found, route };
        while let Some((detour, settings)) = walk.detour() {
            walk.detours.push(detour);
            walk.route = plan.route(settings);
            walk.found = on(&walk.route, plan.base, facts, findings);
        }
        walk
    }

    /// The configuration arrived at.
    pub(super) fn settings(&self) -> &Settings {
        &self.route.settings
    }

    /// The next rule that sends the framework on, and where to, unless something stops it first.
    fn detour(&self) -> Option<(Found<'a>, Settings)> {
        if self.is_circling() {
            return None;
        }
        let known = || self.found.iter().filter(|one| one.applies);
        let sends = |one: &Found<'a>| {
            let new = |(key, value)| self.settings().get(key) != Some(value);
            one.rule.route.iter().any(new).then(|| (*one, self.settings().with(&one.rule.route)))
        };
        let next = known().find_map(sends)?;
        let stopped = known().any(|one| one.stops() && one.rule.stage <= next.0.rule.stage);
        (!stopped).then_some(next)
    }

    /// Whether rules send each other in circles.
    pub(super) fn is_circling(&self) -> bool {
        self.detours.len() == MOST_DETOURS
    }

    /// Rules known to apply: those that sent it on, then those that speak of where it arrived.
    pub(super) fn applying(&self) -> impl Iterator<Item = Found<'a>> {
        self.detours.iter().copied().chain(self.found.iter().copied().filter(|one| one.applies))
    }

    /// Rules that would speak if a missing fact were known.
    pub(super) fn undecided(&self) -> impl Iterator<Item = Found<'a>> {
        self.found.iter().copied().filter(|one| !one.applies && !one.refuted)
    }

    /// Every rule that speaks of the configuration arrived at, on some device.
    pub(super) fn rules(&self) -> impl Iterator<Item = &'a Rule> {
        self.route.candidates.iter().map(|one| one.rule)
    }
}

/// The candidates that speak of this device, less those another one overrides.
fn on<'a>(
    route: &Route<'a>,
    base: &RuleBase,
    facts: &DeviceFacts<'_>,
    findings: &Findings<'_>,
) -> Vec<Found<'a>> {
    let find = |one: &Candidate<'a>| {
        let holds = one.rule.on.holds(facts, base.parts());
        let speaks = holds.map(|holds| holds == (one.rule.side == Side::Inside));
        if speaks == Some(false) {
            return None;
        }
        let warns = one.rule.effect.is_bad() || one.rule.effect == Effect::Unknown;
        let found = || findings.about(one.rule).is_some_and(|one| !one.outcome.is_bad());
        Some(Found {
            rule: one.rule,
            whole: one.whole,
            applies: one.certain && speaks.is_some(),
            refuted: warns && found(),
        })
    };
    let mut found: Vec<Found<'a>> = route.candidates.iter().filter_map(find).collect();
    let speaking = found.iter().filter(|one| one.applies && !one.refuted);
    let silenced: Vec<&str> =
        speaking.flat_map(|one| one.rule.overrides.iter().map(|id| &**id)).collect();
    if !silenced.is_empty() {
        found.retain(|one| !silenced.contains(&&*one.rule.id));
    }
    found
}
