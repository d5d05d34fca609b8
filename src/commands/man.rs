use super::output;
use crate::commands::cli::{CliError, CommandSpec, Commands, Exit, Options, Result, parser};
use crate::config::{args, nearest};

/// The command.
pub(crate) const COMMAND: CommandSpec = CommandSpec {
    name: "man",
    about: "Print the manual page",
    args: &[&[&args::COMMAND_NAME]],
    examples: &[("man", "the page of the program"), ("man record", "the page of one command")],
    lenient: true,
    run,
    ..CommandSpec::BASE
};

/// The manual page of the program or of one command.
pub(crate) fn run(options: &Options) -> Result<Exit> {
    let mut command = parser::visible(options.commands);
    if let Some(word) = &options.get(&args::COMMAND_NAME) {
        let found = command.get_subcommands().find(|inner| inner.get_name() == word).cloned();
        let full = format!("warpscope {word}");
        command = found.ok_or_else(|| unknown(word, options.commands))?.bin_name(full);
    }
    let name = command.get_bin_name().unwrap_or("warpscope").replace(' ', "-");
    let page = clap_mangen::Man::new(command.display_name(name))
        .source(concat!("warpscope ", env!("CARGO_PKG_VERSION")));
    let mut bytes = Vec::new();
    page.render(&mut bytes)?;
    output::write(&bytes)?;
    Ok(Exit::Fine)
}

fn unknown(word: &str, commands: Commands) -> CliError {
    let names = || commands.named.iter().filter(|spec| !spec.hidden).map(|spec| spec.name);
    let way_out = match nearest(word, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("commands: {}", names().collect::<Vec<_>>().join(", ")),
    };
    CliError::Usage(format!("no command `{}`; {way_out}", word.escape_debug()))
}
