use warpscope_probes::host_provider::{HostOptions, HostProvider};
use warpscope_probes::nvml::{NvmlOptions, NvmlProvider};

use super::elevated;
use super::exit::CliError;
use super::options::Options;
use crate::source::Source;
use crate::source::local::LocalSource;
pub use crate::source::replay::AtEnd;
use crate::source::replay::ReplaySource;

/// The source the options ask for: a recording where one is named, this machine otherwise.
/// `at_end` says what a recording does after its last frame.
pub fn open_source(options: &Options, at_end: AtEnd) -> Result<Box<dyn Source>, CliError> {
    let Some(path) = &options.source.recording else {
        return local(options);
    };
    let source = ReplaySource::open(path).map_err(|error| CliError::Usage(error.to_string()))?;
    let source = source.at_speed(options.source.speed).from(options.source.start).ending(at_end);
    Ok(Box::new(source))
}

fn local(options: &Options) -> Result<Box<dyn Source>, CliError> {
    let library = options.source.library.as_deref();
    let library = library.map(|path| elevated::named("--library", path)).transpose()?;
    let nvml = NvmlOptions { library, ..NvmlOptions::default() };
    Ok(Box::new(LocalSource::new(
        Box::new(NvmlProvider::new(nvml)),
        Box::new(HostProvider::new(HostOptions::default())),
        options.source.interval,
    )))
}
