use crate::commands::cli::{CONFIG_FILE, CommandSpec, NAMED_GPUS, SCREEN, STYLE};
use crate::commands::dashboard;
use crate::config::args;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "replay",
    about: "Play a recording in the dashboard",
    args: &[
        &[&args::RECORDING, &args::SPEED, &args::START],
        NAMED_GPUS,
        SCREEN,
        STYLE,
        CONFIG_FILE,
    ],
    examples: &[(
        "replay run.jsonl --speed 4 --start 5m",
        "at four times the speed, starting at minute 5",
    )],
    screen: true,
    run: dashboard::run,
    ..CommandSpec::BASE
};
