//! The CUDA libraries an environment would load: every copy in reach, and which one the loader takes.
//!
//! Two versions of one library in one environment are behind failures that look like the GPU's fault
//! (`CUBLAS_STATUS_NOT_SUPPORTED`, an undefined symbol), so the loader's search is replayed from the files: run paths,
//! `LD_LIBRARY_PATH`, its cache. Asking the loader itself would mean running the libraries' start-up code.

pub mod builds;
mod copies;
mod driver;
mod loader;
mod problems;
mod versions;

pub use driver::{DriverServes, driver_serves};

pub(super) use copies::Machine;

use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::inventory::{CudaLibrary, Package};
use super::progress::Progress;
use crate::text::printable;
use copies::{Copy, Place};
use loader::{Loaded, Loader};
use versions::Versions;

/// CUDA libraries of one environment, and what is wrong with them.
#[derive(Debug, Default)]
pub(super) struct Cuda {
    pub(super) libraries: Vec<CudaLibrary>,
    pub(super) problems: Vec<String>,
}

/// Works out which copies an environment has in reach, and which it would load.
pub(super) fn read(
    disk: &Disk,
    root: &Path,
    packages: &[Package],
    machine: &Machine,
    progress: &mut Progress<'_>,
) -> Cuda {
    let own = copies::own(disk, root, packages, progress);
    let loaded = Loader::new(disk, machine, &own).load(packages, progress);
    if own.is_empty() && loaded.is_empty() {
        return Cuda::default();
    }
    let mut copies = own;
    copies.extend(machine.reachable.iter().cloned());
    let mut libraries: Vec<_> =
        copies.iter().map(|copy| shown(disk, copy, taken(copy, &loaded))).collect();
    for one in &loaded {
        if !copies.iter().any(|copy| copy.real == one.copy.real) {
            libraries.push(shown(disk, &one.copy, Some(one)));
        }
    }
    libraries.sort_by(|a, b| (&a.name, !a.wins, &a.path).cmp(&(&b.name, !b.wins, &b.path)));
    let problems = problems::find(disk, root, &copies, &loaded);
    Cuda { libraries, problems }
}

/// The machine's own copies.
pub(super) fn of_machine(disk: &Disk, machine: &Machine) -> Vec<CudaLibrary> {
    let copies = machine.reachable.iter().chain(&machine.toolkits);
    copies.map(|copy| shown(disk, copy, None)).collect()
}

/// The CUDA libraries among the files a process has mapped.
pub(super) fn mapped(
    disk: &Disk,
    paths: &[PathBuf],
    packages: &[Package],
    progress: &mut Progress<'_>,
) -> Vec<CudaLibrary> {
    let own = copies::own(disk, Path::new("/"), packages, progress);
    let mut versions = Versions::default();
    let mut libraries = Vec::new();
    for path in paths {
        let Some(copy) = versions.copy(disk, path.clone(), Place::Mapped, progress) else {
            continue;
        };
        let known = own.iter().find(|one| one.real == copy.real).cloned();
        libraries.push(CudaLibrary {
            wins: true,
            via: Place::Mapped.to_string(),
            ..shown(disk, &known.unwrap_or(copy), None)
        });
    }
    libraries.sort_by(|a, b| (&a.name, &a.path).cmp(&(&b.name, &b.path)));
    libraries
}

fn taken<'a>(copy: &Copy, loaded: &'a [Loaded]) -> Option<&'a Loaded> {
    loaded.iter().find(|one| one.copy.real == copy.real)
}

fn shown(disk: &Disk, copy: &Copy, loaded: Option<&Loaded>) -> CudaLibrary {
    CudaLibrary {
        name: copy.name.to_owned(),
        version: copy.version.clone(),
        path: disk.outer(&copy.path),
        via: printable(&loaded.map_or_else(|| copy.place.to_string(), |one| one.via.clone())),
        wins: loaded.is_some(),
        package: copy.package.clone(),
        needed_by: loaded.map(|one| disk.outer(&one.needed_by)),
    }
}
