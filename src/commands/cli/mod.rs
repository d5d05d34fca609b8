//! The command line: parsed without side effects, then resolved with the environment and the configuration; and how the
//! program ends. Knows no command: the list of them comes from above.

mod command;
mod exit;
mod options;
pub(crate) mod parser;
mod pasted;
pub(crate) mod raw_args;

pub(crate) use command::{
    Args, CONFIG_FILE, FLEET, HOSTS, LIVE, NAMED_GPUS, ON_GPU, QUESTION, SCREEN, STYLE,
};
pub use command::{CommandSpec, Commands};
pub(crate) use exit::Result;
pub use exit::{CliError, Exit};
pub(crate) use options::{Form, Options, locale, resolve, speaks_utf8};

pub(crate) use crate::worker::process::ARGUMENT as WORKER;
