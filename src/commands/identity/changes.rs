//! Whether a work tree differs from its commit.
//!
//! The tracked files of the folder, as they are now, make up a git tree: its number is that of the commit's tree, or stands for what is
//! different. A file whose times and size are those of the index was not changed and is not read. Contents count: not modes, not files git
//! does not know, not what is changed within a submodule. A file that git would convert (line ends, large file storage) and that was touched
//! counts as changed, since only the converter could know.

use std::fs::Metadata;
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

use warpscope_probes::bounded;

use super::index::{Entry, Time, entries};
use super::repository::{Repository, read};
use super::tree::{Id, Tree, from_hex, hex, object, of_commit};
use crate::runs::run_log::Dirty;

/// Largest index that is read.
const MAX_INDEX: u64 = 64 << 20;
/// Kinds of files in the upper bits of a mode.
const KIND: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;
/// Digits of a hash that are written down.
const DIGITS: usize = 16;

/// What may be spent on an answer.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) until: Instant,
    /// Bytes of files.
    pub(crate) bytes: u64,
}

/// Whether the work tree differs from a commit. Repositories of SHA-256 are not read.
pub(crate) fn dirty(repository: &Repository, commit: &str, budget: Budget) -> Dirty {
    let Some(id) = from_hex(commit) else { return Dirty::Unknown };
    let looked = || {
        let index = repository.index();
        let written = std::fs::metadata(&index).ok()?;
        let bytes = read(&index, MAX_INDEX)?;
        let mut look = Look::new(&repository.work, budget, times(&written)[0]);
        let whole = entries(&bytes, |entry| look.at(entry)).is_some();
        Some((look, whole))
    };
    let Some((look, whole)) = looked() else { return Dirty::Unknown };
    if !whole || look.is_incomplete {
        return if look.is_changed { Dirty::NotHashed } else { Dirty::Unknown };
    }
    let now = look.tree.finish();
    let committed = repository.objects().iter().find_map(|folder| of_commit(folder, &id));
    match committed {
        None => Dirty::Unknown,
        Some(committed) if committed == now => Dirty::No,
        Some(_) => Dirty::Hash(hex(&now)[..DIGITS].to_owned()),
    }
}

/// A file as it is now.
enum Now {
    Is {
        mode: u32,
        id: Id,
    },
    Gone,
    /// It could not be read, or not within the budget.
    Unread {
        is_changed: bool,
    },
}

/// A walk over the tracked files.
struct Look<'a> {
    work: &'a Path,
    budget: Budget,
    /// When the index was written: what was written then or later may have changed since without a sign.
    written: Time,
    tree: Tree,
    /// Some file differs from the index.
    is_changed: bool,
    /// Some file was not read.
    is_incomplete: bool,
    last_conflict: Vec<u8>,
}

impl<'a> Look<'a> {
    fn new(work: &'a Path, budget: Budget, written: Time) -> Self {
        Self {
            work,
            budget,
            written,
            tree: Tree::default(),
            is_changed: false,
            is_incomplete: false,
            last_conflict: Vec::new(),
        }
    }

    fn at(&mut self, entry: &Entry<'_>) -> Option<()> {
        let parts = entry.path.split(|byte| *byte == b'/');
        let mut parts = parts.map(|part| !matches!(part, b"" | b"." | b".." | b".git"));
        if Instant::now() >= self.budget.until || !parts.all(|is_name| is_name) {
            return None;
        }
        if entry.is_conflict {
            self.is_changed = true;
            if self.last_conflict == entry.path {
                return Some(()); // another side of the file that was looked at
            }
            self.last_conflict = entry.path.to_owned();
        }
        match self.now(entry) {
            Now::Is { mode, id } => {
                self.is_changed |= id != entry.id;
                self.tree.add(entry.path, mode, &id);
            }
            Now::Gone => self.is_changed = true,
            Now::Unread { is_changed } => {
                self.is_changed |= is_changed;
                self.is_incomplete = true;
            }
        }
        Some(())
    }

    fn now(&mut self, entry: &Entry<'_>) -> Now {
        let unchanged = Now::Is { mode: entry.mode, id: entry.id };
        if entry.is_vouched_for {
            return unchanged;
        }
        let path = self.work.join(std::ffi::OsStr::from_bytes(entry.path));
        if entry.mode & KIND == SUBMODULE {
            let head = Repository::at(&path).and_then(|inner| from_hex(&inner.head()?));
            return Now::Is { mode: entry.mode, id: head.unwrap_or(entry.id) };
        }
        let about = match std::fs::symlink_metadata(&path) {
            Ok(about) => about,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Now::Gone;
            }
            Err(_) => return Now::Unread { is_changed: false },
        };
        if self.is_as_indexed(&about, entry) {
            return unchanged;
        }
        self.again(entry, &path, &about)
    }

    /// A file that may have changed.
    fn again(&mut self, entry: &Entry<'_>, path: &Path, about: &Metadata) -> Now {
        let kind = entry.mode & KIND;
        let is_longer = entry.size != 0 && entry.size != about.len() as u32;
        let (id, mode, is_changed) = if about.is_symlink() {
            (link(path), if kind == LINK { entry.mode } else { LINK }, true)
        } else if about.is_file() {
            let mode = if kind == REGULAR { entry.mode } else { REGULAR | 0o644 };
            (self.content(path, about.len()), mode, is_longer)
        } else {
            return Now::Gone;
        };
        id.map_or(Now::Unread { is_changed }, |id| Now::Is { mode, id })
    }

    fn is_as_indexed(&self, about: &Metadata, entry: &Entry<'_>) -> bool {
        about.mode() & KIND == entry.mode & KIND
            && times(about) == entry.times
            && entry.times[0] < self.written
            && about.len() as u32 == entry.size
            && !entry.is_conflict
    }

    fn content(&mut self, path: &Path, length: u64) -> Option<Id> {
        self.budget.bytes = self.budget.bytes.checked_sub(length)?;
        let file = bounded::open(path).ok()?;
        let mut file = file.take(length);
        let mut hash = object("blob", length);
        let mut piece = [0; 1 << 16];
        let mut left = length;
        while left > 0 && Instant::now() < self.budget.until {
            let count = file.read(&mut piece).ok().filter(|count| *count > 0)?;
            hash.update(&piece[..count]);
            left -= count as u64;
        }
        (left == 0).then(|| hash.digest().bytes())
    }
}

/// When content, and when anything, was last changed, to the 32 bits the index has of it.
fn times(about: &Metadata) -> [Time; 2] {
    let time = |seconds: i64, nanoseconds: i64| (seconds as u32, nanoseconds as u32);
    [time(about.mtime(), about.mtime_nsec()), time(about.ctime(), about.ctime_nsec())]
}

fn link(path: &Path) -> Option<Id> {
    let target = std::fs::read_link(path).ok()?;
    let target = target.as_os_str().as_bytes();
    let mut hash = object("blob", target.len() as u64);
    hash.update(target);
    Some(hash.digest().bytes())
}
