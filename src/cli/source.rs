use super::exit::CliError;
use super::options::Options;
use crate::source::Source;
pub use crate::source::replay::AtEnd;
use crate::source::replay::ReplaySource;

/// The source the options ask for: a recording where one is named, this machine otherwise.
/// `at_end` says what a recording does after its last frame.
pub fn open_source(options: &Options, at_end: AtEnd) -> Result<Box<dyn Source>, CliError> {
    let Some(path) = &options.source.recording else {
        return local();
    };
    let source = ReplaySource::open(path).map_err(|error| CliError::Usage(error.to_string()))?;
    let source = source.at_speed(options.source.speed).from(options.source.start).ending(at_end);
    Ok(Box::new(source))
}

fn local() -> Result<Box<dyn Source>, CliError> {
    Err(CliError::Failed("this build cannot ask the machine yet; name a recording".to_owned()))
}
