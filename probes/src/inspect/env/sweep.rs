//! Walking all of it.

use super::disk::Disk;
use super::find::{Environments, active_roots};
use super::inventory::{Environment, Inventory};
use super::packages;
use super::places::Places;
use super::progress::Progress;
use super::recognise::Found;

/// Finds and reads every environment of a machine. Nothing is run, and what cannot be read is named in the result.
pub fn find(places: &Places, progress: &mut Progress<'_>) -> Inventory {
    let disk = Disk::new(&places.root);
    let found = Environments::find(&disk, places, progress).found;
    let active = active_roots(&disk, places);
    let mut environments = Vec::with_capacity(found.len());
    for one in found {
        if progress.cancelled() {
            break;
        }
        progress.at(&disk.outer(&one.root));
        let active = active.contains(&one.root);
        environments.push(Environment { active, ..environment(&disk, one, progress) });
        progress.done_one();
    }
    let (unreadable, unreadable_count) = progress.take_unreadable();
    let cancelled = progress.cancelled();
    Inventory { environments, unreadable, unreadable_count, cancelled, ..Inventory::default() }
}

fn environment(disk: &Disk, found: Found, progress: &mut Progress<'_>) -> Environment {
    let read = packages::read(disk, &found, progress);
    Environment {
        kind: found.kind,
        root: disk.outer(&found.root),
        python: found.python,
        packages: read.packages,
        problems: read.problems,
        sites: found.sites.iter().map(|site| disk.outer(site)).collect(),
        found_by: found.found_by,
        inherits: found.inherits,
        ..Environment::default()
    }
}
