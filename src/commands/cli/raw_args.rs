use std::ffi::OsString;

use clap::ArgMatches;
use clap::error::ErrorKind;
use clap::parser::ValueSource;

use super::command::{CommandSpec, Commands};
use super::exit::{CliError, Result};
use super::parser::command_for;
use super::pasted;
use crate::config::{Form, Value, Values};

/// The command line, understood but not yet joined with environment and configuration.
pub(crate) struct RawArgs {
    /// What to do.
    pub(crate) command: &'static CommandSpec,
    /// What was given on the line, and only that.
    pub(crate) values: Values,
}

/// What a command line asks for.
pub(crate) enum Parsed {
    /// A command.
    Run(RawArgs),
    /// Help or the version.
    Print(String),
}

/// Parses a command line, its first word being the program's name. Reads and writes nothing.
pub(crate) fn parse(
    commands: Commands,
    args: impl IntoIterator<Item = OsString>,
) -> Result<Parsed> {
    let line = pasted::apart(commands, args.into_iter().collect());
    let matches = match command_for(commands, &line).try_get_matches_from(line) {
        Ok(matches) => matches,
        Err(error) => return refused(&error),
    };
    let mut values = Values::new();
    collect(commands.dashboard, &matches, &mut values);
    let mut command = commands.dashboard;
    if let Some((name, inner)) = matches.subcommand()
        && let Some(named) = commands.named.iter().find(|spec| spec.name == name)
    {
        collect(named, inner, &mut values);
        command = named;
    }
    Ok(Parsed::Run(RawArgs { command, values }))
}

fn refused(error: &clap::Error) -> Result<Parsed> {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Parsed::Print(text)),
        _ => Err(CliError::Usage(text.strip_prefix("error: ").unwrap_or(&text).to_owned())),
    }
}

fn collect(command: &CommandSpec, matches: &ArgMatches, values: &mut Values) {
    for row in command.specs() {
        let name = if row.form == Form::Option { row.long } else { Some(row.value_name) };
        if let Some(given) = name.and_then(|name| given(matches, name)) {
            values.insert(row.id, given);
        }
        for (flag, meaning) in row.shorthands {
            if matches.value_source(flag) == Some(ValueSource::CommandLine) {
                let value = row.kind.parse(meaning);
                values.insert(row.id, value.expect("a table test parses every shorthand"));
            }
        }
    }
}

/// Several values of a list become one.
fn given(matches: &ArgMatches, name: &str) -> Option<Value> {
    let all = matches.get_many::<Value>(name)?.cloned();
    all.reduce(|before, last| match (before, last) {
        (Value::List(before), Value::List(last)) => Value::List([before, last].concat()),
        (Value::Paths(before), Value::Paths(last)) => Value::Paths([before, last].concat()),
        (_, last) => last,
    })
}
