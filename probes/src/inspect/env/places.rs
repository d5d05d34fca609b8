//! Where environments are looked for: one row per place, so that a new tool is one line.
//!
//! A pattern instead of a function per tool: nearly every tool keeps its environments in folders under a known one, and what
//! really is an environment is decided by its marks, in one place, not by who put it there.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::inventory::EnvKind;
use super::links::lexical;
use super::progress::Progress;

/// Folders one pattern may lead to.
const MOST: usize = 4096;

/// The description of a machine: enough to find every place, and nothing is read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Root of the file system; tests and containers have another.
    pub root: PathBuf,
    /// Mount point of the process file system.
    pub proc_root: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The working directory.
    pub working: Option<PathBuf>,
    /// Environment variables.
    pub vars: BTreeMap<String, String>,
    /// Folders, interpreters or `site-packages` that were named.
    pub named: Vec<PathBuf>,
}

impl Places {
    /// The machine and the environment of this process, with places that the user named.
    pub fn here(named: Vec<PathBuf>) -> Self {
        let text = |(key, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((key.into_string().ok()?, value.into_string().ok()?))
        };
        Self {
            home: std::env::home_dir().filter(|home| home.is_absolute()),
            working: std::env::current_dir().ok(),
            vars: std::env::vars_os().filter_map(text).collect(),
            named,
            ..Self::at("/".into())
        }
    }

    /// A file system about whose user nothing is known.
    pub fn at(root: PathBuf) -> Self {
        Self {
            root,
            proc_root: "/proc".into(),
            home: None,
            working: None,
            vars: BTreeMap::new(),
            named: Vec::new(),
        }
    }

    /// The directories of a list variable such as `PATH`; relative ones are left out.
    pub(super) fn directories(&self, variable: &str) -> Vec<PathBuf> {
        let list = self.vars.get(variable).map(String::as_str).unwrap_or_default();
        list.split(':').map(PathBuf::from).filter(|path| path.is_absolute()).collect()
    }

    /// Where a pattern may begin, and what is left of it.
    fn starts<'a>(&self, pattern: &'a str) -> (Vec<PathBuf>, &'a str) {
        let (first, rest) = pattern.split_once('/').unwrap_or((pattern, ""));
        let starts = match first {
            "" => vec![PathBuf::from("/")],
            "~" => self.home.iter().cloned().collect(),
            "^" => {
                self.working.iter().flat_map(|dir| dir.ancestors()).map(Path::to_owned).collect()
            }
            variable => self.directories(variable.trim_start_matches('$')),
        };
        (starts, rest)
    }

    /// The paths a pattern leads to that are there.
    pub(super) fn expand(
        &self,
        disk: &Disk,
        pattern: &str,
        progress: &mut Progress<'_>,
    ) -> Vec<PathBuf> {
        let (mut paths, rest) = self.starts(pattern);
        for part in rest.split('/').filter(|part| !part.is_empty()) {
            let next = |path: PathBuf| match part.contains('*') {
                true => matching(disk, &path, part, progress),
                false => vec![lexical(&path.join(part))],
            };
            paths = paths.into_iter().flat_map(next).take(MOST).collect();
        }
        paths.retain(|path| disk.exists(path));
        paths
    }
}

fn matching(disk: &Disk, dir: &Path, part: &str, progress: &mut Progress<'_>) -> Vec<PathBuf> {
    let names = disk.list(dir, progress);
    names.iter().filter(|name| fits(part, name)).map(|name| dir.join(name)).collect()
}

