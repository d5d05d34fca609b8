//! The command line: parsed without side effects, then resolved with the environment and the configuration; and how the
//! program ends. Knows no command: the list of them comes from above.

pub(crate) mod command;
pub(crate) mod elevated;
pub(crate) mod exit;
pub(crate) mod options;
pub(crate) mod parser;
pub(crate) mod raw_args;
