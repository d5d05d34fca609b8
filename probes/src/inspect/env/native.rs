//! Processes nobody named: those of this user that compute, and programs without Python.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::disk;
use super::find::Environments;
use super::inventory::{EnvKind, Environment, Library, Package};
use super::metadata::is_library;
use super::places::Places;
use super::process::{MAPS_BYTES, Shown, by_path, is_python};
use super::recognise::Found;
use crate::text::printable;

/// Files that only programs for GPUs have mapped.
const MARKS: &[&str] = &[
    "/libtorch",
    "/libc10",
    "/libcudart",
    "/libggml",
    "/libonnxruntime",
    "/libtensorflow",
    "/jaxlib/",
    "/lib/ollama/",
];

/// Processes looked at for that.
const MOST_PROCESSES: usize = 4096;

/// Processes of this user that have a framework for GPUs mapped, on a GPU or not, but for those known already.
pub(super) fn of_user(places: &Places, known: &[u32]) -> Vec<u32> {
    let user = rustix::process::geteuid().as_raw();
    let Ok(list) = std::fs::read_dir(&places.proc_root) else { return Vec::new() };
    let numbers = list.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let others = numbers.filter(|pid| !known.contains(pid) && *pid != std::process::id());
    let computes = |pid: &u32| {
        let folder = places.proc_root.join(pid.to_string());
        let own = folder.metadata().is_ok_and(|data| data.uid() == user);
        let maps = own.then(|| disk::kernel_file(&folder.join("maps"), MAPS_BYTES).ok()).flatten();
        maps.is_some_and(|maps| {
            let maps = String::from_utf8_lossy(&maps);
            MARKS.iter().any(|mark| maps.contains(mark))
        })
    };
    others.take(MOST_PROCESSES).filter(computes).collect()
}

/// Libraries of one program looked at.
const MOST_LIBRARIES: usize = 512;

/// A program without Python as an environment of its own: itself and the libraries it has mapped, by whose they are. The driver's and
/// NVIDIA's own belong to the machine.
pub(super) fn native(
    shown: &Shown,
    known: &mut Environments,
    environments: &mut Vec<Environment>,
) -> Option<usize> {
    let program = shown.program.as_ref().filter(|path| !is_python(path))?;
    let name = program.file_name()?.to_str()?.to_owned();
    let whose = |path: &Path| by_path(path).unwrap_or_else(|| name.clone());
    let is_own = |path: &Path| {
        let file = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let of_machine = ["libcu", "libnv", "libc.", "libm.", "ld-"];
        is_library(file) && !of_machine.iter().any(|start| file.starts_with(start))
    };
    let mapped = shown.mapped.iter().map(|one| &one.path).filter(|path| is_own(path));
    let mut packages: Vec<Package> = Vec::new();
    for path in std::iter::once(program).chain(mapped).take(MOST_LIBRARIES) {
        let Some((path, bytes)) = shown.disk.file(path) else { continue };
        let owner = printable(&whose(&path));
        let library = Library { path, bytes, recorded: None };
        match packages.iter_mut().find(|one| one.name == owner) {
            Some(package) => package.libraries.push(library),
            None => packages.push(Package {
                normalized: super::normalized(&owner),
                name: owner,
                libraries: vec![library],
                ..Package::default()
            }),
        }
    }
    let root = program.parent()?.to_owned();
    let same = |one: &Environment| {
        one.kind == EnvKind::Process && one.sites.is_empty() && one.root == shown.disk.outer(&root)
    };
    if let Some(at) = environments.iter().position(same) {
        return Some(at);
    }
    known.found.push(Found::of_program(root.clone()));
    environments.push(Environment {
        kind: EnvKind::Process,
        root: shown.disk.outer(&root),
        found_by: format!("pid {}", shown.pid),
        packages,
        ..Environment::default()
    });
    Some(environments.len() - 1)
}
