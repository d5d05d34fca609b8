//! How far a sweep has come, what it could not read, and whether it should stop.
//!
//! One value handed down instead of return types full of errors: a place that cannot be read is counted and named, and the
//! sweep goes on with the next.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::inventory::Unreadable;
use crate::text::printable;

/// Unreadable places named; more are only counted.
const NAMED: usize = 256;

/// What has been looked at so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Files opened.
    pub files: u64,
    /// Bytes read of them.
    pub bytes: u64,
    /// Environments done.
    pub done: usize,
    /// Environments found so far.
    pub found: usize,
    /// The place being looked at.
    pub place: PathBuf,
}

/// Whether nothing is there; any other error leaves open what is.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Who is told how far a sweep has come.
type Report<'a> = Box<dyn FnMut(&Seen) + 'a>;

/// Collects what a sweep sees and passes it on; asks whether to stop.
pub struct Progress<'a> {
    seen: Seen,
    unreadable: Vec<Unreadable>,
    unreadable_count: u64,
    cancel: Option<&'a AtomicBool>,
    report: Option<Report<'a>>,
}

impl<'a> Progress<'a> {
    /// Tells nobody and is never cancelled.
    pub fn silent() -> Self {
        Self {
            seen: Seen::default(),
            unreadable: Vec::new(),
            unreadable_count: 0,
            cancel: None,
            report: None,
        }
    }

    /// Calls `report` at every place and stops soon after `cancel` is set.
    pub fn new(cancel: &'a AtomicBool, report: impl FnMut(&Seen) + 'a) -> Self {
        Self { cancel: Some(cancel), report: Some(Box::new(report)), ..Self::silent() }
    }

    /// What has been looked at so far.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Whether somebody asked to stop.
    pub fn cancelled(&self) -> bool {
        self.cancel.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// The sweep has come to this place.
    pub(super) fn at(&mut self, place: &Path) {
        place.clone_into(&mut self.seen.place);
        self.tell();
    }

    /// A file was opened and this much of it read.
    pub(super) fn read(&mut self, bytes: u64) {
        self.seen.files += 1;
        self.seen.bytes += bytes;
    }

    /// So many environments are known.
    pub(super) fn found(&mut self, environments: usize) {
        self.seen.found = environments;
        self.tell();
    }

    /// One environment is done.
    pub(super) fn done_one(&mut self) {
        self.seen.done += 1;
        self.tell();
    }

    /// A place could not be read. One that is not there is no news.
    pub(super) fn failed(&mut self, path: &Path, error: &io::Error) {
        if !is_absent(error) {
            self.unreadable(path, &error.to_string());
        }
    }

    /// A place could not be read, for a reason of its own.
    pub(super) fn unreadable(&mut self, path: &Path, reason: &str) {
        self.unreadable_count += 1;
        let known = self.unreadable.iter().any(|one| one.path == path);
        if !known && self.unreadable.len() < NAMED {
            let reason = printable(reason);
            self.unreadable.push(Unreadable { path: path.to_owned(), reason });
        }
    }

    /// Hands over the places that could not be read, and how often that happened.
    pub(super) fn take_unreadable(&mut self) -> (Vec<Unreadable>, u64) {
        (std::mem::take(&mut self.unreadable), std::mem::take(&mut self.unreadable_count))
    }

    fn tell(&mut self) {
        if let Some(report) = &mut self.report {
            report(&self.seen);
        }
    }
}
