//! Arguments and one file per subcommand.
//!
//! Two stages: the command line is parsed without side effects ([`LowArgs`]), then resolved with
//! environment and configuration into [`Options`]. A subcommand sees only the latter. Adding one is a
//! file and a row in [`COMMANDS`].

mod commands;
mod completions;
mod config;
mod doctor;
mod exit;
mod live;
mod low;
mod man;
mod options;
mod output;
mod parser;
mod record;
mod replay;
mod snapshot;
mod source;
mod stream;

use std::ffi::OsString;
use std::process::ExitCode;

pub use commands::{COMMANDS, CommandSpec, DASHBOARD};
pub use exit::{CliError, Exit};
pub use live::first_frame;
pub use low::{LowArgs, Parsed, parse};
pub use options::{
    BenchOptions, ColorChoice, Options, OutputOptions, PictureFormat, PictureOptions,
    RecordOptions, SourceOptions, ViewOptions, WhatIf, resolve,
};
pub use parser::command;
pub use source::{AtEnd, open_source};

use crate::config::Environment;

/// The whole program.
pub fn main() -> ExitCode {
    let outcome = run(std::env::args_os(), Environment::of_process());
    exit::report(outcome).into()
}

/// The program with its arguments (the first is its own name) and environment given.
pub fn run(args: impl IntoIterator<Item = OsString>, env: Environment) -> Result<Exit, CliError> {
    let low = match parse(args)? {
        Parsed::Run(low) => low,
        Parsed::Print(text) => return output::print(&text),
    };
    let options = resolve(&low, env)?;
    if low.command.screen {
        output::demand_terminal()?;
    }
    (low.command.run)(&options)
}
