//! Tables of the store, and how an older one becomes one of today.

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::{HistoryError, refused, run};

/// What marks a database as this store: `warp`.
const APPLICATION: i64 = 0x7761_7270;

/// One step from a format to the next.
pub(super) struct Step {
    /// What is made or changed.
    pub(super) sql: &'static str,
    /// What has to be worked out from what is there.
    pub(super) fill: Option<fn(&Transaction<'_>) -> rusqlite::Result<()>>,
}

/// Every step: a store of format N has had the first N of them.
pub(super) const STEPS: &[Step] = &[
    Step {
        sql: "
            CREATE TABLE runs (
                id        INTEGER PRIMARY KEY,
                hash      INTEGER UNIQUE,
                at_ms     INTEGER NOT NULL,
                name      TEXT,
                commit_id TEXT,
                dirty     TEXT,
                driver    TEXT,
                regime    TEXT NOT NULL,
                identity  TEXT NOT NULL,
                ended     INTEGER NOT NULL DEFAULT 0,
                file      TEXT NOT NULL
            ) STRICT;
            CREATE TABLE groups (
                id     INTEGER PRIMARY KEY,
                name   TEXT NOT NULL,
                device TEXT,
                key    TEXT NOT NULL,
                config TEXT NOT NULL,
                UNIQUE (key, config)
            ) STRICT;
            CREATE TABLE samples (
                run      INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
                grp      INTEGER NOT NULL REFERENCES groups,
                part     INTEGER NOT NULL,
                t_ns     BLOB NOT NULL,
                sm_mhz   BLOB,
                tainted  BLOB,
                UNIQUE (run, grp, part)
            ) STRICT;
            CREATE TABLE marks (
                run   INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
                at_ms INTEGER NOT NULL,
                text  TEXT NOT NULL
            ) STRICT;
            CREATE INDEX marks_of_run ON marks (run);",
        fill: None,
    },
    // Quartiles beside the samples, so that a history does not read every sample ever taken.
    Step {
        sql: "
            CREATE TABLE summaries (
                run     INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
                grp     INTEGER NOT NULL REFERENCES groups,
                clean   INTEGER NOT NULL,
                tainted INTEGER NOT NULL,
                lower   REAL,
                median  REAL,
                upper   REAL,
                PRIMARY KEY (run, grp)
            ) STRICT, WITHOUT ROWID;",
        fill: Some(run::summarise_all),
    },
];

/// Number of today's format.
const TODAY: i64 = STEPS.len() as i64;

/// Brings a database, new or of an older format, to today's.
pub(super) fn prepare(database: &mut Connection, path: &Path) -> Result<(), HistoryError> {
    let failed = |error| refused(path, error);
    database
        .execute_batch(
            "PRAGMA page_size = 16384; PRAGMA foreign_keys = ON; PRAGMA cache_size = -8192; PRAGMA synchronous = NORMAL;",
        )
        .map_err(failed)?;
    let found = format(database, path)?;
    if found == TODAY {
        return Ok(());
    }
    // A file system without shared memory stays with a rollback journal.
    let _ = database.pragma_update(None, "journal_mode", "wal");
    let work = database.transaction_with_behavior(TransactionBehavior::Immediate);
    let work = work.map_err(failed)?;
    // Another program may have been quicker.
    let found = usize::try_from(format(&work, path)?).unwrap_or(0);
    for step in STEPS.iter().skip(found) {
        work.execute_batch(step.sql).map_err(failed)?;
        if let Some(fill) = step.fill {
            fill(&work).map_err(failed)?;
        }
    }
    work.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    work.pragma_update(None, "user_version", TODAY).map_err(failed)?;
    work.commit().map_err(failed)
}

/// Whether a database that cannot be changed is of today's format.
pub(super) fn is_today(database: &Connection, path: &Path) -> Result<bool, HistoryError> {
    format(database, path).map(|found| found == TODAY)
}

/// The format of a database; 0 for an empty one.
fn format(database: &Connection, path: &Path) -> Result<i64, HistoryError> {
    let number = |name: &str| {
        let read = database.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        read.map_err(|error| refused(path, error))
    };
    let (application, found) = (number("application_id")?, number("user_version")?);
    let tables = database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0));
    let tables: i64 = tables.map_err(|error| refused(path, error))?;
    match (application, found) {
        (APPLICATION, 1..=TODAY) => Ok(found),
        (APPLICATION, found) if found > TODAY => {
            Err(HistoryError::Newer(path.to_owned(), found, TODAY))
        }
        (0, 0) if tables == 0 => Ok(0),
        _ => Err(HistoryError::NotOurs(path.to_owned())),
    }
}
