//! Walking all of it: environments, programs, processes.

use super::cuda::{self, Machine};
use super::disk::Disk;
use super::find::{Environments, active_roots};
use super::inventory::{EnvKind, Environment, Inventory};
use super::marker::Target;
use super::places::Places;
use super::progress::Progress;
use super::recognise::Found;
use super::requirement::{conflicts, note_obstacles};
use super::{native, packages, process, program};
use crate::text::printable;

/// What to look at. Run it on a thread of its own that has called [`yield_disk`](super::yield_disk).
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The machine.
    pub places: Places,
    /// Processes whose environments are wanted as well, those on the GPUs. Those of this user that compute are found by themselves.
    pub pids: Vec<u32>,
    /// Whether to look at the places that were named and the processes, and nowhere else.
    pub only_named: bool,
}

/// Finds and reads every environment and program of a machine. Nothing is run, and what cannot be read is named in the result.
pub fn find(places: &Places, progress: &mut Progress<'_>) -> Inventory {
    Sweep { places: places.clone(), pids: Vec::new(), only_named: false }.run(progress)
}

impl Sweep {
    /// Looks at all of it. A cancelled sweep returns what it has found so far.
    pub fn run(&self, progress: &mut Progress<'_>) -> Inventory {
        let disk = Disk::new(&self.places.root);
        let mut pids = self.pids.clone();
        if !self.only_named {
            pids.extend(native::of_user(&self.places, &pids));
        }
        let mut inventory = on(&disk, &self.places, &pids, self.only_named, progress);
        let active = active_roots(&disk, &self.places);
        for one in &mut inventory.environments {
            one.active = active.contains(&disk.inner(&one.root));
        }
        inventory
    }
}

/// Looks at a file system, wherever it is.
pub(super) fn on(
    disk: &Disk,
    places: &Places,
    pids: &[u32],
    only_named: bool,
    progress: &mut Progress<'_>,
) -> Inventory {
    let mut known = Environments::default();
    known.add_all_named(disk, places, progress);
    if !only_named {
        known.add_places(disk, places, progress);
        known.add_home(disk, places, progress);
    }
    let machine = Machine::read(disk, places, progress);
    let is_plain = places.vars.get("PYTHONPATH").is_none_or(String::is_empty);
    let mut environments = Vec::with_capacity(known.found.len());
    for found in known.found.clone() {
        if progress.cancelled() {
            break;
        }
        progress.at(&disk.outer(&found.root));
        environments.push(environment(disk, found, (&machine, is_plain), progress));
        progress.done_one();
    }
    let processes = process::read(places, pids, &mut known, &mut environments, progress);
    if !only_named && !progress.cancelled() {
        for program in program::find(disk, places, &machine, progress) {
            add_program(&mut environments, program);
        }
    }
    let (unreadable, unreadable_count) = progress.take_unreadable();
    let (cuda, cancelled) = (cuda::of_machine(disk, &machine), progress.cancelled());
    let searched = known.searched;
    Inventory { environments, unreadable, unreadable_count, searched, processes, cuda, cancelled }
}

/// Adds a program; what a process of it showed of it is the same environment.
fn add_program(environments: &mut Vec<Environment>, program: Environment) {
    let same = |one: &&mut Environment| one.kind == EnvKind::Process && one.root == program.root;
    match environments.iter_mut().find(same) {
        Some(known) => *known = Environment { pids: std::mem::take(&mut known.pids), ..program },
        None => environments.push(program),
    }
}

/// Reads one environment. `is_plain`: whether Python looks in no other folders.
pub(super) fn environment(
    disk: &Disk,
    found: Found,
    (machine, is_plain): (&Machine, bool),
    progress: &mut Progress<'_>,
) -> Environment {
    let mut read = packages::read(disk, &found, progress);
    let target = Target::here(found.python.clone());
    let is_whole = is_plain && found.is_whole(disk, progress);
    note_obstacles(&mut read.packages, &target, is_whole);
    read.problems.extend(found.lost_interpreter(disk));
    read.problems.extend(conflicts(&read.packages, &target));
    let cuda = cuda::read(disk, &found.root, &read.packages, machine, progress);
    read.problems.extend(cuda.problems);
    Environment {
        kind: found.kind,
        root: disk.outer(&found.root),
        python: found.python,
        packages: read.packages,
        cuda: cuda.libraries,
        problems: read.problems.iter().map(|problem| printable(problem)).collect(),
        sites: found.sites.iter().map(|site| disk.outer(site)).collect(),
        found_by: found.found_by,
        inherits: found.inherits,
        ..Environment::default()
    }
}
