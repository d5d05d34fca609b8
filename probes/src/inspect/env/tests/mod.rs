use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::inventory::*;
use super::places::Places;
use super::progress::Progress;
use super::sweep::find;

mod cuda;
mod kinds;
mod oracle;
mod packages;
mod process;
mod program;
mod search;

/// A machine made of files.
pub(super) struct Fake(TempDir);

impl Fake {
    pub(super) fn new() -> Self {
        Self(tempfile::tempdir().expect("temporary directory"))
    }

    pub(super) fn outer(&self, path: &str) -> PathBuf {
        self.0.path().join(path.trim_start_matches('/'))
    }

    pub(super) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.outer(path);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("directory");
        fs::write(path, bytes).expect("file");
    }

    pub(super) fn dir(&self, path: &str) {
        fs::create_dir_all(self.outer(path)).expect("directory");
    }

    pub(super) fn link(&self, path: &str, target: &str) {
        let path = self.outer(path);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("directory");
        symlink(target, path).expect("link");
    }

    /// What `python -m venv` makes.
    pub(super) fn venv(&self, root: &str) {
        self.put(&format!("{root}/pyvenv.cfg"), "home = /usr/bin\nversion = 3.11.7\n");
        self.dir(&format!("{root}/lib/python3.11/site-packages"));
        self.link(&format!("{root}/lib64"), "lib");
        self.put(&format!("{root}/bin/activate"), "");
        self.put("/usr/bin/python3", "");
        self.link(&format!("{root}/bin/python"), "/usr/bin/python3");
    }

    /// What conda makes.
    pub(super) fn conda(&self, root: &str) {
        self.put(&format!("{root}/conda-meta/history"), "");
        self.dir(&format!("{root}/lib/python3.11/site-packages"));
    }

    /// An installation of Python by itself.
    pub(super) fn prefix(&self, root: &str) {
        self.dir(&format!("{root}/lib/python3.11/site-packages"));
        self.put(&format!("{root}/bin/python3.11"), "");
        self.link(&format!("{root}/bin/python3"), "python3.11");
    }

    /// A package with metadata and a record of its files, which are made as well.
    pub(super) fn package(&self, site: &str, name: &str, version: &str, files: &[&str]) {
        let info = format!("{site}/{}-{version}.dist-info", name.replace('-', "_"));
        let head = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\n");
        self.put(&format!("{info}/METADATA"), head);
        self.put(&format!("{info}/INSTALLER"), "pip\n");
        let rows: String = files.iter().map(|file| format!("{file},sha256=x,4\n")).collect();
        self.put(&format!("{info}/RECORD"), rows);
        files.iter().for_each(|file| self.put(&format!("{site}/{file}"), "\x7fELF"));
    }

    pub(super) fn places(&self) -> Places {
        Places {
            home: Some("/home/ada".into()),
            working: Some("/home/ada/work/deep/er".into()),
            proc_root: self.outer("proc"),
            ..Places::at(self.0.path().canonicalize().expect("a path"))
        }
    }

    pub(super) fn find(&self) -> Inventory {
        find(&self.places(), &mut Progress::silent())
    }

    /// Path under the root as the inventory shows it.
    pub(super) fn shown(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().expect("a path").join(path.trim_start_matches('/'))
    }
}

/// The one environment of an inventory.
pub(super) fn only(inventory: &Inventory) -> &Environment {
    assert_eq!(inventory.environments.len(), 1, "{:#?}", inventory.environments);
    &inventory.environments[0]
}

pub(super) fn names(environment: &Environment) -> Vec<String> {
    let name = |one: &Package| format!("{} {}", one.name, one.full_version());
    environment.packages.iter().map(name).collect()
}

pub(super) fn libraries(package: &Package, below: &Path) -> Vec<String> {
    let relative = |one: &Library| one.path.strip_prefix(below).unwrap_or(&one.path).to_owned();
    package.libraries.iter().map(|one| relative(one).display().to_string()).collect()
}
