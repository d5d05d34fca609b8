//! The pictures of `screenshots/`, drawn by the program from the rows of `screenshots/list.toml`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use warpscope::shell::tabs::TABS;
use warpscope::widgets::theme::BUILTIN;

use crate::frames;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    picture: Vec<Picture>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Picture {
    file: String,
    says: String,
    panel: String,
    size: String,
    theme: String,
    source: String,
    #[serde(default)]
    more: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn folder() -> PathBuf {
    root().join("screenshots")
}

fn pictures() -> Vec<Picture> {
    let text = fs::read_to_string(folder().join("list.toml")).expect("the list is there");
    toml::from_str::<List>(&text).expect("the list is as described").picture
}

/// What the program draws for a row.
fn draw(picture: &Picture) -> Vec<u8> {
    let source = frames::path(&picture.source);
    let output = Command::new(env!("CARGO_BIN_EXE_warpscope"))
        .current_dir(root())
        .env_clear()
        .env("LANG", "C.UTF-8")
        .args(["screenshot", "--panel", &picture.panel, "--size", &picture.size])
        .args(["--theme", &picture.theme, "--source"])
        .arg(source)
        .args(&picture.more)
        .output()
        .expect("starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", picture.file);
    output.stdout
}

/// `UPDATE_SCREENSHOTS=1 cargo test screenshots` writes them anew.
#[test]
fn screenshots_are_what_the_program_draws() {
    let mut stale = Vec::new();
    let rows = pictures();
    for picture in &rows {
        let drawn = draw(picture);
        let path = folder().join(&picture.file);
        if std::env::var_os("UPDATE_SCREENSHOTS").is_some() {
            fs::write(&path, &drawn).expect("writes");
        }
        if fs::read(&path).unwrap_or_default() != drawn {
            stale.push(&picture.file);
        }
    }
    assert_listed(&rows);
    assert!(stale.is_empty(), "UPDATE_SCREENSHOTS=1 cargo test screenshots draws anew: {stale:?}");
}

/// Every file of the folder is in the list, once.
fn assert_listed(rows: &[Picture]) {
    let listed: BTreeSet<String> = rows.iter().map(|row| row.file.clone()).collect();
    assert_eq!(listed.len(), rows.len(), "each file once");
    let names = fs::read_dir(folder()).expect("is there").flatten();
    let there: BTreeSet<String> = names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name != "list.toml" && name != "film.svg")
        .collect();
    assert_eq!(listed, there);
}

#[test]
fn every_theme_and_every_panel_that_is_full_has_a_picture() {
    let rows = pictures();
    assert!(rows.iter().all(|row| !row.says.is_empty()));
    for (theme, _) in BUILTIN {
        assert!(rows.iter().any(|row| row.theme == *theme), "{theme}");
    }
    for (_, id, _) in TABS {
        assert!(rows.iter().any(|row| row.panel == *id), "{id}");
    }
}
