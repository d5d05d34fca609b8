//! The shape of a rule file, and a rule as the engine meets it.
//!
//! A rule is one sentence: for these versions and configurations, on (or outside) these devices, this happens. A gate says both halves
//! in one entry: `on` bounds where the thing runs natively, `outside` is what happens elsewhere, `inside` is claimed within only if
//! written, because passing a gate proves nothing by itself. A gate becomes two rules, `id` and `id.inside`.

use serde::Deserialize;
use toml::Spanned;

use super::condition::{Condition, Part};
use super::keys::{Selector, Settings};
use super::range::VersionRange;

/// What a rule says happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Runs as asked for.
    Works,
    /// Runs by another route, which is named.
    Fallback,
    /// Decides nothing by itself: the question goes on with other settings, as when `auto` becomes bf16.
    Resolves,
    /// Runs far below what the hardware can do.
    Slow,
    /// Some kernels have no image for the device.
    Partial,
    /// Runs and gives wrong results.
    WrongOutput,
    /// Stops with an error.
    Fails,
    /// It is documented that this cannot be told from outside.
    Unknown,
}

impl Effect {
    /// Whether a person should be told no.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Partial | Self::WrongOutput | Self::Fails)
    }
}

/// The moment at which a rule speaks, in the order in which a start-up meets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The device is enumerated and the driver new enough.
    Device,
    /// The framework's own version check: refuse, or take another route.
    Gate,
    /// The type computed in is settled.
    Dtype,
    /// The model's value range against that type.
    Model,
    /// The binaries hold code for this device.
    Kernels,
    /// Code compiled on the spot uses instructions the device has.
    Instructions,
    /// Shared and device memory suffice.
    Memory,
    /// How fast the route is.
    Rate,
}

/// Every stage with its words, in order.
pub const STAGES: &[(Stage, &str)] = &[
    (Stage::Device, "device and driver"),
    (Stage::Gate, "version check"),
    (Stage::Dtype, "data type"),
    (Stage::Model, "model"),
    (Stage::Kernels, "kernels in the binary"),
    (Stage::Instructions, "instructions"),
    (Stage::Memory, "memory"),
    (Stage::Rate, "speed"),
];

impl Stage {
    /// Words for the screen.
    pub fn words(self) -> &'static str {
        STAGES.iter().find(|row| row.0 == self).map(|row| row.1).expect("every stage has a row")
    }
}

/// How close to its source a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The check was read in the source, the binary was measured, or the exact text is in the cited thread.
    High,
    /// One step removed.
    Med,
}

/// Something people reported that bears on a rule, kept as evidence and never deciding.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// What they saw.
    pub outcome: Effect,
    /// On what, in one sentence.
    pub detail: String,
    /// Where it can be read again.
    pub source: String,
    /// When it was read: `2026-11` or `2026-11-21`.
    pub retrieved: String,
}

/// Which side of its condition a rule speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Where the condition holds.
    Inside,
    /// Where it does not hold.
    Outside,
}

/// One claim about one framework.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Stable dotted id.
    pub id: String,
    /// Framework id of its file.
    pub framework: String,
    /// Versions of the framework it speaks of.
    pub versions: VersionRange,
    /// Configurations it speaks of.
    pub selector: Selector,
    /// Devices it speaks of.
    pub on: Condition,
    /// Whether it speaks where `on` holds or where it does not.
    pub side: Side,
    /// When it speaks.
    pub stage: Stage,
    /// What happens.
    pub effect: Effect,
    /// Settings the framework goes on with by itself.
    pub route: Settings,
    /// Name of the route taken instead.
    pub fallback: Option<String>,
    /// Ids of more general rules that do not count where this one speaks.
    pub overrides: Vec<String>,
    /// Why, in one sentence.
    pub reason: String,
    /// What it needs, one phrase.
    pub needs: String,
    /// The message the user meets.
    pub symptom: Option<String>,
    /// Text to paste or steps to take.
    pub fix: Option<String>,
    /// Probe that would decide where the rule cannot.
    pub probe: Option<String>,
    /// What people reported.
    pub reports: Vec<Report>,
    /// Where it can be read again.
    pub source: String,
    /// When it was read.
    pub retrieved: String,
    /// How close to its source it is.
    pub confidence: Confidence,
    /// Background for maintainers and the curious.
    pub note: Option<String>,
    /// Whether it comes from the user's own folder.
    pub user: bool,
    /// Line of its entry in the file.
    pub line: usize,
}

/// One row of the matrix: a configuration people ask about.
#[derive(Clone, Debug)]
pub struct ConfigRow {
    /// Framework id.
    pub framework: String,
    /// Id within the framework: `pytorch.fp16`.
    pub id: String,
    /// Words for the screen: `PyTorch engine · fp16`.
    pub label: String,
    /// Version it is shown for; the framework's default where it has none.
    pub version: Option<String>,
    /// The configuration.
    pub settings: Settings,
}

