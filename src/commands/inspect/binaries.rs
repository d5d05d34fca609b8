//! Binaries with device code below a folder: a build of llama.cpp, a folder of extensions.

use std::collections::VecDeque;
use std::fs::{self, DirEntry};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use warpscope_probes::inspect::binary::{Scan, ScanError, Why, scan_file};
use warpscope_probes::inspect::env::Unreadable;

/// Folders below the one that was named, that one counted.
const DEEPEST: usize = 8;
/// Entries of folders looked at.
const MOST_ENTRIES: usize = 100_000;
/// Binaries told of.
const MOST: usize = 512;

/// How names of files that hold device code end.
const ENDS: &[&str] = &[".so", ".pyd", ".dll", ".exe", ".a", ".cubin", ".fatbin", ".ptx", ".whl"];

/// What lies below a folder.
#[derive(Default)]
pub(super) struct Below {
    /// Every binary that carries device code or is not whole.
    pub(super) found: Vec<(PathBuf, Scan)>,
    /// What could not be read, and what is left out.
    pub(super) unreadable: Vec<Unreadable>,
    /// Files beyond the most that are told of.
    more: usize,
    /// Folders too deep.
    deeper: usize,
    /// Entries that may still be looked at.
    left: usize,
}

/// Looks below a folder. No link is followed.
pub(super) fn below(folder: &Path) -> Below {
    let mut waiting = VecDeque::from([(folder.to_owned(), DEEPEST)]);
    let mut below = Below { left: MOST_ENTRIES, ..Below::default() };
    while let Some((folder, depth)) = waiting.pop_front() {
        let mut entries: Vec<DirEntry> = match fs::read_dir(&folder) {
            Ok(list) => list.take(below.left).flatten().collect(),
            Err(error) => {
                below.leave_out(folder, error.to_string());
                continue;
            }
        };
        entries.sort_unstable_by_key(DirEntry::file_name);
        below.left -= entries.len();
        for entry in entries {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth > 1 {
                waiting.push_back((entry.path(), depth - 1));
            } else if kind.is_dir() {
                below.deeper += 1;
            } else if kind.is_file() && may_hold_code(&entry) {
                below.take(entry.path());
            }
        }
    }
    below.counted(folder)
}

impl Below {
    fn take(&mut self, path: PathBuf) {
        if self.found.len() == MOST {
            self.more += 1;
            return;
        }
        match scan_file(&path) {
            Ok(scan) if tells(&scan) => self.found.push((path, scan)),
            Err(ScanError { why: Why::Read(error), .. }) => self.leave_out(path, error.to_string()),
            Ok(_) | Err(ScanError { why: Why::Unrecognised, .. }) => {}
        }
    }

    fn leave_out(&mut self, path: PathBuf, reason: String) {
        self.unreadable.push(Unreadable { path, reason });
    }

    /// Says what is left out below a folder.
    fn counted(mut self, folder: &Path) -> Self {
        let (more, deeper) = (self.more, self.deeper);
        let way_out = "name a folder below it";
        for (happens, what) in [
            (more > 0, format!("{more} more files after {MOST} binaries")),
            (deeper > 0, format!("{deeper} folders lie too deep")),
            (self.left == 0, format!("looked at {MOST_ENTRIES} entries of folders and no more")),
        ] {
            if happens {
                self.leave_out(folder.to_owned(), format!("{what}; {way_out}"));
            }
        }
        self
    }
}

fn may_hold_code(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    let runs = || entry.metadata().is_ok_and(|data| data.permissions().mode() & 0o111 != 0);
    ENDS.iter().any(|end| name.ends_with(end)) || name.contains(".so.") || runs()
}

fn tells(scan: &Scan) -> bool {
    let tells = |one: &Scan| one.has_device_code() || one.damage.is_some();
    tells(scan) || scan.binaries().iter().any(tells)
}
