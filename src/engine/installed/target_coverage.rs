//! What the binaries of one package can be expected to do on one GPU.
//!
//! Coverage is a property of a unit of code, not of a package: a package whose main library has nothing fails although another of its
//! libraries is complete, and a library built for one architecture only is a special case that its package does without elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use warpscope_kernels::Sm;
use warpscope_kernels::image::Isa;
use warpscope_probes::catalogue::Catalogue;
use warpscope_probes::inspect::binary::{Coverage, Scan};
use warpscope_probes::inspect::env::cuda_builds::{self, Cuda};

use super::judged::{Builds, Judged};
use super::names::Names;
use super::sentences::{fails, partial, without, works};
use crate::engine::verdict::Outcome;

/// Packages that compute with torch's operators where they have no kernels of their own.
const COMPUTE_WITHOUT: &[&str] = &["torchao"];

/// What the binaries of a package can be expected to do on a GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetCoverage {
    /// Works, partial or fails; unknown where they carry no device code that could be judged.
    pub outcome: Outcome,
    /// Why, one sentence.
    pub detail: String,
    /// The library that decides.
    pub library: PathBuf,
    /// All units of code together.
    pub coverage: Coverage,
    /// The libraries that were judged: of builds for several CUDA versions only the one that is loaded.
    pub libraries: Vec<PathBuf>,
    /// What mends it, where files or packages are at fault and not the GPU.
    pub repair: Option<String>,
}

/// Judges the scanned libraries of a package, of builds for several CUDA versions the one that fits `runtime`. `None` when none of them
/// carries code the CUDA runtime would load, or only some that loads its code itself.
pub fn target_coverage<'a>(
    package: &str,
    scans: impl Iterator<Item = &'a Scan>,
    (device, driver): (Sm, Option<Isa>),
    runtime: Option<Cuda>,
) -> Option<TargetCoverage> {
    let devices: Vec<Sm> = Catalogue::load().archs().iter().map(|arch| arch.sm).collect();
    let scans: Vec<&Scan> = scans.collect();
    let judge = |scan: &&'a Scan| Judged::new(scan, &devices, (device, driver));
    let is_judged =
        |one: &Judged<'_>| one.units.total() > 0 && !one.scan.loads_its_own_code(device, driver);
    let mut judged = chosen(scans.iter().map(judge).filter(is_judged).collect(), runtime);
    let names = Names::new(scans.iter().map(|one| one.path.as_path()));
    judged.iter_mut().for_each(|one| one.name = names.short(&one.scan.path));
    let serve = judged.iter().filter(|one| !one.fails());
    let serving = serve.map(|one| one.units.total()).max().unwrap_or_default();
    judged.iter_mut().for_each(|one| one.for_others = one.is_for_others(serving));
    let main = main(&judged)?;
    let gaps: Vec<&Judged<'_>> = judged.iter().filter(|one| one.has_gap()).collect();
    let (coverage, others) = sum(&judged);
    let (outcome, detail) = match (&main.builds, main.fails(), gaps.as_slice()) {
        (Builds::Depends { .. }, ..) => (Outcome::Unknown, fails(package, main, device)),
        (_, true, _) if computes_without(package) => {
            (Outcome::Unknown, without(package, main, device))
        }
        (_, true, _) => (Outcome::Fails, fails(package, main, device)),
        (_, _, []) => (Outcome::Works, works(package, (coverage, others), main, (device, driver))),
        (_, _, gaps) => (Outcome::Partial, partial(package, main, gaps, device)),
    };
    let libraries = judged.iter().map(|one| one.scan.path.clone()).collect();
    let library = main.scan.path.clone();
    Some(TargetCoverage { outcome, detail, library, coverage, libraries, repair: None })
}

/// The package's own library: the largest. Those for few architectures are features of it, and what it brings along of NVIDIA's is none.
fn main<'j, 'a>(judged: &'j [Judged<'a>]) -> Option<&'j Judged<'a>> {
    let kind = |one: &Judged<'_>| (!one.bundled, !one.for_others);
    let first = judged.iter().map(kind).max()?;
    let own = judged.iter().filter(|one| kind(one) == first);
    own.max_by_key(|one| (one.units.total(), one.breadth))
}

/// All units together, and how many are for other architectures only.
fn sum(judged: &[Judged<'_>]) -> (Coverage, u32) {
    let (mut sum, mut others) = (Coverage::default(), 0);
    for one in judged {
        if one.for_others {
            others += one.units.total();
            continue;
        }
        let Coverage { cubin, jit, none } = one.units.coverage;
        sum = Coverage { cubin: sum.cubin + cubin, jit: sum.jit + jit, none: sum.none + none };
        others += one.units.others;
    }
    (sum, others)
}

fn computes_without(package: &str) -> bool {
    let name = package.split([' ', '-']).next().unwrap_or_default();
    COMPUTE_WITHOUT.contains(&name)
}

/// Of builds of one library for several CUDA versions or architectures, the one that is loaded. Files that merely have one name are
/// libraries of their own.
fn chosen<'a>(judged: Vec<Judged<'a>>, runtime: Option<Cuda>) -> Vec<Judged<'a>> {
    let mut groups: BTreeMap<PathBuf, Vec<Judged<'a>>> = BTreeMap::new();
    for one in judged {
        groups.entry(cuda_builds::family(&one.scan.path)).or_default().push(one);
    }
    groups.into_values().filter_map(|group| of_builds(group, runtime)).collect()
}

/// The build for the CUDA of the runtime; of several for it, the one that serves the GPU best. Without a known runtime the one that
/// serves it worst, with those that serve it.
fn of_builds<'a>(group: Vec<Judged<'a>>, runtime: Option<Cuda>) -> Option<Judged<'a>> {
    let version = |one: &Judged<'_>| cuda_builds::version(&one.scan.path);
    let builds: BTreeSet<Cuda> = group.iter().filter_map(version).collect();
    let serve: BTreeSet<Cuda> =
        group.iter().filter(|one| one.loads() > 0).filter_map(version).collect();
    let taken = match runtime.filter(|_| builds.len() > 1) {
        Some(runtime) => cuda_builds::fitting(&builds, runtime),
        None => builds.difference(&serve).chain(&builds).next().copied(),
    };
    let is_taken = |one: &Judged<'_>| taken.is_none() || version(one) == taken;
    let alternatives = group.len();
    let mut one = group.into_iter().filter(is_taken).max_by_key(Judged::loads)?;
    one.alternatives = alternatives;
    if taken.is_none() && !builds.is_empty() {
        let none = one.units.total();
        one.units.coverage = Coverage { none, ..Coverage::default() };
        one.builds = Builds::NoneFits(cuda_builds::list(&builds));
    } else if runtime.is_none() && one.loads() == 0 && !serve.is_empty() {
        let [serve, all] = [&serve, &builds].map(cuda_builds::list);
        one.builds = Builds::Depends { serve, all };
    }
    Some(one)
}
