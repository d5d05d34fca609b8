use crate::commands::cli::exit::{CliError, Exit};
use crate::commands::cli::options::Options;
use crate::commands::cli::registry::DASHBOARD;

/// The dashboard on a recording: the options name it, and the source follows them.
pub(crate) fn run(options: &Options) -> Result<Exit, CliError> {
    (DASHBOARD.run)(options)
}
