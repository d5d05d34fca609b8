//! The configuration file, when the user asks for what was set to be kept.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use warpscope_probes::bounded::{self, Accept};
use warpscope_probes::private;

use crate::config::{MAX_BYTES, Value, edited};

/// Writes values into the configuration; says what came of it, or why nothing did.
pub(crate) fn save(
    path: Option<&Path>,
    values: &BTreeMap<&'static str, Value>,
) -> Result<String, String> {
    let Some(path) = path else {
        return Err("No place for a configuration: neither XDG_CONFIG_HOME nor HOME is set.".into());
    };
    if values.is_empty() {
        return Ok("Nothing is to be written: no option was changed.".into());
    }
    write(path, values).map_err(|why| format!("Cannot write {}: {why}", path.display()))?;
    let keys: Vec<_> = values.keys().copied().collect();
    Ok(format!("Wrote {} to {}.", keys.join(", "), path.display()))
}

fn write(path: &Path, values: &BTreeMap<&'static str, Value>) -> Result<(), String> {
    // A link stays a link: people keep such files in a repository.
    let file = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mode = fs::metadata(&file).ok().map(|facts| facts.permissions());
    let text = match mode {
        Some(_) => bounded::text(&file, Accept::Files, MAX_BYTES as u64)
            .map_err(|error| error.to_string())?,
        None => String::new(),
    };
    let text = edited(&text, values.iter().map(|(key, value)| (*key, value)))?;
    private::replace(&file, text.as_bytes()).map_err(|error| error.to_string())?;
    match mode {
        Some(mode) => fs::set_permissions(&file, mode).map_err(|error| error.to_string()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn changes() -> BTreeMap<&'static str, Value> {
        BTreeMap::from([("theme", Value::Path("light".into()))])
    }

    #[test]
    fn a_missing_file_is_made_with_its_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/config.toml");
        let said = save(Some(&path), &changes());
        assert!(said.is_ok_and(|said| said.starts_with("Wrote theme to ")));
        assert_eq!(fs::read_to_string(path).expect("is there"), "theme = \"light\"\n");
    }

    #[test]
    fn a_linked_file_keeps_its_link_its_mode_and_its_comments() {
        let folder = tempfile::tempdir().expect("a folder");
        let [real, link] = ["real.toml", "config.toml"].map(|name| folder.path().join(name));
        fs::write(&real, "# mine\ntheme = \"dark\"\n").expect("writes");
        fs::set_permissions(&real, fs::Permissions::from_mode(0o644)).expect("sets");
        symlink(&real, &link).expect("links");
        save(Some(&link), &changes()).expect("writes");
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&real).expect("reads"), "# mine\ntheme = \"light\"\n");
        let mode = fs::metadata(&real).expect("is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
    }

    #[test]
    fn a_file_with_errors_stays_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("config.toml");
        fs::write(&path, "theme = ").expect("writes");
        let said = save(Some(&path), &changes());
        assert!(said.is_err_and(|said| said.starts_with("Cannot write ")));
        assert_eq!(fs::read_to_string(path).expect("reads"), "theme = ");
    }
}
