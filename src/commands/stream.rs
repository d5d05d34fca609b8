use warpscope_probes::Frame;

use super::output;
use crate::commands::cli::exit::{CliError, Exit};
use crate::commands::cli::options::Options;
use crate::commands::frames::follow;
use crate::commands::frames::source::{AtEnd, open_source};
use crate::io::sink::{csv, jsonl};

/// One frame per line until stopped.
pub(crate) fn run(options: &Options) -> Result<Exit, CliError> {
    let source = open_source(options, AtEnd::Stop)?;
    if options.output.csv {
        output::write(csv::head().as_bytes())?;
        follow(source, options, |frame| output::write(csv::rows(frame).as_bytes()))?;
    } else {
        follow(source, options, json_line)?;
    }
    Ok(Exit::Fine)
}

fn json_line(frame: &Frame) -> Result<(), CliError> {
    output::write(&jsonl::line(frame).map_err(output::not_json)?)
}
