use std::fmt;

use serde::{Deserialize, Serialize};
use warpscope_kernels::Sm;
use warpscope_probes::rules::{Cost, Effect, Settings, Stage};

use super::question::Origin;

/// How strong a piece of evidence is. The strongest that knows anything decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// A documented requirement: versioned, dated, with its source.
    Rule,
    /// What the published wheel of the version asked about carries.
    Published,
    /// What the binaries installed here really carry.
    Inspected,
    /// A kernel or library call that was just run on this device.
    Live,
}

/// What will happen, from best to worst, with [`Outcome::Unknown`] last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Runs as asked for.
    Works,
    /// Falls back to another dispatch, which is named.
    Fallback,
    /// Runs as asked for, far below what the hardware can do.
    Slow,
    /// Nothing is known against it, and a stage that could stop it is silent. Never read it as "works".
    #[serde(rename = "no_known_obstacle")]
    NoObstacle,
    /// Some kernels of the binary have no image for this device.
    Partial,
    /// Runs and gives wrong results.
    WrongOutput,
    /// Stops with an error.
    Fails,
    /// Nothing is known. Never read it as "works".
    Unknown,
}

/// One row per outcome: the outcome, its id in JSON, the symbol, the ASCII symbol, the words.
pub const OUTCOMES: &[(Outcome, &str, &str, &str, &str)] = &[
    (Outcome::Works, "works", "✔", "+", "works"),
    (Outcome::Fallback, "fallback", "↪", ">", "fallback"),
    (Outcome::Slow, "slow", "▽", "v", "slow"),
    (Outcome::NoObstacle, "no_known_obstacle", "○", "o", "no known obstacle"),
    (Outcome::Partial, "partial", "◐", "%", "partial"),
    (Outcome::WrongOutput, "wrong_output", "≠", "#", "wrong output"),
    (Outcome::Fails, "fails", "✖", "x", "fails"),
    (Outcome::Unknown, "unknown", "?", "?", "unknown"),
];

impl Outcome {
    fn row(self) -> &'static (Outcome, &'static str, &'static str, &'static str, &'static str) {
        OUTCOMES.iter().find(|row| row.0 == self).expect("every outcome has a row")
    }

    /// Id in JSON and rule files.
    pub fn id(self) -> &'static str {
        self.row().1
    }

    /// One-cell symbol.
    pub fn symbol(self, ascii: bool) -> &'static str {
        if ascii { self.row().3 } else { self.row().2 }
    }

    /// Words for the screen.
    pub fn words(self) -> &'static str {
        self.row().4
    }

    /// From harmless to worst: unknown outweighs everything that runs, and every known failure outweighs unknown.
    pub(crate) fn severity(self) -> u8 {
        match self {
            Self::Works => 0,
            Self::Fallback => 1,
            Self::Slow => 2,
            Self::NoObstacle => 3,
            Self::Unknown => 4,
            Self::Partial => 5,
            Self::WrongOutput => 6,
            Self::Fails => 7,
        }
    }

    /// Whether it is known to run, as asked or otherwise.
    pub fn runs(self) -> bool {
        matches!(self, Self::Works | Self::Fallback | Self::Slow)
    }

    /// Whether a person who asks "will it run" should be told no.
    pub fn is_bad(self) -> bool {
        matches!(self, Self::Partial | Self::WrongOutput | Self::Fails)
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

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.words())
    }
}

impl Level {
    /// One letter beside the outcome's symbol: `m` measured, `i` inspected, `w` published wheel, `r` rule.
    pub fn letter(self) -> &'static str {
        match self {
            Self::Rule => "r",
            Self::Published => "w",
            Self::Inspected => "i",
            Self::Live => "m",
        }
    }

    /// How it is known, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Rule => "by rule",
            Self::Published => "by its published wheel",
            Self::Inspected => "inspected here",
            Self::Live => "measured here",
        }
    }
}

/// One thing that is known, and from where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// How strong it is.
    pub level: Level,
    /// What it says will happen.
    pub outcome: Outcome,
    /// Stable dotted id: `lmdeploy.pytorch.triton_fp16_dot`.
    pub id: String,
    /// What was found, one sentence.
    pub detail: String,
    /// Where it can be read again.
    pub source: String,
    /// Day it was retrieved or measured, `2026-11-21`.
    pub retrieved: String,
}

/// Evidence from this machine with its scope: by inspection, or by running it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Framework it is about.
    pub framework: String,
    /// Compute capability of the GPU it is about; every GPU where none is named.
    pub sm: Option<Sm>,
    /// The GPU it was found on; every GPU where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// How much of the question it answers.
    pub settles: Scope,
    /// Configurations it applies to: those that contain all of this; every one where it is empty.
    #[serde(default)]
    pub only: Settings,
    /// What was found.
    pub evidence: Evidence,
    /// What mends it, where files or packages are at fault and nothing else helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repair: Option<String>,
}

impl Evidence {
    /// As a finding about GPUs of a compute capability, whatever their configuration.
    pub fn about(self, framework: &str, sm: Option<Sm>, settles: Scope) -> Finding {
        let (framework, only) = (framework.to_owned(), Settings::default());
        Finding { framework, sm, uuid: None, settles, only, evidence: self, repair: None }
    }
}

/// How much of a question a finding answers. Code for a GPU in a binary does not lift a version check in front of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// All of it.
    Whole,
    /// What rules of this stage say.
    Stage(Stage),
    /// What these rules say.
    Rules(Vec<String>),
}

/// One fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// What it asks of the user.
    pub cost: Cost,
    /// What it does, one phrase.
    pub title: String,
    /// Text to paste or steps to take.
    pub text: String,
    /// What the engine says of the configuration once it is done; null where it cannot be asked.
    pub then: Option<Outcome>,
}

