//! The store of recorded runs: SQLite in one file of the user.
//!
//! Journals stay the truth; the store is what can be searched, and it can be built anew from them. A database and not a folder of files,
//! because a history asks for one kernel over hundreds of runs, and two programs may import at once. Raw samples are kept beside their
//! quartiles: two runs can be compared again by whatever rule.

mod hash;
mod import;
mod read;
mod run;
mod samples;
mod schema;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use warpscope_probes::private;

pub use import::Imported;

/// Name of the file in the folder of warpscope's data.
pub const FILE: &str = "history.db";

/// How long another program that writes is waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Why the store cannot be used.
#[derive(Debug)]
pub enum HistoryError {
    /// The system refused.
    Io(PathBuf, io::Error),
    /// The file is no store of warpscope.
    NotOurs(PathBuf),
    /// A newer warpscope wrote it: its number, and the newest this one knows.
    Newer(PathBuf, i64, i64),
    /// Another program writes into it.
    Busy(PathBuf),
    /// The file to import is no journal.
    NotAJournal(PathBuf),
    /// The file is damaged: what the database says.
    Damaged(PathBuf, rusqlite::Error),
    /// An older warpscope wrote it, and it cannot be brought up to date where it lies.
    Old(PathBuf),
    /// The database refused.
    Database(PathBuf, rusqlite::Error),
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::NotOurs(path) => {
                write!(f, "{} is no history of warpscope; {}", path.display(), Anew(path))
            }
            Self::Damaged(path, why) => {
                write!(f, "{} is damaged ({why}); {}", path.display(), Anew(path))
            }
            Self::Old(path) => write!(
                f,
                "{} is of an older format and cannot be written; copy it to $XDG_DATA_HOME/warpscope on storage that can be written",
                path.display()
            ),
            Self::Newer(path, found, known) => write!(
                f,
                "{} was written by a newer warpscope (format {found}; this one knows {known}); update, or move it away and import the journals again",
                path.display()
            ),
            Self::Busy(path) => write!(
                f,
                "{} is being written by another program; try again when it is done",
                path.display()
            ),
            Self::NotAJournal(path) => write!(
                f,
                "{} is no journal of runs; `warpscope bench --record FILE` and `warpscope record FILE -- COMMAND` write one",
                path.display()
            ),
            Self::Database(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for HistoryError {}

/// How a store is built anew. The journals are the truth: nothing is lost with it.
struct Anew<'a>(&'a Path);

impl fmt::Display for Anew<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.0.display();
        write!(
            f,
            "move it away with `mv {path} {path}.old`, and `warpscope history --import JOURNAL` builds it anew from the journals"
        )
    }
}

/// The store, open.
#[derive(Debug)]
pub struct History {
    path: PathBuf,
    database: Connection,
    read_only: bool,
}

impl History {
    /// Opens the store to read it, wherever it lies; `None` where there is none yet.
    pub fn open(path: &Path) -> Result<Option<Self>, HistoryError> {
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(HistoryError::Io(path.to_owned(), error)),
            Ok(_) => match Self::existing(path) {
                Err(error) if error.is_read_only() => Self::unwritable(path).map(Some),
                other => other.map(Some),
            },
        }
    }

    /// Opens the store, or makes an empty one that only its owner can read.
    pub fn create(path: &Path) -> Result<Self, HistoryError> {
        let failed = |error| HistoryError::Io(path.to_owned(), error);
        if let Some(folder) = path.parent() {
            private::folder(folder).map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(private::MODE);
        options.custom_flags(libc::O_NONBLOCK).open(path).map_err(failed)?;
        Self::existing(path)
    }

    /// A store that ends with the program: for pictures and tests.
    pub fn in_memory() -> Result<Self, HistoryError> {
        let path = PathBuf::from(":memory:");
        let failed = |error| HistoryError::Database(path.clone(), error);
        let mut database = Connection::open_in_memory().map_err(failed)?;
        schema::prepare(&mut database, &path)?;
        Ok(Self { path, database, read_only: false })
    }

    fn existing(path: &Path) -> Result<Self, HistoryError> {
        let failed = |error| HistoryError::Io(path.to_owned(), error);
        if !path.metadata().map_err(failed)?.is_file() {
            return Err(HistoryError::NotOurs(path.to_owned()));
        }
        OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = |error| refused(path, error);
        let mut database = Connection::open_with_flags(path, flags).map_err(open)?;
        database.busy_timeout(PATIENCE).map_err(open)?;
        schema::prepare(&mut database, path)?;
        Ok(Self { path: path.to_owned(), database, read_only: false })
    }

    /// Opens a store that cannot be written.
    fn unwritable(path: &Path) -> Result<Self, HistoryError> {
        let open = |parameters: &str| {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                | OpenFlags::SQLITE_OPEN_NO_MUTEX
                | OpenFlags::SQLITE_OPEN_URI;
            let database = Connection::open_with_flags(uri(path, parameters), flags);
            let database = database.map_err(|error| refused(path, error))?;
            match schema::is_today(&database, path)? {
                true => Ok(Self { path: path.to_owned(), database, read_only: true }),
                false => Err(HistoryError::Old(path.to_owned())),
            }
        };
        // The database keeps files beside the store, and does without where it is told that nobody writes.
        open("")
            .or_else(|error| if error.is_read_only() { open("?immutable=1") } else { Err(error) })
    }

    /// Whether it lies where it cannot be written.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn refused(&self, error: rusqlite::Error) -> HistoryError {
        refused(&self.path, error)
    }
}

impl HistoryError {
    /// Whether the storage cannot be written.
    fn is_read_only(&self) -> bool {
        match self {
            Self::Io(_, error) => {
                matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
            }
            Self::Database(_, error) => {
                let code = error.sqlite_error_code();
                matches!(code, Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
            }
            _ => false,
        }
    }
}

/// A path as the database takes it with parameters behind it.
fn uri(path: &Path, parameters: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    let letters = path.as_os_str().as_bytes().iter().map(|byte| match plain(*byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    format!("file:{}{parameters}", letters.collect::<String>())
}

/// What a refusal of the database means.
fn refused(path: &Path, error: rusqlite::Error) -> HistoryError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            HistoryError::Busy(path.to_owned())
        }
        Some(ErrorCode::NotADatabase) => HistoryError::NotOurs(path.to_owned()),
        Some(ErrorCode::DatabaseCorrupt) => HistoryError::Damaged(path.to_owned(), error),
        _ => HistoryError::Database(path.to_owned(), error),
    }
}
