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
use crate::engine::installed::{Installed, package_coverage, package_damage, replaced};
use crate::engine::{Assumptions, Fix, Level, Outcome as Answer, Target, evaluate, rows};

/// Packages named of one environment.
const PACKAGES: usize = 8;
/// Unreadable places named.
const PLACES: usize = 3;

/// What is installed here, and the GPUs it would run on.
pub(crate) struct Here {
    pub(crate) base: Arc<RuleBase>,
    survey: EnvironmentScan,
    /// The GPUs that are here.
    pub(crate) gpus: Vec<Target>,
    /// Those that were named, which binaries are judged for in their place.
    named: Vec<Target>,
    today: String,
}

impl Here {
    /// Looks; what has been read before is not read again.
    pub(crate) fn look(base: Arc<RuleBase>, frame: Option<&Frame>, named: Vec<Target>) -> Self {
        let mut gpus: Vec<Target> = Vec::new();
        for gpu in frame.iter().flat_map(|frame| frame.gpus.iter().map(move |gpu| (frame, gpu))) {
            let (frame, gpu) = gpu;
            let target = Target::from_gpu(gpu, &frame.driver);
            if gpu.presence != Presence::WhatIf && !gpus.contains(&target) {
                gpus.push(target);
            }
        }
        Self { base, survey: scan_environments(), gpus, named, today: today() }
    }

    fn judged(&self) -> &[Target] {
        if self.named.is_empty() { &self.gpus } else { &self.named }
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

/// Which installed binaries have no code for a GPU that was named or is here.
pub(crate) fn binaries(here: &Here) -> Finding {
    let mut found = Found::default();
    if here.judged().is_empty() {
        for (home, packages) in here.homes() {
            let damaged = packages.iter().filter_map(|one| package_damage(&here.survey, one));
            damaged.for_each(|detail| found.say(Outcome::Fail, in_home(&detail, home), None));
        }
    }
    let mut judged = false;
    for (home, package, target) in each(here) {
        let Some((outcome, detail, repair)) = judge(here, home, package, target) else { continue };
        judged = true;
        let line = in_home(&format!("{}: {detail}", target.label), home);
        let is_new = outcome != Outcome::Pass && !found.lines.contains(&line);
        // Another version mends no damaged file.
        let is_whole = package_damage(&here.survey, package).is_none();
        let another = || here.fix(package, target).filter(|_| is_whole && outcome == Outcome::Fail);
        if is_new {
            found.say(outcome, line, repair.or_else(another));
        }
    }
    for (home, packages) in here.homes() {
        let other = packages.iter().filter_map(|package| replaced(&here.survey, package));
        other.for_each(|detail| found.say(Outcome::Warn, in_home(&detail, home), None));
    }
    match (found.lines.is_empty(), here.judged().is_empty(), judged) {
        (false, ..) => found.told(),
        (_, true, _) => {
            skip("no GPU on this machine to check against; name one: warpscope doctor --gpu T4")
        }
        (_, _, false) => skip("no installed package carries code for GPUs"),
        _ if !here.named.is_empty() => {
            pass("every package with device code supports every GPU that was named")
        }
        _ => pass("every package with device code supports every GPU of this machine"),
    }
}

fn in_home(detail: &str, home: &Environment) -> String {
    format!("{detail} ({})", home.root.display())
}

/// What is wrong with binaries, and what mends it.
#[derive(Default)]
struct Found {
    is_bad: bool,
    lines: Vec<String>,
    fixes: Vec<String>,
}

impl Found {
    fn say(&mut self, outcome: Outcome, line: String, fix: Option<String>) {
        self.is_bad |= outcome == Outcome::Fail;
        self.lines.push(line);
        let fix = fix.filter(|fix| !self.fixes.contains(fix));
        self.fixes.extend(fix);
    }

    fn told(mut self) -> Finding {
        self.fixes.push("`warpscope inspect` shows every library".to_owned());
        let outcome = if self.is_bad { Outcome::Fail } else { Outcome::Warn };
        finding(outcome, self.lines.join("\n"), self.fixes.join("\n"))
    }
}

/// How a package comes out on a GPU, as `inspect` judges it, and what mends its files: of NVIDIA's own libraries only what is wrong with them.
fn judge(
    here: &Here,
    home: &Environment,
    package: &Package,
    target: &Target,
) -> Option<(Outcome, String, Option<String>)> {
    let damage = package_damage(&here.survey, package);
    if Rank::of(package) == Rank::Nvidia {
        return damage.map(|damage| (Outcome::Fail, damage, None));
    }
    let driver = target.cuda.as_deref().and_then(Isa::of_cuda);
    let runtime = home.cuda_runtime();
    let on = (target.sm?, driver, target.cpu());
    let reach = package_coverage(&here.survey, package, on, runtime)?;
    let is_for_gpus = home.active || !home.pids.is_empty() || !is_without_cuda(home);
    let outcome = match reach.outcome {
        Answer::Works => Outcome::Pass,
        _ if damage.is_some() => Outcome::Fail,
        // An environment for CPUs that nobody uses is no fault.
        Answer::Fails if is_for_gpus => Outcome::Fail,
        _ => Outcome::Warn,
    };
    let repair = reach.repair.filter(|repair| !reach.detail.contains(repair.as_str()));
    Some((outcome, reach.detail, repair))
}

fn is_without_cuda(home: &Environment) -> bool {
    home.package("torch").is_some_and(|torch| torch.without_cuda)
}

/// Every installed package with every GPU.
fn each(here: &Here) -> impl Iterator<Item = (&Environment, &Package, &Target)> {
    here.homes().flat_map(|(home, packages)| {
        let with = |package| here.judged().iter().map(move |gpu| (home, package, gpu));
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
