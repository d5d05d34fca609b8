//! Environments wherever they lie: a walk below the home and below folders that were named.
//!
//! The table of places names what is what; people put environments elsewhere too. The walk goes by breadth, so that what lies near is found
//! first, and ends by depth, by entries and by time. Other file systems and whole networks are left out unless they were named, and
//! what was left out is reported.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::disk::Disk;
use super::inventory::{Searched, Unreadable};
use super::places::fits;
use super::progress::Progress;

/// Folders below a root, its own counted.
const DEEPEST: usize = 8;
/// Entries of folders looked at below all roots.
const MOST_ENTRIES: usize = 400_000;
/// Time for all roots.
const LONGEST: Duration = Duration::from_secs(5);
/// Places left out that are named; more are only counted.
const NAMED: usize = 16;

/// Folders that hold no environment of their own and are often large.
const PASSED: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    ".cargo",
    ".rustup",
    ".npm",
    "__pycache__",
    "node_modules",
    "conda-meta",
];

/// What `statfs` calls file systems that lie on other machines.
const NETWORKS: &[(u64, &str)] = &[
    (0x6969, "nfs"),
    (0xFF53_4D42, "cifs"),
    (0xFE53_4D42, "smb"),
    (0x0BD0_0BD0, "lustre"),
    (0x4750_4653, "gpfs"),
    (0x00C3_6400, "ceph"),
    (0x1983_0326, "beegfs"),
    (0x5346_414F, "afs"),
    (0x6573_5546, "fuse"),
];

/// How far the walk may still go.
pub(super) struct Search {
    entries: usize,
    until: Instant,
}

/// One root, while it is walked.
struct Walk<'s> {
    search: &'s mut Search,
    device: u64,
    found: Vec<PathBuf>,
    searched: Searched,
    waiting: VecDeque<(PathBuf, usize)>,
}

impl Search {
    pub(super) fn new() -> Self {
        Self { entries: MOST_ENTRIES, until: Instant::now() + LONGEST }
    }

    /// Paths inside that look like environments below a root, and how far the walk came. A root on a network is walked if it was named.
    pub(super) fn below(
        &mut self,
        disk: &Disk,
        root: &Path,
        named: bool,
        progress: &mut Progress<'_>,
    ) -> (Vec<PathBuf>, Option<Searched>) {
        let outer = disk.canonical(root).map(|end| disk.outer(&end));
        let Ok((outer, data)) = outer.and_then(|outer| Ok((outer.clone(), outer.metadata()?)))
        else {
            return (Vec::new(), None);
        };
        let mut walk = Walk {
            search: self,
            device: data.dev(),
            found: Vec::new(),
            searched: Searched { root: outer.clone(), ..Searched::default() },
            waiting: VecDeque::new(),
        };
        match network(&outer).filter(|_| !named) {
            Some(kind) => walk.leave_out(&outer, &format!("on another machine ({kind})")),
            None => walk.waiting.push_back((outer, DEEPEST)),
        }
        walk.run(progress);
        let found = walk.found.iter().map(|path| disk.inner(path)).collect();
        (found, Some(walk.searched))
    }
}

impl Walk<'_> {
    fn run(&mut self, progress: &mut Progress<'_>) {
        while let Some((folder, depth)) = self.waiting.pop_front() {
            let ended = match () {
                () if progress.cancelled() => "stopped",
                () if self.search.entries == 0 => "too many entries",
                () if Instant::now() >= self.search.until => "out of time",
                () => {
                    self.folder(&folder, depth, progress);
                    continue;
                }
            };
            self.searched.ended = Some(ended.to_owned());
            return;
        }
    }

    fn folder(&mut self, folder: &Path, depth: usize, progress: &mut Progress<'_>) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries.take(self.search.entries).flatten().collect::<Vec<_>>(),
            Err(error) => return progress.failed(folder, &error),
        };
        self.searched.folders += 1;
        self.search.entries -= entries.len().min(self.search.entries);
        let named = |name: &str| entries.iter().any(|entry| entry.file_name() == name);
        let conda = named("conda-meta");
        if conda || named("pyvenv.cfg") || holds_packages(folder, &entries) {
            self.found.push(folder.to_owned());
            // Of what lies in an environment only conda's further ones are environments.
            let envs = entries.into_iter().filter(|entry| conda && entry.file_name() == "envs");
            return self.enter(envs.collect(), depth);
        }
        self.enter(entries, depth);
    }

    /// Puts the folders among entries behind those that wait.
    fn enter(&mut self, entries: Vec<DirEntry>, depth: usize) {
        let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let mut folders: Vec<OsString> =
            entries.iter().filter(|entry| is_folder(entry)).map(DirEntry::file_name).collect();
        folders.retain(|name| !PASSED.iter().any(|passed| name == passed));
        folders.sort_unstable();
        let Some(parent) = entries.first().map(DirEntry::path) else { return };
        for name in folders {
            let path = parent.with_file_name(&name);
            let same = fs::symlink_metadata(&path).map(|data| data.dev() == self.device);
            match same {
                Ok(true) if depth > 1 => self.waiting.push_back((path, depth - 1)),
                Ok(true) => self.searched.deeper += 1,
                Ok(false) => {
                    let kind = network(&path).map_or_else(String::new, |kind| format!(" ({kind})"));
                    self.leave_out(&path, &format!("another file system{kind}"));
                }
                Err(_) => {}
            }
        }
    }

    fn leave_out(&mut self, path: &Path, reason: &str) {
        self.searched.left_out_count += 1;
        if self.searched.left_out.len() < NAMED {
            let (path, reason) = (path.to_owned(), reason.to_owned());
            self.searched.left_out.push(Unreadable { path, reason });
        }
    }
}

/// Whether a folder is one that Python packages are installed into.
fn holds_packages(folder: &Path, entries: &[DirEntry]) -> bool {
    let site = |name: &OsStr| name == "site-packages" || name == "dist-packages";
    folder.file_name().is_some_and(site)
        || entries.iter().any(|entry| fits("*.dist-info", &entry.file_name()))
}

/// The file system a path lies on, where that is on another machine.
fn network(path: &Path) -> Option<&'static str> {
    let kind = rustix::fs::statfs(path).ok()?.f_type;
    // The type is signed on some machines and has 32 bits on others.
    let kind = kind as u64 & 0xFFFF_FFFF;
    NETWORKS.iter().find(|(magic, _)| *magic == kind).map(|(_, name)| *name)
}
