//! Which rules apply to a question, following the fallbacks a framework takes on its own.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use warpscope_kernels::Sm;
use warpscope_probes::rules::{
    DeviceFacts, Effect, MODELS, OTHER_MODEL, Rule, RuleBase, Settings, Side, Version,
};

use super::age::Age;
use super::composition::Weakened;
use super::defaults::without_defaults;
use super::driver::{self, DRIVER};
use super::findings::Findings;
use super::question::Question;
use super::verdict::Outcome;

/// Longest chain of fallbacks that is followed; a longer one means that rules refer to each other in a cycle.
const MAX_FALLBACKS: usize = 6;

/// A compute capability that no list of devices holds.
const FUTURE: Sm = Sm::new(99, 0);

/// Checks without an upper end were mostly written for devices up to this major.
const NEWEST_OF_OPEN_CHECKS: u8 = 9;

/// A rule about the configuration, whatever the device.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    rule: &'a Rule,
    /// Whether it belongs to the framework asked about.
    own: bool,
    /// Whether it belongs to it and covers everything that was asked.
    whole: bool,
    /// Whether that is certain; otherwise a version is missing.
    certain: bool,
}

impl<'a> Candidate<'a> {
    /// A rule of other software that stands against the configuration.
    fn against(rule: &'a Rule) -> Self {
        Self { rule, own: false, whole: false, certain: true }
    }
}

impl<'a> Resolved<'a> {
    /// What a driver has against the configuration, where it is not the driver itself that is asked about.
    fn of_driver(&self, base: &'a RuleBase, facts: &DeviceFacts<'_>) -> Vec<Candidate<'a>> {
        let (framework, version) = (&self.question.framework, self.question.version.as_deref());
        if framework == DRIVER {
            return Vec::new();
        }
        let build = || driver::build(framework, version, &self.settings);
        let rules = driver::rules(base, facts, || self.build.get_or_init(build));
        rules.map(Candidate::against).collect()
    }
}

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

/// A configuration after fallbacks, with the rules about it.
struct Resolved<'a> {
    settings: Settings,
    candidates: Vec<Candidate<'a>>,
    version: Option<Version>,
    question: &'a Question,
    /// What the driver has to serve, once somebody asks.
    build: OnceCell<Settings>,
    /// Rules of the framework that say yes or no to what the question leaves open, once somebody asks for them.
    left_open: OnceCell<Vec<LeftOpen>>,
}

