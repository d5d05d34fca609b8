//! What is asked about, besides GPUs.

use std::path::PathBuf;

use super::typed::Typed;
use crate::config::Id;

/// What is asked about, besides GPUs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AskOptions {
    /// Frameworks and configurations, as typed; everything when empty.
    pub words: Vec<String>,
    /// Number format, as typed.
    pub dtype: Option<String>,
    /// The model's folder or file.
    pub model: Option<PathBuf>,
    /// Folders of the user's rules besides the usual one.
    pub rules: Vec<PathBuf>,
    /// Words to look for in a table.
    pub filter: Vec<String>,
    /// Whether to ask about what is installed here; none: where the GPUs are here.
    pub installed: Option<bool>,
}

impl AskOptions {
    pub(crate) fn of(get: &Typed<'_>) -> Self {
        Self {
            words: get.list(Id::Frameworks),
            dtype: get.word(Id::AskedDtype),
            model: get.path(Id::Model),
            rules: get.paths(Id::Rules),
            filter: get.list(Id::Filter),
            installed: match get.text(Id::Installed).as_str() {
                "yes" => Some(true),
                "no" => Some(false),
                _ => None,
            },
        }
    }
}
