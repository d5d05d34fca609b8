//! The program: one module per command, named like it, and what commands share.
//!
//! A command is a file `<name>.rs`, or a folder `<name>/` once it has parts: its declaration (`COMMAND`: name, help,
//! arguments, examples), what it does, its form for people and its JSON. `cli` turns the command line, the environment
//! and the configuration into `Options` and knows no command; `frames`, `answer`, `gpu`,
//! `output` and `identity` are what several commands share. Adding a command is its module and its row in [`COMMANDS`].

mod answer;
pub mod bench;
mod check;
mod cli;
mod compare;
mod completions;
mod config;
mod dashboard;
mod doctor;
mod dtypes;
mod elevated;
mod environments;
mod explain;
mod export;
#[cfg(feature = "remote")]
mod exporter;
mod fleet;
mod frames;
mod frameworks;
mod gpu;
mod gpus;
mod history;
mod host;
mod hosts;
mod identity;
mod inspect;
mod man;
mod mark;
mod noise;
mod output;
mod plan;
mod probe;
mod process;
mod record;
mod replay;
mod rows;
mod screenshot;
mod selftest;
mod signals;
mod snapshot;
mod stream;
#[cfg(test)]
mod tests;
#[cfg(feature = "remote")]
mod token;
mod tune;
mod tuned;
mod versus;
mod why;
mod worker;

use std::ffi::OsString;
use std::io::ErrorKind;
use std::process::ExitCode;

use warpscope_probes::bounded;

use self::cli::raw_args::{Parsed, parse};
pub use self::cli::{CliError, CommandSpec, Commands, Exit};
use self::cli::{Options, Result, resolve};
use crate::config::{Environment, args};

/// Every command with a name, sorted by it.
pub static COMMANDS: &[CommandSpec] = &[
    bench::COMMAND,
    check::COMMAND,
    compare::COMMAND,
    completions::COMMAND,
    config::COMMAND,
    doctor::COMMAND,
    dtypes::COMMAND,
    explain::COMMAND,
    export::COMMAND,
    #[cfg(feature = "remote")]
    exporter::COMMAND,
    frameworks::COMMAND,
    gpus::COMMAND,
    history::COMMAND,
    host::COMMAND,
    inspect::COMMAND,
    man::COMMAND,
    mark::COMMAND,
    noise::COMMAND,
    plan::COMMAND,
    probe::COMMAND,
    record::COMMAND,
    replay::COMMAND,
    screenshot::COMMAND,
    selftest::COMMAND,
    snapshot::COMMAND,
    stream::COMMAND,
    tune::COMMAND,
    tuned::COMMAND,
    versus::COMMAND,
    why::COMMAND,
];

/// Every command there is.
pub static ALL: Commands = Commands { dashboard: &dashboard::COMMAND, named: COMMANDS };

/// The whole program.
pub fn main() -> ExitCode {
    let outcome = run(std::env::args_os(), elevated::environment());
    output::report(outcome).into()
}

/// The program with its arguments (the first is its own name) and environment given.
pub fn run(args: impl IntoIterator<Item = OsString>, env: Environment) -> Result<Exit> {
    let line: Vec<OsString> = args.into_iter().collect();
    if line.get(1).is_some_and(|first| first == cli::WORKER) {
        return worker::run(line.into_iter().skip(2), &env);
    }
    let raw = match parse(ALL, line.iter().cloned())? {
        Parsed::Run(raw) => raw,
        Parsed::Print(text) => return output::print(&text),
    };
    let options = resolve(&raw, env, ALL)?;
    check_libraries(&options)?;
    if raw.command.screen {
        output::demand_terminal()?;
    }
    if raw.command.runs_there && !options.get(&args::HOSTS).is_empty() {
        return hosts::there::run(&options, raw.command, &line);
    }
    (raw.command.run)(&options)
}

/// The dynamic linker would wait for a pipe and map a device, so libraries named by a path are checked first. A name without a
/// folder is one it finds by itself.
fn check_libraries(options: &Options) -> Result<()> {
    let named = [options.get(&args::LIBRARY), options.get(&args::CUBLAS)].into_iter().flatten();
    for path in named.filter(|path| path.components().count() > 1) {
        match bounded::open(&path) {
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                return Err(CliError::at(&path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}
