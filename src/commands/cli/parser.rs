use clap::builder::{
    OsStringValueParser, PathBufValueParser, PossibleValuesParser, TypedValueParser as _,
};
use clap::{Arg, ArgAction, Command};

use crate::commands::cli::registry::{COMMANDS, CommandSpec, DASHBOARD};
use crate::config::{ALL, ARGS, ArgSpec, EnvRule, Form, Kind, Value};

/// Codes the program ends with.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  fine
  1  a check failed
  2  usage or configuration
  3  no GPU where one was required
  4  nothing fails, and of something nothing is known (check, why)";

const FILES: &str = "\
Files:
  $XDG_CONFIG_HOME/warpscope/config.toml, else ~/.config/warpscope/config.toml
  rules/*.toml beside it: rules of your own, in the form of those that come with the program";

/// The command line as clap sees it, made from the tables.
pub fn command() -> Command {
    COMMANDS.iter().fold(root(), |root, spec| root.subcommand(subcommand(spec)))
}

fn root() -> Command {
    subcommand(&DASHBOARD)
        .name("warpscope")
        .version(env!("CARGO_PKG_VERSION"))
        .arg(version())
        .disable_version_flag(true)
        .after_long_help([&examples(&DASHBOARD), EXIT_CODES, &environment(), FILES].join("\n\n"))
}

/// The same without hidden commands, for completions and manual pages.
pub(crate) fn visible() -> Command {
    let shown = COMMANDS.iter().filter(|spec| !spec.hidden);
    shown.fold(root(), |root, spec| root.subcommand(subcommand(spec)))
}

fn version() -> Arg {
    Arg::new("version").short('V').long("version").action(ArgAction::Version).help("Print version")
}

fn subcommand(spec: &'static CommandSpec) -> Command {
    let more = [spec.more, &examples(spec)].join("\n\n");
    let command = Command::new(spec.name)
        .about(spec.about)
        .hide(spec.hidden)
        .after_long_help(more.trim_start().to_owned());
    spec.ids().fold(command, |command, id| command.args(arguments(crate::config::spec(id))))
}

fn examples(spec: &CommandSpec) -> String {
    let lines = spec.examples.iter().map(|(line, what)| {
        let line = format!("warpscope {line}");
        format!("\n  {}\n      {what}", line.trim_end())
    });
    format!("Examples:{}", lines.collect::<String>())
}

fn environment() -> String {
    let rows = ARGS.iter().filter(|spec| !spec.hidden).flat_map(|spec| {
        let flag = format!("--{}", spec.name());
        spec.env.iter().map(move |(name, rule)| match rule {
            EnvRule::Value if spec.kind == Kind::Switch => {
                format!("\n  {name}: on or off; {}", spec.key_help)
            }
            EnvRule::Value => format!("\n  {name}: as {flag}"),
            EnvRule::Means(value) => format!("\n  {name}: not empty means {flag} {value}"),
            EnvRule::OneShotMeans(value) => {
                format!(
                    "\n  {name}: not empty and not 0 means {flag} {value} outside the dashboard"
                )
            }
        })
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
    let arg = match spec.kind {
        Kind::Devices => arg.num_args(0..=1).default_missing_value(ALL),
        _ => arg,
    };
    let arg = match spec.short {
        Some(short) => arg.short(short),
        None => arg,
    };
    let flags = spec.shorthands.iter().map(|row| row.0);
    parsed(arg, spec).overrides_with_all(flags).conflicts_with_all(spec.apart)
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
            .conflicts_with_all(spec.apart)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clap_finds_no_fault_with_the_tables() {
        command().debug_assert();
    }

    #[test]
    fn commands_are_sorted_and_every_option_is_used_by_one() {
        assert!(COMMANDS.windows(2).all(|pair| pair[0].name < pair[1].name));
        for spec in &ARGS {
            let taken = COMMANDS
                .iter()
                .chain([&DASHBOARD])
                .any(|command| command.ids().any(|id| id == spec.id));
            assert!(taken, "{:?}", spec.id);
        }
    }

    #[test]
    fn the_help_of_every_command_names_each_of_its_flags_and_examples() {
        for spec in COMMANDS {
            let help = subcommand(spec).render_long_help().to_string();
            for id in spec.ids() {
                let row = crate::config::spec(id);
                let shown = if row.form == Form::Option { row.name() } else { row.value_name };
                assert_eq!(help.contains(shown), !row.hidden, "{} {shown}", spec.name);
            }
            assert!(!spec.about.ends_with('.') && !spec.examples.is_empty(), "{}", spec.name);
        }
    }
}
