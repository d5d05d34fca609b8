//! `warpscope inspect`: what is installed, and which GPUs its binaries can run on.
//!
//! A name is what it is on disk: a number is a process, a folder an environment, an archive of layers an image, anything else a binary or a
//! wheel. Without a name the whole machine is looked at. Ends with 1 where something that is installed has no code for a GPU.

pub(crate) use gather::{driver_problem, kind};
pub(crate) use searched::searched;

mod binaries;
mod cpu;
mod gather;
mod item;
mod json;
mod searched;
mod text;

use std::path::PathBuf;

use warpscope_kernels::Sm;
use warpscope_probes::driver::Driver;
use warpscope_probes::inspect::binary::{Missing, PtxIsa, Scan};
use warpscope_probes::inspect::env::{Inventory, Unreadable};

use super::output;
use crate::commands::answer::rules::rule_base;
use crate::commands::cli::{
    CONFIG_FILE, CliError, CommandSpec, Exit, Form, HOSTS, NAMED_GPUS, Options, STYLE,
};
use crate::commands::frames::first_frame;
use crate::commands::frames::source::{AtEnd, open_source};
use crate::commands::frames::what_if;
use crate::config::args;
use crate::engine::installed::TargetCoverage;
use crate::engine::{Outcome, Target};

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "inspect",
    about: "Show what is installed and which GPUs its binaries support; exits with 1 if one does not support yours",
    more: "Nothing is imported or run: environments, packages and the device code in their binaries are read from files. A folder that is no environment is searched for environments, then for binaries; of a process, what it has mapped is read. Exits with 1 if an installed package has no code for a GPU that was named or is in this machine, or is damaged, and with 4 if nothing could be judged.",
    args: &[
        &[&args::INSPECTED],
        NAMED_GPUS,
        &[&args::LIBRARY],
        &[&args::JSON],
        STYLE,
        HOSTS,
        CONFIG_FILE,
    ],
    examples: &[
        ("inspect", "every environment of this machine, for its GPUs"),
        (
            "inspect torch-2.8.0-cp311-manylinux.whl --gpu P100,H200",
            "a wheel, before installing it",
        ),
        ("inspect ~/venv --gpu T4 --json", "one environment, for a script"),
        ("inspect /data --gpu T4", "every environment below a folder"),
    ],
    runs_there: true,
    run,
    ..CommandSpec::BASE
};

/// Kernels named at most of those a GPU has nothing for.
const MISSING: usize = 500;
/// Libraries of one package shown at most.
const LIBRARIES: usize = 6;

/// A GPU to judge by.
struct Judge {
    label: String,
    sm: Sm,
    /// Newest PTX its driver compiles; any passes where no driver is known.
    driver: Option<PtxIsa>,
    /// Newest CUDA of its driver.
    cuda: Option<String>,
    /// Kind of CPU beside it, where it is sold with one or is in this machine: `aarch64`.
    cpu: Option<&'static str>,
}

/// What a package comes to on one GPU.
struct Answer {
    reach: TargetCoverage,
    /// The first kernels the deciding library lacks, where files can be asked.
    missing: Option<Missing>,
}

/// One package, or a file nobody owns, with the device code of its binaries; none in what is compiled when it runs.
struct Item {
    name: String,
    version: String,
    scans: Vec<Scan>,
    /// One per GPU; none where there is no device code to judge.
    answers: Vec<Option<Answer>>,
    /// Why a file that was named is not whole.
    damage: Option<String>,
    /// Its place among the packages of an environment.
    rank: item::Rank,
}

/// Packages of one environment.
struct Group {
    title: String,
    root: PathBuf,
    items: Vec<Item>,
    problems: Vec<String>,
    cuda: Vec<String>,
}

impl Group {
    /// Files that belong to no environment.
    fn of_files(title: &str, root: PathBuf, items: Vec<Item>) -> Self {
        let title = title.to_owned();
        Self { title, root, items, problems: Vec::new(), cuda: Vec::new() }
    }

    /// Whether there is more to say than that it is there.
    fn tells(&self) -> bool {
        !(self.items.is_empty() && self.problems.is_empty() && self.cuda.is_empty())
    }
}

/// Everything that is said.
struct Report {
    judges: Vec<Judge>,
    groups: Vec<Group>,
    unreadable: Vec<Unreadable>,
    inventory: Inventory,
}

impl Report {
    fn items(&self) -> impl Iterator<Item = &Item> {
        self.groups.iter().flat_map(|group| &group.items)
    }

    /// Fails where something has no code for a GPU or is damaged; unknown where GPUs were asked about and nothing could be judged.
    fn exit(&self) -> Exit {
        let mut outcomes = self.items().flat_map(|item| &item.answers).flatten();
        let fails = outcomes.any(|answer| answer.reach.outcome == Outcome::Fails)
            || self.items().any(|item| item.damage.is_some());
        let judged = self.items().flat_map(|item| &item.answers).any(Option::is_some);
        match () {
            () if fails => Exit::CheckFailed,
            () if !self.judges.is_empty() && !judged && self.items().next().is_some() => {
                Exit::Unknown
            }
            () => Exit::Fine,
        }
    }
}

/// Looks and says.
pub(crate) fn run(options: &Options) -> Result<Exit, CliError> {
    let judges = judges(options)?;
    let base = rule_base(options)?;
    let report = gather::report(options, &base, judges)?;
    if options.form() == Form::Json {
        output::json(&json::document(&report))?;
    } else {
        output::print(&text::text(&report, output::style(options)))?;
    }
    Ok(report.exit())
}

/// Whether the CUDA runtime would load anything of a library by itself, on whatever GPU.
fn has_code(scan: &Scan) -> bool {
    scan.kernel_coverage(Sm::new(9, 0), None).total() > 0
}

/// GPUs that were named, else those that are here. Where there is none, what is found is told without a judgement.
fn judges(options: &Options) -> Result<Vec<Judge>, CliError> {
    let named = what_if::choice(options)?.named;
    let targets: Vec<Target> = if named.is_empty() {
        present(options)?
    } else {
        named.iter().map(|gpu| Target::from_gpu(gpu, &Driver::default())).collect()
    };
    let mut judges: Vec<Judge> = Vec::new();
    for target in targets {
        let Some(sm) = target.sm else { continue };
        let driver = target.cuda.as_deref().and_then(PtxIsa::of_driver);
        // GPUs of one kind are judged once.
        if !judges.iter().any(|one| one.label == target.label && one.driver == driver) {
            let cpu = cpu::beside(&target);
            judges.push(Judge { label: target.label, sm, driver, cuda: target.cuda, cpu });
        }
    }
    Ok(judges)
}

/// GPUs of this machine; none where there is none.
fn present(options: &Options) -> Result<Vec<Target>, CliError> {
    let frame = first_frame(open_source(options, AtEnd::Stop)?)?;
    Ok(frame.gpus.iter().map(|gpu| Target::from_gpu(gpu, &frame.driver)).collect())
}