/// The answer in one cell of a matrix; [`super::evaluate`] tells the rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// What will happen.
    pub outcome: Outcome,
    /// Level of the evidence that decided; null when nothing is known.
    pub level: Option<Level>,
    /// Whether weaker evidence disagrees.
    pub disputed: bool,
    /// How sure the answer is; null where it claims nothing.
    #[serde(default)]
    pub confidence: Option<Confidence>,
}

impl Cell {
    /// The mark behind the outcome.
    pub fn mark(&self) -> &'static str {
        mark(self.disputed, self.confidence)
    }
}

/// The mark behind an outcome: nothing where it is sure.
fn mark(disputed: bool, confidence: Option<Confidence>) -> &'static str {
    match confidence {
        _ if disputed => DISPUTED.0,
        Some(Confidence::Medium) => MEDIUM.0,
        _ => "",
    }
}

/// The mark behind an outcome of which pieces of evidence disagree, with its meaning.
pub const DISPUTED: (&str, &str) = ("!", "the evidence disagrees");
/// The mark behind an outcome that is less than sure, with its meaning.
pub const MEDIUM: (&str, &str) = ("?", "medium confidence");

/// How sure an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// It rests on facts read in their sources or found on this machine, and these cover everything that was asked.
    High,
    /// A fact is inferred, or a setting covered by none.
    Medium,
}

impl Confidence {
    /// That of an outcome; none where it claims nothing.
    pub(crate) fn of(outcome: Outcome, is_sure: bool) -> Option<Self> {
        let claims = outcome.runs() || outcome.is_bad();
        claims.then_some(if is_sure { Self::High } else { Self::Medium })
    }
}

/// The answer for one GPU, one framework and one configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The GPU as the user knows it.
    pub gpu: String,
    /// Framework: `vLLM`.
    pub framework: String,
    /// Versions the answer speaks of.
    pub version: String,
    /// Where that version comes from.
    #[serde(default)]
    pub origin: Origin,
    /// Configuration: `awq · fp16`.
    pub config: String,
    /// What will happen.
    pub outcome: Outcome,
    /// Level of the evidence that decided; null when nothing is known.
    pub level: Option<Level>,
    /// Whether weaker evidence disagrees.
    pub disputed: bool,
    /// How sure the answer is; null where it claims nothing.
    #[serde(default)]
    pub confidence: Option<Confidence>,
    /// What keeps it from being surer, one phrase each.
    #[serde(default)]
    pub doubts: Vec<String>,
    /// Why, in one sentence a newcomer understands.
    pub reason: String,
    /// What it needs, one phrase.
    pub needs: String,
    /// What this GPU has, one phrase.
    pub has: String,
    /// The message the user would meet; null where there is none.
    pub symptom: Option<String>,
    /// Text to paste or steps to take: the first of `fixes`; null where there is nothing to fix.
    pub fix: Option<String>,
    /// Every known fix, cheapest first.
    #[serde(default)]
    pub fixes: Vec<Fix>,
    /// A warning where what decided is older than the version asked about.
    #[serde(default)]
    pub as_of: Option<String>,
    /// Everything that is known: what decided, then the strongest first.
    pub evidence: Vec<Evidence>,
    /// The reasoning, in the order of a start-up.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// Which stages of a start-up were decided, by what, and which are silent.
    #[serde(default)]
    pub stages: Vec<StageAnswer>,
}

impl Verdict {
    /// The mark behind the outcome.
    pub fn mark(&self) -> &'static str {
        mark(self.disputed, self.confidence)
    }

    /// What kind of evidence decided, whether something contradicts it, and whether it is less than sure.
    pub(crate) fn told_by(&self) -> String {
        let disputed = if self.disputed { ", disputed" } else { "" };
        let medium = self.confidence == Some(Confidence::Medium);
        let sure = if medium { ", medium confidence" } else { "" };
        format!("{}{disputed}{sure}", self.level.map_or("no evidence", Level::words))
    }
}

/// One stage of a start-up in a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageAnswer {
    /// Which: `kernels in the binary`.
    pub stage: String,
    /// Whether something that is known decided it.
    pub decided: bool,
    /// Rules and findings that decided it.
    pub by: Vec<String>,
    /// What nobody speaks of, where it is silent.
    pub silent: Vec<String>,
}

/// The effect of one step of the reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// Applied, and did not stop it.
    Passes,
    /// Made the framework fall back.
    Rerouted,
    /// Would stop it as well, had something else not decided.
    Stops,
    /// Gave the verdict.
    Decides,
    /// Could not be applied: a fact is missing.
    Undecided,
}

/// One step of the reasoning that led to a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Where in a start-up: `version check`.
    pub stage: String,
    /// What it did.
    pub kind: StepKind,
    /// Rule or probe it comes from.
    pub rule: Option<String>,
    /// What it said.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_outcome_is_told_by_a_symbol_of_its_own_also_in_ascii() {
        for row in OUTCOMES {
            assert_eq!(
                serde_json::to_string(&row.0).expect("serialises"),
                format!("\"{}\"", row.1)
            );
            assert!(row.3.is_ascii());
            let twins = OUTCOMES.iter().filter(|other| other.2 == row.2 || other.3 == row.3);
            assert_eq!(twins.count(), 1);
        }
    }

    #[test]
    fn the_mark_of_disputed_evidence_is_no_sign_of_an_outcome() {
        assert!(OUTCOMES.iter().all(|row| row.2 != DISPUTED.0 && row.3 != DISPUTED.0));
    }
}
