//! What is asked: a framework, a version, a configuration.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warpscope_probes::model::Shape;
use warpscope_probes::rules::{ConfigRow, RuleBase, Settings};

/// Where the version of a question comes from.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The newest the rules know, or that of the row.
    #[default]
    Known,
    /// Chosen by the user.
    Asked,
    /// RuleMatch installed on this machine.
    Installed,
}

/// One question about one configuration of one framework.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    /// Framework id.
    pub framework: String,
    /// Version; the framework's default where none is named.
    pub version: Option<String>,
    /// Where the version comes from.
    pub origin: Origin,
    /// The configuration.
    pub config: Settings,
    /// Name of the model asked about.
    pub model: Option<String>,
    /// Bytes of its weights as they are saved; absent where they are unknown or would be loaded in another format.
    pub weight_bytes: Option<u64>,
    /// Its dimensions, where they are known and the weights are loaded as they are or quantised on loading.
    pub shape: Option<Arc<Shape>>,
    /// Label on screens; the configuration spelt out where there is none.
    pub label: Option<String>,
}

impl Question {
    /// The question a row of the matrix stands for.
    pub fn of_row(base: &RuleBase, row: &ConfigRow) -> Self {
        let default =
            || base.framework(&row.framework).and_then(|framework| framework.version.clone());
        Self {
            framework: row.framework.clone(),
            version: row.version.clone().or_else(default),
            origin: Origin::Known,
            config: row.settings.clone(),
            label: Some(row.label.clone()),
            ..Self::default()
        }
    }

    /// Whether both ask the same, however they are worded.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.framework, &self.version, &self.config)
            == (&other.framework, &other.version, &other.config)
    }

    /// The configuration as words.
    pub fn words(&self) -> String {
        match &self.label {
            Some(label) => label.clone(),
            None if self.config.is_empty() => "default".to_owned(),
            None => self.config.to_string(),
        }
    }
}

/// Each question once. Of rows that a model makes equal, the one that named most of it stays.
pub fn distinct<'q>(pairs: impl Iterator<Item = (&'q Question, Question)>) -> Vec<Question> {
    let mut kept: Vec<(usize, Question)> = Vec::new();
    for (row, question) in pairs {
        let named =
            row.config.iter().filter(|(key, value)| question.config.get(key) == Some(value));
        let named = named.count();
        match kept.iter_mut().find(|(_, old)| old.is_same(&question)) {
            Some(old) if named > old.0 => *old = (named, question),
            Some(_) => {}
            None => kept.push((named, question)),
        }
    }
    kept.into_iter().map(|(_, question)| question).collect()
}
