use super::exit::{CliError, Exit};
use super::live::{demand_gpu, first_frame};
use super::options::Options;
use super::source::{AtEnd, open_source};
use super::{output, whatif};
use crate::io::sink::{Redactor, table};

/// One frame as a table or JSON.
pub(super) fn run(options: &Options) -> Result<Exit, CliError> {
    let mut frame = first_frame(open_source(options, AtEnd::Stop)?)?;
    whatif::dress(options, &mut frame)?;
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
