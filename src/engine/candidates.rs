//! A question prepared for any number of devices: the rules about its configuration, and which of them a compute capability leaves.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use warpscope_kernels::Sm;
use warpscope_probes::releases;
use warpscope_probes::rules::{
    DeviceFacts, Effect, Kind, MODELS, OTHER_MODEL, Part, Rule, RuleBase, Settings, Version,
    kind_of,
};

use super::age::Age;
use super::builds::{is_about_torch, unlisted_torch};
use super::defaults::without_defaults;
use super::device::Device;
use super::driver::{self, DRIVER, is_up_to_image};
use super::question::Question;

/// A rule about the configuration, whatever the device.
#[derive(Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) rule: &'a Rule,
    /// Whether it belongs to the framework asked about.
    pub(super) own: bool,
    /// Whether it belongs to it and covers everything that was asked.
    pub(super) whole: bool,
    /// Whether that is certain; otherwise a version is missing.
    pub(super) certain: bool,
}

impl<'a> Candidate<'a> {
    /// A rule of other software that stands against the configuration.
    fn against(rule: &'a Rule) -> Self {
        Self { rule, own: false, whole: false, certain: true }
    }
}

/// A configuration after fallbacks, with the rules about it.
pub(super) struct Resolved<'a> {
    pub(super) settings: Settings,
    pub(super) candidates: Vec<Candidate<'a>>,
    version: Option<Version>,
    question: &'a Question,
    /// What the driver has to serve, once somebody asks.
    build: OnceCell<Settings>,
    /// Rules of the framework that say yes or no to what the question leaves open, once somebody asks for them.
    left_open: OnceCell<Vec<LeftOpen>>,
    /// What is left of the candidates on each compute capability that was asked about.
    on_sm: RefCell<Vec<Rc<OnSm>>>,
}

/// The place of a rule among those of its framework, and the keys it names that the question leaves open.
type LeftOpen = (usize, Vec<&'static str>);

/// What is left of the candidates on one compute capability, by their places, whatever else a device is like.
pub(super) struct OnSm {
    sm: Option<Sm>,
    /// Those that may apply, and whether nothing more need be asked.
    pub(super) candidates: Vec<(usize, bool)>,
}

impl<'a> Resolved<'a> {
    /// What a device's driver has against the configuration, where it is not the driver itself that is asked about.
    pub(super) fn of_driver(&self, device: &Device<'a>) -> Vec<Candidate<'a>> {
        let (framework, version) = (&self.question.framework, self.question.version.as_deref());
        if framework == DRIVER {
            return Vec::new();
        }
        // Rules may have gone on with another build that holds the same code.
        let asked = Settings::new(self.question.config.get("wheel").map(|wheel| ("wheel", wheel)));
        let settings = || self.settings.with(&asked.clone().unwrap_or_default());
        let build = || driver::build(framework, version, &settings());
        let speaks = |rule: &&Rule| {
            let selector = &rule.selector;
            selector.is_empty() || selector.matches(self.build.get_or_init(build)) == Some(true)
        };
        let certain = |rule| !is_up_to_image(self.question, rule);
        let of_rule = |rule| Candidate { certain: certain(rule), ..Candidate::against(rule) };
        device.against.iter().copied().filter(speaks).map(of_rule).collect()
    }

    /// The candidates that a compute capability does not rule out.
    pub(super) fn on_sm(&self, sm: Option<Sm>, parts: &[Part]) -> Rc<OnSm> {
        let known = self.on_sm.borrow().iter().find(|one| one.sm == sm).cloned();
        known.unwrap_or_else(|| {
            let facts = DeviceFacts { sm, ..DeviceFacts::default() };
            let left = |(at, one): (usize, &Candidate<'_>)| {
                let applies = one.rule.applies(&facts, parts);
                (applies != Some(false)).then_some((at, applies.is_some()))
            };
            let candidates = self.candidates.iter().enumerate().filter_map(left).collect();
            let on_sm = Rc::new(OnSm { sm, candidates });
            self.on_sm.borrow_mut().push(Rc::clone(&on_sm));
            on_sm
        })
    }

    /// Rules among these, which are all of the framework's, that say yes or no to what the question leaves open.
    pub(super) fn left_open(&self, own: &[&Rule]) -> &[LeftOpen] {
        let open = |(at, rule): (usize, &&Rule)| {
            let speaks = rule.effect == Effect::Works || rule.effect.is_bad();
            let open = rule
                .selector
                .left_open(&self.settings)
                .filter(|open| speaks && !open.is_empty())?;
            (rule.versions.contains(self.version.as_ref()) == Some(true)).then_some((at, open))
        };
        self.left_open.get_or_init(|| own.iter().enumerate().filter_map(open).collect())
    }
}

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

    pub(super) fn resolve(&self, settings: Settings) -> Rc<Resolved<'a>> {
        let known = self.resolved.borrow().iter().find(|one| one.settings == settings).cloned();
        known.unwrap_or_else(|| {
            let candidates = self.candidates(&settings);
            let resolved = Rc::new(Resolved {
                settings,
                candidates,
                question: self.question,
                version: self.version.clone(),
                build: OnceCell::new(),
                left_open: OnceCell::new(),
                on_sm: RefCell::default(),
            });
            self.resolved.borrow_mut().push(Rc::clone(&resolved));
            resolved
        })
    }

    pub(super) fn start(&self) -> Rc<Resolved<'a>> {
        Rc::clone(&self.resolved.borrow()[0])
    }

    /// What every version of the library that computes attention has against the configuration, where no version of it is known.
    fn against_library(&self, settings: &Settings) -> Vec<Candidate<'a>> {
        let library = settings.get("attention").filter(|one| *one != self.question.framework);
        let is_open = |one: &&str| kind_of(one) == Ok(Kind::Package) && settings.get(one).is_none();
        let Some(library) = library.filter(is_open) else { return Vec::new() };
        let settings = settings.of_package(library);
        let speaks = |rule: &&Rule| {
            rule.effect.is_bad()
                && rule.versions.contains(None) == Some(true)
                && rule.selector.matches(&settings) == Some(true)
        };
        self.base.rules_of(library).filter(speaks).map(Candidate::against).collect()
    }

    fn candidates(&self, settings: &Settings) -> Vec<Candidate<'a>> {
        let framework = &self.question.framework;
        let uncommon = uncommon_model(self.base, framework, settings).is_some();
        let as_other = any_other_model(self.base, framework, settings);
        let version = self.question.version.as_deref();
        let unlisted = unlisted_torch(self.base, framework, version, settings).is_some();
        let mut candidates = Vec::new();
        let mut gather = |id: &str, version: Option<&Version>, settings: &Settings, own: bool| {
            for rule in self.base.rules_of(id) {
                let (selected, within) =
                    (rule.selector.matches(settings), is_within(rule, version));
                if selected == Some(false) || within == Some(false) {
                    continue;
                }
                let named = !uncommon || rule.selector.has("model_type");
                let whole = own && named && rule.selector.covers(settings);
                let open = unlisted && is_about_torch(self.base, rule)
                    || is_up_to_image(self.question, rule);
                let certain = selected.is_some() && within.is_some() && !open;
                candidates.push(Candidate { rule, own, whole, certain });
            }
        };
        gather(framework, self.version.as_ref(), as_other.as_ref().unwrap_or(settings), true);
        gather(MODELS, None, settings, false);
        for (key, value) in settings.packages().filter(|(key, _)| key != framework) {
            gather(key, value.parse().ok().as_ref(), &settings.of_package(key), false);
        }
        candidates.extend(self.against_library(settings));
        candidates.sort_by_key(|one| (one.rule.stage, !one.own));
        candidates
    }
}

