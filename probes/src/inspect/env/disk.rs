//! Files as seen from one root: this machine's, a container's through `/proc/PID/root`, an image's, or a test's.

use std::ffi::OsString;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Cursor, ErrorKind, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::links::follow;
use super::progress::Progress;
use super::tree::{Node, Tree};
use crate::bounded;

/// Entries of one folder that are looked at.
const MOST_ENTRIES: usize = 1 << 16;

/// What makes a file itself whatever its path: device and inode.
pub(super) type Identity = (u64, u64);

/// A file system from one root. Paths given to it are absolute and begin at that root: they are called *inside*.
#[derive(Clone, Debug)]
pub(super) enum Disk {
    /// Folders of this machine.
    Real(PathBuf),
    /// An image's files, as far as they were kept.
    Image(Rc<Tree>),
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    /// A regular file and its size.
    File(u64),
    Other,
}

/// Bytes that can be read anywhere.
pub(super) trait Source: Read + Seek {}

impl<T: Read + Seek> Source for T {}

impl Disk {
    pub(super) fn new(root: &Path) -> Self {
        Self::Real(root.to_owned())
    }

    /// Whether its folders lie on this machine.
    pub(super) fn is_real(&self) -> bool {
        matches!(self, Self::Real(_))
    }

    /// The path inside with every link followed.
    pub(super) fn canonical(&self, inside: &Path) -> io::Result<PathBuf> {
        match self {
            Self::Real(root) if root == Path::new("/") => inside.canonicalize(),
            _ => follow(inside, |path| self.link(path)),
        }
    }

    /// The path to show and to open for a path inside, links as they are.
    pub(super) fn outer(&self, inside: &Path) -> PathBuf {
        match self {
            Self::Real(root) => root.join(inside.strip_prefix("/").unwrap_or(inside)),
            Self::Image(_) => inside.to_owned(),
        }
    }

    /// The path inside of a path that [`Self::outer`] made.
    pub(super) fn inner(&self, outer: &Path) -> PathBuf {
        match self {
            Self::Real(root) => match outer.strip_prefix(root) {
                Ok(path) => Path::new("/").join(path),
                Err(_) => outer.to_owned(),
            },
            Self::Image(_) => outer.to_owned(),
        }
    }

    /// Where a link leads; `None` for anything but a link.
    pub(super) fn link(&self, inside: &Path) -> io::Result<Option<PathBuf>> {
        match self {
            Self::Real(_) => {
                let outer = self.outer(inside);
                let link = outer.symlink_metadata()?.is_symlink();
                if link { outer.read_link().map(Some) } else { Ok(None) }
            }
            Self::Image(tree) => match tree.get(inside) {
                Some(Node::Link(target)) => Ok(Some(target.clone())),
                Some(_) => Ok(None),
                None => Err(ErrorKind::NotFound.into()),
            },
        }
    }

    /// What a path leads to, links followed.
    pub(super) fn kind(&self, inside: &Path) -> io::Result<Kind> {
        let end = self.canonical(inside)?;
        match self {
            Self::Real(_) => Ok(kind_of(&self.outer(&end).metadata()?)),
            Self::Image(tree) => match tree.get(&end) {
                Some(Node::Folder) => Ok(Kind::Folder),
                Some(Node::File { bytes, .. }) => Ok(Kind::File(*bytes)),
                _ => Err(ErrorKind::NotFound.into()),
            },
        }
    }

    pub(super) fn identity(&self, inside: &Path) -> Option<Identity> {
        let end = self.canonical(inside).ok()?;
        match self {
            Self::Real(_) => identity_of(&self.outer(&end)).ok(),
            Self::Image(_) => {
                let mut hasher = DefaultHasher::new();
                end.hash(&mut hasher);
                Some((u64::MAX, hasher.finish()))
            }
        }
    }

    pub(super) fn exists(&self, inside: &Path) -> bool {
        self.kind(inside).is_ok()
    }

    pub(super) fn is_dir(&self, inside: &Path) -> bool {
        matches!(self.kind(inside), Ok(Kind::Folder))
    }

    /// Whether it is a folder itself and not a link to one.
    pub(super) fn is_real_dir(&self, inside: &Path) -> bool {
        matches!(self.link(inside), Ok(None)) && self.is_dir(inside)
    }

    pub(super) fn is_file(&self, inside: &Path) -> bool {
        matches!(self.kind(inside), Ok(Kind::File(_)))
    }

    /// The path to open and the size of a regular file.
    pub(super) fn file(&self, inside: &Path) -> Option<(PathBuf, u64)> {
        let Ok(Kind::File(bytes)) = self.kind(inside) else { return None };
        // On this machine the path may stay as it is written; under another root its links would lead astray.
        let plain = matches!(self, Self::Real(root) if root == Path::new("/"));
        let path =
            if plain { inside.to_owned() } else { self.outer(&self.canonical(inside).ok()?) };
        Some((path, bytes))
    }

    /// Opens a regular file; anything else is refused, and a pipe does not keep us waiting.
    pub(super) fn open(&self, inside: &Path) -> io::Result<Box<dyn Source>> {
        let end = self.canonical(inside)?;
        match self {
            Self::Real(_) => Ok(Box::new(bounded::open(&self.outer(&end))?)),
            Self::Image(tree) => match tree.get(&end) {
                Some(Node::File { contents: Some(contents), .. }) => {
                    Ok(Box::new(Cursor::new(Rc::clone(contents))))
                }
                _ => Err(ErrorKind::NotFound.into()),
            },
        }
    }

    /// The first `limit` bytes of a file; `None` where there is none or it cannot be read, which is noted.
    pub(super) fn bytes(
        &self,
        inside: &Path,
        limit: u64,
        progress: &mut Progress<'_>,
    ) -> Option<Vec<u8>> {
        let mut buffer = Vec::new();
        let read = |file: Box<dyn Source>| file.take(limit).read_to_end(&mut buffer);
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
        let names = self.canonical(inside).and_then(|end| match self {
            Self::Real(_) => {
                let entries = std::fs::read_dir(self.outer(&end))?;
                Ok(entries.take(MOST_ENTRIES).flatten().map(|entry| entry.file_name()).collect())
            }
            Self::Image(tree) => Ok(tree.list(&end)),
        });
        let mut names: Vec<_> = match names {
            Ok(names) => names,
            Err(error) => {
                progress.failed(&self.outer(inside), &error);
                return Vec::new();
            }
        };
        if names.len() >= MOST_ENTRIES {
            let reason = format!("more than {MOST_ENTRIES} entries; the rest was not looked at");
            progress.unreadable(&self.outer(inside), &reason);
        }
        names.sort_unstable();
        names
    }
}

fn kind_of(found: &Metadata) -> Kind {
    match () {
        () if found.is_dir() => Kind::Folder,
        () if found.is_file() => Kind::File(found.len()),
        () => Kind::Other,
    }
}

fn identity_of(path: &Path) -> io::Result<Identity> {
    path.metadata().map(|found| (found.dev(), found.ino()))
}

/// Whether two paths of this machine lead to one file or folder.
pub(super) fn same_file(one: &Path, other: &Path) -> io::Result<bool> {
    Ok(identity_of(one)? == identity_of(other)?)
}

/// The first `limit` bytes of one of the kernel's own files.
pub(super) fn kernel_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bounded::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
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
}
