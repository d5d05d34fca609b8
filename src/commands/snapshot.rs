use super::output;
use crate::commands::cli::exit::{CliError, Exit};
use crate::commands::cli::options::Options;
use crate::commands::frames::source::{AtEnd, open_source};
use crate::commands::frames::what_if;
use crate::commands::frames::{demand_gpu, first_frame};
use crate::io::sink::{Redactor, table};

/// One frame as a table or JSON.
pub(crate) fn run(options: &Options) -> Result<Exit, CliError> {
    let mut frame = first_frame(open_source(options, AtEnd::Stop)?)?;
    what_if::dress(options, &mut frame)?;
    if options.output.redact {
        Redactor::default().frame(&mut frame);
    }
    if options.output.json {
        output::json(&frame)?;
    } else {
        output::print(&table::frame(&frame, output::style(options)))?;
    }
    demand_gpu(options, &frame)?;
    Ok(Exit::Fine)
}
