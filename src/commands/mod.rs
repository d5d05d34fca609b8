//! Arguments and one file per subcommand.
//!
//! Two stages: the command line is parsed without side effects ([`LowArgs`]), then resolved with
//! environment and configuration into [`Options`]. A subcommand sees only the latter. Adding one is a
//! file and a row in [`COMMANDS`].

mod answer;
pub mod bench;
pub mod check;
pub mod cli;
mod compare;
mod completions;
mod config;
mod dashboard;
mod doctor;
mod export;
mod frames;
mod gpu;
mod history;
mod identity;
mod inspect;
mod man;
mod noise;
mod output;
pub(crate) mod probe;
mod record;
mod replay;
mod screenshot;
pub(crate) mod selftest;
mod snapshot;
mod stream;
mod tables;
mod tune;
pub mod why;
mod worker;

use std::ffi::OsString;
use std::io::ErrorKind;
use std::process::ExitCode;

pub use crate::commands::cli::exit::{CliError, Exit};
pub use crate::commands::cli::options::{
    AskOptions, BenchOptions, ColorChoice, Form, GpuOptions, Only, Options, OutputOptions,
    PictureFormat, PictureOptions, RecordOptions, SourceOptions, ViewOptions, WhatIf, resolve,
};
pub use crate::commands::cli::parser::command;
pub use crate::commands::cli::raw_args::{LowArgs, Parsed, parse};
pub use crate::commands::cli::registry::{COMMANDS, CommandSpec, DASHBOARD};
pub use crate::commands::frames::first_frame;
pub use crate::commands::frames::source::{AtEnd, open_source};

use warpscope_probes::bounded;

use crate::config::Environment;

/// The whole program.
pub fn main() -> ExitCode {
    let outcome = run(std::env::args_os(), cli::elevated::environment());
    cli::exit::report(outcome).into()
}

/// The program with its arguments (the first is its own name) and environment given.
pub fn run(args: impl IntoIterator<Item = OsString>, env: Environment) -> Result<Exit, CliError> {
    let mut args = args.into_iter().peekable();
    let program = args.next().unwrap_or_default();
    if args.peek().is_some_and(|first| first == worker::NAME) {
        return worker::run(args.skip(1), &env);
    }
    let low = match parse(std::iter::once(program).chain(args))? {
        Parsed::Run(low) => low,
        Parsed::Print(text) => return output::print(&text),
    };
    let options = resolve(&low, env)?;
    check_libraries(&options)?;
    if low.command.screen {
        output::demand_terminal()?;
    }
    (low.command.run)(&options)
}

/// The dynamic linker would wait for a pipe and map a device: libraries that were named are looked at first. A name without a folder is one
/// it finds by itself.
fn check_libraries(options: &Options) -> Result<(), CliError> {
    let named = [&options.source.library, &options.gpu.cublas].into_iter().flatten();
    for path in named.filter(|path| path.components().count() > 1) {
        match bounded::open(path) {
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                return Err(CliError::Usage(format!("{}: {error}", path.display())));
            }
            _ => {}
        }
    }
    Ok(())
}
