//! `warpscope check` and `warpscope why`: options in, requests out.

pub(crate) mod findings;
pub(crate) mod model;
pub(crate) mod query;
pub(crate) mod rules;
pub(crate) mod text;
use warpscope_probes::driver::Driver;
use warpscope_probes::model::Model;
use warpscope_probes::rules::RuleBase;

use super::check::{CheckRequest, run as run_check};
use super::why::{WhyRequest, run as run_why};
use super::{gpu, inspect, output};
use crate::commands::answer::rules::rule_base;
use crate::commands::cli::exit::{CliError, Exit};
use crate::commands::cli::options::{Form, Options};
use crate::commands::frames::source::{AtEnd, open_source};
use crate::commands::frames::what_if;
use crate::commands::frames::{demand_gpu, first_frame};
use crate::engine::installed::Installed;
use crate::engine::{Premises, Target};

/// Verdicts for every GPU named, or for every GPU here.
pub(crate) fn check(options: &Options) -> Result<Exit, CliError> {
    let style = output::style(options);
    let base = rule_base(options)?;
    let gpus = targets(options)?;
    let request = CheckRequest {
        premises: premises(options, &base, &gpus)?,
        gpus,
        queries: options.ask.words.clone(),
        dtype: options.ask.dtype.clone(),
        only: options.output.only,
        form: options.output.form,
        width: style.width.and_then(|width| u16::try_from(width).ok()),
        ascii: style.ascii,
        color: style.color,
    };
    exit(run_check(&base, &request, &mut output::stdout(), &mut output::stderr())?)
}

/// One verdict with everything behind it, GPU by GPU.
pub(crate) fn why(options: &Options) -> Result<Exit, CliError> {
    let style = output::style(options);
    let base = rule_base(options)?;
    let gpus = targets(options)?;
    let request = WhyRequest {
        premises: premises(options, &base, &gpus)?,
        gpus,
        queries: options.ask.words.clone(),
        dtype: options.ask.dtype.clone(),
        fix: options.output.fix,
        write: options.output.write.clone(),
        json: options.output.form == Form::Json,
        width: style.width.and_then(|width| u16::try_from(width).ok()),
        ascii: style.ascii,
        color: style.color,
    };
    exit(run_why(&base, &request, &mut output::stdout())?)
}

/// What answers take as given: the model that was named, and what is installed here. GPUs of the catalogue are asked about what is
/// installed only on request, since it may not be what will be installed beside them.
fn premises(options: &Options, base: &RuleBase, gpus: &[Target]) -> Result<Premises, CliError> {
    let model = options.ask.model.as_deref().map(Model::read).transpose();
    let model = model.map_err(|error| CliError::Usage(error.to_string()))?;
    let here = options.ask.installed.unwrap_or_else(|| gpus.iter().any(|gpu| !gpu.what_if));
    if !here {
        return Ok(Premises { model, ..Premises::default() });
    }
    let found = Installed::new(base, &inspect::survey(), gpus, &inspect::today());
    let Installed { versions, beside, mut findings } = found;
    findings.extend(gpu::findings(base, gpus));
    Ok(Premises { versions, beside, model, findings })
}

fn exit(code: u8) -> Result<Exit, CliError> {
    let exits = [Exit::Fine, Exit::CheckFailed, Exit::Usage, Exit::Unknown];
    exits
        .into_iter()
        .find(|exit| exit.code() == code)
        .ok_or_else(|| CliError::Failed(format!("unforeseen result {code}")))
}

/// GPUs of this machine; none where there is none.
pub(crate) fn present(options: &Options) -> Result<Vec<Target>, CliError> {
    let frame = first_frame(open_source(options, AtEnd::Stop)?)?;
    Ok(frame.gpus.iter().map(|gpu| Target::from_gpu(gpu, &frame.driver)).collect())
}

/// GPUs that were named; without any, those of this machine. Naming one asks no driver.
fn targets(options: &Options) -> Result<Vec<Target>, CliError> {
    let named = what_if::choice(options)?.named;
    if !named.is_empty() {
        return Ok(named.iter().map(|gpu| Target::from_gpu(gpu, &Driver::default())).collect());
    }
    let frame = first_frame(open_source(options, AtEnd::Stop)?)?;
    demand_gpu(options, &frame)?;
    if frame.gpus.is_empty() {
        let hint =
            "name one: `warpscope check --gpu T4`; `warpscope doctor` says why none was found";
        return Err(CliError::NoGpu(format!("no NVIDIA GPU to check; {hint}")));
    }
    Ok(frame.gpus.iter().map(|gpu| Target::from_gpu(gpu, &frame.driver)).collect())
}
