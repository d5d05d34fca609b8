//! Metrics in a file that another program reads at any time: whole or not at all.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::commands::cli::CliError;

/// Others read it: that is what it is for.
const MODE: u32 = 0o644;

/// Puts the text in the place of what was there.
pub(super) fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let written = || {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
        file.write_all(text.as_bytes())?;
        file.as_file().set_permissions(std::fs::Permissions::from_mode(MODE))?;
        file.persist(path)?;
        Ok(())
    };
    let failed = |error: std::io::Error| CliError::Failed(format!("{}: {error}", path.display()));
    written().map_err(failed)
}