/// Whether a rule is about a release; about the day it was made where the rule counts by days.
fn is_within(rule: &Rule, version: Option<&Version>) -> Option<bool> {
    rule.versions.contains(version).or_else(|| {
        let day = releases::date_of(&rule.framework, version?)?.parse().ok()?;
        rule.versions.contains(Some(&day))
    })
}

/// The model asked about, where this framework does not list it.
pub(super) fn uncommon_model<'s>(
    base: &RuleBase,
    framework: &str,
    settings: &'s Settings,
) -> Option<&'s str> {
    base.framework(framework)?.uncommon_model(settings)
}

/// The configuration with any other model, where the framework neither lists the one asked about nor has a rule that names it.
fn any_other_model(base: &RuleBase, framework: &str, settings: &Settings) -> Option<Settings> {
    let model = uncommon_model(base, framework, settings)?;
    let named = base.rules_of(framework).any(|rule| rule.selector.names("model_type", model));
    let other = Settings::new([("model_type", OTHER_MODEL)]).ok()?;
    (!named).then(|| settings.with(&other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Outcome, Target, evaluate};

    #[test]
    fn a_library_of_attention_is_heard_where_no_version_of_it_is_known() {
        let rule = |id: &str, versions: &str, selector: &str, on: &str, outcome: &str| {
            format!(
                "[[rule]]\nid = \"{id}\"\nversions = \"{versions}\"\nfor = {{ {selector} }}\non = {{ sm = \"{on}\" }}\nstage = \"kernels\"\n\
                 outcome = \"{outcome}\"\nreason = \"so it is\"\nneeds = \"another\"\nsource = \"a page\"\nretrieved = \"2026-11\"\n\
                 confidence = \"high\"\n"
            )
        };
        let works = rule("demo.works", "all", "attention = \"xformers\"", ">=7.0", "works");
        let always = rule("xformers.no_bf16", "all", "dtype = \"bf16\"", "<8.0", "fails");
        let once = rule("xformers.once", "<0.1", "dtype = \"fp16\"", "<8.0", "fails");
        let files = [
            ("demo.toml", format!("framework = \"demo\"\n{works}")),
            ("xformers.toml", format!("framework = \"xformers\"\n{always}{once}")),
        ];
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let base = RuleBase::parse(&files).expect("reads");
        let outcome = |dtype: &str, sm| {
            let pairs = [("attention", "xformers"), ("dtype", dtype)];
            let question = Question {
                framework: "demo".to_owned(),
                version: Some("1.0".to_owned()),
                config: Settings::new(pairs).expect("good settings"),
                ..Question::default()
            };
            evaluate(&base, &Target::of_sm("card", sm), &question, &[]).outcome
        };
        assert_eq!(outcome("bf16", Sm::new(7, 0)), Outcome::Fails);
        assert_ne!(outcome("bf16", Sm::new(8, 0)), Outcome::Fails);
        // What holds of some of its versions holds of none that is unknown.
        assert_ne!(outcome("fp16", Sm::new(7, 0)), Outcome::Fails);
    }
}
