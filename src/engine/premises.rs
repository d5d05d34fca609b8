//! What answers take as given besides the GPU: versions, a model, and what was found here.

use std::collections::BTreeMap;

use warpscope_probes::model::Model;
use warpscope_probes::rules::{RuleBase, Settings};

use super::question::Question;
use super::target::Target;
use super::verdict::Finding;

/// Where the version of a question comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The newest the rules know, or that of the row.
    #[default]
    Known,
    /// Chosen by the user.
    Asked,
    /// Found installed on this machine.
    Installed,
}

/// A version with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The version.
    pub version: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// What answers take as given besides the GPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Premises {
    /// Version of a framework, by its id.
    pub versions: BTreeMap<String, Given>,
    /// The model asked about.
    pub model: Option<Model>,
    /// What inspection and live probes found.
    pub findings: Vec<Finding>,
}

impl Premises {
    /// What was found about a question on a device.
    pub fn about(&self, target: &Target, question: &Question) -> Vec<Finding> {
        let here = |one: &&Finding| {
            one.framework == question.framework && (one.sm.is_none() || one.sm == target.sm)
        };
        self.findings.iter().filter(here).cloned().collect()
    }

    /// The question with the version and the model that are given put in. A version somebody asked for stays.
    pub fn put_in(&self, question: &Question) -> Question {
        let mut question = self.with_version(question);
        if let Some(model) = &self.model {
            question.config = question.config.with(&model.settings);
        }
        question
    }

    /// The same for a row of the matrix; `None` where the row cannot load the model, which then does not concern it.
    pub fn in_row(&self, base: &RuleBase, question: &Question) -> Option<Question> {
        let question = self.with_version(question);
        let Some(model) = &self.model else { return Some(question) };
        let config = model.in_row(base, &question.framework, &question.config)?;
        Some(with_config(question, config))
    }

    /// The same for a question somebody asked by name, or what in it contradicts the model.
    pub fn asked(&self, base: &RuleBase, question: &Question) -> Result<Question, String> {
        let question = self.with_version(question);
        let Some(model) = &self.model else { return Ok(question) };
        let config = model.asked(base, &question.framework, &question.config)?;
        Ok(with_config(question, config))
    }

    fn with_version(&self, question: &Question) -> Question {
        let mut question = question.clone();
        let given = self.versions.get(&question.framework);
        if let Some(given) = given.filter(|_| question.origin != Origin::Asked) {
            question.version = Some(given.version.clone());
            question.origin = given.origin;
        }
        question
    }
}

/// The question about a row's configuration with a model put in. A label that no longer holds gives way to the settings; one that
/// does says which quantisation came with the model.
fn with_config(question: Question, config: Settings) -> Question {
    const KEY: &str = "quantization";
    let replaced = question.config.iter().any(|(key, value)| config.get(key) != Some(value));
    let came = config.get(KEY).filter(|_| question.config.get(KEY).is_none());
    let label = match (question.label, came) {
        (Some(_), _) if replaced => Some(config.of_route().to_string()),
        (Some(label), Some(word)) => Some(format!("{label} · {word}")),
        (label, _) => label,
    };
    Question { config, label, ..question }
}
