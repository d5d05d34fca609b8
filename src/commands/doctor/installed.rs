//! What is installed here: environments, binaries without code for a GPU that is here, and CUDA libraries that do not fit.
//!
//! Environments with nothing for a GPU in them are counted, not named: most machines have several.

use std::sync::Arc;

use warpscope_kernels::image::Isa;
use warpscope_probes::Frame;
use warpscope_probes::gpu::Presence;
use warpscope_probes::inspect::EnvironmentScan;
use warpscope_probes::inspect::env::{Environment, Package, normalized};
use warpscope_probes::rules::{Cost, RuleBase};

use super::checks::{finding, pass, skip, warn};
use super::{Finding, Outcome};
use crate::commands::answer::findings::findings as found_before;
use crate::commands::environments::scan_environments;
use crate::commands::identity::today;
use crate::commands::inspect::{Rank, driver_problems, kind, searched};
use crate::engine::installed::{Installed, package_coverage, package_damage};
use crate::engine::{Assumptions, Fix, Level, Outcome as Answer, Target, evaluate, rows};

/// Packages named of one environment.
const PACKAGES: usize = 8;
/// Unreadable places named.
const PLACES: usize = 3;

/// What is installed here, and the GPUs it would run on.
pub(crate) struct Here {
    pub(crate) base: Arc<RuleBase>,
    survey: EnvironmentScan,
    pub(crate) gpus: Vec<Target>,
    today: String,
}

impl Here {
    /// Looks; what has been read before is not read again.
    pub(crate) fn look(base: Arc<RuleBase>, frame: Option<&Frame>) -> Self {
        let mut gpus: Vec<Target> = Vec::new();
        for gpu in frame.iter().flat_map(|frame| frame.gpus.iter().map(move |gpu| (frame, gpu))) {
            let (frame, gpu) = gpu;
            let target = Target::from_gpu(gpu, &frame.driver);
            if gpu.presence != Presence::WhatIf && !gpus.contains(&target) {
                gpus.push(target);
            }
        }
        Self { base, survey: scan_environments(), gpus, today: today() }
    }

    /// Environments with something for a GPU in them, and what it is.
    fn homes(&self) -> impl Iterator<Item = (&Environment, Vec<&Package>)> {
        let homes = self.survey.inventory.environments.iter();
        homes
            .map(|home| (home, home.packages.iter().filter(|one| self.matters(one)).collect()))
            .filter(|(_, packages): &(_, Vec<_>)| !packages.is_empty())
    }

    fn matters(&self, package: &Package) -> bool {
        let names = self.base.frameworks().iter().flat_map(|framework| &framework.packages);
        self.survey.device_code(package).next().is_some()
            || self.survey.damage(package).is_some()
            || names.into_iter().any(|name| normalized(name) == package.normalized)
    }

    /// The version or build to install instead of a package that fails on a GPU, where the engine says that it runs.
    fn fix(&self, package: &Package, target: &Target) -> Option<String> {
        let is_it = |name: &String| normalized(name) == package.normalized;
        let framework = self.base.frameworks().iter().find(|one| one.packages.iter().any(is_it))?;
        let gpus = std::slice::from_ref(target);
        let found = Installed::new(&self.base, &self.survey, gpus, &self.today);
        let Installed { versions, beside, findings } = found;
        versions.get(&framework.id).filter(|given| given.version == package.version)?;
        let findings = findings.into_iter().chain(found_before(&self.base, gpus)).collect();
        let assumptions = Assumptions { versions, beside, findings, ..Assumptions::default() };
        let rows = rows(&self.base, &assumptions);
        let own = rows.iter().filter(|row| row.question.framework == framework.id);
        let answers = own.map(|row| {
            let about = assumptions.about(&self.base, target, &row.question);
            evaluate(&self.base, target, &row.question, &about)
        });
        // Rows about another build fail for reasons of their own.
        let mut answers = answers.filter(|answer| answer.level == Some(Level::Inspected));
        answers.find_map(|answer| {
            let helps =
                |fix: &Fix| fix.cost == Cost::Build && fix.then.is_some_and(|then| !then.is_bad());
            answer.fixes.into_iter().find(helps).map(|fix| format!("{}: {}", fix.title, fix.text))
        })
    }
}

/// Which environments there are, and what is in them for a GPU.
pub(crate) fn environments(here: &Here) -> Finding {
    let line = |(home, packages): (&Environment, Vec<&Package>)| {
        let names = packages.iter().take(PACKAGES);
        let mut names: Vec<_> =
            names.map(|one| format!("{} {}", one.name, one.full_version())).collect();
        if packages.len() > PACKAGES {
            names.push(format!("{} more", packages.len() - PACKAGES));
        }
        let active = if home.active { ", active" } else { "" };
        format!("{} ({}{active}): {}", home.root.display(), kind(home.kind), names.join(", "))
    };
    let mut lines: Vec<String> = here.homes().map(line).collect();
    let bare = here.survey.inventory.environments.len() - lines.len();
    match (lines.is_empty(), bare) {
        (true, 0) => lines.push("none".to_owned()),
        (true, _) => lines.push(format!("nothing for a GPU in {bare}")),
        (false, 0) => {}
        (false, _) => lines.push(format!("nothing for a GPU in {bare} more")),
    }
    lines.extend(here.survey.inventory.searched.iter().map(searched));
    let unreadable = unreadable(&here.survey);
    let outcome = if unreadable.is_some() { Outcome::Warn } else { Outcome::Pass };
    let remedy = if unreadable.is_some() { "run as a user who may read them" } else { "" };
    lines.extend(unreadable);
    finding(outcome, lines.join("\n"), remedy)
}

