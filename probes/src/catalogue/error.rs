/// A fact file is wrong: which file, which line, which key, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {key}: {why}")]
pub struct FactError {
    /// File name as given.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// Key on that line, or the table header; empty where the line holds neither.
    pub key: String,
    /// What is wrong, one sentence.
    pub why: String,
}

impl FactError {
    /// An error at a place of `text`.
    pub(super) fn at(file: &str, text: &str, at: usize, why: impl Into<String>) -> Self {
        let before = &text.as_bytes()[..at.min(text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        let written = text.lines().nth(line - 1).unwrap_or_default();
        let key = written.split('=').next().unwrap_or_default().trim();
        Self { file: file.to_owned(), line, key: key.to_owned(), why: why.into() }
    }

    /// An error of a table that names itself by `key = "value"`, found again by that line.
    pub(super) fn of(file: &str, text: &str, key: &str, value: &str, why: String) -> Self {
        let wanted = format!("{key} = \"{value}\"");
        let line = text.lines().position(|line| line.trim() == wanted).map_or(1, |at| at + 1);
        Self { file: file.to_owned(), line, key: key.to_owned(), why }
    }
}
