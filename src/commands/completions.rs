use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use clap_complete::Shell;
use clap_complete_nushell::Nushell;
use warpscope_kernels::DTYPES;
use warpscope_probes::catalogue::{Catalogue, Part};
use warpscope_probes::rules::RuleBase;

use super::output;
use crate::commands::cli::{CliError, CommandSpec, Exit, Options, Result, parser};
use crate::config::args::{self, ArgSpec};
use crate::widgets::theme::BUILTIN;

const NAME: &str = "warpscope";
/// Nushell, which comes with a crate of its own.
const NU: &str = "nu";

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "completions",
    about: "Print shell completions",
    args: &[&[&args::SHELL]],
    examples: &[("completions bash", "save it where bash looks for completions")],
    lenient: true,
    run,
    ..CommandSpec::BASE
};

/// Completions for a shell.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let mut program = with_names(parser::visible(options.commands));
    let mut bytes = Vec::new();
    match options.get(&args::SHELL).as_str() {
        NU => clap_complete::generate(Nushell, &mut program, NAME, &mut bytes),
        shell => {
            let shell = shell.parse::<Shell>();
            let shell = shell.map_err(|_| CliError::usage("name a shell"))?;
            clap_complete::generate(shell, &mut program, NAME, &mut bytes);
        }
    }
    output::write(&bytes)?;
    Ok(Exit::Fine)
}

/// The commands, with the names that values may have beside those the parser insists on: GPUs, frameworks, number formats, themes.
fn with_names(command: Command) -> Command {
    let gpus: Vec<String> = Catalogue::load().parts().iter().map(gpu).collect();
    let named = |arg| named(arg, &gpus);
    command.mut_args(named).mut_subcommands(|command| command.mut_args(named))
}

fn named(arg: Arg, gpus: &[String]) -> Arg {
    let is = |spec: &ArgSpec| arg.get_id() == spec.long.unwrap_or(spec.value_name);
    let names: Vec<String> = if is(&args::GPUS.spec) {
        gpus.to_vec()
    } else if is(&args::FRAMEWORKS.spec) {
        RuleBase::shared().frameworks().iter().map(|one| one.id.clone()).collect()
    } else if is(&args::THEME.spec) {
        BUILTIN.iter().map(|theme| theme.0.to_owned()).collect()
    } else if is(&args::ASKED_DTYPE.spec) && arg.get_possible_values().is_empty() {
        DTYPES.iter().map(|dtype| word(dtype.0.label())).collect()
    } else {
        return arg;
    };
    arg.value_parser(PossibleValuesParser::new(names))
}

/// A GPU as one word of a shell: without the family where the catalogue knows it by that.
fn gpu(part: &Part) -> String {
    let full = word(&part.market_name);
    let short = full.trim_start_matches("nvidia-").trim_start_matches("geforce-");
    let found = Catalogue::load().get(short);
    let is_same = found.is_some_and(|found| found.market_name == part.market_name);
    if is_same { short.to_owned() } else { full }
}

/// A name as one word of a shell; the catalogue overlooks case and hyphens.
fn word(name: &str) -> String {
    let letters = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { ' ' });
    let words = letters.collect::<String>().to_ascii_lowercase();
    words.split_whitespace().collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_of_the_table_is_known() {
        for shell in args::SHELL.spec.kind.words() {
            assert!(*shell == NU || shell.parse::<Shell>().is_ok(), "{shell}");
        }
    }

    #[test]
    fn every_gpu_is_found_by_the_word_a_shell_completes() {
        for part in Catalogue::load().parts() {
            let name = gpu(part);
            let found = Catalogue::load().find(&name).map(|found| &found.market_name);
            assert_eq!(found, Ok(&part.market_name), "{name}");
        }
    }
}
