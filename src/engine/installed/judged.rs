//! One library of a package on one GPU.

use warpscope_kernels::Sm;
use warpscope_kernels::image::Isa;
use warpscope_probes::inspect::binary::Scan;

use super::units::{Library, Units, is_all_special, is_few, is_like, targets};

/// Most architectures a library for a feature of theirs is built for.
const NARROW: usize = 2;

/// How the names of NVIDIA's own libraries begin, which a package may bring along: they choose among kernels for many GPUs when they run.
const OF_NVIDIA: &[&str] = &[
    "libcublas",
    "libcudnn",
    "libcufft",
    "libcurand",
    "libcusolver",
    "libcusparse",
    "libcutensor",
    "libnccl",
    "libnpp",
    "libnvshmem",
];

/// One library on the GPU asked about.
pub(super) struct Judged<'a> {
    pub(super) scan: &'a Scan,
    pub(super) units: Units,
    /// The GPU it serves best, and how many units more load there.
    pub(super) best: Option<(Sm, u32)>,
    /// Architectures it was built for.
    pub(super) breadth: usize,
    /// Whether it is one of NVIDIA's, brought along.
    pub(super) bundled: bool,
    /// Whether it is meant for other architectures.
    pub(super) for_others: bool,
    pub(super) builds: Builds,
    /// How many builds of it there are.
    pub(super) alternatives: usize,
    /// PTX that only a newer driver compiles, where that is what keeps code from loading.
    pub(super) newer: Option<Isa>,
    /// Its file's name, with its folder where another one of the package has the same.
    pub(super) name: String,
}

/// Whether the CUDA that a library will meet has a build of it.
#[derive(PartialEq)]
pub(super) enum Builds {
    /// It has, or there is but one build.
    Fits,
    /// It has none: those there are.
    NoneFits(String),
    /// It is not known, and only some of the builds serve the GPU.
    Depends { serve: String, all: String },
}

impl<'a> Judged<'a> {
    pub(super) fn new(scan: &'a Scan, devices: &[Sm], (device, driver): (Sm, Option<Isa>)) -> Self {
        let library = Library::new(scan);
        let (units, any) = (library.on(device, driver), library.on(device, None));
        let more = |none: u32| units.coverage.none.saturating_sub(none);
        let name = scan.path.file_name().unwrap_or_default().to_string_lossy();
        Self {
            units,
            best: library.best(devices, driver).map(|(best, none)| (best, more(none))),
            breadth: targets(scan).len(),
            bundled: OF_NVIDIA.iter().any(|start| name.starts_with(start)),
            for_others: false,
            builds: Builds::Fits,
            alternatives: 1,
            newer: scan.newest_jit(device, None).filter(|_| any.coverage.jit > units.coverage.jit),
            name: String::new(),
            scan,
        }
    }

    pub(super) fn loads(&self) -> u32 {
        self.units.loads()
    }

    /// Units that load elsewhere and not here.
    pub(super) fn lacks(&self) -> u32 {
        self.best.map_or(0, |(_, more)| more)
    }

    /// Whether next to nothing of it loads.
    pub(super) fn fails(&self) -> bool {
        self.loads() == 0 || is_few(self.loads(), self.loads() + self.lacks())
    }

    /// Whether another GPU is served better by more than a few units, or this one with a newer driver. What nobody is served by is dispatch
    /// at run time, and NVIDIA's own libraries have a way for every GPU they support.
    pub(super) fn has_gap(&self) -> bool {
        let lacks = !is_few(self.lacks(), self.loads() + self.lacks()) && self.lacks() > 0;
        (lacks || self.newer.is_some()) && !self.for_others && !self.bundled
    }

    /// Whether it is a feature of other architectures: it has code for single ones only, or for few beside a library no smaller that serves
    /// this GPU. `serving`: units of the largest that does.
    pub(super) fn is_for_others(&self, serving: u32) -> bool {
        let is_feature = self.breadth <= NARROW && is_like(serving, self.units.total());
        let is_silent = self.loads() == 0 && self.newer.is_none() && self.builds == Builds::Fits;
        is_silent && (is_all_special(self.scan) || serving > 0 && is_feature)
    }

    /// The library and its package, once where both have one name.
    pub(super) fn of(&self, package: &str) -> String {
        let name = &self.name;
        if name == package { name.clone() } else { format!("{name} of {package}") }
    }
}
