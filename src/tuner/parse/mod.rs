//! A spec from TOML. Unknown keys are errors: a mistyped `tolerence` must not become no tolerance.

mod contract;
mod fields;
mod launch;
mod raw;

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use toml::Spanned;

use super::command_line::CommandLine;
use super::cuda::Cuda;
use super::spec::{Kind, MOST_CANDIDATES, MOST_COMBINATIONS, Spec};
use super::strategy::Strategy;
use super::{cpu, cuda, names};
use contract::contract;
use fields::{
    baseline, command, dtypes, early_stop, kind, list, metrics, name, objective, params,
    restrictions, roof, shapes, strategy, time, whole,
};
use raw::{Checked, Raw, RawLaunch, Scalar, Words, Wrong, wrong};

/// Largest spec that is read.
const MAX_BYTES: usize = 1 << 20;

/// What is wrong with a spec and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct SpecError {
    /// File as the user knows it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong and the way out.
    pub message: String,
}

/// Reads a spec; `file` is its name in messages.
pub fn parse(file: &str, text: &str) -> Result<Spec, SpecError> {
    let error = |at: usize, message: String| SpecError {
        file: file.to_owned(),
        line: 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count(),
        message,
    };
    if text.len() > MAX_BYTES {
        return Err(error(0, format!("larger than {MAX_BYTES} bytes")));
    }
    let raw: Raw = toml::from_str(text).map_err(|why| {
        let at = why.span().map_or(0, |span| span.start);
        error(at, why.message().lines().collect::<Vec<_>>().join(": "))
    })?;
    understand(raw).map_err(|Wrong(at, message)| error(at.start, message))
}

fn understand(raw: Raw) -> Checked<Spec> {
    let kind = kind(raw.kind.as_ref())?;
    let dtypes = dtypes(raw.dtypes.as_ref(), kind)?;
    let shapes = shapes(&raw.shape)?;
    let (contract, reference_at) = contract(raw.contract.get_ref(), kind, raw.shell)?;
    let mut params = params(&raw.params)?;
    let run = run(&raw, kind, &mut params, &dtypes)?;
    let cuda = match kind {
        Kind::Cuda(code) => {
            Some(launch::launch(&raw, code, raw.contract.get_ref(), contract.work)?)
        }
        Kind::Command | Kind::Cpu => launch::refused(&raw).map(|()| None)?,
    };
    let fits = match kind {
        Kind::Cpu => cpu::check(contract.work, &shapes, &dtypes),
        Kind::Cuda(_) => {
            let function = cuda.as_ref().and_then(|cuda| cuda.function.as_deref());
            cuda::check(contract.work, function, &shapes, &dtypes)
        }
        Kind::Command => Ok(()),
    };
    fits.map_err(|why| Wrong(raw.contract.span(), why))?;
    let span = |default: u64, given: &Option<Spanned<Scalar>>| {
        given.as_ref().map_or(Ok(Duration::from_secs(default)), time)
    };
    let count =
        |default: usize, given: &Option<Spanned<i64>>| given.as_ref().map_or(Ok(default), whole);
    let spec = Spec {
        kind,
        name: name(&raw.name)?,
        sources: sources(&raw, cuda.as_ref()),
        build_timeout: span(300, &raw.build_timeout)?,
        build: raw.build.as_ref().map(|build| command(build, raw.shell)).transpose()?,
        run,
        timeout: span(30, &raw.timeout)?,
        contract,
        shapes,
        dtypes,
        restrictions: raw
            .restrictions
            .as_ref()
            .map_or(Ok(Vec::new()), |given| restrictions(given, &params))?,
        strategy: raw.strategy.as_ref().map_or(Ok(Strategy::Grid), strategy)?,
        metrics: metrics(&raw.metrics)?,
        objective: raw.objective.as_ref().map(objective).transpose()?,
        budget: raw.budget.as_ref().map(whole).transpose()?,
        baseline: raw.baseline.as_ref().map(|given| baseline(given, &params)).transpose()?,
        params,
        samples: count(30, &raw.samples)?,
        blocks: count(5, &raw.blocks)?,
        warmup: count(1, &raw.warmup)?,
        early_stop: raw.early_stop.as_ref().map_or(Ok(Some(2.0)), early_stop)?,
        device: raw.device.clone().or_else(|| (kind == Kind::Cpu).then(|| "cpu".to_owned())),
        cuda,
        cpu_roof: kind == Kind::Cpu || raw.roof.as_ref().map_or(Ok(false), roof)?,
    };
    whole_spec(&spec, &raw, reference_at)?;
    Ok(spec)
}

/// The files that the kernel is made of: its sources, and its images where no build makes them.
fn sources(raw: &Raw, cuda: Option<&Cuda>) -> Vec<String> {
    let mut sources = raw.source.as_ref().map(list).unwrap_or_default();
    if let (Some(_), None, Some(cuda)) = (&raw.image, &raw.build, cuda) {
        let any = cuda.words.names().map(|name| (name.to_owned(), "*".to_owned())).collect();
        sources.extend(cuda.words.fill(&any).into_iter().next());
    }
    sources
}

/// What is run, and for kernels of warpscope the grid it needs.
fn run(
    raw: &Raw,
    kind: Kind,
    params: &mut BTreeMap<String, Vec<String>>,
    dtypes: &[String],
) -> Checked<CommandLine> {
    match (kind, &raw.run) {
        (Kind::Command, Some(run)) => command(run, raw.shell),
        (Kind::Command, None) => wrong(&raw.name.span(), "`run` is missing: the program to time"),
        (Kind::Cuda(_), _) => Ok(CommandLine::of_words(Vec::new())),
        (Kind::Cpu, Some(run)) => wrong(&run.span(), "`run` is not for kind \"cpu\""),
        (Kind::Cpu, None) => {
            let at = |name: &str| raw.params.get(name).map_or(raw.contract.span(), Spanned::span);
            cpu::complete(params, dtypes).map_err(|(name, why)| Wrong(at(&name), why))?;
            Ok(cpu::command(params))
        }
    }
}

/// What only all keys together can say.
fn whole_spec(spec: &Spec, raw: &Raw, reference_at: Range<usize>) -> Checked<()> {
    let too_many = |most: usize, what: &str| {
        let message = format!("more than {most} {what}: leave values out, or add restrictions");
        wrong(&raw.name.span(), message)
    };
    if spec.grid_size().is_none_or(|size| size > MOST_COMBINATIONS) {
        return too_many(MOST_COMBINATIONS, "combinations");
    }
    match spec.candidates() {
        all if all.is_empty() => {
            return wrong(&raw.name.span(), "`restrictions` leave no candidate");
        }
        all if all.len() > MOST_CANDIDATES => return too_many(MOST_CANDIDATES, "candidates"),
        all if spec.baseline.as_ref().is_some_and(|baseline| !all.contains(baseline)) => {
            return wrong(&raw.name.span(), "`restrictions` exclude the baseline");
        }
        _ => {}
    }
    let at = |words: &Option<Spanned<Words>>| words.as_ref().map_or(raw.name.span(), Spanned::span);
    names::check(spec).map_err(|(place, why)| match place {
        names::Place::Run => Wrong(at(&raw.run), why),
        names::Place::Launch => {
            let launch = raw.launch.as_ref().map_or(raw.name.span(), RawLaunch::place);
            Wrong(launch, why)
        }
        names::Place::Build => Wrong(at(&raw.build), why),
        names::Place::Reference => Wrong(reference_at, why),
    })
}

#[cfg(test)]
mod tests;
