//! `warpscope inspect`: what is installed, and which GPUs its binaries can run on.
//!
//! A name is what it is on disk: a number is a process, a folder an environment, an archive of layers an image, anything else a binary or a
//! wheel. Without a name the whole machine is looked at. Ends with 1 where something that is installed has no code for a GPU.

pub(crate) use gather::{driver_problem, kind};

mod gather;
mod json;
mod text;

use std::cmp::Reverse;
use std::path::PathBuf;

use warpscope_kernels::Sm;
use warpscope_probes::driver::Driver;
use warpscope_probes::inspect::binary::{Missing, PtxIsa, Scan, missing_kernels};
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
use crate::engine::installed::{TargetCoverage, target_coverage};
use crate::engine::{Outcome, Target};

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "inspect",
    about: "Show what is installed and which GPUs its binaries support; exits with 1 if one does not support yours",
    more: "Nothing is imported or run: environments, packages and the device code in their binaries are read from files. Exits with 1 if an installed package has no code for a GPU that was named or is in this machine.",
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
}

/// What a package is judged by.
#[derive(Clone, Copy)]
struct Judging<'a> {
    judges: &'a [Judge],
    /// CUDA of the environment around it.
    runtime: Option<(u32, u32)>,
    /// Whether its paths are files of this machine.
    on_disk: bool,
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
    /// Whether something installed has no code for a GPU.
    fn fails(&self) -> bool {
        let items = self.groups.iter().flat_map(|group| &group.items);
        let mut reaches = items.flat_map(|item| item.answers.iter().flatten());
        reaches.any(|answer| answer.reach.outcome == Outcome::Fails)
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
    Ok(if report.fails() { Exit::CheckFailed } else { Exit::Fine })
}

impl Item {
    fn new((name, version): (&str, &str), scans: Vec<Scan>, by: Judging<'_>) -> Self {
        let full = format!("{name} {version}");
        let judge = |judge: &Judge| {
            let device = (judge.sm, judge.driver);
            let reach = target_coverage(full.trim(), scans.iter(), device, by.runtime)?;
            let lacks = matches!(reach.outcome, Outcome::Fails | Outcome::Partial) && by.on_disk;
            let names = || missing_kernels(&reach.library, judge.sm, judge.driver, MISSING).ok();
            let missing = lacks.then(names).flatten();
            Some(Answer { reach, missing })
        };
        let answers = by.judges.iter().map(judge).collect();
        Self { name: name.to_owned(), version: version.to_owned(), scans, answers }
    }

    /// What fails most comes first, what cannot be told last.
    fn place(&self) -> (Reverse<usize>, Reverse<usize>, bool) {
        let count = |outcome| {
            let outcomes = self.answers.iter().flatten().map(|answer| answer.reach.outcome);
            Reverse(outcomes.filter(|one| *one == outcome).count())
        };
        (count(Outcome::Fails), count(Outcome::Partial), self.scans.is_empty())
    }

    /// Whether a library is one that a process would load: it was judged, or there was nobody to judge it for.
    fn is_loaded(&self, scan: &Scan) -> bool {
        let mut judged = self.answers.iter().flatten().peekable();
        let anyone = judged.peek().is_some();
        has_code(scan) && (!anyone || judged.any(|one| one.reach.libraries.contains(&scan.path)))
    }

    /// The libraries to show, and those to count.
    fn folded(&self) -> (Vec<&Scan>, Vec<&Scan>) {
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
            judges.push(Judge { label: target.label, sm, driver, cuda: target.cuda });
        }
    }
    Ok(judges)
}

/// GPUs of this machine; none where there is none.
fn present(options: &Options) -> Result<Vec<Target>, CliError> {
    let frame = first_frame(open_source(options, AtEnd::Stop)?)?;
    Ok(frame.gpus.iter().map(|gpu| Target::from_gpu(gpu, &frame.driver)).collect())
}
