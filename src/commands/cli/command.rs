//! What a command declares: its name, help, arguments and the function that does it.

use super::exit::{Exit, Result};
use super::options::Options;
use crate::config::{AnyArg, ArgSpec, args};

/// One command.
pub struct CommandSpec {
    /// What is typed; empty for the dashboard.
    pub name: &'static str,
    /// One line for the list of commands.
    pub about: &'static str,
    /// What a newcomer needs to know besides, shown after the options.
    pub more: &'static str,
    /// Its arguments, in groups.
    pub args: &'static [Args],
    /// Command lines that work, each with what it does; without the program's name.
    pub examples: &'static [(&'static str, &'static str)],
    /// Whether the help leaves it out.
    pub hidden: bool,
    /// Whether it takes over the terminal instead of printing.
    pub screen: bool,
    /// Whether it works with an invalid configuration.
    pub lenient: bool,
    /// Whether a word that looks like an option is known to be one of another program. Of a command with this, what stands behind its first
    /// operand may be a command line that was pasted: options that it does not have are operands then.
    pub pasted: Option<fn(&str) -> bool>,
    /// Whether it runs on the hosts that are named; otherwise it reads frames of them here, where it takes any.
    pub runs_there: bool,
    /// Does it.
    pub run: fn(&Options) -> Result<Exit>,
}

/// Arguments that commands take together.
pub(crate) type Args = &'static [&'static dyn AnyArg];

impl CommandSpec {
    /// Takes nothing and does nothing.
    pub(crate) const BASE: Self = Self {
        name: "",
        about: "",
        more: "",
        args: &[],
        examples: &[],
        hidden: false,
        screen: false,
        lenient: false,
        pasted: None,
        runs_there: false,
        run: |_| Ok(Exit::Fine),
    };

    /// Its arguments, one after the other.
    pub fn specs(&self) -> impl Iterator<Item = &'static ArgSpec> {
        self.args.iter().copied().flatten().map(|arg| arg.spec())
    }
}

/// The commands there are.
#[derive(Clone, Copy)]
pub struct Commands {
    /// What runs when none is named.
    pub dashboard: &'static CommandSpec,
    /// Those with a name, sorted by it.
    pub named: &'static [CommandSpec],
}

impl Commands {
    /// All of them, the dashboard first.
    pub fn iter(self) -> impl Iterator<Item = &'static CommandSpec> {
        std::iter::once(self.dashboard).chain(self.named)
    }
}

/// Which configuration file.
pub(crate) const CONFIG_FILE: Args = &[&args::CONFIG];
/// GPUs of the catalogue.
pub(crate) const NAMED_GPUS: Args = &[&args::GPUS, &args::WHAT_IF];
/// How the GPUs of this machine are read.
pub(crate) const LIVE: Args = &[&args::INTERVAL, &args::LIBRARY];
/// Other machines.
pub(crate) const HOSTS: Args = &[&args::HOSTS, &args::SSH, &args::INSTALL];
/// Machines that a server of metrics knows.
pub(crate) const FLEET: Args = &[
    &args::PROMETHEUS,
    &args::PROMETHEUS_MATCH,
    &args::PROMETHEUS_TOKEN_FILE,
    &args::PROMETHEUS_CA,
];
/// How text looks.
pub(crate) const STYLE: Args = &[&args::COLOR, &args::ASCII];
/// What the dashboard shows and does.
pub(crate) const SCREEN: Args = &[
    &args::THEME,
    &args::MOUSE,
    &args::START_TAB,
    &args::UNITS,
    &args::TEMPERATURE,
    &args::CLOCK,
    &args::GRAPH_SPAN,
    &args::GRAPHS,
    &args::PANELS,
    &args::COLUMNS,
    &args::ALERTS,
    &args::ALERT_TEMPERATURE,
    &args::ALERT_MEMORY,
    &args::ALERT_IDLE,
    &args::ALERT_SIGNAL,
    &args::ALERT_COMMAND,
    &args::ALERT_LOG,
    &args::READONLY,
    &args::BENCH,
    &args::BENCH_SHARE,
    &args::BENCH_MEMORY,
    &args::INSPECT,
];
/// What `check` and `why` are asked.
pub(crate) const QUESTION: Args =
    &[&args::ASKED_DTYPE, &args::MODEL, &args::FETCH, &args::INSTALLED, &args::RULES];
/// Kernels on the GPUs of this machine.
pub(crate) const ON_GPU: Args =
    &[&args::ON_GPU, &args::KERNELS, &args::ANYWAY, &args::WAIT, &args::PATIENCE];
