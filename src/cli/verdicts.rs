//! `warpscope check` and `warpscope why`: options in, requests out.

use std::io;

use warpscope_probes::driver::Driver;
use warpscope_probes::rules::RuleBase;

use super::check::{CheckRequest, run as run_check};
use super::exit::{CliError, Exit};
use super::live::{demand_gpu, first_frame};
use super::options::Options;
use super::source::{AtEnd, open_source};
use super::why::{WhyRequest, run as run_why};
use super::{output, whatif};
use crate::engine::Target;

/// Verdicts for every GPU named, or for every GPU here.
pub(super) fn check(options: &Options) -> Result<Exit, CliError> {
    let style = output::style(options);
    let request = CheckRequest {
        gpus: targets(options)?,
        queries: options.frameworks.clone(),
        only_bad: options.output.only_failures,
        json: options.output.json,
        width: style.width.and_then(|width| u16::try_from(width).ok()),
        ascii: style.ascii,
        color: style.color,
    };
    exit(run_check(
        RuleBase::builtin(),
        &request,
        &mut io::stdout().lock(),
        &mut io::stderr().lock(),
    )?)
}

/// One verdict with everything behind it, GPU by GPU.
pub(super) fn why(options: &Options) -> Result<Exit, CliError> {
    let style = output::style(options);
    let mut worst = 0;
    for gpu in targets(options)? {
        let request = WhyRequest {
            gpu,
            queries: options.frameworks.clone(),
            fix_only: options.output.fix_only,
            json: options.output.json,
            width: style.width.and_then(|width| u16::try_from(width).ok()),
            ascii: style.ascii,
            color: style.color,
        };
        let code = run_why(
            RuleBase::builtin(),
            &request,
            &mut io::stdout().lock(),
            &mut io::stderr().lock(),
        )?;
        worst = worse(worst, code);
        if code == Exit::Usage.code() {
            break;
        }
    }
    exit(worst)
}

fn exit(code: u8) -> Result<Exit, CliError> {
    let exits = [Exit::Fine, Exit::CheckFailed, Exit::Usage, Exit::Unknown];
    exits
        .into_iter()
        .find(|exit| exit.code() == code)
        .ok_or_else(|| CliError::Failed(format!("unforeseen result {code}")))
}

/// GPUs that were named; without any, those of this machine. Naming one asks no driver.
fn targets(options: &Options) -> Result<Vec<Target>, CliError> {
    let named = whatif::choice(options)?.named;
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

/// Of two codes the one that says more: usage, then failure, then unknown, then fine.
fn worse(one: u8, other: u8) -> u8 {
    const ORDER: [Exit; 4] = [Exit::Usage, Exit::CheckFailed, Exit::Unknown, Exit::Fine];
    let said = |exit: &&Exit| [one, other].contains(&exit.code());
    ORDER.iter().find(said).map_or(one, |exit| exit.code())
}
