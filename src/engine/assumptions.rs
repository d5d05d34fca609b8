//! What answers assume besides the GPU: versions, a model, and findings on this machine.

use std::collections::BTreeMap;
use std::sync::Arc;

use warpscope_probes::model::Model;
use warpscope_probes::rules::{ANY_VERSION, RuleBase, Settings};

use super::built_for;
use super::findings::speaks_of;
use super::installed::{is_compiled_here, is_other_build, with_own_build};
use super::packed;
use super::published;
use super::question::{Origin, Question};
use super::target::Target;
use super::verdict::{Finding, Level, Outcome};

/// A version with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssumedVersion {
    /// The version.
    pub version: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// What answers assume besides the GPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assumptions {
    /// Version of a framework, by its id.
    pub versions: BTreeMap<String, AssumedVersion>,
    /// Versions of the packages installed beside a framework, by its id.
    pub beside: BTreeMap<String, Settings>,
    /// The model asked about.
    pub model: Option<Model>,
    /// What inspection and live probes found.
    pub findings: Vec<Finding>,
}

impl Assumptions {
    /// What was found about a question on a device, and what was published about the version it names.
    pub fn about(&self, base: &RuleBase, target: &Target, question: &Question) -> Vec<Finding> {
        let here = self.found_about(question).filter(|one| is_for(one, target)).cloned();
        let published = published::findings(base, target, question);
        here.chain(published).chain(built_for::finding(target, question)).collect()
    }

    /// The same with a chosen version of a framework.
    #[must_use]
    pub fn choosing(&self, framework: &str, version: &str) -> Self {
        let mut chosen = self.clone();
        let given = AssumedVersion { version: version.to_owned(), origin: Origin::Asked };
        chosen.versions.insert(framework.to_owned(), given);
        chosen
    }

    /// What was found about a question, on whatever device.
    pub(super) fn found_about(&self, question: &Question) -> impl Iterator<Item = &Finding> {
        let beside = self.beside.get(&question.framework);
        let other_build = is_other_build(&question.config, beside);
        let compiled_here = is_compiled_here(question);
        let relevant = move |one: &&Finding| {
            let inspected = one.evidence.level == Level::Inspected;
            let vouches = one.evidence.outcome == Outcome::Works;
            let other = if one.framework == question.framework {
                other_build || question.origin == Origin::Asked
            } else {
                self.is_other_version(&one.framework, question)
            };
            let silent = inspected && (other || vouches && compiled_here);
            speaks_of(&one.framework, question) && !silent
        };
        self.findings.iter().filter(relevant)
    }

    /// Whether a question names another version of a package than the installed one, whose binaries then say nothing.
    fn is_other_version(&self, package: &str, question: &Question) -> bool {
        let installed = self.versions.get(package).filter(|one| one.origin == Origin::Installed);
        let asked = question.config.get(package).filter(|asked| *asked != ANY_VERSION);
        asked.is_some_and(|asked| installed.is_none_or(|one| one.version != asked))
    }

    /// A row of the matrix with the assumed version and model; `None` where the row cannot load the model.
    pub fn in_row(&self, base: &RuleBase, question: &Question) -> Option<Question> {
        let question = self.with_version(question);
        let Some(model) = &self.model else { return Some(question) };
        let config = model.in_row(base, &question.framework, &question.config)?;
        Some(with_config(question, config, model))
    }

    /// The same for a question somebody asked by name, or what in it contradicts the model.
    pub fn asked(&self, base: &RuleBase, question: &Question) -> Result<Question, String> {
        let question = self.with_version(question);
        let Some(model) = &self.model else { return Ok(question) };
        let config = model.asked(base, &question.framework, &question.config)?;
        Ok(with_config(question, config, model))
    }

    /// The same about a copy of the model in the format that the question names.
    pub fn asked_of_copy(&self, question: &Question) -> Option<Question> {
        let model = self.model.as_ref()?;
        let kinds = question.config.get("model_type").zip(model.settings.get("model_type"));
        if kinds.is_some_and(|(asked, own)| asked != own) {
            return None;
        }
        let question = self.with_version(question);
        let copy = packed::copy(model, format_of(&question.config)?)?;
        let config = question.config.with(&copy.settings.without(&["quantization"]));
        Some(with_config(question, config, &copy))
    }

