use std::io;
use std::path::{Path, PathBuf};

/// Why a model could not be read, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ModelError {
    /// File or folder.
    pub path: PathBuf,
    /// What is wrong with it, and what would be right.
    pub message: String,
}

impl ModelError {
    pub(super) fn new(path: &Path, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), message: message.into() }
    }

    pub(super) fn io(path: &Path, error: &io::Error) -> Self {
        Self::new(path, format!("cannot be read: {error}"))
    }
}