/// A framework people ask about.
#[derive(Clone, Debug)]
pub struct Framework {
    /// Stable id: `flash-attn`.
    pub id: String,
    /// Name as its makers write it.
    pub name: String,
    /// Other words for it.
    pub aliases: Vec<String>,
    /// Version answered for when none is named.
    pub version: Option<String>,
}

/// A rule file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub framework: Spanned<String>,
    pub name: Option<String>,
    #[serde(default)]
    pub aliases: Vec<String>,
    pub version: Option<Spanned<String>>,
    #[serde(default)]
    pub part: Vec<Spanned<Part>>,
    #[serde(default)]
    pub config: Vec<Spanned<ConfigEntry>>,
    #[serde(default)]
    pub rule: Vec<Spanned<RuleEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigEntry {
    pub id: String,
    pub label: String,
    pub version: Option<String>,
    #[serde(default)]
    pub set: Settings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleEntry {
    pub id: String,
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
    pub fallback: Option<String>,
    #[serde(default)]
    pub overrides: Vec<String>,
    pub reason: String,
    pub inside_reason: Option<String>,
    #[serde(default)]
    pub needs: String,
    pub symptom: Option<String>,
    pub fix: Option<String>,
    pub probe: Option<String>,
    #[serde(default)]
    pub report: Vec<Report>,
    pub source: String,
    pub retrieved: String,
    pub confidence: Confidence,
    pub note: Option<String>,
}

/// Placeholders that may stand in texts of a rule; the engine fills them in for the device asked about.
pub const PLACEHOLDERS: &[(&str, &str)] = &[
    ("{gpu}", "name of the GPU"),
    ("{cc}", "compute capability as a build list wants it: 7.5"),
    ("{sm}", "compute capability as a target: sm_75"),
    ("{capability}", "compute capability as vLLM prints it: 75"),
    ("{wide}", "the 16-bit type of wide range the device has, else float32"),
    ("{version}", "version of the framework asked about"),
];

impl RuleEntry {
    /// What is wrong with the entry, first thing first.
    pub(super) fn check(&self, framework: &str) -> Result<(), String> {
        let id = &self.id;
        let dotted = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
        if !id.starts_with(&format!("{framework}.")) || !id.chars().all(dotted) {
            return Err(format!("id {id:?}: write {framework}.what_it_is_about in lower case"));
        }
        self.check_shape()?;
        for (name, text) in [("source", &self.source), ("reason", &self.reason)] {
            if text.trim().is_empty() {
                return Err(format!("{id}: {name} is empty"));
            }
        }
        let dates = self.report.iter().map(|report| &report.retrieved).chain([&self.retrieved]);
        dates.into_iter().try_for_each(|date| check_date(id, date))?;
        let texts = [&self.symptom, &self.fix, &self.inside_reason].into_iter().flatten();
        texts.chain([&self.reason, &self.needs]).try_for_each(|text| check_placeholders(id, text))
    }

    fn check_shape(&self) -> Result<(), String> {
        let id = &self.id;
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
        if bad && self.needs.is_empty() {
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

impl RuleEntry {
    /// The one or two rules the entry stands for.
    pub(super) fn rules(self, framework: &str, user: bool, line: usize) -> Vec<Rule> {
        let (side, effect) = match (self.outcome, self.outside) {
            (Some(effect), _) => (Side::Inside, effect),
            (None, Some(effect)) => (Side::Outside, effect),
            (None, None) => return Vec::new(),
        };
        let inside = self.inside.map(|effect| (effect, self.inside_reason));
        let rule = Rule {
            id: self.id,
            framework: framework.to_owned(),
            versions: self.versions,
            selector: self.selector,
            on: self.on,
            side,
            stage: self.stage,
            effect,
            route: self.route,
            fallback: self.fallback,
            overrides: self.overrides,
            reason: self.reason,
            needs: self.needs,
            symptom: self.symptom,
            fix: self.fix,
            probe: self.probe,
            reports: self.report,
            source: self.source,
            retrieved: self.retrieved,
            confidence: self.confidence,
            note: self.note,
            user,
            line,
        };
        let twin = inside.map(|(effect, reason)| rule.inside(effect, reason));
        std::iter::once(rule).chain(twin).collect()
    }
}

impl Rule {
    /// The other half of a gate.
    fn inside(&self, effect: Effect, reason: Option<String>) -> Self {
        Self {
            id: format!("{}.inside", self.id),
            side: Side::Inside,
            effect,
            route: Settings::default(),
            fallback: None,
            overrides: Vec::new(),
            reason: reason
                .unwrap_or_else(|| format!("it needs {}, which this GPU has", self.needs)),
            symptom: None,
            fix: None,
            probe: None,
            reports: Vec::new(),
            ..self.clone()
        }
    }

    /// How specific the rule is: keys it selects by, whether it bounds versions, things it asks of the device.
    /// Used to find contradictions; what overrides what is said by name in `overrides`, not counted.
    pub fn specificity(&self) -> (usize, bool, usize) {
        (self.selector.len(), !self.versions.is_all(), self.on.len())
    }
}
