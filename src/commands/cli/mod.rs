//! The command line: parsed, resolved with environment and configuration, and how the program ends.

pub(crate) mod elevated;
pub(crate) mod exit;
pub(crate) mod options;
pub(crate) mod parser;
pub(crate) mod raw_args;
pub(crate) mod registry;
