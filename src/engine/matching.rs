//! Which rules apply to a question, following the fallbacks a framework takes on its own.

use std::rc::Rc;

use warpscope_kernels::Sm;
use warpscope_probes::rules::{DeviceFacts, Effect, Rule, RuleBase, Settings, Side};

use super::candidates::{Candidate, Plan, Resolved, uncommon_model};
use super::composition::Weakened;
use super::device::Device;
use super::findings::Findings;
use super::verdict::Outcome;

/// Longest chain of fallbacks that is followed; a longer one means that rules refer to each other in a cycle.
const MAX_FALLBACKS: usize = 6;

/// A compute capability that no list of devices holds.
const FUTURE: Sm = Sm::new(99, 0);

/// Checks without an upper end were mostly written for devices up to this major.
const NEWEST_OF_OPEN_CHECKS: u8 = 9;

/// A rule that applies to the question, or might.
#[derive(Clone, Copy)]
pub(super) struct RuleMatch<'a> {
    pub(super) rule: &'a Rule,
    /// Whether it belongs to the framework asked about.
    pub(super) own: bool,
    /// Whether it belongs to it and covers everything that was asked.
    pub(super) whole: bool,
    /// Whether it is known to apply; otherwise a fact is missing.
    pub(super) applies: bool,
    /// Whether a finding shows that what it warns of does not happen here.
    pub(super) refuted: bool,
}

impl RuleMatch<'_> {
    pub(super) fn outcome(&self) -> Outcome {
        self.rule.effect.into()
    }

    /// Whether it rules the configuration out, and no finding refutes it.
    fn blocks(&self) -> bool {
        self.applies && self.rule.effect.is_bad() && !self.refuted
    }
}

/// The rules that apply to a question on one device.
pub(super) struct RuleMatches<'a> {
    /// Rules that made the framework fall back, in order.
    pub(super) fallbacks: Vec<RuleMatch<'a>>,
    /// Rules about the final configuration, in order of stages.
    pub(super) matches: Vec<RuleMatch<'a>>,
    resolved: Rc<Resolved<'a>>,
    base: &'a RuleBase,
    framework: &'a str,
}

impl<'a> RuleMatches<'a> {
    pub(super) fn run<'p: 'a>(
        plan: &Plan<'p>,
        device: &Device<'a>,
        findings: &Findings<'_>,
    ) -> Self {
        let resolved: Rc<Resolved<'a>> = plan.start();
        let matches = on(&resolved, plan.base, device, findings);
        let (base, framework) = (plan.base, plan.question.framework.as_str());
        let mut all = Self { fallbacks: Vec::new(), matches, resolved, base, framework };
        while let Some((fallback, settings)) = all.fallback() {
            all.fallbacks.push(fallback);
            all.resolved = plan.resolve(settings);
            all.matches = on(&all.resolved, plan.base, device, findings);
        }
        all
    }

    /// The final configuration.
    pub(super) fn settings(&self) -> &Settings {
        &self.resolved.settings
    }

    /// What a rule must name to say that the whole works: the keys of the route, and a model with kernels of its own.
    pub(super) fn keys_to_name(&self) -> impl Iterator<Item = (&str, &str)> {
        let model = uncommon_model(self.base, self.framework, self.settings());
        self.settings().route_keys().chain(model.map(|model| ("model_type", model)))
    }

    /// Whether what drafts tokens is made of the kernels of the model asked about.
    pub(super) fn drafts_itself(&self) -> bool {
        let framework = self.base.framework(self.framework);
        framework.is_some_and(|one| one.drafts_itself(self.settings()))
    }

