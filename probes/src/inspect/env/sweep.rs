//! Walking all of it.

use super::cuda::{self, Machine};
use super::disk::Disk;
use super::find::{Environments, active_roots};
use super::inventory::{Environment, Inventory};
use super::marker::Target;
use super::packages;
use super::places::Places;
use super::progress::Progress;
use super::recognise::Found;
use super::requirement::conflicts;

/// Finds and reads every environment of a machine. Nothing is run, and what cannot be read is named in the result.
pub fn find(places: &Places, progress: &mut Progress<'_>) -> Inventory {
    let disk = Disk::new(&places.root);
    let found = Environments::find(&disk, places, progress).found;
    let active = active_roots(&disk, places);
    let machine = Machine::read(&disk, places, progress);
    let mut environments = Vec::with_capacity(found.len());
    for one in found {
        if progress.cancelled() {
            break;
        }
        progress.at(&disk.outer(&one.root));
        let active = active.contains(&one.root);
        environments.push(Environment { active, ..environment(&disk, one, &machine, progress) });
        progress.done_one();
    }
    let (unreadable, unreadable_count) = progress.take_unreadable();
    let cancelled = progress.cancelled();
    Inventory { environments, unreadable, unreadable_count, cancelled, ..Inventory::default() }
}

fn environment(
    disk: &Disk,
    found: Found,
    machine: &Machine,
    progress: &mut Progress<'_>,
) -> Environment {
    let mut read = packages::read(disk, &found, progress);
    let cuda = cuda::read(disk, &found.root, &read.packages, machine, progress);
    read.problems.extend(conflicts(&read.packages, &Target::here(found.python.clone())));
    read.problems.extend(cuda.problems);
    Environment {
        kind: found.kind,
        root: disk.outer(&found.root),
        python: found.python,
        packages: read.packages,
        cuda: cuda.libraries,
        problems: read.problems,
        sites: found.sites.iter().map(|site| disk.outer(site)).collect(),
        found_by: found.found_by,
        inherits: found.inherits,
        ..Environment::default()
    }
}
