use super::{dashboard, output};
use crate::commands::cli::{CONFIG_FILE, CliError, CommandSpec, Exit, Options, Result};
use crate::commands::frames::what_if;
use crate::config::args::{self, ConfigAction};
use crate::config::{ConfigPath, sample};
use crate::shell::keymap::Keymap;
use crate::shell::keys::rows;

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "config",
    about: "Print a sample configuration, validate one, or print where it is expected",
    more: "The dashboard alone writes the configuration: for w on its options screen, and with the answer to whether it may benchmark GPUs.",
    args: &[&[&args::ACTION], CONFIG_FILE],
    examples: &[
        ("config sample", "every key with its default"),
        ("config check --config other.toml", "all errors, each with its line"),
    ],
    lenient: true,
    run,
    ..CommandSpec::BASE
};

/// A documented sample, a check of the configuration, or where it is looked for.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    match options.get(&args::ACTION) {
        ConfigAction::Check => check(options),
        ConfigAction::Path => match options.config.path.path() {
            Some(path) => output::print(&path.display().to_string()),
            None => Err(nowhere()),
        },
        ConfigAction::Sample => output::print(&documented()),
    }
}

/// The sample, with every action of the dashboard.
pub(crate) fn documented() -> String {
    sample(rows().iter().map(|row| (row.spec.id, row.spec.keys, row.spec.help)))
}

fn check(options: &Options) -> Result<Exit> {
    let config = &options.config;
    let path = config.path.path().ok_or_else(nowhere)?.display();
    match (&config.settings, &config.path) {
        (Err(why), _) => Err(CliError::Usage(why.clone())),
        (Ok(None), ConfigPath::Usual(_)) => {
            output::print(&format!("{path}: no such file; defaults are used"))
        }
        (Ok(_), _) => match usable(options) {
            Ok(()) => output::print(&format!("{path}: fine")),
            Err(why) => Err(CliError::Usage(format!("{path}: {why}"))),
        },
    }
}

/// Whether what the file names exists: actions, keys, theme, GPUs.
fn usable(options: &Options) -> Result<()> {
    Keymap::new(&options.keys).map_err(CliError::Usage)?;
    dashboard::look(options, false)?;
    what_if::choice(options).map(drop)
}

fn nowhere() -> CliError {
    CliError::usage("neither XDG_CONFIG_HOME nor HOME is set; name a file with --config")
}
