//! Binaries with device code below a folder: a build of llama.cpp, a folder of extensions.

use std::collections::VecDeque;
use std::fs::{self, DirEntry};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use warpscope_probes::inspect::binary::{Scan, scan_file};

/// Folders below the one that was named, that one counted.
const DEEPEST: usize = 8;
/// Entries of folders looked at.
const MOST_ENTRIES: usize = 100_000;
/// Binaries told of.
const MOST: usize = 512;

/// How names of files that hold device code end.
const ENDS: &[&str] = &[".so", ".pyd", ".dll", ".exe", ".a", ".cubin", ".fatbin", ".ptx", ".whl"];

/// Every binary below a folder that carries device code or is not whole. No link is followed.
pub(super) fn below(folder: &Path) -> Vec<(PathBuf, Scan)> {
    let mut waiting = VecDeque::from([(folder.to_owned(), DEEPEST)]);
    let (mut left, mut found) = (MOST_ENTRIES, Vec::new());
    while let Some((folder, depth)) = waiting.pop_front() {
        let Ok(list) = fs::read_dir(&folder) else { continue };
        let mut entries: Vec<DirEntry> = list.take(left).flatten().collect();
        entries.sort_unstable_by_key(DirEntry::file_name);
        left -= entries.len();
        for entry in entries {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && depth > 1 {
                waiting.push_back((entry.path(), depth - 1));
            } else if kind.is_file() && may_hold_code(&entry) && found.len() < MOST {
                let scan = scan_file(&entry.path()).ok().filter(tells);
                found.extend(scan.map(|scan| (entry.path(), scan)));
            }
        }
    }
    found
}

fn may_hold_code(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    let runs = || entry.metadata().is_ok_and(|data| data.permissions().mode() & 0o111 != 0);
    ENDS.iter().any(|end| name.ends_with(end)) || name.contains(".so.") || runs()
}

fn tells(scan: &Scan) -> bool {
    scan.damage.is_some()
        || scan.binaries().iter().any(|one| one.has_device_code() || one.damage.is_some())
}
