//! A rule as the engine meets it: for these versions and configurations, on (or outside) these devices, this happens.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::condition::{Condition, DeviceFacts, Part};
use super::keys::{Selector, Settings};
use super::range::VersionRange;
use super::text::Text;
use super::version::Version;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

/// What a fix asks of the user, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// Another flag, argument or environment variable.
    Flag,
    /// Another kernel of what is installed.
    Kernel,
    /// Another version or build of the software.
    Build,
    /// Another file of the model.
    Format,
    /// Another GPU.
    Hardware,
}

/// Every cost with its words, least first.
pub const COSTS: &[(Cost, &str)] = &[
    (Cost::Flag, "another flag"),
    (Cost::Kernel, "another kernel"),
    (Cost::Build, "another version or build"),
    (Cost::Format, "another format of the model"),
    (Cost::Hardware, "another GPU"),
];

/// A setting the user can change, with the values to try in order. The engine offers one only where it knows that it then runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lever {
    /// Key of the configuration.
    pub key: String,
    /// Values, best first.
    pub values: Vec<String>,
    /// What changing it costs.
    pub cost: Cost,
    /// What it means, one phrase; `{value}` stands for the value as the framework writes it.
    pub say: String,
}

/// Releases of a package that people name when they run this framework inside it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dependent {
    /// The package: `faster-whisper`.
    pub name: String,
    /// Its releases.
    pub versions: VersionRange,
    /// The version of the framework inside, or installed beside them while they were new.
    pub takes: String,
    /// Whether these are meant where no release is named: those of a program that brings its own copy.
    #[serde(default)]
    pub newest: bool,
}

/// How a framework is started with a configuration: the text a person pastes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// The text with its slots: `vllm serve {model}{args}`.
    pub text: String,
    /// What stands before each argument: a blank, or a comma and a blank.
    pub lead: String,
    /// What each key is written as. Keys it does not name are not written.
    #[serde(default)]
    pub arg: Vec<LaunchArg>,
}

/// How one key of a configuration is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchArg {
    /// Key of the configuration.
    pub key: String,
    /// The argument, with `{value}`: `--dtype {value}`.
    pub write: String,
    /// Values the framework spells otherwise; an empty text leaves the argument out.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
}

/// Something people reported that bears on a rule, kept as evidence and never deciding.
#[derive(Clone, Debug)]
pub struct Report {
    /// What they saw.
    pub outcome: Effect,
    /// On what, in one sentence.
    pub detail: Text,
    /// Where it can be read again.
    pub source: Text,
    /// When it was read: `2026-11` or `2026-11-21`.
    pub retrieved: Text,
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
    pub id: Text,
    /// Framework id of its file.
    pub framework: Text,
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
    pub fallback: Option<Text>,
    /// Ids of more general rules that do not count where this one speaks.
    pub overrides: Vec<Text>,
    /// Why, in one sentence.
    pub reason: Text,
    /// What it needs, one phrase.
    pub needs: Text,
    /// The message the user meets.
    pub symptom: Option<Text>,
    /// Text to paste or steps to take.
    pub fix: Option<Text>,
    /// What the fix asks of the user.
    pub fix_cost: Cost,
    /// Probe that would decide where the rule cannot.
    pub probe: Option<Text>,
    /// What people reported.
    pub reports: Vec<Report>,
    /// Where it can be read again.
    pub source: Text,
    /// When it was read.
    pub retrieved: Text,
    /// How close to its source it is.
    pub confidence: Confidence,
    /// Background for maintainers and the curious.
    pub note: Option<Text>,
    /// Whether it comes from the user's own folder.
    pub user: bool,
    /// Line of its entry in the file.
    pub line: usize,
}

impl Rule {
    /// Whether it speaks of this device; `None` when a fact that decides it is not known.
    pub fn applies(&self, device: &DeviceFacts<'_>, parts: &[Part]) -> Option<bool> {
        let holds = self.on.holds(device, parts)?;
        Some(holds == (self.side == Side::Inside))
    }
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
    /// Releases that it is shown for where one is asked about; all where it has none.
    pub versions: Option<VersionRange>,
    /// The configuration.
    pub settings: Settings,
}

/// A framework people ask about.
#[derive(Clone, Debug, Default)]
pub struct Framework {
    /// Stable id: `flash-attn`.
    pub id: String,
    /// Name as its makers write it.
    pub name: String,
    /// Other words for it.
    pub aliases: Vec<String>,
    /// Packages that bring it, which have versions of their own.
    pub dependents: Vec<Dependent>,
    /// Version answered for when none is named: the newest the rules know.
    pub version: Option<String>,
    /// Names under which package indexes know it: `lmdeploy`, `flash_attn`.
    pub packages: Vec<String>,
    /// Whether it keeps weights that do not fit on the GPU in the memory of the machine without being told to.
    pub spills: bool,
    /// Values of `model_type` that it has code for, and whose models need no kernels but those every model has. Of any other only a rule
    /// that names it says that it works. Software that computes parts of any model has an empty list.
    pub common_models: Vec<String>,
    /// Values of `model_type` whose checkpoints bring layers of their own that draft tokens (multi-token prediction), which it runs.
    pub draft_layers: Vec<String>,
    /// Values it accepts for a key, of any release, besides those its rules speak of.
    pub names: BTreeMap<String, Vec<String>>,
    /// How it is started.
    pub launch: Option<Launch>,
    /// What can be changed when it does not run.
    pub levers: Vec<Lever>,
    /// Configurations that run the package's own device code; every one where nothing is said.
    pub own_kernels: Settings,
}

impl Framework {
    /// The `model_type` asked about, where it is not listed.
    pub fn uncommon_model<'a>(&self, settings: &'a Settings) -> Option<&'a str> {
        let model = settings.get("model_type").filter(|_| !self.common_models.is_empty())?;
        (!self.common_models.iter().any(|one| one == model)).then_some(model)
    }

    /// Whether tokens are drafted by layers of the model itself, which are made of the kernels that the model has anyway.
    pub fn drafts_itself(&self, settings: &Settings) -> bool {
        let model = settings.get("model_type").filter(|_| settings.get("feature") == Some("mtp"));
        model.is_some_and(|model| self.draft_layers.iter().any(|one| one == model))
    }

    /// Releases of a package that brings it; names are compared by their letters and digits.
    pub fn dependents_named(&self, name: &str) -> impl Iterator<Item = &Dependent> {
        let plain = |text: &str| -> String {
            text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
        };
        let wanted = plain(name);
        self.dependents.iter().filter(move |one| plain(&one.name) == wanted)
    }

    /// The version of it inside a release of the package `name`, or inside the newest where that is the one meant.
    pub fn inside(&self, name: &str, release: Option<&Version>) -> Option<&str> {
        let is = |one: &&Dependent| match release {
            Some(release) => one.versions.contains(Some(release)) == Some(true),
            None => one.newest,
        };
        self.dependents_named(name).find(is).map(|one| one.takes.as_str())
    }
}

impl Rule {
    /// The other half of a gate.
    pub(super) fn inside(&self, effect: Effect, reason: Option<Text>) -> Self {
        Self {
            id: format!("{}.inside", self.id).into(),
            side: Side::Inside,
            effect,
            route: Settings::default(),
            fallback: None,
            overrides: Vec::new(),
            reason: reason
                .unwrap_or_else(|| format!("it needs {}, which this GPU has", self.needs).into()),
            symptom: None,
            fix: None,
            probe: None,
            reports: Vec::new(),
            ..self.clone()
        }
    }
}
