//! `warpscope inspect`: what is installed, and which GPUs its binaries can run on.
//!
//! A name is what it is on disk: a number is a process, a folder an environment or an image in OCI's layout, an archive of layers an image, anything else a binary or a
//! wheel. Without a name the whole machine is looked at. Ends with 1 where something that is installed has no code for a GPU.

pub(crate) use driver::driver_problems;
pub(crate) use gather::kind;
pub(crate) use report::Rank;
pub(crate) use searched::searched;

mod binaries;
mod cpu;
mod driver;
mod gather;
mod image;
mod item;
mod json;
mod report;
mod searched;
mod text;

use warpscope_kernels::image::Isa;
use warpscope_probes::driver::Driver;

use self::report::Judge;
use super::output;
use crate::commands::answer::rules::rule_base;
use crate::commands::cli::{
    CONFIG_FILE, CommandSpec, Exit, Form, HOSTS, NAMED_GPUS, Options, Result, STYLE,
};
use crate::commands::frames::source::{AtEnd, open_source};
use crate::commands::frames::{first_frame, what_if};
use crate::config::args;
use crate::engine::Target;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "inspect",
    about: "Show what is installed and which GPUs its binaries support; exits with 1 if one does not support yours",
    more: "Nothing is imported or run: environments, packages and the device code in their binaries are read from files. A folder that is no environment is searched for environments, then for binaries; of a process, what it has mapped is read. Exits with 1 if an installed package has no code for a GPU that was named or is in this machine, or is damaged, and with 4 if nothing could be judged, or a part of what was named could not be looked at.",
    args: &[
        &[&args::INSPECTED, &args::SEARCHED],
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
        ("inspect --root /data --root /srv", "this machine, and below two folders more"),
    ],
    runs_there: true,
    run,
    ..CommandSpec::BASE
};

/// Looks and says.
pub(crate) fn run(options: &Options) -> Result<Exit> {
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

/// GPUs that were named, else those that are here. Where there is none, what is found is told without a judgement.
fn judges(options: &Options) -> Result<Vec<Judge>> {
    let named = what_if::choice(options)?.named;
    let targets: Vec<Target> = if named.is_empty() {
        present(options)?
    } else {
        named.iter().map(|gpu| Target::from_gpu(gpu, &Driver::default())).collect()
    };
    let mut judges: Vec<Judge> = Vec::new();
    for target in targets {
        let Some(sm) = target.sm else { continue };
        let driver = target.cuda.as_deref().and_then(Isa::of_cuda);
        // GPUs of one kind are judged once.
        if !judges.iter().any(|one| one.label == target.label && one.driver == driver) {
            let cpu = target.cpu();
            judges.push(Judge { label: target.label, sm, driver, cuda: target.cuda, cpu });
        }
    }
    Ok(judges)
}

/// GPUs of this machine; none where there is none.
fn present(options: &Options) -> Result<Vec<Target>> {
    let frame = first_frame(open_source(options, AtEnd::Stop)?)?;
    Ok(frame.gpus.iter().map(|gpu| Target::from_gpu(gpu, &frame.driver)).collect())
}
