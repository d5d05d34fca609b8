//! What is wrong with a text that should be PTX.

use std::fmt;

/// A text the interpreter does not take, and the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxError {
    /// Line, from 1.
    pub line: u32,
    /// What is wrong, naming the thing.
    pub what: String,
}

impl PtxError {
    pub(crate) fn new(line: u32, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

impl fmt::Display for PtxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PTX line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for PtxError {}
