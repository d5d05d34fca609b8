//! Who may change what a path leads to: the decision, from what the kernel says of each component.

use std::fmt;

/// Bits of a mode: write by the group, write by others, and the sticky bit.
const GROUP: u32 = 0o020;
const OTHERS: u32 = 0o002;
const STICKY: u32 = 0o1000;

/// What a component of a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Folder,
    File,
    Link,
    Other,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Folder => "folder",
            Self::File => "file",
            Self::Link => "symbolic link",
            Self::Other => "path",
        })
    }
}

/// Who mounted a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mounter {
    User(u32),
    Anybody,
}

/// What the kernel says of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) kind: Kind,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) mode: u32,
    /// The file system it lies on.
    pub(super) device: u64,
    /// Who mounted that there, where it begins here and is not the system's.
    pub(super) mounter: Option<Mounter>,
    /// Whether an access control list may let more users in than owner and group.
    pub(super) listed: bool,
}

/// Users whose code may be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trustees {
    /// The user besides root, where there is one.
    pub(super) user: Option<u32>,
    /// The group only that user is in.
    pub(super) private_group: Option<u32>,
}

/// What speaks against a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Objection {
    Owner(u32),
    GroupWrites(u32),
    OthersWrite,
    /// What lies directly in a folder where everybody may put files.
    Shared,
    /// Mounted where everybody may mount.
    Mounted,
    MountedBy(u32),
    /// A link the kernel takes elsewhere than it says: into a container, for one.
    Magic,
    NotAFile,
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner(uid) => write!(f, "belongs to uid {uid}: chown it if you trust it"),
            Self::GroupWrites(gid) => write!(f, "is writable by group {gid}: chmod g-w"),
            Self::OthersWrite => f.write_str("is writable by everybody: chmod o-w"),
            Self::Shared => f.write_str(
                "is shared, so anyone can place a library beside it: move it into its own folder",
            ),
            Self::Mounted => f.write_str("is mounted where any user may mount"),
            Self::MountedBy(uid) => write!(f, "is a file system that uid {uid} mounted"),
            Self::Magic => f.write_str("is one of /proc, which may lead into a container"),
            Self::NotAFile => f.write_str("is not a regular file"),
        }
    }
}

impl Trustees {
    /// Whether the path may go on from a folder through one of its entries. What is in the way may be the folder or the entry.
    pub(super) fn enter(&self, folder: &Facts, entry: &Facts) -> Result<(), Objection> {
        self.mounter(entry)?;
        self.owner(entry)?;
        let shared = self.writers(folder).is_some();
        match entry.kind {
            // A link has no mode of its own: it changes with its folder.
            Kind::Link => {}
            // Only a file with nothing else beside it would be safe in a shared folder.
            Kind::File if shared => return Err(Objection::Shared),
            Kind::Folder if shared && folder.device != entry.device => {
                return Err(Objection::Mounted);
            }
            Kind::Folder => self.traversable(entry)?,
            Kind::File => self.writers(entry).map_or(Ok(()), Err)?,
            Kind::Other => return Err(Objection::NotAFile),
        }
        Ok(())
    }

    /// Whether a folder may be passed: nobody else can rename or replace what root or the user has in it. With the sticky bit that holds
    /// even where everybody may add entries.
    pub(super) fn traversable(&self, folder: &Facts) -> Result<(), Objection> {
        self.owner(folder)?;
        match self.writers(folder) {
            Some(why) if folder.mode & STICKY == 0 => Err(why),
            _ => Ok(()),
        }
    }

    /// Whether libraries may be loaded from a folder: nobody else can add entries, so nobody can put a dependency there.
    pub(super) fn loadable(&self, folder: &Facts) -> Result<(), Objection> {
        self.traversable(folder)?;
        self.writers(folder).map_or(Ok(()), |_| Err(Objection::Shared))
    }

    fn owner(&self, of: &Facts) -> Result<(), Objection> {
        if self.trusts(of.uid) { Ok(()) } else { Err(Objection::Owner(of.uid)) }
    }

    fn mounter(&self, of: &Facts) -> Result<(), Objection> {
        match of.mounter {
            Some(Mounter::Anybody) => Err(Objection::Mounted),
            Some(Mounter::User(uid)) if !self.trusts(uid) => Err(Objection::MountedBy(uid)),
            _ => Ok(()),
        }
    }

    fn trusts(&self, uid: u32) -> bool {
        uid == 0 || Some(uid) == self.user
    }

    /// Others who may write it. With an access control list the group's bits are its mask, so they cover everybody named there.
    fn writers(&self, of: &Facts) -> Option<Objection> {
        if of.mode & OTHERS != 0 {
            return Some(Objection::OthersWrite);
        }
        let alone = Some(of.gid) == self.private_group && !of.listed;
        let group = of.mode & GROUP != 0 && !alone;
        group.then_some(Objection::GroupWrites(of.gid))
    }
}
