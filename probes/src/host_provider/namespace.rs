use std::io::ErrorKind;
use std::path::Path;

use super::files;

/// Inode of the first pid namespace; a constant of the kernel's `proc_ns.h`.
const INITIAL: &str = "pid:[4026531836]";

/// What stands between a pid of NVML and `/proc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct View {
    /// Our pids are not the host's, so an equal number proves nothing.
    pub(super) nested: bool,
    /// `/proc` is mounted so that it hides the processes of others.
    pub(super) hides: bool,
}

impl View {
    /// Looks at the own pid namespace and the options of the `/proc` mount.
    pub(super) fn of(proc_root: &Path) -> Self {
        let nested = match std::fs::read_link(proc_root.join("self/ns/pid")) {
            Ok(link) => link.as_os_str() != INITIAL,
            // A kernel without pid namespaces has no such link.
            Err(error) => error.kind() != ErrorKind::NotFound,
        };
        let mounts = files::text(&proc_root.join("self/mountinfo"), 256 << 10);
        // The option spares root and one group; whoever sees the first process is spared.
        let spared = proc_root.join("1").exists();
        let hides = !spared && mounts.value().is_some_and(|mounts| mounts.lines().any(hides));
        Self { nested, hides }
    }
}

fn hides(mount: &str) -> bool {
    let mut words = mount.split_ascii_whitespace();
    let on_proc = words.nth(4) == Some("/proc");
    let options = mount.rsplit_once(' ').map_or("", |(_, options)| options);
    let hidden = |option: &str| {
        let level = option.strip_prefix("hidepid=");
        level.is_some_and(|level| matches!(level, "2" | "4" | "invisible" | "ptraceable"))
    };
    on_proc && options.split(',').any(hidden)
}

/// Whether a process has the device open that every CUDA program needs: what tells, in a nested
/// namespace, that the pid of NVML and ours mean the same process. The other NVIDIA devices prove
/// less: every monitor holds them.
pub(super) fn holds_gpu(proc_root: &Path, pid: u32) -> bool {
    /// Enough for a framework with many workers and files, and bounded.
    const MOST: usize = 4096;
    let Ok(files) = std::fs::read_dir(proc_root.join(format!("{pid}/fd"))) else { return false };
    let mut links = files.take(MOST).flatten().flat_map(|file| std::fs::read_link(file.path()));
    links.any(|link| link.as_os_str() == "/dev/nvidia-uvm")
}
