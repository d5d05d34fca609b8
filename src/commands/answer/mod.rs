//! What `check` and `why` share: what was asked, about which GPUs, under which assumptions, and the code they end with.

pub(crate) mod findings;
pub(crate) mod model;
pub(crate) mod query;
pub(crate) mod rules;
pub(crate) mod text;
mod vocabulary;

use std::path::Path;

use warpscope_probes::driver::Driver;
use warpscope_probes::model::{Hub, Model, Places, find};
use warpscope_probes::rules::RuleBase;

use crate::commands::cli::{CliError, Exit, Options};
use crate::commands::environments::scan_environments;
use crate::commands::frames::source::{AtEnd, open_source};
use crate::commands::frames::what_if;
use crate::commands::frames::{demand_gpu, first_frame};
use crate::commands::identity::today;
use crate::config::args;
use crate::config::args::Installed as AskInstalled;
use crate::engine::installed::Installed;
use crate::engine::{Assumptions, Outcome, Target, Verdict};

/// What answers take as given: the model that was named, and what is installed here. GPUs of the catalogue are asked about what is
/// installed only on request, since it may not be what will be installed beside them.
pub(crate) fn assumptions(
    options: &Options,
    base: &RuleBase,
    gpus: &[Target],
) -> Result<Assumptions, CliError> {
    let model = model(options)?;
    let ask_installed = match options.get(&args::INSTALLED) {
        AskInstalled::Auto => gpus.iter().any(|gpu| !gpu.what_if),
        AskInstalled::Yes => true,
        AskInstalled::No => false,
    };
    if !ask_installed {
        return Ok(Assumptions { model, ..Assumptions::default() });
    }
    let found = Installed::new(base, &scan_environments(), gpus, &today());
    let Installed { versions, beside, mut findings } = found;
    findings.extend(findings::findings(base, gpus));
    Ok(Assumptions { versions, beside, model, findings })
}

/// The model that was named.
pub(crate) fn model(options: &Options) -> Result<Option<Model>, CliError> {
    options.get(&args::MODEL).map(|name| open(options, &name)).transpose()
}

/// A model by its name: on this machine, on its hub where that may be asked, or in the table of known models.
pub(crate) fn open(options: &Options, name: &Path) -> Result<Model, CliError> {
    let places = Places::of_this_user();
    let is_away = options.get(&args::FETCH) && find(name, &places).is_err();
    let model = match is_away {
        true => Model::fetch(name, &Hub::of_this_user()),
        false => Model::open(name, &places),
    };
    model.map_err(|error| CliError::Usage(error.to_string()))
}

/// The exit code a list of verdicts stands for: 0 only when everything is known to run. A script that starts
/// a server on 0 must not start it on a guess, so what is unknown or merely has no known obstacle has a code of its own,
/// unless the user accepts the latter.
pub(crate) fn exit(verdicts: &[Verdict], accept_no_obstacle: bool) -> Exit {
    let outcomes = || verdicts.iter().map(|verdict| verdict.outcome);
    let runs = |one: Outcome| one.runs() || accept_no_obstacle && one == Outcome::NoObstacle;
    match () {
        () if outcomes().any(Outcome::is_bad) => Exit::CheckFailed,
        () if !outcomes().all(runs) => Exit::Unknown,
        () => Exit::Fine,
    }
}

/// GPUs that were named; without any, those of this machine. Naming one asks no driver.
pub(crate) fn targets(options: &Options) -> Result<Vec<Target>, CliError> {
    let named = what_if::choice(options)?.named;
    if !named.is_empty() {
        return Ok(counted(named.iter().map(|gpu| Target::from_gpu(gpu, &Driver::default()))));
    }
    let frame = first_frame(open_source(options, AtEnd::Stop)?)?;
    demand_gpu(options, &frame)?;
    if frame.gpus.is_empty() {
        let hint =
            "name one: `warpscope check --gpu T4`; `warpscope doctor` says why none was found";
        return Err(CliError::NoGpu(format!("no NVIDIA GPU to check; {hint}")));
    }
    Ok(counted(frame.gpus.iter().map(|gpu| Target::from_gpu(gpu, &frame.driver))))
}

/// GPUs that know how many of them are equal.
fn counted(gpus: impl Iterator<Item = Target>) -> Vec<Target> {
    let mut gpus: Vec<_> = gpus.collect();
    Target::count_equals(&mut gpus);
    gpus
}
