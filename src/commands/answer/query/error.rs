use crate::commands::cli::CliError;

/// A word that means nothing, with what was perhaps meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

impl From<UsageError> for CliError {
    fn from(UsageError(why): UsageError) -> Self {
        Self::Usage(why)
    }
}
