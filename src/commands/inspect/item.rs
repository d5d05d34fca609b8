//! One package or file, judged for every GPU.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::Path;

use warpscope_probes::inspect::EnvironmentScan;
use warpscope_probes::inspect::binary::{Scan, missing_kernels};
use warpscope_probes::inspect::env::Package;

use super::cpu;
use super::report::{Answer, Item, Judge, LIBRARIES, MISSING, Rank, has_code};
use crate::engine::Outcome;
use crate::engine::installed::{
    TargetCoverage, is_torch_without_cuda, loadable, package_coverage, package_damage,
    target_coverage, torch_without_cuda,
};

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
            let on = (judge.sm, judge.driver, judge.cpu);
            let reach = package_coverage(survey, package, on, runtime)?;
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
        let files = scan.binaries().iter().map(|one| one.path.as_path());
        let is_bare = is_torch_without_cuda(files).then(|| torch_without_cuda(&name));
        let judge = |judge: &Judge| {
            let refused = cpu::refused(path, judge.cpu);
            let refused = refused.map(|detail| TargetCoverage::refused(detail, None));
            let reach = || match loadable(&name, scans.iter(), judge.cpu) {
                Ok(own) => target_coverage(&name, own.into_iter(), (judge.sm, judge.driver), None),
                Err(refused) => Some(*refused),
            };
            Some(answer(refused.or_else(|| is_bare.clone()).or_else(reach)?, judge, true))
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

    /// The libraries that a process would load: those that were judged, or all with code where there was nobody to judge them for.
    pub(super) fn loaded(&self) -> Vec<&Scan> {
        let answers = || self.answers.iter().flatten();
        let judged: HashSet<&Path> = answers()
            .flat_map(|one| one.reach.libraries.iter().map(|path| path.as_path()))
            .collect();
        let anyone = answers().next().is_some();
        let is_loaded =
            |scan: &&Scan| has_code(scan) && (!anyone || judged.contains(scan.path.as_path()));
        self.scans.iter().filter(is_loaded).collect()
    }

    /// The libraries to show, and those to count.
    pub(super) fn folded(&self) -> (Vec<&Scan>, Vec<&Scan>) {
        let mut shown = self.loaded();
        let known: HashSet<&Path> = shown.iter().map(|scan| scan.path.as_path()).collect();
        let is_left = |scan: &&Scan| !known.contains(scan.path.as_path());
        let mut rest: Vec<&Scan> = self.scans.iter().filter(is_left).collect();
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
