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
    /// The remedy; empty where none is known. Semicolons separate its steps, and a colon precedes a command.
    pub remedy: String,
}

impl Notice {
    /// Id of the notice of a host that is not connected.
    pub const HOST_LOST: &str = "host.lost";
    /// Id of the notice of a server of metrics that could not be asked.
    pub const FLEET_LOST: &str = "fleet.lost";

    /// The steps of the remedy: text, and the command it introduces.
    pub fn steps(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        let step = |text| match str::rsplit_once(text, ": ") {
            Some((words, command)) if !command.is_empty() => (words, Some(plain(command))),
            _ => (text, None),
        };
        self.remedy.split("; ").map(str::trim).filter(|text| !text.is_empty()).map(step)
    }

    /// Whether it ends, behind a colon, in the words of another program, which may name anybody.
    pub fn quotes(&self) -> bool {
        [Self::HOST_LOST, Self::FLEET_LOST].contains(&self.id.as_str())
    }
}

/// A command without the signs that set it off in a sentence.
fn plain(command: &str) -> &str {
    command.strip_suffix("`.").unwrap_or(command).trim_matches('`')
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
