use std::path::Path;

use super::files;

/// How container engines name control groups: kind, what a path segment begins with, what it ends
/// with, and whether the rest is a hexadecimal id. The first row that fits the deepest segment wins.
const SEGMENTS: &[(&str, &str, &str, bool)] = &[
    ("docker", "docker-", ".scope", true),
    ("podman", "libpod-", ".scope", true),
    ("podman", "libpod-", "", true),
    ("kubernetes", "cri-containerd-", ".scope", true),
    ("kubernetes", "crio-", ".scope", true),
    ("containerd", "nerdctl-", ".scope", true),
    ("lxc", "lxc.payload.", "", false),
    ("nspawn", "systemd-nspawn@", ".service", false),
    ("machine", "machine-", ".scope", false),
    ("slurm", "job_", "", false),
];

/// Directories whose children are containers: kind, directory, whether the child is a hexadecimal id.
const PARENTS: &[(&str, &str, bool)] =
    &[("docker", "docker", true), ("lxc", "lxc", false), ("podman", "libpod_parent", true)];

/// Characters of an id that are shown, as `docker ps` does.
const SHORT: usize = 12;

/// The container a process runs in, from its `/proc/<pid>/cgroup`: `docker 3f2a1b…`,
/// `kubernetes …`, `lxc web`, `slurm 4711`; for a system service, which is its own kind of box,
/// `systemd ollama.service`.
pub(super) fn of_process(cgroup: &str) -> Option<String> {
    let paths = || cgroup.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    paths().find_map(contained).or_else(|| paths().find_map(service))
}

fn contained(path: &str) -> Option<String> {
    let segments: Vec<_> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let kubernetes = segments.iter().any(|segment| segment.starts_with("kubepods"));
    let deepest_first = (0..segments.len()).rev();
    deepest_first.into_iter().find_map(|at| {
        let parent = at.checked_sub(1).map(|parent| segments[parent]);
        let (kind, id) = by_segment(segments[at])
            .or_else(|| by_parent(parent?, segments[at]))
            .or_else(|| (kubernetes && is_id(segments[at])).then_some(("", segments[at])))?;
        let kind = if kubernetes { "kubernetes" } else { kind };
        let short = if is_id(id) { &id[..SHORT] } else { id };
        Some(format!("{kind} {short}"))
    })
}

fn by_segment(segment: &str) -> Option<(&'static str, &str)> {
    SEGMENTS.iter().find_map(|(kind, before, after, hexadecimal)| {
        let id = segment.strip_prefix(before)?.strip_suffix(after)?;
        (!id.is_empty() && (!hexadecimal || is_id(id))).then_some((*kind, id))
    })
}

fn by_parent<'a>(parent: &str, segment: &'a str) -> Option<(&'static str, &'a str)> {
    let row = PARENTS.iter().find(|row| row.1 == parent)?;
    (!row.2 || is_id(segment)).then_some((row.0, segment))
}

fn is_id(text: &str) -> bool {
    text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn service(path: &str) -> Option<String> {
    let mut below = path.strip_prefix("/system.slice/")?.split('/');
    let unit = below.find(|segment| segment.ends_with(".service"))?;
    Some(format!("systemd {unit}"))
}

/// Kind of container this very process runs in; `None` on the plain machine.
pub(super) fn own(root: &Path, cgroup: &str) -> Option<String> {
    let there = |path: &str| root.join(path).exists();
    let kubernetes = there("run/secrets/kubernetes.io") || cgroup.contains("kubepods");
    let marks = [
        (kubernetes, "kubernetes"),
        (there(".dockerenv"), "docker"),
        (there("run/.containerenv"), "podman"),
        (there("dev/.lxc") || cgroup.contains("/lxc"), "lxc"),
    ];
    if let Some((_, kind)) = marks.iter().find(|mark| mark.0) {
        return Some((*kind).to_owned());
    }
    // systemd in a container writes down what its manager told it.
    let told = files::text(&root.join("run/systemd/container"), 64);
    told.value().map(|kind| kind.trim().to_owned()).filter(|kind| !kind.is_empty())
}
