//! `warpscope bench`: options in, [`BenchRequest`] out.

use std::io;

use super::bench::{BenchRequest, run as run_bench};
use super::exit::{CliError, Exit};
use super::options::{Form, Options};

/// Runs the benchmark once and prints what it reached.
pub(super) fn run(options: &Options) -> Result<Exit, CliError> {
    if let Some(base) = &options.bench.against {
        return super::versus::run(options, base);
    }
    if matches!(options.output.form, Form::Markdown | Form::Csv) {
        return Err(CliError::Usage("--markdown and --csv go with --against".to_owned()));
    }
    let request = BenchRequest {
        device: options.bench.device.clone(),
        profiles: vec![options.bench.profile.clone()],
        dtypes: options.bench.dtypes.iter().map(|dtype| dtype.id().to_owned()).collect(),
        json: options.output.json,
        record: options.bench.record.clone(),
    };
    let exit = run_bench(&request, &mut io::stdout().lock(), &mut io::stderr().lock())?;
    if let Some(journal) = request.record.filter(|_| exit != Exit::Usage) {
        super::history::remember(options, &journal);
    }
    Ok(exit)
}
