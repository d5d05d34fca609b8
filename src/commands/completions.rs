use clap_complete::Shell;

use super::output;
use crate::commands::cli::parser;
use crate::commands::cli::{CliError, CommandSpec, Exit, Options};
use crate::config::args;

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
pub(crate) fn run(options: &Options) -> Result<Exit, CliError> {
    let shell = options.get(&args::SHELL).parse::<Shell>().ok();
    let shell = shell.ok_or_else(|| CliError::Usage("name a shell".to_owned()))?;
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut parser::visible(options.commands), "warpscope", &mut bytes);
    output::write(&bytes)?;
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use clap_complete::Shell;

    use crate::config::args;

    #[test]
    fn every_shell_of_the_table_is_known() {
        for shell in args::SHELL.spec.kind.words() {
            assert!(shell.parse::<Shell>().is_ok(), "{shell}");
        }
    }
}
