//! The history: a folder with two files per recorded run, its samples and their summary.
//!
//! The samples are a journal of that one run, so every reader of journals reads them; the summary beside it holds what trends need.
//! Files rather than a database: nothing here is queried but "all summaries" and "one run", writers never wait for each other because a
//! run is published by renaming whole files, and SQLite takes a C compiler and a good part of the build.

mod hash;
mod import;
mod run_file;
#[cfg(test)]
mod tests;

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use tempfile::TempDir;
use warpscope_probes::private;

pub(crate) use hash::Fnv;
pub use import::Imported;

/// Name of the folder below warpscope's data.
pub const FOLDER: &str = "history";

/// What versions before this folder wrote; its runs are imported again from their journals.
pub const DATABASE: &str = "history.db";

/// Why the history cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The system refused.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
    /// A newer warpscope wrote this summary: its format, and the newest known here.
    #[error(
        "{0} was written by a newer warpscope (format {1}; this version reads up to {2}); update warpscope"
    )]
    Newer(PathBuf, u32, u32),
    /// The file to import is not a journal.
    #[error(
        "{0} is not a run log; `warpscope bench --record FILE` and `warpscope record FILE -- COMMAND` write one"
    )]
    NotAJournal(PathBuf),
    /// A summary that does not parse, and why.
    #[error("{0} is damaged ({1}); remove it with `rm {0}` and rebuild it with `warpscope history --import {jsonl}`", jsonl = .0.with_extension("jsonl").display())]
    Damaged(PathBuf, String),
}

/// The recorded runs of a user.
#[derive(Debug)]
pub struct History {
    folder: PathBuf,
    /// Removes a temporary history with the value.
    _temporary: Option<TempDir>,
}

impl History {
    /// The history in a folder; `None` where there is none yet.
    pub fn open(folder: &Path) -> Result<Option<Self>, HistoryError> {
        let failed = |error| HistoryError::Io(folder.to_owned(), error);
        match folder.metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
            Ok(about) if !about.is_dir() => Err(failed(ErrorKind::NotADirectory.into())),
            Ok(_) => Ok(Some(Self { folder: folder.to_owned(), _temporary: None })),
        }
    }

    /// The history in a folder, which is created for its owner alone where it is missing.
    pub fn create(folder: &Path) -> Result<Self, HistoryError> {
        private::folder(folder).map_err(|error| HistoryError::Io(folder.to_owned(), error))?;
        Ok(Self { folder: folder.to_owned(), _temporary: None })
    }

    /// A history that is removed with the value: for pictures and tests.
    pub fn temporary() -> Result<Self, HistoryError> {
        let made = TempDir::new().map_err(|error| HistoryError::Io(std::env::temp_dir(), error))?;
        Ok(Self { folder: made.path().to_owned(), _temporary: Some(made) })
    }

    /// Whether no run can be added.
    pub fn is_read_only(&self) -> bool {
        access(&self.folder, Access::WRITE_OK).is_err()
    }
}
