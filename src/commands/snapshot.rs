use warpscope_probes::Frame;
use warpscope_probes::catalogue::enrich;

use super::output;
use crate::commands::cli::{
    CONFIG_FILE, CommandSpec, Exit, FLEET, HOSTS, LIVE, NAMED_GPUS, Options, Result, STYLE,
};
use crate::commands::frames::source::{AtEnd, open_source};
use crate::commands::frames::{demand_gpu, first_frame, first_frames, what_if};
use crate::commands::{fleet, hosts};
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
        HOSTS,
        FLEET,
        CONFIG_FILE,
    ],
    examples: &[
        ("snapshot", "a table"),
        ("snapshot --host gpu1 --host gpu2", "tables of two other machines"),
        ("snapshot --json --require-gpu", "for a script that needs a GPU"),
    ],
    run,
    ..CommandSpec::BASE
};

/// One frame as a table or JSON; of several hosts, one each.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    // One for all frames: a host, a user and a GPU keep their numbers.
    let mut redactor = options.get(&args::REDACT).then(Redactor::default);
    if let Some(url) = options.get(&args::PROMETHEUS) {
        let frames = fleet::frames(&url, options)?;
        frames.iter().try_for_each(|frame| show(options, frame, redactor.as_mut()))?;
        return Ok(Exit::Fine);
    }
    let hosts = hosts::named(options)?;
    if hosts.is_empty() {
        let frame = first_frame(open_source(options, AtEnd::Stop)?)?;
        show(options, &frame, redactor.as_mut())?;
        demand_gpu(options, &frame)?;
        return Ok(Exit::Fine);
    }
    let frames = first_frames(open_source(options, AtEnd::Stop)?, &hosts);
    let mut exit = Exit::Fine;
    for frame in frames {
        let shown = frame.and_then(|frame| {
            show(options, &frame, redactor.as_mut()).map_err(|error| error.to_string())?;
            demand_gpu(options, &frame).map_err(|error| error.to_string())
        });
        if let Err(why) = shown {
            output::note(why);
            exit = Exit::CheckFailed;
        }
    }
    Ok(exit)
}

fn show(options: &Options, frame: &Frame, redactor: Option<&mut Redactor>) -> Result<()> {
    let mut frame = frame.clone();
    // A source leaves that to its second frame, so that nobody waits for the first.
    frame.gpus.iter_mut().for_each(enrich);
    what_if::overlay(options, &mut frame)?;
    if let Some(redactor) = redactor {
        redactor.frame(&mut frame);
    }
    if options.get(&args::JSON) {
        output::json(&frame)
    } else {
        output::print(&table::frame(&frame, output::style(options))).map(drop)
    }
}
