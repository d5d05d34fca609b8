use super::exit::{CliError, Exit};
use super::options::Options;
use super::output;
use crate::config::{ConfigPath, sample};

/// A documented sample, a check of the configuration, or where it is looked for.
pub(super) fn run(options: &Options) -> Result<Exit, CliError> {
    match options.word.as_deref() {
        Some("check") => check(options),
        Some("path") => match options.config.path.path() {
            Some(path) => output::print(&path.display().to_string()),
            None => Err(nowhere()),
        },
        _ => output::print(&sample()),
    }
}

fn check(options: &Options) -> Result<Exit, CliError> {
    let config = &options.config;
    let path = config.path.path().ok_or_else(nowhere)?.display();
    match (&config.settings, &config.path) {
        (Err(why), _) => Err(CliError::Usage(why.clone())),
        (Ok(None), ConfigPath::Usual(_)) => {
            output::print(&format!("{path}: no such file; defaults are used"))
        }
        (Ok(_), _) => output::print(&format!("{path}: fine")),
    }
}

fn nowhere() -> CliError {
    CliError::Usage("neither XDG_CONFIG_HOME nor HOME is set; name a file with --config".to_owned())
}
