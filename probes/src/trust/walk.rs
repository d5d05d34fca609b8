//! Follows a path from the root, one component at a time.
//!
//! Each component is opened relative to the one before and asked about by its descriptor, so that what was judged is what is passed.
//! Symbolic links are resolved here and not by the kernel, because their targets have to obey the same rules.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, fstatfs, getxattr, openat, readlinkat};
use rustix::io::Errno;

use super::mounts::mounter;
use super::policy::{Facts, Kind, Objection, Trustees};
use crate::text::printable;

/// Symbolic links followed on one path, as many as Linux follows.
const MOST_LINKS: usize = 40;
/// Components of one path, those of its links included.
const MOST_COMPONENTS: usize = 1024;
/// `PROC_SUPER_MAGIC` of linux/magic.h.
const PROC: u64 = 0x9fa0;

/// Why a path is refused: the component, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    kind: Kind,
    component: PathBuf,
    why: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let component = printable(&self.component.to_string_lossy());
        write!(f, "its {} {component} {}", self.kind, self.why)
    }
}

impl Refused {
    pub(super) fn by(component: &Path, kind: Kind, objection: Objection) -> Self {
        Self { kind, component: component.to_owned(), why: objection.to_string() }
    }

    pub(super) fn unreadable(component: &Path, why: impl fmt::Display) -> Self {
        let (kind, why) = (Kind::Other, format!("cannot be checked: {why}"));
        Self { kind, component: component.to_owned(), why }
    }
}

/// One open component.
struct Step {
    descriptor: OwnedFd,
    path: PathBuf,
    facts: Facts,
}

/// A walk, standing at the last component that was passed.
pub(super) struct Walk {
    trustees: Trustees,
    root: Step,
    /// Below the root.
    steps: Vec<Step>,
    links: usize,
    components: usize,
}

impl Walk {
    /// Stands at the root.
    pub(super) fn new(trustees: Trustees) -> Result<Self, Refused> {
        let path = PathBuf::from("/");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(CWD, "/", flags, Mode::empty());
        let root = opened.and_then(|descriptor| Step::of(descriptor, path.clone()));
        let root = root.map_err(|error| Refused::unreadable(&path, error))?;
        let passed = trustees.traversable(&root.facts);
        passed.map_err(|why| Refused::by(&path, Kind::Folder, why))?;
        Ok(Self { trustees, root, steps: Vec::new(), links: 0, components: 0 })
    }

    /// Where it stands, without symbolic links.
    pub(super) fn path(&self) -> &Path {
        &self.here().path
    }

    /// What the kernel says of where it stands.
    pub(super) fn facts(&self) -> &Facts {
        &self.here().facts
    }

    /// Follows a path from where it stands.
    pub(super) fn follow(&mut self, path: &Path) -> Result<(), Refused> {
        let mut left: VecDeque<OsString> = names(path).collect();
        while let Some(name) = left.pop_front() {
            self.components += 1;
            if self.components > MOST_COMPONENTS {
                return Err(Refused::unreadable(path, Errno::NAMETOOLONG));
            }
            match name.as_encoded_bytes() {
                b"/" => self.steps.clear(),
                b".." => drop(self.steps.pop()),
                _ => {
                    if let Some(target) = self.enter(&name)? {
                        names(&target).rev().for_each(|name| left.push_front(name));
                    }
                }
            }
        }
        Ok(())
    }

    fn here(&self) -> &Step {
        self.steps.last().unwrap_or(&self.root)
    }

    /// Goes to an entry of the folder where it stands; the target where that is a symbolic link.
    fn enter(&mut self, name: &OsStr) -> Result<Option<PathBuf>, Refused> {
        let here = self.here();
        let path = here.path.join(name);
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat(&here.descriptor, name, flags, Mode::empty());
        let entry = opened.and_then(|descriptor| Step::of(descriptor, path.clone()));
        let mut entry = entry.map_err(|error| Refused::unreadable(&path, error))?;
        if entry.facts.device != here.facts.device {
            entry.facts.mounter = mounter(&path, &entry.descriptor, entry.facts.device);
        }
        let passed = self.trustees.enter(&here.facts, &entry.facts);
        passed.map_err(|why| match why {
            Objection::Shared => Refused::by(&here.path, Kind::Folder, why),
            _ => Refused::by(&path, entry.facts.kind, why),
        })?;
        if entry.facts.kind != Kind::Link {
            self.steps.push(entry);
            return Ok(None);
        }
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(Refused::unreadable(&path, Errno::LOOP));
        }
        let unreadable = |error| Refused::unreadable(&path, error);
        if entry.is_of_proc().map_err(unreadable)? {
            return Err(Refused::by(&path, Kind::Link, Objection::Magic));
        }
        entry.target().map(Some).map_err(unreadable)
    }
}

impl Step {
    fn of(descriptor: OwnedFd, path: PathBuf) -> rustix::io::Result<Self> {
        let stat = fstat(&descriptor)?;
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Kind::Folder,
            FileType::RegularFile => Kind::File,
            FileType::Symlink => Kind::Link,
            _ => Kind::Other,
        };
        let facts = Facts {
            kind,
            uid: stat.st_uid,
            gid: stat.st_gid,
            mode: stat.st_mode,
            device: stat.st_dev,
            mounter: None,
            listed: kind != Kind::Link && has_access_list(&descriptor),
        };
        Ok(Self { descriptor, path, facts })
    }

    fn is_of_proc(&self) -> rustix::io::Result<bool> {
        Ok(fstatfs(&self.descriptor)?.f_type as u64 == PROC)
    }

    /// Where a symbolic link leads.
    fn target(&self) -> rustix::io::Result<PathBuf> {
        let target = readlinkat(&self.descriptor, c"", Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }
}

/// Whether a component has an access control list; also where that cannot be found out.
fn has_access_list(descriptor: &OwnedFd) -> bool {
    let path = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    let found = getxattr(path, c"system.posix_acl_access", &mut [0_u8; 0]);
    !matches!(found, Err(Errno::NODATA | Errno::OPNOTSUPP))
}

/// Names of a path; the root is `/`.
fn names(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    let names = path.components().filter(|part| *part != Component::CurDir);
    names.map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>().into_iter()
}
