use warpscope_probes::Frame;

use super::output;
use crate::commands::cli::{
    CONFIG_FILE, CommandSpec, Exit, FLEET, HOSTS, LIVE, NAMED_GPUS, Options, Result,
};
use crate::commands::frames::follow;
use crate::commands::frames::source::{AtEnd, open_source};
use crate::config::args::{self, LineFormat};
use crate::io::sink::{csv, jsonl};
use crate::worker::children::die_with_input;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "stream",
    about: "Print one frame per line until stopped",
    args: &[
        &[&args::LINE_FORMAT, &args::COUNT, &args::DURATION],
        &[&args::REDACT, &args::REQUIRE_GPU, &args::END_WITH_INPUT],
        &[&args::SOURCE, &args::SPEED, &args::START],
        NAMED_GPUS,
        LIVE,
        HOSTS,
        FLEET,
        CONFIG_FILE,
    ],
    examples: &[
        ("stream -i 5s", "one frame every five seconds, as JSON Lines"),
        ("stream --host gpu1 --host gpu2", "of two other machines"),
        ("stream --format csv --count 10", "ten rows per GPU"),
    ],
    run,
    ..CommandSpec::BASE
};

/// One frame per line until stopped.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let source = open_source(options, AtEnd::Stop)?;
    if options.get(&args::END_WITH_INPUT) {
        die_with_input();
    }
    if options.get(&args::LINE_FORMAT) == LineFormat::Csv {
        output::write(csv::head().as_bytes())?;
        follow(source, options, |frame| output::write(csv::rows(frame).as_bytes()))?;
    } else {
        let line = |frame: &Frame| output::write(&jsonl::line(frame).map_err(output::not_json)?);
        follow(source, options, line)?;
    }
    Ok(Exit::Fine)
}
