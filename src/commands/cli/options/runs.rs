//! Runs of the past and of a search: compared, kept, exported, tuned.

use std::path::PathBuf;

use super::typed::Typed;
use crate::config::Id;

/// Runs to compare and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareOptions {
    /// Files, the baseline first.
    pub runs: Vec<PathBuf>,
    /// The call that makes the command end with 1.
    pub fail_on: Option<String>,
    /// A/A noise of the machine as a share.
    pub noise: Option<f64>,
}

impl CompareOptions {
    pub(crate) fn of(get: &Typed<'_>) -> Self {
        Self {
            runs: get.paths(Id::Runs),
            fail_on: get.word(Id::FailOn),
            noise: get.percent(Id::Noise),
        }
    }
}

/// What is asked of the history.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryOptions {
    /// Journals to take in first.
    pub import: Vec<PathBuf>,
    /// Whether weak changes are shown.
    pub weak: bool,
}

impl HistoryOptions {
    pub(crate) fn of(get: &Typed<'_>) -> Self {
        Self { import: get.paths(Id::Import), weak: get.switch(Id::Weak) }
    }
}

/// What is exported and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExportOptions {
    /// Journal to read.
    pub journal: Option<PathBuf>,
    /// Format by name.
    pub format: String,
}

impl ExportOptions {
    pub(crate) fn of(get: &Typed<'_>) -> Self {
        Self { journal: get.path(Id::Journal), format: get.text(Id::ExportFormat) }
    }
}

/// What is tuned and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TuneOptions {
    /// The spec.
    pub spec: Option<PathBuf>,
    /// Whether it is searched once.
    pub once: bool,
    /// File for the results.
    pub export: Option<PathBuf>,
}

impl TuneOptions {
    pub(crate) fn of(get: &Typed<'_>) -> Self {
        Self {
            spec: get.path(Id::TuneSpec),
            once: get.switch(Id::TuneOnce),
            export: get.path(Id::TuneExport),
        }
    }
}
