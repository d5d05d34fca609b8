//! Arguments and one file per subcommand.

pub mod check;
pub mod query;
mod verdict_text;
pub mod why;
