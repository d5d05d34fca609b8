//! What answers take as given besides the GPU: versions, a model, and what was found here.

use std::collections::BTreeMap;

use warpscope_probes::model::Model;

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

    /// The question with the version and the model that are given put in.
    pub fn put_in(&self, question: &Question) -> Question {
        let mut question = question.clone();
        if let Some(given) = self.versions.get(&question.framework) {
            question.version = Some(given.version.clone());
            question.origin = given.origin;
        }
        if let Some(model) = &self.model {
            question.config = question.config.with(&model.settings);
        }
        question
    }
}
