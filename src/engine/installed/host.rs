//! What a package needs besides a GPU: the CPU and the system its binaries are for, and a torch with CUDA in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use warpscope_probes::inspect::binary::{Cpu, Format, Scan};
use warpscope_probes::inspect::env::Package;

use super::target_coverage::TargetCoverage;
use crate::engine::verdict::Outcome;

/// Where builds of torch with CUDA are.
const TORCH_WITH_CUDA: &str = "take a build with CUDA: https://pytorch.org/get-started/locally/";

impl TargetCoverage {
    /// That a package cannot run, whatever code it holds.
    pub(crate) fn refused(detail: String, repair: Option<String>) -> Self {
        Self {
            outcome: Outcome::Fails,
            detail,
            library: PathBuf::new(),
            coverage: Default::default(),
            libraries: Vec::new(),
            repair,
        }
    }
}

/// The binaries that the machine of a GPU can load, or that it can load none. `cpu` is the kind beside the GPU where that is known, and
/// such a machine runs Linux.
pub fn loadable<'a>(
    package: &str,
    scans: impl Iterator<Item = &'a Scan>,
    cpu: Option<&str>,
) -> Result<Vec<&'a Scan>, Box<TargetCoverage>> {
    let all: Vec<&Scan> = scans.collect();
    let Some(cpu) = cpu else { return Ok(all) };
    let (own, foreign): (Vec<&Scan>, Vec<&Scan>) =
        all.into_iter().partition(|scan| is_for(scan, cpu));
    let kernels = |scan: &&Scan| !scan.executable.is_empty();
    if own.iter().any(kernels) || !foreign.iter().any(kernels) {
        return Ok(own);
    }
    if foreign.iter().all(|one| one.format == Format::Pe) {
        let detail = format!("{package} holds libraries for Windows, which Linux does not load");
        return Err(Box::new(TargetCoverage::refused(detail, None)));
    }
    let cpus: BTreeSet<&str> = foreign.iter().filter_map(|one| one.cpu.map(Cpu::name)).collect();
    let cpus: Vec<&str> = cpus.into_iter().collect();
    let detail = format!(
        "{package} is built for {} CPUs, and the CPU beside this GPU is {cpu}: it cannot be loaded there",
        cpus.join(" and ")
    );
    Err(Box::new(TargetCoverage::refused(detail, None)))
}

fn is_for(scan: &Scan, cpu: &str) -> bool {
    scan.format != Format::Pe && scan.cpu.is_none_or(|own| own.name() == cpu)
}

/// Why a package cannot use a GPU before its own code is asked: torch is not there, or has no CUDA in it.
pub(super) fn obstacle(package: &Package) -> Option<TargetCoverage> {
    if let Some(obstacle) = &package.obstacle {
        let repair = format!("install what it asks for, with CUDA: {TORCH_WITH_CUDA}");
        return Some(TargetCoverage::refused(obstacle.clone(), Some(repair)));
    }
    let files = package.libraries.iter().chain(&package.missing).map(|one| one.path.as_path());
    let is_torch = package.normalized == "torch";
    let is_bare = is_torch && (package.without_cuda || is_torch_without_cuda(files));
    let name = format!("{} {}", package.name, package.full_version());
    is_bare.then(|| torch_without_cuda(&name))
}

/// The answer of such a torch on any GPU.
pub fn torch_without_cuda(name: &str) -> TargetCoverage {
    let detail = format!("{name} is built without CUDA, so that no GPU is used");
    TargetCoverage::refused(detail, Some(TORCH_WITH_CUDA.to_owned()))
}

/// Whether these are the libraries of torch with those for the CPU and none for GPUs.
pub fn is_torch_without_cuda<'p>(files: impl Iterator<Item = &'p Path>) -> bool {
    let names = files.filter_map(|path| path.to_str()?.rsplit(['/', '!']).next());
    let names: Vec<&str> = names.collect();
    let any = |part: &str| names.iter().any(|name| name.contains(part));
    let is_cpu = |name: &&str| name.starts_with("libtorch_cpu.") || *name == "torch_cpu.dll";
    names.iter().any(is_cpu) && !any("torch_cuda") && !any("torch_hip")
}
