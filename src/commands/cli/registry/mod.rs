//! Every command once: what the help, the manual page and the completions say of it, and the function that does it.

mod answers;
mod frames;
mod measure;
mod program;
mod runs;
mod tables;

use super::exit::{CliError, Exit};
use super::options::Options;
use crate::commands::dashboard;
use crate::config::Id;

/// One command.
pub struct CommandSpec {
    /// What is typed; empty for the dashboard.
    pub name: &'static str,
    /// One line for the list of commands.
    pub about: &'static str,
    /// What a newcomer needs besides, after the options.
    pub more: &'static str,
    /// Options it takes, in groups.
    pub args: &'static [&'static [Id]],
    /// Command lines that work, each with what it does; without the program's name.
    pub examples: &'static [(&'static str, &'static str)],
    /// Whether the help leaves it out.
    pub hidden: bool,
    /// Whether it takes over the terminal instead of printing.
    pub screen: bool,
    /// Whether it works with a configuration that cannot be used.
    pub lenient: bool,
    /// Does it.
    pub run: fn(&Options) -> Result<Exit, CliError>,
}

impl CommandSpec {
    const BASE: Self = Self {
        name: "",
        about: "",
        more: "",
        args: &[],
        examples: &[],
        hidden: false,
        screen: false,
        lenient: false,
        run: dashboard::run,
    };

    /// Its options, one after the other.
    pub fn ids(&self) -> impl Iterator<Item = Id> {
        self.args.iter().copied().flatten().copied()
    }
}

const CONFIG_FILE: &[Id] = &[Id::Config];
const NAMED_GPUS: &[Id] = &[Id::Gpus, Id::WhatIf];
const LIVE: &[Id] = &[Id::Interval, Id::Library];
const LOOK: &[Id] = &[Id::Color, Id::Ascii];
const SCREEN: &[Id] = &[
    Id::Theme,
    Id::Mouse,
    Id::StartTab,
    Id::Readonly,
    Id::Bench,
    Id::BenchShare,
    Id::BenchMemory,
    Id::Inspect,
];

/// What runs when no command is named.
pub static DASHBOARD: CommandSpec = CommandSpec {
    about: "What can run on every NVIDIA GPU you have or name, why not the rest, and how fast it really is",
    args: &[NAMED_GPUS, LIVE, SCREEN, LOOK, CONFIG_FILE],
    screen: true,
    examples: &[
        ("", "the dashboard, also on a machine without a GPU"),
        ("--gpu 2xT4 --gpu \"RTX 3090\"", "the same, with GPUs you do not have beside your own"),
        ("-i 500ms --readonly", "two frames a second, and no way to signal a process"),
    ],
    run: dashboard::run,
    ..CommandSpec::BASE
};

/// Every command with a name, sorted by it.
pub static COMMANDS: &[CommandSpec] = &[
    measure::BENCH,
    answers::CHECK,
    runs::COMPARE,
    program::COMPLETIONS,
    program::CONFIG,
    answers::DOCTOR,
    tables::DTYPES,
    runs::EXPORT,
    tables::FRAMEWORKS,
    tables::GPUS,
    runs::HISTORY,
    answers::INSPECT,
    program::MAN,
    frames::MARK,
    measure::NOISE,
    measure::PROBE,
    frames::RECORD,
    frames::REPLAY,
    frames::SCREENSHOT,
    measure::SELFTEST,
    frames::SNAPSHOT,
    frames::STREAM,
    measure::TUNE,
    answers::WHY,
];
