//! Files as seen from one root: this machine's, a container's through `/proc/PID/root`, or a test's.
//!
//! Links are followed inside the root by hand: under a container's root an absolute link would otherwise lead into this
//! machine, and a hostile one anywhere. `openat2` with `RESOLVE_IN_ROOT` would do it in the kernel, but is missing in older ones
//! and forbidden in many sandboxes.

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

use super::progress::Progress;

/// Entries of one folder that are looked at.
const MOST_ENTRIES: usize = 1 << 16;

/// Links followed in one path, as many as the kernel does.
const MOST_LINKS: usize = 40;

/// What makes a file itself whatever its path: device and inode.
pub(super) type Identity = (u64, u64);

/// A file system from one root. Paths given to it are absolute and begin at that root.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    root: PathBuf,
}

impl Disk {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The path to open for a path inside, links followed. The root itself is not searched for links.
    pub(super) fn resolve(&self, inside: &Path) -> io::Result<PathBuf> {
        if self.root == Path::new("/") {
            return inside.canonicalize();
        }
        let inner = follow(&self.root, inside)?;
        Ok(self.outer(&inner))
    }

    /// The path to show and to open for a path inside, without following links where the root is the machine's.
    pub(super) fn outer(&self, inside: &Path) -> PathBuf {
        self.root.join(inside.strip_prefix("/").unwrap_or(inside))
    }

    /// The path inside of a path that [`Self::outer`] or [`Self::resolve`] made.
    pub(super) fn inner(&self, outer: &Path) -> PathBuf {
        outer
            .strip_prefix(&self.root)
            .map_or_else(|_| outer.to_owned(), |path| Path::new("/").join(path))
    }

    /// The path inside with every link followed.
    pub(super) fn canonical(&self, inside: &Path) -> io::Result<PathBuf> {
        if self.root == Path::new("/") { inside.canonicalize() } else { follow(&self.root, inside) }
    }

    pub(super) fn metadata(&self, inside: &Path) -> io::Result<Metadata> {
        self.resolve(inside)?.metadata()
    }

    pub(super) fn identity(&self, inside: &Path) -> Option<Identity> {
        self.metadata(inside).ok().map(|found| (found.dev(), found.ino()))
    }

    pub(super) fn is_dir(&self, inside: &Path) -> bool {
        self.metadata(inside).is_ok_and(|found| found.is_dir())
    }

    pub(super) fn is_file(&self, inside: &Path) -> bool {
        self.metadata(inside).is_ok_and(|found| found.is_file())
    }

    /// The path to open and the size of a regular file.
    pub(super) fn file(&self, inside: &Path) -> Option<(PathBuf, u64)> {
        let resolved = self.resolve(inside).ok()?;
        let found = resolved.metadata().ok().filter(Metadata::is_file)?;
        let plain = self.root == Path::new("/");
        Some((if plain { inside.to_owned() } else { resolved }, found.len()))
    }

    /// Opens a regular file; anything else is refused, and a pipe does not keep us waiting.
    pub(super) fn open(&self, inside: &Path) -> io::Result<File> {
        open_regular(&self.resolve(inside)?)
    }

    /// The first `limit` bytes of a file; `None` where there is none or it cannot be read, which is noted.
    pub(super) fn bytes(
        &self,
        inside: &Path,
        limit: u64,
        progress: &mut Progress<'_>,
    ) -> Option<Vec<u8>> {
        let mut buffer = Vec::new();
        let read = |file: File| file.take(limit).read_to_end(&mut buffer);
        match self.open(inside).and_then(read) {
            Ok(count) => {
                progress.read(count as u64);
                Some(buffer)
            }
            Err(error) => {
                progress.failed(&self.outer(inside), &error);
                None
            }
        }
    }

