//! What is asked: a framework, a version, a configuration.

use super::premises::Origin;

use warpscope_probes::rules::{ConfigRow, RuleBase, Settings};

/// One question about one configuration of one framework.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// Words for the screen; the configuration spelt out where there are none.
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

    /// The configuration as words.
    pub fn words(&self) -> String {
        match &self.label {
            Some(label) => label.clone(),
            None if self.config.is_empty() => "default".to_owned(),
            None => self.config.to_string(),
        }
    }
}
