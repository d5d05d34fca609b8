//! The same question put to pip, which runs Python: names and versions must agree.

use std::collections::BTreeSet;
use std::process::Command;

use super::*;
use crate::inspect::env::normalized;

type Names = BTreeSet<(String, String)>;

/// What pip says is installed for an interpreter; `None` where it cannot be asked.
fn asked(python: &Path) -> Option<Names> {
    let arguments = ["-m", "pip", "list", "--format", "json", "--disable-pip-version-check"];
    // The folder this test runs in, a user's own packages and paths of the environment are no part of the installation.
    let clean = ["PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"];
    let mut command = Command::new(python);
    for name in clean {
        command.env_remove(name);
    }
    let output = command.arg("-s").args(arguments).current_dir("/").output().ok()?;
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).ok()?;
    let text =
        |row: &serde_json::Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    Some(rows.iter().map(|row| (normalized(&text(row, "name")), text(row, "version"))).collect())
}

fn read(environment: &Environment) -> Names {
    let python =
        environment.packages.iter().filter(|one| one.installer.as_deref() != Some("conda"));
    python.map(|one| (one.normalized.clone(), one.full_version())).collect()
}

/// Every interpreter of this machine that has pip.
#[test]
fn agrees_with_pip_on_every_environment_of_this_machine() {
    let inventory = find(&Places::here(Vec::new()), &mut Progress::silent());
    let mut compared = 0;
    for environment in &inventory.environments {
        let version = environment.python.as_deref().unwrap_or("3");
        let python = environment.root.join(format!("bin/python{version}"));
        let known = environment.inherits.is_none() && environment.kind != EnvKind::User;
        if let Some(pip) = known.then(|| asked(&python)).flatten() {
            assert_eq!(read(environment), pip, "{}", environment.root.display());
            compared += 1;
        }
    }
    if compared == 0 {
        println!("SKIPPED: no interpreter with pip on this machine");
    }
}

/// A fresh venv, with a small package from the index where it can be reached.
#[test]
fn agrees_with_pip_on_a_fresh_environment() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let root = dir.path().join("venv");
    let made = Command::new("python3").args(["-m", "venv"]).arg(&root).output();
    if !made.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: python3 -m venv is not to be had here");
        return;
    }
    let python = root.join("bin/python");
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--retries",
        "0",
        "--timeout",
        "10",
        "six",
        "typing_extensions",
        "markupsafe",
    ];
    let installed = Command::new(&python).args(install).output().expect("python starts");
    if !installed.status.success() {
        println!(
            "SKIPPED in part: the package index cannot be reached, so only pip itself is compared"
        );
    }
    let places = Places { named: vec![root.clone()], ..Places::at("/".into()) };
    let inventory = find(&places, &mut Progress::silent());
    let root = root.canonicalize().expect("a path");
    let found = inventory.environments.iter().find(|one| one.root == root).expect("is found");
    assert_eq!(found.kind, EnvKind::Venv);
    assert_eq!(read(found), asked(&python).expect("pip answers"));
    if installed.status.success() {
        let markup = found.package("MarkupSafe").expect("was installed");
        assert_eq!(markup.libraries.len(), 1, "its one extension module");
        let expected = fs::metadata(&markup.libraries[0].path).expect("is there").len();
        assert_eq!(markup.libraries[0].bytes, expected);
    }
}
