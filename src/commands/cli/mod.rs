//! The command line: parsed without side effects, then resolved with the environment and the configuration; and how the
//! program ends. Knows no command: the list of them comes from above.

pub(crate) mod command;
pub(crate) mod exit;
pub(crate) mod options;
pub(crate) mod parser;
pub(crate) mod raw_args;

/// The first argument of a process that works for another one of this program. Nobody types it, so no command declares it.
pub(crate) const WORKER: &str = "__worker";
