//! Commands about the program itself.

use super::{CONFIG_FILE, CommandSpec};
use crate::commands::{completions, config, man};
use crate::config::Id;

pub(crate) const COMPLETIONS: CommandSpec = CommandSpec {
    name: "completions",
    about: "Print completions for a shell",
    args: &[&[Id::Shell]],
    examples: &[("completions bash", "to be saved where bash looks for completions")],
    lenient: true,
    run: completions::run,
    ..CommandSpec::BASE
};

pub(crate) const CONFIG: CommandSpec = CommandSpec {
    name: "config",
    about: "Print a documented sample configuration, check one, or say where it is looked for",
    more: "The configuration is read and never written.",
    args: &[&[Id::Action], CONFIG_FILE],
    examples: &[
        ("config sample", "every key with its default"),
        ("config check --config other.toml", "all errors, each with its line"),
    ],
    lenient: true,
    run: config::run,
    ..CommandSpec::BASE
};

pub(crate) const MAN: CommandSpec = CommandSpec {
    name: "man",
    about: "Print the manual page",
    args: &[&[Id::CommandName]],
    examples: &[("man", "the page of the program"), ("man record", "the page of one command")],
    lenient: true,
    run: man::run,
    ..CommandSpec::BASE
};
