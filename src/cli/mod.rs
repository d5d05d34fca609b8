//! Arguments and one file per subcommand.