fn unreadable(survey: &EnvironmentScan) -> Option<String> {
    let count = survey.inventory.unreadable_count.max(survey.inventory.unreadable.len() as u64)
        + survey.unreadable.len() as u64;
    let places = survey.inventory.unreadable.iter().chain(&survey.unreadable);
    let named: Vec<String> =
        places.take(PLACES).map(|one| format!("{} ({})", one.path.display(), one.reason)).collect();
    let more = if count > PLACES as u64 { ", …" } else { "" };
    (count > 0).then(|| format!("{count} places could not be read: {}{more}", named.join(", ")))
}

/// Which installed binaries have no code for a GPU that is here.
pub(crate) fn binaries(here: &Here) -> Finding {
    if here.gpus.is_empty() {
        return skip(
            "no GPU on this machine to check against; name one: warpscope inspect --gpu T4",
        );
    }
    let (mut judged, mut outcome) = (false, Outcome::Pass);
    let (mut lines, mut fixes): (Vec<String>, Vec<String>) = Default::default();
    for (home, package, target) in each(here) {
        let Some((found, detail)) = judge(here, home, package, target) else { continue };
        judged = true;
        outcome = match (found, outcome) {
            (Outcome::Pass, _) => continue,
            (Outcome::Fail, _) | (_, Outcome::Fail) => Outcome::Fail,
            _ => Outcome::Warn,
        };
        let line = format!("{}: {detail} ({})", target.label, home.root.display());
        if !lines.contains(&line) {
            lines.push(line);
            fixes.extend(here.fix(package, target).filter(|fix| !fixes.contains(fix)));
        }
    }
    match (judged, lines.is_empty()) {
        (false, _) => skip("no installed package carries code for GPUs"),
        (true, true) => pass("every package with device code supports every GPU of this machine"),
        (true, false) => {
            fixes.push("`warpscope inspect` shows every library".to_owned());
            finding(outcome, lines.join("\n"), fixes.join("\n"))
        }
    }
}

/// How a package comes out on a GPU, as `inspect` judges it: of NVIDIA's own libraries only what is wrong with their files.
fn judge(
    here: &Here,
    home: &Environment,
    package: &Package,
    target: &Target,
) -> Option<(Outcome, String)> {
    let damage = package_damage(&here.survey, package);
    if Rank::of(package) == Rank::Nvidia {
        return damage.map(|damage| (Outcome::Fail, damage));
    }
    let driver = target.cuda.as_deref().and_then(Isa::of_cuda);
    let runtime = home.cuda_runtime();
    let reach = package_coverage(&here.survey, package, (target.sm?, driver), runtime)?;
    let outcome = match reach.outcome {
        Answer::Works => Outcome::Pass,
        _ if damage.is_some() => Outcome::Fail,
        Answer::Fails => Outcome::Fail,
        _ => Outcome::Warn,
    };
    Some((outcome, reach.detail))
}

/// Every installed package with every GPU.
fn each(here: &Here) -> impl Iterator<Item = (&Environment, &Package, &Target)> {
    here.homes().flat_map(|(home, packages)| {
        let with = |package| here.gpus.iter().map(move |gpu| (home, package, gpu));
        packages.into_iter().flat_map(with).collect::<Vec<_>>()
    })
}

/// Pins that disagree, CUDA libraries that are there twice, and runtimes the driver is too old for.
pub(crate) fn cuda(here: &Here) -> Finding {
    let homes: Vec<&Environment> = here.homes().map(|(home, _)| home).collect();
    let own = homes.iter().flat_map(|home| {
        home.problems.iter().map(|problem| format!("{}: {problem}", home.root.display()))
    });
    let driver = homes.iter().flat_map(|home| {
        let gpus = here.gpus.iter().map(|gpu| (gpu.label.as_str(), gpu.cuda.as_deref()));
        let found = driver_problems(home, gpus).into_iter();
        found.map(|problem| format!("{}: {problem}", home.root.display()))
    });
    let problems: Vec<String> = own.chain(driver).collect();
    match (homes.is_empty(), problems.is_empty()) {
        (true, _) => skip("nothing for a GPU is installed"),
        (false, true) if here.gpus.iter().all(|gpu| gpu.cuda.is_none()) => {
            pass("versions agree; no driver answers that the CUDA runtimes could be compared with")
        }
        (false, true) => pass("versions agree, and the driver serves every runtime"),
        (false, false) => warn(problems.join("\n"), ""),
    }
}
