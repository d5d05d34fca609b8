use std::path::{Path, PathBuf};

use sysinfo::System;

use super::files;

/// Memory of the machine, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) total: Option<u64>,
    pub(super) used: Option<u64>,
    pub(super) swap_total: Option<u64>,
    pub(super) swap_used: Option<u64>,
}

impl Memory {
    /// What sysinfo read last. No machine has no memory: a total of zero means that the kernel did not tell.
    pub(super) fn of(system: &System) -> Self {
        let total = Some(system.total_memory()).filter(|total| *total > 0);
        let known = |bytes: u64| total.map(|_| bytes);
        Self {
            total,
            used: total.map(|total| total.saturating_sub(system.available_memory())),
            swap_total: known(system.total_swap()),
            swap_used: known(system.total_swap().saturating_sub(system.free_swap())),
        }
    }

    /// The same, seen from inside a control group that may use less than the machine has.
    pub(super) fn within(self, group: Option<&Group>) -> Self {
        let limit = group.and_then(|group| Some((group, files::number(&group.limit)?)));
        match limit {
            Some((group, limit)) if self.total.is_none_or(|total| limit < total) => {
                Self { total: Some(limit), used: group.used(), ..self }
            }
            _ => self,
        }
    }
}

/// The files of a control group that limits memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    limit: PathBuf,
    current: PathBuf,
    stat: PathBuf,
    inactive: &'static str,
}

impl Group {
    /// The tightest group above this process, if any limits it. `cgroup` is `/proc/self/cgroup`.
    pub(super) fn tightest(sys_root: &Path, cgroup: &str) -> Option<Self> {
        let mut lines = cgroup.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            Some((parts.next()?, parts.next()?))
        });
        let (controllers, path) = lines.find(|(controllers, _)| {
            controllers.is_empty() || controllers.split(',').any(|name| name == "memory")
        })?;
        let unified = controllers.is_empty();
        let mount = sys_root.join(if unified { "fs/cgroup" } else { "fs/cgroup/memory" });
        // Inside a container the path may be the host's and mean nothing here; then only the root counts.
        let hostile = path.split('/').any(|part| part == "..");
        let own = if hostile { "" } else { path.trim_start_matches('/') };
        let groups = Path::new(own).ancestors().map(|part| Self::at(&mount.join(part), unified));
        groups
            .filter_map(|group| Some((files::number(&group.limit)?, group)))
            .min_by_key(|(limit, _)| *limit)
            .map(|(_, group)| group)
    }

    fn at(directory: &Path, unified: bool) -> Self {
        let [limit, current, inactive] = if unified {
            ["memory.max", "memory.current", "inactive_file"]
        } else {
            ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"]
        };
        let file = |name: &str| directory.join(name);
        Self { limit: file(limit), current: file(current), stat: file("memory.stat"), inactive }
    }

    /// What is charged to the group, less the file cache it could give back at once.
    fn used(&self) -> Option<u64> {
        let current = files::number(&self.current)?;
        let stat = files::text(&self.stat, 16 << 10);
        let mut rows = stat.value()?.lines().filter_map(|line| line.split_once(' '));
        let inactive = rows.find(|(name, _)| *name == self.inactive)?.1.trim().parse().ok()?;
        Some(current.saturating_sub(inactive))
    }
}