/// The place of a rule among those of its framework, and the keys it names that the question leaves open.
type LeftOpen = (usize, Vec<&'static str>);

/// A question prepared for any number of devices. Fallback configurations are prepared when the first device takes them.
pub(super) struct Plan<'a> {
    pub(super) base: &'a RuleBase,
    pub(super) question: &'a Question,
    /// Version asked about, once parsed.
    pub(super) version: Option<Version>,
    /// Whether the framework keeps what does not fit in the memory of the machine.
    pub(super) spills: bool,
    pub(super) age: OnceCell<Option<Age>>,
    /// The configuration asked about first.
    resolved: RefCell<Vec<Rc<Resolved<'a>>>>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(base: &'a RuleBase, question: &'a Question) -> Self {
        let version: Option<Version> =
            question.version.as_deref().and_then(|text| text.parse().ok());
        let spills = base.framework(&question.framework).is_some_and(|one| one.spills);
        let (age, resolved) = (OnceCell::new(), RefCell::default());
        let plan = Self { base, question, version, spills, age, resolved };
        plan.resolve(without_defaults(&question.config, || base.rules_of(&question.framework)));
        plan
    }

    fn resolve(&self, settings: Settings) -> Rc<Resolved<'a>> {
        let known = self.resolved.borrow().iter().find(|one| one.settings == settings).cloned();
        known.unwrap_or_else(|| {
            let candidates = self.candidates(&settings);
            let resolved = Rc::new(Resolved {
                settings,
                candidates,
                question: self.question,
                build: OnceCell::new(),
                version: self.version.clone(),
                left_open: OnceCell::new(),
            });
            self.resolved.borrow_mut().push(Rc::clone(&resolved));
            resolved
        })
    }

    fn start(&self) -> Rc<Resolved<'a>> {
        Rc::clone(&self.resolved.borrow()[0])
    }

    fn candidates(&self, settings: &Settings) -> Vec<Candidate<'a>> {
        let framework = &self.question.framework;
        let uncommon = uncommon_model(self.base, framework, settings).is_some();
        let as_other = any_other_model(self.base, framework, settings);
        let mut candidates = Vec::new();
        let mut gather = |id: &str, version: Option<&Version>, settings: &Settings, own: bool| {
            for rule in self.base.rules_of(id) {
                let (selected, within) =
                    (rule.selector.matches(settings), rule.versions.contains(version));
                if selected == Some(false) || within == Some(false) {
                    continue;
                }
                let named = !uncommon || rule.selector.has("model_type");
                let whole = own && named && rule.selector.covers(settings);
                let certain = selected.is_some() && within.is_some();
                candidates.push(Candidate { rule, own, whole, certain });
            }
        };
        gather(framework, self.version.as_ref(), as_other.as_ref().unwrap_or(settings), true);
        gather(MODELS, None, settings, false);
        for (key, value) in settings.packages().filter(|(key, _)| key != framework) {
            gather(key, value.parse().ok().as_ref(), &settings.of_package(key), false);
        }
        candidates.sort_by_key(|one| (one.rule.stage, !one.own));
        candidates
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
    pub(super) fn run(plan: &Plan<'a>, facts: &DeviceFacts<'_>, findings: &Findings<'_>) -> Self {
        let resolved = plan.start();
        let matches = on(&resolved, plan.base, facts, findings);
        let (base, framework) = (plan.base, plan.question.framework.as_str());
        let mut all = Self { fallbacks: Vec::new(), matches, resolved, base, framework };
        while let Some((fallback, settings)) = all.fallback() {
            all.fallbacks.push(fallback);
            all.resolved = plan.resolve(settings);
            all.matches = on(&all.resolved, plan.base, facts, findings);
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
        let stopped = known().any(|one| one.blocks() && one.rule.stage <= next.0.rule.stage);
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

    fn left_open(&self, own: &[&Rule]) -> &[LeftOpen] {
        let (settings, version) = (self.settings(), self.resolved.version.as_ref());
        let open = |(at, rule): (usize, &&Rule)| {
            let speaks = rule.effect == Effect::Works || rule.effect.is_bad();
            let open =
                rule.selector.left_open(settings).filter(|open| speaks && !open.is_empty())?;
            (rule.versions.contains(version) == Some(true)).then_some((at, open))
        };
        self.resolved.left_open.get_or_init(|| own.iter().enumerate().filter_map(open).collect())
    }

    /// Rules that work and would apply on the device whose code this one loads, or if the question said more.
    pub(super) fn near(
        &self,
        facts: &DeviceFacts<'_>,
        kin: impl Fn(Sm) -> Option<Sm>,
    ) -> Vec<(&'a Rule, Weakened)> {
        let kin = facts.sm.and_then(kin);
        let holds = |rule: &Rule, sm| {
            let facts = DeviceFacts { sm, ..*facts };
            rule.on.holds(&facts, self.base.parts()) == Some(rule.side == Side::Inside)
        };
        let works =
            |one: &&Candidate<'a>| one.own && one.certain && one.rule.effect == Effect::Works;
        let on_kin = self.resolved.candidates.iter().filter(works).filter_map(|one| {
            let kin = kin.filter(|_| !holds(one.rule, facts.sm))?;
            holds(one.rule, Some(kin)).then_some((one.rule, Weakened::OnKin(kin)))
        });
        let own: Vec<&'a Rule> = self.own_rules().collect();
        let open = self.left_open(&own).iter().map(|(at, open)| (own[*at], open));
        let open: Vec<_> = open.filter(|one| holds(one.0, facts.sm)).collect();
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

/// The model asked about, where this framework does not list it.
fn uncommon_model<'s>(base: &RuleBase, framework: &str, settings: &'s Settings) -> Option<&'s str> {
    base.framework(framework)?.uncommon_model(settings)
}

/// The configuration with any other model, where the framework neither lists the one asked about nor has a rule that names it.
fn any_other_model(base: &RuleBase, framework: &str, settings: &Settings) -> Option<Settings> {
    let model = uncommon_model(base, framework, settings)?;
    let named = base.rules_of(framework).any(|rule| rule.selector.names("model_type", model));
    let other = Settings::new([("model_type", OTHER_MODEL)]).ok()?;
    (!named).then(|| settings.with(&other))
}

/// The candidates that apply to this device, less those another one overrides.
fn on<'a>(
    resolved: &Resolved<'a>,
    base: &'a RuleBase,
    facts: &DeviceFacts<'_>,
    findings: &Findings<'_>,
) -> Vec<RuleMatch<'a>> {
    let find = |one: &Candidate<'a>| {
        let holds = one.rule.on.holds(facts, base.parts());
        let applies = holds.map(|holds| holds == (one.rule.side == Side::Inside));
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
    let of_driver = resolved.of_driver(base, facts);
    let mut found: Vec<RuleMatch<'a>> =
        resolved.candidates.iter().chain(&of_driver).filter_map(find).collect();
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