    /// The first `limit` bytes of a file as text, damaged characters replaced.
    pub(super) fn text(
        &self,
        inside: &Path,
        limit: u64,
        progress: &mut Progress<'_>,
    ) -> Option<String> {
        let bytes = self.bytes(inside, limit, progress)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Names in a folder, sorted; empty where there is none or it cannot be read, which is noted.
    pub(super) fn list(&self, inside: &Path, progress: &mut Progress<'_>) -> Vec<OsString> {
        if progress.cancelled() {
            return Vec::new();
        }
        let entries = match self.resolve(inside).and_then(std::fs::read_dir) {
            Ok(entries) => entries,
            Err(error) => {
                progress.failed(&self.outer(inside), &error);
                return Vec::new();
            }
        };
        let mut names: Vec<_> =
            entries.take(MOST_ENTRIES).flatten().map(|entry| entry.file_name()).collect();
        if names.len() == MOST_ENTRIES {
            let reason = format!("more than {MOST_ENTRIES} entries; the rest was not looked at");
            progress.unreadable(&self.outer(inside), &reason);
        }
        names.sort_unstable();
        names
    }
}

/// Opens a regular file without waiting for the other end of a pipe.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::other("not a regular file"))
}

/// A path without `.` and `..`, by its text alone; `..` above the top stays at the top.
pub(super) fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            part => clean.push(part),
        }
    }
    clean
}

/// Follows every link of `inside`, staying under `root`; gives a path inside.
fn follow(root: &Path, inside: &Path) -> io::Result<PathBuf> {
    let mut done = PathBuf::from("/");
    let mut left: Vec<OsString> = reversed(inside);
    let mut links = 0;
    while let Some(part) = left.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&part);
        let outer = root.join(next.strip_prefix("/").unwrap_or(&next));
        if !outer.symlink_metadata()?.is_symlink() {
            done = next;
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(io::Error::other("too many links"));
        }
        let target = outer.read_link()?;
        if target.is_absolute() {
            done = PathBuf::from("/");
        }
        left.extend(reversed(&target));
    }
    Ok(done)
}

fn reversed(path: &Path) -> Vec<OsString> {
    let name = |part: Component<'_>| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    };
    let mut parts: Vec<_> = path.components().filter_map(name).collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_stay_inside_the_root() {
        let dir = tempfile::tempdir().expect("a folder");
        let root = dir.path().canonicalize().expect("a path");
        std::fs::create_dir_all(root.join("etc")).expect("a folder");
        std::fs::write(root.join("etc/passwd"), "inside").expect("a file");
        symlink("/etc", root.join("absolute")).expect("a link");
        symlink("../../../../etc/passwd", root.join("climbing")).expect("a link");
        symlink("loop", root.join("loop")).expect("a link");
        let disk = Disk::new(&root);
        let mut progress = Progress::silent();
        for path in ["/absolute/passwd", "/climbing", "/../../etc/passwd"] {
            let text = disk.text(Path::new(path), 64, &mut progress);
            assert_eq!(text.as_deref(), Some("inside"), "{path}");
        }
        assert_eq!(disk.text(Path::new("/loop"), 64, &mut progress), None);
        assert_eq!(disk.text(Path::new("/missing"), 64, &mut progress), None);
        let (unreadable, count) = progress.take_unreadable();
        assert_eq!((unreadable.len(), count), (1, 1), "only the loop is news: {unreadable:?}");
    }

    #[test]
    fn only_regular_files_are_opened_and_only_up_to_the_limit() {
        let dir = tempfile::tempdir().expect("a folder");
        let disk = Disk::new(dir.path());
        std::fs::write(dir.path().join("long"), "x".repeat(100)).expect("a file");
        let mut progress = Progress::silent();
        assert_eq!(disk.bytes(Path::new("/long"), 10, &mut progress).map(|b| b.len()), Some(10));
        assert_eq!(disk.bytes(Path::new("/"), 10, &mut progress), None);
        assert_eq!((progress.seen().files, progress.seen().bytes), (1, 10));
    }

    #[test]
    fn dots_are_cleaned_by_text() {
        for (given, clean) in [("/a/./b/../c", "/a/c"), ("/../../x", "/x"), ("/a/b/../../..", "/")]
        {
            assert_eq!(lexical(Path::new(given)), Path::new(clean));
        }
    }
}
