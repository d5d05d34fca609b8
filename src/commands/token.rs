//! Secrets in files: on the command line everybody could read them.

use std::path::Path;

use warpscope_probes::bounded::{self, Accept};

use crate::commands::cli::{CliError, Result};

/// Longest token.
const LONGEST: u64 = 16 << 10;

/// The token in a file that this option names, without the line end.
pub(crate) fn read(option: &str, path: &Path) -> Result<String> {
    let failed = |why: String| CliError::Usage(format!("{option} {}: {why}", path.display()));
    let text = bounded::text(path, Accept::Files, LONGEST);
    let text = text.map_err(|error| failed(error.to_string()))?;
    match text.trim() {
        "" => Err(failed("is empty".to_owned())),
        token if token.contains(char::is_control) => Err(failed("has several lines".to_owned())),
        token => Ok(token.to_owned()),
    }
}
