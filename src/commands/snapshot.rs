use super::output;
use crate::commands::cli::{
    CONFIG_FILE, CliError, CommandSpec, Exit, LIVE, NAMED_GPUS, Options, STYLE,
};
use crate::commands::frames::source::{AtEnd, open_source};
use crate::commands::frames::what_if;
use crate::commands::frames::{demand_gpu, first_frame};
use crate::config::args;
use crate::io::sink::{Redactor, table};

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "snapshot",
    about: "Print one frame as a table or JSON",
    args: &[
        &[&args::JSON, &args::REDACT, &args::REQUIRE_GPU, &args::SOURCE, &args::START],
        NAMED_GPUS,
        LIVE,
        STYLE,
        CONFIG_FILE,
    ],
    examples: &[
        ("snapshot", "a table"),
        ("snapshot --json --require-gpu", "for a script that needs a GPU"),
    ],
    run,
    ..CommandSpec::BASE
};

/// One frame as a table or JSON.
pub(crate) fn run(options: &Options) -> Result<Exit, CliError> {
    let mut frame = first_frame(open_source(options, AtEnd::Stop)?)?;
    what_if::overlay(options, &mut frame)?;
    if options.get(&args::REDACT) {
        Redactor::default().frame(&mut frame);
    }
    if options.get(&args::JSON) {
        output::json(&frame)?;
    } else {
        output::print(&table::frame(&frame, output::style(options)))?;
    }
    demand_gpu(options, &frame)?;
    Ok(Exit::Fine)
}
