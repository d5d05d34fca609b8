//! One package or file, judged for every GPU.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use warpscope_probes::inspect::EnvironmentScan;
use warpscope_probes::inspect::binary::{Scan, missing_kernels};
use warpscope_probes::inspect::env::Package;

use super::cpu;
use super::report::{Answer, Item, Judge, LIBRARIES, MISSING, Rank, has_code};
use crate::engine::Outcome;
use crate::engine::installed::{TargetCoverage, package_coverage, package_damage, target_coverage};

/// NVIDIA's own libraries outside its `nvidia-` packages, as conda names them.
const OF_CONDA: &[&str] = &[
    "libcublas",
    "libcufft",
    "libcurand",
    "libcusolver",
    "libcusparse",
    "libcudss",
    "libnpp",
    "libnvjpeg",
    "libnvjitlink",
    "cudnn",
    "libcudnn",
    "nccl",
    "cuda-",
    "cudatoolkit",
];

/// Packages of NVIDIA that are used by themselves.
const BY_THEMSELVES: &[&str] =
    &["nvidia-dali", "nvidia-modelopt", "nvidia-nvimgcodec", "cuda-python"];

impl Rank {
    pub(crate) fn of(package: &Package) -> Self {
        let starts = |list: &[&str]| list.iter().any(|one| package.normalized.starts_with(one));
        match package.normalized.as_str() {
            "torch" | "pytorch" => Self::Torch,
            _ if starts(BY_THEMSELVES) => Self::Other,
            name if name.starts_with("nvidia-") || starts(OF_CONDA) => Self::Nvidia,
            _ => Self::Other,
        }
    }
}

impl Item {
    /// A package of an environment, whose CUDA is `runtime`. `on_disk`: whether its paths are files of this machine.
    pub(super) fn of_package(
        survey: &EnvironmentScan,
        package: &Package,
        judges: &[Judge],
        (runtime, on_disk): (Option<(u32, u32)>, bool),
    ) -> Self {
        let rank = Rank::of(package);
        let judge = |judge: &Judge| {
            let reach = package_coverage(survey, package, (judge.sm, judge.driver), runtime)?;
            Some(answer(reach, judge, on_disk))
        };
        let judged = judges.iter().filter(|_| rank != Rank::Nvidia).map(judge);
        Self {
            name: package.name.clone(),
            version: package.full_version(),
            scans: survey.device_code(package).cloned().collect(),
            answers: judged.collect(),
            damage: package_damage(survey, package),
            unread: survey.damage(package).is_some_and(|damage| damage.is_unread),
            rank,
        }
    }

    /// A binary or a wheel, and what to call it.
    pub(super) fn of_file((path, name): (&Path, String), scan: &Scan, judges: &[Judge]) -> Self {
        let tells = |one: &&Scan| one.has_device_code() || !one.warnings.is_empty();
        let scans: Vec<Scan> = scan.binaries().iter().filter(tells).cloned().collect();
        let cut = scan.binaries().iter().find_map(|one| one.damage.clone());
        let damage = scan.damage.clone().or(cut).map(|damage| printable_damage(&damage));
        let judge = |judge: &Judge| {
            let other = other_cpu(path, judge);
            let reach = || target_coverage(&name, scans.iter(), (judge.sm, judge.driver), None);
            Some(answer(other.or_else(reach)?, judge, true))
        };
        // Of what is not whole nothing is said but that.
        let judges = judges.iter().filter(|_| damage.is_none());
        let answers = judges.map(judge).collect();
        let unread = !scans.iter().any(Scan::has_device_code) && !scans.is_empty();
        let (version, rank) = (String::new(), Rank::Other);
        Self { name, version, scans, answers, damage, unread, rank }
    }

    /// PyTorch first, NVIDIA's libraries last; between them what fails most comes first, what cannot be told last.
    pub(super) fn place(&self) -> (Rank, Reverse<usize>, Reverse<usize>, bool) {
        let count = |outcome| {
            let outcomes = self.answers.iter().flatten().map(|answer| answer.reach.outcome);
            Reverse(outcomes.filter(|one| *one == outcome).count())
        };
        (self.rank, count(Outcome::Fails), count(Outcome::Partial), self.scans.is_empty())
    }

    /// Whether a library is one that a process would load: it was judged, or there was nobody to judge it for.
    pub(super) fn is_loaded(&self, scan: &Scan) -> bool {
        let mut judged = self.answers.iter().flatten().peekable();
        let anyone = judged.peek().is_some();
        has_code(scan) && (!anyone || judged.any(|one| one.reach.libraries.contains(&scan.path)))
    }

    /// The libraries to show, and those to count.
    pub(super) fn folded(&self) -> (Vec<&Scan>, Vec<&Scan>) {
        let (mut shown, mut rest): (Vec<&Scan>, Vec<&Scan>) =
            self.scans.iter().partition(|scan| self.is_loaded(scan));
        // A file that was named is shown, whatever it holds.
        if self.version.is_empty() && shown.is_empty() {
            std::mem::swap(&mut shown, &mut rest);
        }
        rest.extend(shown.split_off(shown.len().min(LIBRARIES)));
        (shown, rest)
    }
}

fn printable_damage(damage: &str) -> String {
    format!("damaged, so nothing can be said of its code: {damage}; get it again")
}

fn answer(reach: TargetCoverage, judge: &Judge, on_disk: bool) -> Answer {
    let lacks = matches!(reach.outcome, Outcome::Fails | Outcome::Partial) && on_disk;
    let names = || missing_kernels(&reach.library, judge.sm, judge.driver, MISSING).ok();
    let missing = lacks.then(names).flatten();
    Answer { reach, missing }
}

/// That a wheel is for another CPU than the one beside the GPU.
fn other_cpu(path: &Path, judge: &Judge) -> Option<TargetCoverage> {
    let (wheel, machine) = (cpu::of_wheel(path)?, judge.cpu?);
    (wheel != machine).then(|| TargetCoverage {
        outcome: Outcome::Fails,
        detail: format!(
            "it is a wheel for {wheel} CPUs, and the CPU beside {} is {machine}: pip does not install it there",
            judge.label
        ),
        library: PathBuf::new(),
        coverage: Default::default(),
        libraries: Vec::new(),
    })
}
