//! The git repository around a folder, read from its files.
//!
//! git itself is not asked. A repository names programs in its configuration, and even `git diff` and `git status` start them (fsmonitor,
//! external diffs, text conversions, clean filters); git may be missing, hang, or read gigabytes. Nothing that is found here is ever run, so
//! it does not matter whose it is; every size is bounded. `GIT_DIR` and the like are not followed: they are meant for git.

use std::path::{Path, PathBuf};

use warpscope_probes::bounded::{self, Accept};

/// Longest of the small files: `HEAD`, references, links between folders.
const SMALL: u64 = 4096;
/// Longest list of packed references.
const PACKED: u64 = 16 << 20;
/// Longest chain of references to references.
const CHAIN: usize = 5;

/// Where a repository keeps things.
pub(crate) struct Repository {
    /// Folder of the files that are worked on.
    pub(crate) work: PathBuf,
    /// Folder of `HEAD` and the index.
    own: PathBuf,
    /// Folder of what all work trees share.
    common: PathBuf,
}

impl Repository {
    /// The repository a folder belongs to.
    pub(crate) fn around(folder: &Path) -> Option<Self> {
        folder.ancestors().find_map(Self::at)
    }

    /// The repository whose work tree has its root here.
    pub(crate) fn at(work: &Path) -> Option<Self> {
        let dot = work.join(".git");
        let own = match text(&dot) {
            Some(link) => work.join(link.strip_prefix("gitdir:")?.trim()),
            None => dot,
        };
        text(&own.join("HEAD"))?;
        let common = match text(&own.join("commondir")) {
            Some(link) => own.join(link.trim()),
            None => own.clone(),
        };
        Some(Self { work: work.to_owned(), own, common })
    }

    /// The branch that is checked out; none where a commit is.
    pub(crate) fn branch(&self) -> Option<String> {
        let head = text(&self.own.join("HEAD"))?;
        Some(head.trim().strip_prefix("ref:")?.trim().strip_prefix("refs/heads/")?.to_owned())
    }

    /// The commit that is checked out.
    pub(crate) fn head(&self) -> Option<String> {
        let mut value = text(&self.own.join("HEAD"))?;
        for _ in 0..CHAIN {
            let trimmed = value.trim();
            let Some(name) = trimmed.strip_prefix("ref:").map(str::trim) else {
                return is_id(trimmed).then(|| trimmed.to_owned());
            };
            if !name.starts_with("refs/") || name.split('/').any(|part| part == "..") {
                return None;
            }
            let mut folders = [&self.own, &self.common].into_iter();
            let loose = folders.find_map(|folder| text(&folder.join(name)));
            value = loose.or_else(|| self.packed(name))?;
        }
        None
    }

    fn packed(&self, name: &str) -> Option<String> {
        let all = read(&self.common.join("packed-refs"), PACKED)?;
        let all = String::from_utf8_lossy(&all);
        let mut pairs = all.lines().filter_map(|line| line.split_once(' '));
        pairs.find(|(_, packed)| *packed == name).map(|(id, _)| id.to_owned())
    }

    /// The list of tracked files.
    pub(crate) fn index(&self) -> PathBuf {
        self.own.join("index")
    }

    /// Folders of objects: its own, and those it borrows from.
    pub(crate) fn objects(&self) -> Vec<PathBuf> {
        let own = self.common.join("objects");
        let borrowed = text(&own.join("info/alternates")).unwrap_or_default();
        let mut all: Vec<PathBuf> = borrowed.lines().map(|line| own.join(line)).collect();
        all.insert(0, own);
        all
    }
}

/// Whether a text is the number of an object, in either of git's formats.
fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// All of a file; nothing where it is longer.
pub(crate) fn read(path: &Path, limit: u64) -> Option<Vec<u8>> {
    bounded::read(path, Accept::Files, limit).ok()
}

fn text(path: &Path) -> Option<String> {
    String::from_utf8(read(path, SMALL)?).ok()
}