    /// The next rule that makes the framework fall back, and to what, unless another rule blocks it first.
    fn fallback(&self) -> Option<(RuleMatch<'a>, Settings)> {
        if self.is_cyclic() {
            return None;
        }
        let known = || self.matches.iter().filter(|one| one.applies);
        let sends = |one: &RuleMatch<'a>| {
            // What is done is the framework's to say: its packages do parts of it.
            let own = one.own || !one.rule.selector.has("operation");
            let new = |(key, value)| self.settings().get(key) != Some(value);
            (own && one.rule.route.iter().any(new))
                .then(|| (*one, self.settings().with(&one.rule.route)))
        };
        let next = known().find_map(sends)?;
        // What `auto` means is settled before anything that does not depend on it.
        let (rule, route) = (next.0.rule, &next.0.rule.route);
        let settles_type = rule.effect == Effect::Resolves && route.get("dtype").is_some();
        let waits = |one: &RuleMatch<'_>| settles_type && !one.rule.selector.has("dtype");
        let stops = |one: &RuleMatch<'_>| one.blocks() && one.rule.stage <= rule.stage;
        let stopped = known().any(|one| stops(one) && !waits(one));
        (!stopped).then_some(next)
    }

    /// Whether fallbacks refer to each other in a cycle.
    pub(super) fn is_cyclic(&self) -> bool {
        self.fallbacks.len() == MAX_FALLBACKS
    }

    /// Rules known to apply: the fallbacks, then those about the final configuration.
    pub(super) fn applying(&self) -> impl Iterator<Item = RuleMatch<'a>> {
        self.fallbacks.iter().copied().chain(self.matches.iter().copied().filter(|one| one.applies))
    }

    /// Rules that would apply if a missing fact were known.
    pub(super) fn undecided(&self) -> impl Iterator<Item = RuleMatch<'a>> {
        self.matches.iter().copied().filter(|one| !one.applies && !one.refuted)
    }

    /// Every rule of the framework asked about, whatever it speaks of.
    pub(super) fn own_rules(&self) -> impl Iterator<Item = &'a Rule> {
        self.base.rules_of(self.framework)
    }

    /// Rules that work and would apply on the device whose code this one loads, or if the question said more.
    pub(super) fn near(
        &self,
        facts: &DeviceFacts<'_>,
        kin: impl Fn(Sm) -> Option<Sm>,
    ) -> Vec<(&'a Rule, Weakened)> {
        let parts = self.base.parts();
        let holds = |rule: &Rule, facts: &DeviceFacts<'_>| rule.applies(facts, parts) == Some(true);
        let on_kin = facts.sm.and_then(kin).into_iter().flat_map(|kin| {
            let left = self.resolved.on_sm(Some(kin), parts);
            let kin_facts = DeviceFacts { sm: Some(kin), ..*facts };
            let works = |(at, _): &(usize, bool)| {
                let Candidate { rule, own, certain, .. } = self.resolved.candidates[*at];
                let works = own && certain && rule.effect == Effect::Works;
                let only_there = works && !holds(rule, facts) && holds(rule, &kin_facts);
                only_there.then_some((rule, Weakened::OnKin(kin)))
            };
            left.candidates.iter().filter_map(works).collect::<Vec<_>>()
        });
        let own: Vec<&'a Rule> = self.own_rules().collect();
        let open = self.resolved.left_open(&own).iter().map(|(at, open)| (own[*at], open));
        let open: Vec<_> = open.filter(|one| holds(one.0, facts)).collect();
        let fails = |keys: &[&str]| {
            open.iter().any(|(rule, open)| {
                rule.effect.is_bad() && open.iter().any(|key| keys.contains(key))
            })
        };
        let works = open.iter().filter(|one| one.0.effect == Effect::Works && !fails(one.1));
        on_kin.chain(works.map(|one| (one.0, Weakened::LeftOpen(one.1.clone())))).collect()
    }

    /// Whether a check of the framework names this value and lets the device pass. One without an upper end says nothing of devices
    /// that came after it was written.
    pub(super) fn passes_check(&self, facts: &DeviceFacts<'_>, (key, value): (&str, &str)) -> bool {
        let lists = |rule: &Rule| {
            let future = rule.on.sm.as_ref().is_none_or(|set| set.contains(FUTURE));
            !future || facts.sm.is_some_and(|sm| sm.major <= NEWEST_OF_OPEN_CHECKS)
        };
        let mut checks = self.resolved.candidates.iter().filter(|one| {
            one.own && one.certain && one.rule.side == Side::Outside && one.rule.effect.is_bad()
        });
        checks.any(|one| {
            one.rule.selector.names(key, value)
                && one.rule.on.holds(facts, self.base.parts()) == Some(true)
                && lists(one.rule)
        })
    }

    /// Every rule about the final configuration, on any device.
    pub(super) fn rules(&self) -> impl Iterator<Item = &'a Rule> {
        self.resolved.candidates.iter().map(|one| one.rule)
    }
}

/// The candidates that apply to this device, less those another one overrides.
fn on<'a>(
    resolved: &Resolved<'a>,
    base: &'a RuleBase,
    device: &Device<'a>,
    findings: &Findings<'_>,
) -> Vec<RuleMatch<'a>> {
    let (facts, parts) = (device.facts(), base.parts());
    let find = |one: &Candidate<'a>, is_decided: bool| {
        let applies = if is_decided { Some(true) } else { one.rule.applies(&facts, parts) };
        if applies == Some(false) {
            return None;
        }
        let warns = one.rule.effect.is_bad() || one.rule.effect == Effect::Unknown;
        let found = || findings.about(one.rule).is_some_and(|one| !one.outcome.is_bad());
        Some(RuleMatch {
            rule: one.rule,
            own: one.own,
            whole: one.whole,
            applies: one.certain && applies.is_some(),
            refuted: warns && found(),
        })
    };
    let here = resolved.on_sm(facts.sm, parts);
    let asked = here.candidates.iter();
    let asked = asked.filter_map(|(at, is_decided)| find(&resolved.candidates[*at], *is_decided));
    let of_driver = resolved.of_driver(device);
    let mut found: Vec<RuleMatch<'a>> =
        asked.chain(of_driver.iter().filter_map(|one| find(one, false))).collect();
    if !of_driver.is_empty() {
        found.sort_by_key(|one| (one.rule.stage, !one.own));
    }
    let speaking = found.iter().filter(|one| one.applies && !one.refuted);
    let silenced: Vec<&str> =
        speaking.flat_map(|one| one.rule.overrides.iter().map(|id| &**id)).collect();
    if !silenced.is_empty() {
        found.retain(|one| !silenced.contains(&&*one.rule.id));
    }
    found
}