/// Whether a name fits a pattern in which `*` stands for anything. A hidden name wants its dot written, as in a shell.
pub(super) fn fits(pattern: &str, name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut pieces: Vec<_> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// Where to look, most telling first: the first row that leads to an environment names its kind.
///
/// `~` is the home, `$X` the directories of a variable, `^` the working directory and its parents, `*` anything, and `@` marks a
/// file with one folder a line.
pub(super) const PLACES: &[(EnvKind, &str)] = &[
    (EnvKind::Poetry, "$POETRY_VIRTUALENVS_PATH/*"),
    (EnvKind::Poetry, "$POETRY_CACHE_DIR/virtualenvs/*"),
    (EnvKind::Poetry, "$XDG_CACHE_HOME/pypoetry/virtualenvs/*"),
    (EnvKind::Poetry, "~/.cache/pypoetry/virtualenvs/*"),
    (EnvKind::Pipx, "$PIPX_HOME/venvs/*"),
    (EnvKind::Pipx, "$XDG_DATA_HOME/pipx/venvs/*"),
    (EnvKind::Pipx, "~/.local/share/pipx/venvs/*"),
    (EnvKind::Pipx, "~/.local/pipx/venvs/*"),
    (EnvKind::Pipx, "/opt/pipx/venvs/*"),
    (EnvKind::Uv, "$UV_TOOL_DIR/*"),
    (EnvKind::Uv, "$UV_PYTHON_INSTALL_DIR/*"),
    (EnvKind::Uv, "$XDG_DATA_HOME/uv/tools/*"),
    (EnvKind::Uv, "$XDG_DATA_HOME/uv/python/*"),
    (EnvKind::Uv, "~/.local/share/uv/tools/*"),
    (EnvKind::Uv, "~/.local/share/uv/python/*"),
    (EnvKind::Uv, "$UV_PROJECT_ENVIRONMENT"),
    (EnvKind::Pyenv, "$PYENV_ROOT/versions/*"),
    (EnvKind::Pyenv, "$PYENV_ROOT/versions/*/envs/*"),
    (EnvKind::Pyenv, "~/.pyenv/versions/*"),
    (EnvKind::Pyenv, "~/.pyenv/versions/*/envs/*"),
    (EnvKind::Conda, "$CONDA_PREFIX"),
    (EnvKind::Conda, "@~/.conda/environments.txt"),
    (EnvKind::Conda, "$CONDA_ENVS_PATH/*"),
    (EnvKind::Conda, "$CONDA_ENVS_DIRS/*"),
    (EnvKind::Conda, "$MAMBA_ROOT_PREFIX"),
    (EnvKind::Conda, "$MAMBA_ROOT_PREFIX/envs/*"),
    (EnvKind::Conda, "~/.conda/envs/*"),
    (EnvKind::Conda, "~/.local/share/mamba/envs/*"),
    (EnvKind::Conda, "~/*conda3"),
    (EnvKind::Conda, "~/*conda3/envs/*"),
    (EnvKind::Conda, "~/m*forge*"),
    (EnvKind::Conda, "~/m*forge*/envs/*"),
    (EnvKind::Conda, "~/micromamba"),
    (EnvKind::Conda, "~/micromamba/envs/*"),
    (EnvKind::Conda, "/opt/*conda*"),
    (EnvKind::Conda, "/opt/*conda*/envs/*"),
    (EnvKind::Conda, "/opt/m*forge*"),
    (EnvKind::Conda, "/opt/m*forge*/envs/*"),
    (EnvKind::Conda, "/opt/micromamba/envs/*"),
    (EnvKind::Conda, "^/.pixi/envs/*"),
    (EnvKind::Conda, "~/.pixi/envs/*"),
    (EnvKind::Conda, "~/*/installer_files/env"),
    (EnvKind::Venv, "$VIRTUAL_ENV"),
    (EnvKind::Venv, "^/.venv"),
    (EnvKind::Venv, "^/venv"),
    (EnvKind::Venv, "$WORKON_HOME/*"),
    (EnvKind::Venv, "$XDG_DATA_HOME/virtualenvs/*"),
    (EnvKind::Venv, "~/.local/share/virtualenvs/*"),
    (EnvKind::Venv, "~/.local/share/hatch/env/virtual/*/*/*"),
    (EnvKind::Venv, "~/.virtualenvs/*"),
    (EnvKind::Venv, "~/.venvs/*"),
    (EnvKind::Venv, "~/.direnv/*"),
    (EnvKind::Venv, "~/envs/*"),
    (EnvKind::Venv, "~/Envs/*"),
    (EnvKind::Venv, "~/.venv"),
    (EnvKind::Venv, "~/venv*"),
    (EnvKind::Venv, "~/*/.venv"),
    (EnvKind::Venv, "~/*/venv"),
    (EnvKind::Venv, "/venv"),
    (EnvKind::Venv, "/.venv"),
    (EnvKind::Venv, "/opt/*venv*"),
    (EnvKind::Venv, "/opt/*/.venv"),
    (EnvKind::Venv, "/opt/*/venv"),
    (EnvKind::Venv, "/app/.venv"),
    (EnvKind::Venv, "/app/venv"),
    (EnvKind::Venv, "/srv/*/.venv"),
    (EnvKind::Venv, "/srv/*/venv"),
    (EnvKind::Venv, "/workspace/.venv"),
    (EnvKind::Venv, "/workspace/*venv*"),
    (EnvKind::Venv, "/workspace/*/.venv"),
    (EnvKind::Venv, "/workspace/*/venv"),
    (EnvKind::Venv, "/databricks/python*"),
    (EnvKind::User, "~/.local"),
    (EnvKind::System, "/usr"),
    (EnvKind::System, "/usr/local"),
    (EnvKind::System, "/opt/python*"),
    (EnvKind::System, "/opt/python/*"),
    (EnvKind::Folder, "$PATH/.."),
    (EnvKind::Folder, "$PATH/python3"),
    (EnvKind::Folder, "$PATH/python"),
];
