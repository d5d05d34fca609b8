use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::ArgMatches;
use clap::error::ErrorKind;
use clap::parser::ValueSource;

use super::exit::CliError;
use super::parser::command;
use crate::commands::cli::registry::{COMMANDS, CommandSpec, DASHBOARD};
use crate::config::{Form, Id, Value, spec};

/// The command line, understood but not yet joined with environment and configuration.
pub struct LowArgs {
    /// What to do.
    pub command: &'static CommandSpec,
    /// What was given on the line, and only that.
    pub values: BTreeMap<Id, Value>,
}

/// What a command line asks for.
pub enum Parsed {
    /// A command.
    Run(LowArgs),
    /// Help or the version.
    Print(String),
}

/// Parses a command line, its first word being the program's name. Reads and writes nothing.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Parsed, CliError> {
    let matches = match command().try_get_matches_from(args) {
        Ok(matches) => matches,
        Err(error) => return refused(&error),
    };
    let mut values = BTreeMap::new();
    collect(&DASHBOARD, &matches, &mut values);
    let named = matches
        .subcommand()
        .and_then(|(name, inner)| Some((COMMANDS.iter().find(|spec| spec.name == name)?, inner)));
    let Some((spec, inner)) = named else {
        return Ok(Parsed::Run(LowArgs { command: &DASHBOARD, values }));
    };
    collect(spec, inner, &mut values);
    Ok(Parsed::Run(LowArgs { command: spec, values }))
}

fn refused(error: &clap::Error) -> Result<Parsed, CliError> {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Ok(Parsed::Print(text)),
        _ => Err(CliError::Usage(text.strip_prefix("error: ").unwrap_or(&text).to_owned())),
    }
}

fn collect(command: &CommandSpec, matches: &ArgMatches, values: &mut BTreeMap<Id, Value>) {
    for id in command.ids() {
        let row = spec(id);
        let name = if row.form == Form::Option { row.long } else { Some(row.value_name) };
        if let Some(given) = name.and_then(|name| given(matches, name)) {
            values.insert(id, given);
        }
        for (flag, meaning) in row.shorthands {
            if matches.value_source(flag) == Some(ValueSource::CommandLine) {
                let value = row.kind.parse(meaning);
                values.insert(id, value.expect("a table test parses every shorthand"));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits at spaces, minding double quotes.
    fn words(line: &str) -> Vec<OsString> {
        let mut quoted = false;
        let split = line.split(|letter| {
            quoted ^= letter == '"';
            letter == ' ' && !quoted
        });
        let words = split.map(|word| word.replace('"', "")).filter(|word| !word.is_empty());
        std::iter::once("warpscope".to_owned()).chain(words).map(OsString::from).collect()
    }

    fn low(line: &str) -> LowArgs {
        match parse(words(line)) {
            Ok(Parsed::Run(low)) => low,
            Ok(Parsed::Print(text)) => panic!("{line}: {text}"),
            Err(error) => panic!("{line}: {error:?}"),
        }
    }

    fn error(line: &str) -> String {
        match parse(words(line)) {
            Err(CliError::Usage(text)) => text,
            _ => panic!("{line} is not refused"),
        }
    }

    #[test]
    fn every_example_parses_and_runs_its_own_command() {
        for spec in COMMANDS.iter().chain([&DASHBOARD]) {
            for (line, _) in spec.examples {
                assert_eq!(low(line).command.name, spec.name, "{line}");
            }
        }
    }

    #[test]
    fn repeated_and_comma_separated_names_add_up() {
        let names = Value::List(["2xT4", "RTX 3090", "V100"].map(str::to_owned).to_vec());
        for line in ["--gpu 2xT4 -g \"RTX 3090\" --gpu V100", "--gpu=\"2xT4,RTX 3090\" -g V100"] {
            assert_eq!(low(line).values[&Id::Gpus], names, "{line}");
        }
    }

    #[test]
    fn an_option_of_the_dashboard_may_stand_before_the_command() {
        for line in ["-g T4 check", "check -g T4", "-g V100 check -g T4"] {
            let given = low(line);
            assert_eq!(given.command.name, "check");
            assert_eq!(given.values[&Id::Gpus], Value::List(vec!["T4".to_owned()]), "{line}");
        }
    }

    #[test]
    fn the_last_of_two_opposites_counts() {
        for (line, want) in [("--ascii --no-ascii", false), ("--no-ascii --ascii", true)] {
            assert_eq!(low(line).values[&Id::Ascii], Value::Switch(want), "{line}");
        }
        for (line, want) in [
            ("--no-what-if --what-if always", "always"),
            ("--what-if always --no-what-if", "never"),
        ] {
            assert_eq!(low(line).values[&Id::WhatIf], Value::Text(want.to_owned()), "{line}");
        }
    }

    #[test]
    fn nothing_given_is_nothing_said() {
        assert!(low("").values.is_empty());
        assert!(low("snapshot").values.is_empty());
    }

    #[test]
    fn mistakes_are_named_with_the_way_out() {
        for (line, parts) in [
            ("--interval soon", &["soon", "--interval", "500ms"][..]),
            ("--color sometimes", &["sometimes", "auto, always, never"]),
            ("snapshto", &["snapshto", "snapshot"]),
            ("snapshot --jsno", &["--jsno", "--json"]),
            ("record", &["FILE"]),
            ("bench --dtype fp16,fp17", &["fp17", "fp16"]),
        ] {
            let text = error(line);
            for part in parts {
                assert!(text.contains(part), "{line}: {text}");
            }
        }
    }

    #[test]
    fn help_and_version_are_printed() {
        for (line, part) in [
            ("-h", "Usage: warpscope"),
            ("--help", "Exit codes"),
            ("-V", env!("CARGO_PKG_VERSION")),
            ("check --help", "FRAMEWORK"),
        ] {
            match parse(words(line)) {
                Ok(Parsed::Print(text)) => assert!(text.contains(part), "{text}"),
                _ => panic!("{line} prints nothing"),
            }
        }
    }
}
