//! Installed frameworks in the terms of the engine: versions, packages beside them, and what their binaries can run on.

mod build;
mod damage;
mod host;
mod judged;
mod names;
mod sentences;
mod target_coverage;
mod units;

use std::collections::BTreeMap;

use warpscope_kernels::image::Isa;
use warpscope_probes::inspect::EnvironmentScan;
use warpscope_probes::inspect::env::{Environment, Package, normalized};
use warpscope_probes::rules::{Framework, Kind, RuleBase, Settings, Stage, kind_of};

pub use build::BINARIES;
use build::CUDA;
pub(super) use build::{is_compiled_here, is_other_build, with_own_build};
pub use damage::{package_coverage, package_damage, replaced};
pub use host::{is_torch_without_cuda, loadable, torch_without_cuda};
pub use names::short_name;
pub use target_coverage::{TargetCoverage, target_coverage};

use super::assumptions::AssumedVersion;
use super::question::Origin;
use super::target::Target;
use super::verdict::{Evidence, Finding, Level, Outcome, Scope};

/// What is installed here, as far as the rules know it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Installed {
    /// Version of each framework, by its id.
    pub versions: BTreeMap<String, AssumedVersion>,
    /// Versions of the packages beside each framework.
    pub beside: BTreeMap<String, Settings>,
    /// What their binaries can run on.
    pub findings: Vec<Finding>,
}

impl Installed {
    /// Matches an environment scan with the rules, for these GPUs. `today` dates the findings.
    pub fn new(base: &RuleBase, scan: &EnvironmentScan, targets: &[Target], today: &str) -> Self {
        let mut installed = Self::default();
        let mut environments: Vec<&Environment> = scan.inventory.environments.iter().collect();
        // What a command started here would use goes first, then what GPU processes use.
        environments.sort_by_key(|one| (!one.active, one.pids.is_empty()));
        for framework in base.frameworks() {
            let homes =
                environments.iter().filter_map(|home| Some((*home, package_of(home, framework)?)));
            let Some((home, package)) = homes.into_iter().next() else { continue };
            installed.take(base, framework, home, package);
            let found = targets
                .iter()
                .filter_map(|target| finding(framework, scan, home, package, target, today));
            installed.findings.extend(found.flatten());
        }
        installed.findings.dedup();
        installed
    }

    fn take(
        &mut self,
        base: &RuleBase,
        framework: &Framework,
        home: &Environment,
        package: &Package,
    ) {
        let given = AssumedVersion { version: package.version.clone(), origin: Origin::Installed };
        self.versions.insert(framework.id.clone(), given);
        let mut beside = Settings::default();
        for other in base.frameworks().iter().filter(|one| kind_of(&one.id) == Ok(Kind::Package)) {
            if let Some(package) = package_of(home, other) {
                // A version the rules cannot read says nothing.
                drop(beside.set(&other.id, &package.version));
            }
        }
        if let Some((major, minor)) = home.cuda_runtime() {
            drop(beside.set(CUDA, &format!("{major}.{minor}")));
        }
        self.beside.insert(framework.id.clone(), beside);
    }
}

/// Whether a framework of the rules goes by the name of this package.
pub fn known(base: &RuleBase, package: &Package) -> bool {
    let names = base.frameworks().iter().flat_map(|one| &one.packages);
    names.into_iter().any(|name| normalized(name) == package.normalized)
}

fn package_of<'a>(home: &'a Environment, framework: &Framework) -> Option<&'a Package> {
    let names = framework.packages.iter().map(|name| normalized(name));
    names
        .into_iter()
        .find_map(|name| home.packages.iter().find(|package| package.normalized == name))
}

/// What the binaries of a package say about a GPU: about its kernels in every configuration, and as an answer of its own.
fn finding(
    framework: &Framework,
    scan: &EnvironmentScan,
    home: &Environment,
    package: &Package,
    target: &Target,
    today: &str,
) -> Option<[Finding; 2]> {
    let sm = target.sm?;
    let driver = target.cuda.as_deref().and_then(Isa::of_cuda);
    let on = (sm, driver, target.cpu());
    let reach = package_coverage(scan, package, on, home.cuda_runtime())?;
    let of = |outcome: Outcome, settles: Scope, only: Settings| {
        let evidence = Evidence {
            level: Level::Inspected,
            outcome,
            id: format!("inspect.{}", framework.id),
            detail: reach.detail.clone(),
            source: format!("{} in {}", reach.library.display(), home.root.display()),
            retrieved: today.to_owned(),
        };
        let repair = reach.repair.clone();
        Finding { only, repair, ..evidence.about(&framework.id, Some(sm), settles) }
    };
    // Some units without an image are normal beside dispatch at run time: for a configuration that decides nothing.
    let kernels = if reach.outcome == Outcome::Partial { Outcome::Unknown } else { reach.outcome };
    let whole = Settings::new([BINARIES]).ok()?;
    // What cannot be loaded at all stops every configuration.
    let is_stopped = reach.repair.is_some() && reach.outcome == Outcome::Fails;
    let own = if is_stopped { Settings::default() } else { framework.own_kernels.clone() };
    Some([of(kernels, Scope::Stage(Stage::Kernels), own), of(reach.outcome, Scope::Whole, whole)])
}

#[cfg(test)]
mod tests;
