//! What the user should know and no value shows.

use serde::{Deserialize, Serialize};

/// Something the user should know that no value shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// Stable dotted id: `driver.library_missing`.
    pub id: String,
    /// How loud to be.
    pub severity: Severity,
    /// What was found, one sentence.
    pub what: String,
    /// The way out, one sentence; empty where there is none.
    pub remedy: String,
}

/// How loud a [`Notice`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Something is missing or slower than it could be.
    Warning,
    /// Something does not work.
    Error,
}
