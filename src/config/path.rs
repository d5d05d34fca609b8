use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use warpscope_probes::bounded::{self, Accept};

use super::file::{FileSettings, MAX_BYTES, parse};
use super::layers::Environment;

/// Where the configuration is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigPath {
    /// The user named it: it must exist.
    Named(PathBuf),
    /// The usual place: it need not exist.
    Usual(PathBuf),
    /// Neither XDG_CONFIG_HOME nor HOME is set.
    Nowhere,
}

impl ConfigPath {
    /// The path, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Named(path) | Self::Usual(path) => Some(path),
            Self::Nowhere => None,
        }
    }
}

/// What became of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Where it was looked for.
    pub path: ConfigPath,
    /// What it says, nothing where there is no file, or why it cannot be used.
    pub settings: Result<Option<FileSettings>, String>,
}

/// `$XDG_CONFIG_HOME/warpscope/config.toml`, else `~/.config/warpscope/config.toml`. A relative
/// `$XDG_CONFIG_HOME` is ignored, as its specification demands.
pub fn find(named: Option<PathBuf>, env: &Environment) -> ConfigPath {
    if let Some(path) = named {
        return ConfigPath::Named(path);
    }
    match folder(env) {
        Some(folder) => ConfigPath::Usual(folder.join("config.toml")),
        None => ConfigPath::Nowhere,
    }
}

/// The folder of everything the user may write for warpscope.
pub fn folder(env: &Environment) -> Option<PathBuf> {
    base_folder(env, "XDG_CONFIG_HOME", ".config")
}

/// The folder of everything warpscope keeps for the user: `$XDG_DATA_HOME/warpscope`, else `~/.local/share/warpscope`.
pub fn data_folder(env: &Environment) -> Option<PathBuf> {
    base_folder(env, "XDG_DATA_HOME", ".local/share")
}

/// The folder of what warpscope finds out about the machine: `$XDG_STATE_HOME/warpscope`, else `~/.local/state/warpscope`.
pub fn state_folder(env: &Environment) -> Option<PathBuf> {
    base_folder(env, "XDG_STATE_HOME", ".local/state")
}

/// Warpscope's part of a base directory: that of the variable, else that of the home.
fn base_folder(env: &Environment, variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| env.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || absolute("HOME").map(|home| home.join(below_home));
    Some(absolute(variable).or_else(home)?.join("warpscope"))
}

/// Reads the configuration.
pub fn load(path: ConfigPath) -> Config {
    let settings = match &path {
        ConfigPath::Nowhere => Ok(None),
        ConfigPath::Named(file) => read(file, Accept::Pipes).map(Some),
        ConfigPath::Usual(file) if !exists(file) => Ok(None),
        // A pipe where a file belongs would hold the start up.
        ConfigPath::Usual(file) => read(file, Accept::Files).map(Some),
    };
    Config { path, settings }
}

/// Only a file that is surely not there counts as absent: one we may not read is an error.
fn exists(file: &Path) -> bool {
    match file.symlink_metadata() {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

fn read(file: &Path, accept: Accept) -> Result<FileSettings, String> {
    let name = file.display().to_string();
    let text = bounded::text(file, accept, MAX_BYTES as u64)
        .map_err(|error| format!("cannot read the configuration {name}: {error}"))?;
    parse(&name, &text).map_err(|problems| problems.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_lies_where_the_base_directory_specification_says() {
        for (pairs, want) in [
            (&[("XDG_DATA_HOME", "/x"), ("HOME", "/h")][..], Some("/x/warpscope")),
            (&[("XDG_DATA_HOME", "rel"), ("HOME", "/h")], Some("/h/.local/share/warpscope")),
            (&[("HOME", "/h")], Some("/h/.local/share/warpscope")),
            (&[], None),
        ] {
            let env = pairs.iter().copied().collect();
            assert_eq!(data_folder(&env), want.map(PathBuf::from));
        }
    }

    #[test]
    fn the_usual_place_follows_the_base_directory_specification() {
        for (pairs, want) in [
            (&[("XDG_CONFIG_HOME", "/x"), ("HOME", "/h")][..], Some("/x/warpscope/config.toml")),
            (
                &[("XDG_CONFIG_HOME", "rel"), ("HOME", "/h")],
                Some("/h/.config/warpscope/config.toml"),
            ),
            (&[("XDG_CONFIG_HOME", ""), ("HOME", "/h")], Some("/h/.config/warpscope/config.toml")),
            (&[], None),
        ] {
            let found = find(None, &pairs.iter().copied().collect());
            assert_eq!(found.path(), want.map(Path::new), "{pairs:?}");
        }
    }

    #[test]
    fn a_pipe_in_the_usual_place_is_refused_at_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("config.toml");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).expect("makes a pipe");
        let error = load(ConfigPath::Usual(pipe)).settings.expect_err("is refused");
        assert!(error.contains("is a pipe, not a file"), "{error}");
    }

    #[test]
    fn a_named_file_must_exist_and_the_usual_one_need_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("none.toml");
        assert_eq!(load(ConfigPath::Usual(file.clone())).settings, Ok(None));
        let error = load(ConfigPath::Named(file.clone())).settings.expect_err("is missing");
        assert!(error.contains("none.toml"), "{error}");
    }

    #[test]
    fn bytes_that_are_no_text_are_named_by_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("c.toml");
        std::fs::write(&file, b"ascii = true\n\xff").expect("writes");
        let error = load(ConfigPath::Usual(file)).settings.expect_err("no text");
        assert!(
            error.ends_with("c.toml: line 2 is not UTF-8 text; save the file as UTF-8"),
            "{error}"
        );
    }
}
