use std::ffi::OsString;

use clap::builder::{
    OsStringValueParser, PathBufValueParser, PossibleValuesParser, TypedValueParser as _,
};
use clap::{Arg, ArgAction, Command};

use super::command::{CommandSpec, Commands};
use crate::config::{ALL, ArgSpec, EnvRule, Form, Kind, Value, args};

/// Codes the program ends with.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  a check failed
  2  invalid usage or configuration
  3  a GPU is required and there is none
  4  nothing fails, but something is unknown (check, inspect, plan, why)";

const FILES: &str = "\
Files:
  $XDG_CONFIG_HOME/warpscope/config.toml, else ~/.config/warpscope/config.toml
  rules/*.toml beside it: your own rules, in the format of the built-in ones";

/// The command line as clap sees it, made from the tables.
#[cfg(test)]
pub(crate) fn command(commands: Commands) -> Command {
    commands.named.iter().fold(root(commands), |root, spec| root.subcommand(subcommand(spec)))
}

/// The same for one line: a command that the line does not name is only listed. To make them all takes longer than to parse it.
pub(super) fn command_for(commands: Commands, line: &[OsString]) -> Command {
    commands.named.iter().fold(root(commands), |root, spec| {
        let is_named = line.iter().any(|word| word == spec.name);
        root.subcommand(if is_named { subcommand(spec) } else { listed(spec) })
    })
}

fn root(commands: Commands) -> Command {
    subcommand(commands.dashboard)
        .name("warpscope")
        .version(env!("CARGO_PKG_VERSION"))
        .arg(version())
        .disable_version_flag(true)
        .after_long_help(
            [&examples(commands.dashboard), EXIT_CODES, &environment(), FILES].join("\n\n"),
        )
}

/// The same without hidden commands, for completions and manual pages.
pub(crate) fn visible(commands: Commands) -> Command {
    let shown = commands.named.iter().filter(|spec| !spec.hidden);
    shown.fold(root(commands), |root, spec| root.subcommand(subcommand(spec)))
}

fn version() -> Arg {
    Arg::new("version").short('V').long("version").action(ArgAction::Version).help("Print version")
}

fn subcommand(spec: &'static CommandSpec) -> Command {
    let more = [spec.more, &examples(spec)].join("\n\n");
    let command = listed(spec).after_long_help(more.trim_start().to_owned());
    spec.specs().fold(command, |command, spec| command.args(arguments(spec)))
}

fn listed(spec: &'static CommandSpec) -> Command {
    Command::new(spec.name).about(spec.about).hide(spec.hidden)
}

fn examples(spec: &CommandSpec) -> String {
    let lines = spec.examples.iter().map(|(line, what)| {
        let line = format!("warpscope {line}");
        format!("\n  {}\n      {what}", line.trim_end())
    });
    format!("Examples:{}", lines.collect::<String>())
}

fn environment() -> String {
    let rows = args::all().filter(|spec| !spec.hidden).flat_map(|spec| {
        let flag = format!("--{}", spec.name());
        let help = spec.key_help.unwrap_or(spec.help);
        let own = spec.variable.map(|name| match spec.kind {
            Kind::Switch => format!("\n  {name}: on or off. {help}"),
            _ => format!("\n  {name}: same as {flag}"),
        });
        let implied = spec.implied_by.iter().map(move |(name, rule)| match rule {
            EnvRule::Means(value) => format!("\n  {name}: if not empty, implies {flag} {value}"),
            EnvRule::OneShotMeans(value) => format!(
                "\n  {name}: if not empty and not 0, implies {flag} {value} outside the dashboard"
            ),
        });
        own.into_iter().chain(implied)
    });
    format!("Environment:{}", rows.collect::<String>())
}

/// The flags or the operand of one row.
fn arguments(spec: &'static ArgSpec) -> Vec<Arg> {
    let main = match (spec.form, spec.long) {
        (Form::Option, None) => None,
        (Form::Option, Some(long)) => Some(Arg::new(long).long(long)),
        (form, _) => {
            let arg = Arg::new(spec.value_name).required(form == Form::RequiredOperand);
            Some(arg.last(form == Form::Rest))
        }
    };
    let main = main.map(|arg| valued(arg, spec));
    main.into_iter().chain(shorthands(spec)).collect()
}

fn valued(arg: Arg, spec: &'static ArgSpec) -> Arg {
    let action = if spec.kind.adds_up() { ArgAction::Append } else { ArgAction::Set };
    let many = spec.kind.adds_up() && spec.form != Form::Option;
    let arg = arg.value_name(spec.value_name).action(action).hide(spec.hidden).help(help(spec));
    let arg = if many { arg.num_args(0..) } else { arg };
    let arg = if spec.several { arg.num_args(1..) } else { arg };
    let arg = match spec.kind {
        Kind::Devices => arg.num_args(0..=1).default_missing_value(ALL),
        _ => arg,
    };
    let arg = match spec.short {
        Some(short) => arg.short(short),
        None => arg,
    };
    let flags = spec.shorthands.iter().map(|row| row.0);
    parsed(arg, spec).overrides_with_all(flags).conflicts_with_all(spec.conflicts)
}

fn parsed(arg: Arg, spec: &'static ArgSpec) -> Arg {
    match spec.kind {
        Kind::Path => arg.value_parser(PathBufValueParser::new().map(Value::Path)),
        Kind::OneOf(words) => arg.value_parser(PossibleValuesParser::new(words).map(Value::Text)),
        Kind::AnyOf(words) => arg
            .value_delimiter(',')
            .value_parser(PossibleValuesParser::new(words).map(|word| Value::List(vec![word]))),
        kind => arg.value_parser(OsStringValueParser::new().try_map(move |text| {
            kind.parse_os(&text).map_err(|allowed| format!("must be {allowed}"))
        })),
    }
}

fn shorthands(spec: &'static ArgSpec) -> impl Iterator<Item = Arg> {
    spec.shorthands.iter().enumerate().map(move |(place, (flag, value))| {
        let others = spec.shorthands.iter().map(|row| row.0).filter(move |other| other != flag);
        let help = match spec.long {
            Some(long) => format!("Same as --{long} {value}"),
            None => help(spec),
        };
        Arg::new(*flag)
            .long(*flag)
            .action(ArgAction::SetTrue)
            .overrides_with_all(others.chain(spec.long))
            .conflicts_with_all(spec.conflicts)
            .hide(spec.hidden || place > 0)
            .help(help)
    })
}

fn help(spec: &ArgSpec) -> String {
    match spec.default {
        Some(default) if spec.kind != Kind::Switch => format!("{} [default: {default}]", spec.help),
        _ => spec.help.to_owned(),
    }
}
