//! What inspection found, as text and JSON show it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use warpscope_kernels::Sm;
use warpscope_kernels::image::Isa;
use warpscope_probes::inspect::binary::{Missing, Scan};
use warpscope_probes::inspect::env::{CudaLibrary, Searched, Unreadable};

use crate::commands::cli::Exit;
use crate::engine::Outcome;
use crate::engine::installed::TargetCoverage;

/// Kernels named at most of those a GPU has nothing for.
pub(super) const MISSING: usize = 500;
/// Libraries of one package shown at most.
pub(super) const LIBRARIES: usize = 6;

/// A GPU to judge by.
pub(super) struct Judge {
    pub(super) label: String,
    pub(super) sm: Sm,
    /// Newest PTX its driver compiles; any passes where no driver is known.
    pub(super) driver: Option<Isa>,
    /// Newest CUDA of its driver.
    pub(super) cuda: Option<String>,
    /// Kind of CPU beside it, where it is sold with one or is in this machine: `aarch64`.
    pub(super) cpu: Option<&'static str>,
}

/// What a package comes to on one GPU.
pub(super) struct Answer {
    pub(super) reach: TargetCoverage,
    /// The first kernels the deciding library lacks, where files can be asked.
    pub(super) missing: Option<Missing>,
}

/// One package, or a file nobody owns, with the device code of its binaries; none in what is compiled when it runs.
pub(super) struct Item {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) scans: Vec<Scan>,
    /// One per GPU; none where there is no device code to judge.
    pub(super) answers: Vec<Option<Answer>>,
    /// What is wrong with its files.
    pub(super) damage: Option<String>,
    /// Whether a binary of it could not be read, so that what it holds is not known.
    pub(super) unread: bool,
    /// Its place among the packages of an environment.
    pub(super) rank: Rank,
}

/// Packages of one environment.
#[derive(Default)]
pub(super) struct Group {
    pub(super) title: String,
    pub(super) root: PathBuf,
    pub(super) items: Vec<Item>,
    pub(super) problems: Vec<String>,
    /// CUDA libraries in reach.
    pub(super) cuda: Vec<CudaLibrary>,
    /// Every installed package with its version, with device code or without.
    pub(super) installed: BTreeMap<String, String>,
}

impl Group {
    /// Files that belong to no environment.
    pub(super) fn of_files(title: &str, root: PathBuf, items: Vec<Item>) -> Self {
        Self { title: title.to_owned(), root, items, ..Self::default() }
    }

    /// Whether there is more to say than that it is there.
    pub(super) fn tells(&self) -> bool {
        !(self.items.is_empty() && self.problems.is_empty() && self.loaded().next().is_none())
    }

    /// The CUDA libraries that would be loaded.
    pub(super) fn loaded(&self) -> impl Iterator<Item = &CudaLibrary> {
        self.cuda.iter().filter(|library| library.wins)
    }
}

/// Everything that is said.
#[derive(Default)]
pub(super) struct Report {
    pub(super) judges: Vec<Judge>,
    pub(super) groups: Vec<Group>,
    pub(super) unreadable: Vec<Unreadable>,
    /// Where environments were looked for.
    pub(super) searched: Vec<Searched>,
    /// Whether a part of what was named was not looked at.
    pub(super) incomplete: bool,
}

impl Report {
    pub(super) fn items(&self) -> impl Iterator<Item = &Item> {
        self.groups.iter().flat_map(|group| &group.items)
    }

    /// Adds places that could not be read, of what was named.
    pub(super) fn left_out(&mut self, places: Vec<Unreadable>) {
        self.incomplete |= !places.is_empty();
        self.unreadable.extend(places);
    }

    /// Fails where something has no code for a GPU or is damaged; unknown where GPUs were asked about and nothing could be judged, or
    /// where a part of what was named was not looked at.
    pub(super) fn exit(&self) -> Exit {
        let outcomes = || self.items().flat_map(|item| &item.answers).flatten();
        let is = |wanted: Outcome| outcomes().any(|answer| answer.reach.outcome == wanted);
        let judged = || is(Outcome::Works) || is(Outcome::Partial);
        match () {
            () if is(Outcome::Fails) => Exit::CheckFailed,
            () if self.items().any(|item| item.damage.is_some()) => Exit::CheckFailed,
            () if self.incomplete => Exit::Unknown,
            () if !self.judges.is_empty() && !judged() => Exit::Unknown,
            () => Exit::Fine,
        }
    }
}

/// Where an item stands among the others, first to last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// PyTorch, which the others stand on.
    Torch,
    /// Anything else.
    Other,
    /// NVIDIA's libraries, which choose among kernels for many GPUs and are no measure of what runs.
    Nvidia,
}

/// Whether the CUDA runtime would load anything of a library by itself, on whatever GPU.
pub(super) fn has_code(scan: &Scan) -> bool {
    scan.kernel_coverage(Sm::new(9, 0), None).total() > 0
}
