//! The shape of a rule file.
//!
//! An entry is one sentence: what happens on these devices (`outcome`). A gate says both halves in one entry: `on` bounds where the
//! thing runs natively, `outside` is what happens elsewhere, `inside` is claimed within only if written, because passing a gate proves
//! nothing by itself. A gate becomes two rules, `id` and `id.inside`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::condition::{Condition, Part};
use super::entry::{Confidence, Cost, Dependent, Effect, Launch, Lever, Report, Rule, Side, Stage};
use super::keys::{Selector, Settings, check_value, kind_of};
use super::range::VersionRange;
use super::text::{Placed, Text, Words};

/// A rule file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "T: Words + Deserialize<'de>")]
pub(super) struct File<T> {
    pub framework: Placed<T, String>,
    pub name: Option<String>,
    #[serde(default)]
    pub aliases: Vec<String>,
    #[serde(default)]
    pub dependent: Vec<Dependent>,
    pub version: Option<Placed<T, String>>,
    #[serde(default)]
    pub packages: Vec<String>,
    pub spills: Option<bool>,
    #[serde(default)]
    pub common_models: Vec<String>,
    #[serde(default)]
    pub draft_layers: Vec<String>,
    #[serde(default)]
    pub names: BTreeMap<String, Vec<String>>,
    pub launch: Option<Placed<T, Launch>>,
    #[serde(default)]
    pub own_kernels: Settings,
    #[serde(default)]
    pub lever: Vec<Placed<T, Lever>>,
    #[serde(default)]
    pub part: Vec<Placed<T, Part>>,
    #[serde(default)]
    pub config: Vec<Placed<T, ConfigEntry>>,
    #[serde(default)]
    pub rule: Vec<Placed<T, RuleEntry<T>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigEntry {
    pub id: String,
    pub label: String,
    pub version: Option<String>,
    pub versions: Option<VersionRange>,
    #[serde(default)]
    pub set: Settings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleEntry<T> {
    pub id: T,
    pub versions: VersionRange,
    #[serde(default, rename = "for")]
    pub selector: Selector,
    #[serde(default)]
    pub on: Condition,
    pub stage: Stage,
    pub outcome: Option<Effect>,
    pub outside: Option<Effect>,
    pub inside: Option<Effect>,
    #[serde(default)]
    pub route: Settings,
    pub fallback: Option<T>,
    #[serde(default)]
    pub overrides: Vec<T>,
    pub reason: T,
    pub inside_reason: Option<T>,
    #[serde(default)]
    pub needs: T,
    pub symptom: Option<T>,
    pub fix: Option<T>,
    pub fix_cost: Option<Cost>,
    pub probe: Option<T>,
    #[serde(default)]
    pub report: Vec<ReportEntry<T>>,
    pub source: T,
    pub retrieved: T,
    pub confidence: Confidence,
    pub note: Option<T>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportEntry<T> {
    outcome: Effect,
    detail: T,
    source: T,
    retrieved: T,
}

impl<T: Words> From<ReportEntry<T>> for Report {
    fn from(entry: ReportEntry<T>) -> Self {
        Self {
            outcome: entry.outcome,
            detail: entry.detail.into(),
            source: entry.source.into(),
            retrieved: entry.retrieved.into(),
        }
    }
}

/// Placeholders that may stand in texts of a rule; the engine fills them in for the device asked about.
pub const PLACEHOLDERS: &[(&str, &str)] = &[
    ("{gpu}", "name of the GPU"),
    ("{cc}", "compute capability as a build list wants it: 7.5"),
    ("{sm}", "compute capability as a target: sm_75"),
    ("{capability}", "compute capability as vLLM prints it: 75"),
    ("{hex}", "compute capability in hexadecimal, as TensorRT writes it: 0x705"),
    ("{wide}", "the 16-bit type of wide range the device has, else float32"),
    ("{version}", "version of the framework asked about"),
];

/// What is wrong with a lever.
pub(super) fn check_lever(lever: &Lever) -> Result<(), String> {
    if lever.values.is_empty() {
        return Err(format!("lever {}: give at least one value", lever.key));
    }
    lever.values.iter().try_for_each(|value| check_value(&lever.key, value))
}

/// What is wrong with a launch text.
pub(super) fn check_launch(launch: &Launch) -> Result<(), String> {
    if !launch.text.contains("{args}") {
        return Err("launch: the text has no {args}".to_owned());
    }
    for arg in &launch.arg {
        kind_of(&arg.key)?;
        if !arg.write.contains("{value}") && arg.names.is_empty() {
            return Err(format!("launch: {} is written without its {{value}}", arg.key));
        }
        arg.names.keys().try_for_each(|value| check_value(&arg.key, value))?;
    }
    Ok(())
}

impl<T: Words> RuleEntry<T> {
    /// What is wrong with the entry, first thing first.
    pub(super) fn check(&self, framework: &str) -> Result<(), String> {
        let id = self.id.as_ref();
        let dotted = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
        if !id.starts_with(&format!("{framework}.")) || !id.chars().all(dotted) {
            return Err(format!("id {id:?}: write {framework}.what_it_is_about in lower case"));
        }
        self.check_shape()?;
        for (name, text) in [("source", &self.source), ("reason", &self.reason)] {
            if text.as_ref().trim().is_empty() {
                return Err(format!("{id}: {name} is empty"));
            }
        }
        let dates = self.report.iter().map(|report| &report.retrieved).chain([&self.retrieved]);
        dates.into_iter().try_for_each(|date| check_date(id, date.as_ref()))?;
        let texts = [&self.symptom, &self.fix, &self.inside_reason].into_iter().flatten();
        let mut texts = texts.chain([&self.reason, &self.needs]);
        texts.try_for_each(|text| check_placeholders(id, text.as_ref()))
    }

    fn check_shape(&self) -> Result<(), String> {
        let id = self.id.as_ref();
        let effects = [self.outcome, self.outside, self.inside];
        match effects {
            [Some(_), None, None] | [None, Some(_), _] => {}
            _ => {
                return Err(format!(
                    "{id}: write either outcome, or outside with an optional inside"
                ));
            }
        }
        if self.outside.is_some() && self.on.is_empty() {
            return Err(format!("{id}: outside needs an `on` to be outside of"));
        }
        let says = |effect| effects.contains(&Some(effect));
        if says(Effect::Fallback) && self.fallback.is_none() {
            return Err(format!("{id}: a fallback needs its route's name in `fallback`"));
        }
        if says(Effect::Resolves) && self.route.is_empty() {
            return Err(format!("{id}: resolves needs a `route` to go on with"));
        }
        let bad = effects.into_iter().flatten().any(Effect::is_bad);
        if bad && self.needs.as_ref().is_empty() {
            return Err(format!("{id}: say in `needs` what would be needed"));
        }
        Ok(())
    }
}

fn check_date(id: &str, date: &str) -> Result<(), String> {
    use super::version::Version;
    match date.parse() {
        Ok(Version::Date(..)) => Ok(()),
        _ => Err(format!("{id}: {date:?} is not a date; write 2026-11 or 2026-11-21")),
    }
}

fn check_placeholders(id: &str, text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('{') {
        let rest = &text[at..];
        let Some(end) = rest.find('}') else { continue };
        let name = &rest[..=end];
        let word = name.len() > 2 && name[1..end].bytes().all(|byte| byte.is_ascii_lowercase());
        if word && !PLACEHOLDERS.iter().any(|row| row.0 == name) {
            let known: Vec<_> = PLACEHOLDERS.iter().map(|row| row.0).collect();
            return Err(format!("{id}: {name} is not a placeholder; known: {}", known.join(", ")));
        }
    }
    Ok(())
}

impl<T: Words> RuleEntry<T> {
    /// The one or two rules the entry stands for.
    pub(super) fn rules(self, framework: &Text, user: bool, line: usize) -> Vec<Rule> {
        let (side, effect) = match (self.outcome, self.outside) {
            (Some(effect), _) => (Side::Inside, effect),
            (None, Some(effect)) => (Side::Outside, effect),
            (None, None) => return Vec::new(),
        };
        let inside_reason = self.inside_reason.map(T::into);
        let inside = self.inside.map(|effect| (effect, inside_reason));
        let rule = Rule {
            id: self.id.into(),
            framework: framework.clone(),
            versions: self.versions,
            selector: self.selector,
            on: self.on,
            side,
            stage: self.stage,
            effect,
            route: self.route,
            fallback: self.fallback.map(T::into),
            overrides: self.overrides.into_iter().map(T::into).collect(),
            reason: self.reason.into(),
            needs: self.needs.into(),
            symptom: self.symptom.map(T::into),
            fix: self.fix.map(T::into),
            fix_cost: self.fix_cost.unwrap_or(Cost::Flag),
            probe: self.probe.map(T::into),
            reports: self.report.into_iter().map(Report::from).collect(),
            source: self.source.into(),
            retrieved: self.retrieved.into(),
            confidence: self.confidence,
            note: self.note.map(T::into),
            user,
            line,
        };
        let twin = inside.map(|(effect, reason)| rule.inside(effect, reason));
        std::iter::once(rule).chain(twin).collect()
    }
}
