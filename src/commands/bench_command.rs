//! `warpscope bench`: options in, [`BenchRequest`] out.

use std::path::Path;

use super::bench::{BenchRequest, BenchResult, run_and, show};
use super::exit::{CliError, Exit};
use super::gpu::course::Course;
use super::gpu::{timing, tuning};
use super::options::{Form, Options};
use super::output;
use crate::io::sink::{Holds, Limits, Recorder};

/// Runs the benchmark once and prints what it reached.
pub(super) fn run(options: &Options) -> Result<Exit, CliError> {
    if options.gpu.tune {
        return tune(options);
    }
    if let Some(base) = &options.bench.against {
        return super::versus::run(options, base);
    }
    if options.gpu.goals {
        return super::gpu::goals::run(options);
    }
    if matches!(options.output.form, Form::Markdown | Form::Csv) {
        return Err(CliError::Usage("--markdown and --csv go with --against".to_owned()));
    }
    if options.bench.part == "cpu" && !options.bench.paths.is_empty() {
        let why = "--path names paths of GPUs; the CPU has one for each format of --dtype";
        return Err(CliError::Usage(why.to_owned()));
    }
    check_record(options)?;
    let request = BenchRequest {
        device: options.bench.device.clone(),
        profiles: vec![options.bench.profile.clone()],
        dtypes: options.bench.dtypes.iter().map(|dtype| dtype.id().to_owned()).collect(),
        json: options.output.json,
        record: options.bench.record.clone(),
    };
    let exe = std::env::current_exe()?;
    let (mut out, mut err) = (output::stdout(), output::stderr());
    let exit = match part(options) {
        Part::Cpu => run_and(&exe, &request, |_| Ok(()), (&mut out, &mut err))?,
        Part::Both => {
            let more = |result: &mut BenchResult| add_gpus(options, &exe, result);
            run_and(&exe, &request, more, (&mut out, &mut err))?
        }
        Part::Gpu => {
            let mut result = BenchResult::new("gpu");
            result.gpus = timing::measure(options, &exe)?;
            show(&result, &Course::default(), &request, (&mut out, &mut err))?
        }
    };
    if let Some(journal) = request.record.filter(|_| exit != Exit::Usage) {
        super::history::remember(options, &journal);
    }
    Ok(exit)
}

/// Opens the journal once before anything is measured: afterwards is too late to learn that it cannot be written.
pub(super) fn check_record(options: &Options) -> Result<(), CliError> {
    let Some(path) = &options.bench.record else { return Ok(()) };
    let opened = Recorder::open_as(Holds::Journal, path, Limits::default());
    opened.map(drop).map_err(|error| CliError::Usage(error.to_string()))
}

/// Tries the variants of kernels. Those of the CPU are chosen by its instructions.
fn tune(options: &Options) -> Result<Exit, CliError> {
    if options.bench.part == "cpu" {
        return Err(CliError::Usage("--tune tries kernels of GPUs, not of the CPU".to_owned()));
    }
    tuning::run(options)
}

/// What is measured.
enum Part {
    Cpu,
    Both,
    Gpu,
}

/// What asks for kernels or devices of its own asks for nothing else.
fn part(options: &Options) -> Part {
    let gpu = &options.gpu;
    let special = !gpu.which.is_empty()
        || gpu.full
        || gpu.shape.is_some()
        || gpu.variant.is_some()
        || !options.bench.paths.is_empty();
    match options.bench.part.as_str() {
        "cpu" => Part::Cpu,
        "gpu" => Part::Gpu,
        _ if special || gpu.kernels != Default::default() => Part::Gpu,
        _ => Part::Both,
    }
}

/// The GPUs' part, where there is one: the CPU's is worth printing without it.
fn add_gpus(options: &Options, exe: &Path, result: &mut BenchResult) -> Result<(), CliError> {
    match timing::measure(options, exe) {
        Ok(gpus) => result.gpus = gpus,
        Err(CliError::NoGpu(why)) => {
            output::note(format_args!("warpscope bench: no GPU part: {why}"));
            result.no_gpu = Some(why);
        }
        Err(other) => return Err(other),
    }
    Ok(())
}
