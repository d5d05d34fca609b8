//! Whom this process works for, and whether it may do more than the user who started it.

use rustix::process::{getegid, geteuid, getgid, getuid};

use super::policy::Trustees;
use super::secure::is_secure;

/// Rights of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Credentials {
    /// Real and effective user.
    pub(super) users: [u32; 2],
    /// Real and effective group.
    pub(super) groups: [u32; 2],
    /// Effective capabilities; `None` where they cannot be read.
    pub(super) capabilities: Option<u64>,
    /// Whether the kernel asked for secure execution: `AT_SECURE`.
    pub(super) secure: bool,
}

impl Credentials {
    /// Those of this process.
    pub(super) fn of_process() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        Self {
            users: [getuid().as_raw(), geteuid().as_raw()],
            groups: [getgid().as_raw(), getegid().as_raw()],
            capabilities: effective(&status),
            secure: is_secure(),
        }
    }

    /// Why the process may do more than its user. Root without setuid cannot.
    pub(super) fn elevated(&self) -> Option<&'static str> {
        if self.users[0] != self.users[1] {
            return Some("it runs setuid");
        }
        if self.groups[0] != self.groups[1] {
            return Some("it runs setgid");
        }
        if self.secure {
            return Some("the kernel demands secure execution (AT_SECURE)");
        }
        match self.capabilities {
            _ if self.users[1] == 0 => None,
            Some(0) => None,
            Some(_) => Some("it has capabilities"),
            None => Some("its capabilities cannot be read from /proc/self/status"),
        }
    }

    /// Users whose libraries may be loaded: root, and the user unless code of theirs would gain rights by it.
    pub(super) fn trustees(&self) -> Trustees {
        if self.elevated().is_some() {
            return Trustees { user: None, private_group: None };
        }
        let user = self.users[1];
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let private_group = private_group(user, &read("/etc/passwd"), &read("/etc/group"));
        Trustees { user: Some(user), private_group }
    }
}

/// `CapEff` of `/proc/PID/status`.
fn effective(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// The group that only this user is in: many distributions make one for each user, and let it write what the user makes. Groups of a
/// directory service are not found, and then not private.
pub(super) fn private_group(user: u32, passwd: &str, group: &str) -> Option<u32> {
    let users = || passwd.lines().filter_map(User::read);
    let own = users().find(|one| one.uid == user)?;
    let alone = users().all(|one| one.gid != own.gid || one.uid == user);
    let mut same =
        group.lines().filter_map(Group::read).filter(|one| one.gid == own.gid).peekable();
    same.peek()?;
    let private = |one: Group<'_>| {
        one.name == own.name
            && one.members.split(',').all(|name| name.is_empty() || name == own.name)
    };
    (alone && same.all(private)).then_some(own.gid)
}

/// A line of `/etc/passwd`.
struct User<'a> {
    name: &'a str,
    uid: u32,
    gid: u32,
}

impl<'a> User<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let mut columns = line.split(':');
        let (name, _password) = (columns.next()?, columns.next()?);
        Some(Self { name, uid: columns.next()?.parse().ok()?, gid: columns.next()?.parse().ok()? })
    }
}

/// A line of `/etc/group`.
struct Group<'a> {
    name: &'a str,
    gid: u32,
    members: &'a str,
}

impl<'a> Group<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let mut columns = line.split(':');
        let (name, _password) = (columns.next()?, columns.next()?);
        Some(Self { name, gid: columns.next()?.parse().ok()?, members: columns.next()?.trim() })
    }
}
