//! Where a recording goes, and where its points come from.

use std::path::PathBuf;

use super::typed::Typed;
use crate::config::Id;

/// Where a recording goes.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordOptions {
    /// File to write; `None` for commands that record nothing.
    pub file: Option<PathBuf>,
    /// Size at which a new file is begun.
    pub max_size: Option<u64>,
    /// Older files to keep.
    pub keep: u64,
    /// Program to run and record, and its arguments.
    pub command: Vec<String>,
    /// Process to record.
    pub attach: Option<u64>,
    /// Whether standard input is recorded.
    pub stdin: bool,
    /// Tools whose lines are looked for.
    pub parsers: Vec<String>,
    /// Pattern of lines to look for.
    pub pattern: Option<String>,
    /// Words of a remark.
    pub remark: Vec<String>,
}

impl RecordOptions {
    pub(crate) fn of(get: &Typed<'_>) -> Self {
        Self {
            file: get.path(Id::File),
            max_size: get.number(Id::MaxSize),
            keep: get.number(Id::Keep).unwrap_or_default(),
            command: get.list(Id::Command),
            attach: get.number(Id::Attach),
            stdin: get.switch(Id::Stdin),
            parsers: get.list(Id::Parsers),
            pattern: get.word(Id::Pattern),
            remark: get.list(Id::Remark),
        }
    }
}
