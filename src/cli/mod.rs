//! Arguments and one file per subcommand.

pub mod bench;
