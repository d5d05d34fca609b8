use super::commands::DASHBOARD;
use super::exit::{CliError, Exit};
use super::options::Options;

/// The dashboard on a recording: the options name it, and the source follows them.
pub(super) fn run(options: &Options) -> Result<Exit, CliError> {
    (DASHBOARD.run)(options)
}
