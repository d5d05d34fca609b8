//! `warpscope mark`: a remark for the recording that runs.

use super::record::remark;
use crate::commands::cli::{CONFIG_FILE, CommandSpec, Exit, Options, Result};
use crate::config::args;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "mark",
    about: "Add a remark to the run being recorded",
    args: &[&[&args::REMARK], CONFIG_FILE],
    examples: &[("mark new tile size", "while `warpscope record run.jsonl -- ./tune` runs")],
    run,
    ..CommandSpec::BASE
};

fn run(options: &Options) -> Result<Exit> {
    remark::send(&options.env, &options.get(&args::REMARK).join(" "))
}
