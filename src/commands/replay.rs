use super::exit::{CliError, Exit};
use super::options::Options;
use crate::commands::registry::DASHBOARD;

/// The dashboard on a recording: the options name it, and the source follows them.
pub(super) fn run(options: &Options) -> Result<Exit, CliError> {
    (DASHBOARD.run)(options)
}