    fn with_version(&self, question: &Question) -> Question {
        let mut question = question.clone();
        let given = self.versions.get(&question.framework);
        if let Some(given) = given.filter(|_| question.origin != Origin::Asked) {
            question.version = Some(given.version.clone());
            question.origin = given.origin;
        }
        if let Some(beside) = self.beside.get(&question.framework) {
            question.config = question.config.with(&beside.named_by(&question.config));
            if question.origin == Origin::Installed {
                question.config = with_own_build(question.config, beside);
            }
        }
        published::with_pins(question)
    }
}

/// The question about a row's configuration with a model put in. A label that no longer holds gives way to the settings; one that
/// does says which quantisation came with the model.
fn with_config(question: Question, config: Settings, model: &Model) -> Question {
    let replaced = question.config.iter().any(|(key, value)| config.get(key) != Some(value));
    let came = format_of(&config).filter(|_| format_of(&question.config).is_none());
    let label = match (question.label.clone(), came) {
        (Some(_), _) if replaced => Some(config.of_route().to_string()),
        (Some(label), Some(word)) => Some(format!("{label} · {word}")),
        (label, _) => label,
    };
    Question { label, ..with_model(question, config, model) }
}

fn with_model(question: Question, config: Settings, model: &Model) -> Question {
    let asked = format_of(&question.config).filter(|format| *format != "none");
    // Weights that are packed on loading take less than their files.
    let as_saved = asked.is_none() || format_of(&model.settings).is_some();
    Question {
        weight_bytes: model.weight_bytes.filter(|_| as_saved),
        shape: model.shape.clone().map(Arc::new),
        model: Some(model.name.clone()),
        config,
        ..question
    }
}

/// The format of quantised weights a configuration names.
fn format_of(settings: &Settings) -> Option<&str> {
    settings.get("quantization")
}

/// Whether a finding speaks of this device.
pub(super) fn is_for(finding: &Finding, target: &Target) -> bool {
    let kind = finding.sm.is_none() || finding.sm == target.sm;
    kind && (finding.uuid.is_none() || finding.uuid == target.uuid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Evidence, Scope};
    use warpscope_kernels::Sm;
    use warpscope_probes::rules::Stage;

    fn apply(asked: &[(&str, &str)], model: &[(&str, &str)]) -> Question {
        let model = Model {
            name: "glm".to_owned(),
            settings: Settings::new(model.iter().copied()).expect("good settings"),
            weight_bytes: Some(7),
            ..Model::default()
        };
        let config = Settings::new(asked.iter().copied()).expect("good settings");
        let question = Question { config, ..Question::default() };
        let config = question.config.with(&model.settings);
        with_model(question, config, &model)
    }

    #[test]
    fn a_size_is_given_only_for_weights_as_they_are_saved() {
        let question = apply(&[("dtype", "fp16")], &[("checkpoint_dtype", "bf16")]);
        assert_eq!((question.weight_bytes, question.model.as_deref()), (Some(7), Some("glm")));
        let packed_on_loading = apply(&[("quantization", "nf4")], &[("checkpoint_dtype", "bf16")]);
        assert_eq!(packed_on_loading.weight_bytes, None);
        let saved_packed = apply(&[("quantization", "nf4")], &[("quantization", "awq")]);
        assert_eq!(saved_packed.weight_bytes, Some(7));
        assert_eq!(saved_packed.config.get("quantization"), Some("awq"));
    }

    #[test]
    fn the_installed_binaries_say_nothing_about_a_version_chosen_instead() {
        let found = |level| Finding {
            framework: "demo".to_owned(),
            sm: Some(Sm::new(7, 5)),
            uuid: None,
            settles: Scope::Stage(Stage::Kernels),
            only: Settings::default(),
            repair: None,
            evidence: Evidence {
                level,
                outcome: Outcome::Works,
                id: "inspect.demo".to_owned(),
                detail: "it holds code".to_owned(),
                source: "this machine".to_owned(),
                retrieved: "2026-11-21".to_owned(),
            },
        };
        let assumptions = Assumptions {
            findings: vec![found(Level::Inspected), found(Level::Live)],
            ..Assumptions::default()
        };
        let heard = |framework: &str, origin, sm| {
            let question =
                Question { framework: framework.to_owned(), origin, ..Question::default() };
            assumptions.about(&RuleBase::default(), &Target::of_sm("card", sm), &question).len()
        };
        let turing = Sm::new(7, 5);
        assert_eq!(heard("demo", Origin::Installed, turing), 2);
        assert_eq!(heard("demo", Origin::Asked, turing), 1);
        assert_eq!(heard("demo", Origin::Installed, Sm::new(8, 0)), 0);
        assert_eq!(heard("other", Origin::Installed, turing), 0);
    }
}
