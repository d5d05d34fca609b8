use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};
use std::{fmt, io};

/// How the program ends when it did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: fine.
    Fine,
    /// 1: a check failed.
    CheckFailed,
    /// 2: usage or configuration.
    Usage,
    /// 3: no GPU where one was required.
    NoGpu,
    /// 4: nothing fails, and of something nothing is known.
    Unknown,
    /// The code of a command that was run.
    Command(u8),
    /// 128 and the signal's number: ended by a signal, as shells count it.
    Signal(u8),
}

impl Exit {
    /// That of a command that was run.
    pub(crate) fn of(status: ExitStatus) -> Self {
        match (status.code().map(u8::try_from), status.signal()) {
            (_, Some(signal)) => Self::Signal(u8::try_from(signal).unwrap_or_default()),
            (Some(Ok(0)), None) => Self::Fine,
            (Some(Ok(code)), None) => Self::Command(code),
            _ => Self::CheckFailed,
        }
    }

    /// The number for the shell.
    pub fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::CheckFailed => 1,
            Self::Usage => 2,
            Self::NoGpu => 3,
            Self::Unknown => 4,
            Self::Command(code) => code,
            Self::Signal(signal) => 128_u8.saturating_add(signal),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// What was done, or why it could not be.
pub(crate) type Result<T, E = CliError> = std::result::Result<T, E>;

/// Why the program could not do its work.
#[derive(Debug)]
pub enum CliError {
    /// Wrong arguments, environment or configuration, or a file that cannot be used.
    Usage(String),
    /// The work was begun and something failed.
    Failed(String),
    /// A GPU was required and none answers.
    NoGpu(String),
    /// Standard output cannot be written.
    Output(io::Error),
}

impl CliError {
    /// Wrong usage, for this reason.
    pub(crate) fn usage(why: impl fmt::Display) -> Self {
        Self::Usage(why.to_string())
    }

    /// A file that cannot be used, for this reason.
    pub(crate) fn at<E: fmt::Display>(path: &Path) -> impl Fn(E) -> Self {
        move |why| Self::Usage(format!("{}: {why}", path.display()))
    }

    /// Something failed, for this reason.
    pub(crate) fn failed(why: impl fmt::Display) -> Self {
        Self::Failed(why.to_string())
    }
}

impl fmt::Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Failed(message) | Self::NoGpu(message) => {
                f.write_str(message)
            }
            Self::Output(error) => write!(f, "cannot write to standard output: {error}"),
        }
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_help() {
        for exit in [Exit::Fine, Exit::CheckFailed, Exit::Usage, Exit::NoGpu, Exit::Unknown] {
            let code = format!("{} ", exit.code());
            assert!(
                super::super::parser::EXIT_CODES
                    .lines()
                    .any(|line| line.trim_start().starts_with(&code))
            );
        }
    }
}
