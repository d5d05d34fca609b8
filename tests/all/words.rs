//! What users read is plain English in the terms of the field: phrases that were mended stay out, and help is ASCII.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Phrases that no text for users may have, and what to write; CONTRIBUTING has the same list.
const BANNED: &[(&str, &str)] = &[
    ("ways out", "fixes"),
    ("way out of it", "fix"),
    ("how it comes to that", "reasoning"),
    ("what follows is not known here", "support for the alternative is unknown"),
    ("ten seconds forth", "ten seconds forward"),
    ("hopeless are given up", "candidates that cannot win are dropped early"),
    ("take the choice of a version back", "reset version"),
    ("beside somebody who computes", "while another process uses the GPU"),
    ("when somebody comes", "when another process starts using the GPU"),
    ("takes another route", "falls back to"),
    ("what is installed counts before", "installed packages take precedence"),
    ("is told apart", "is distinguished"),
    ("says so aloud", "reports it"),
    ("of one's own", "your own"),
    ("nobody speaks of", "no rule covers"),
    ("is no choice of the option", "the option accepts"),
    ("asked for by name", "requested by name"),
    ("its makers", "its developers"),
    ("rule speaks of", "rule covers"),
    ("is what is meant where", "is assumed unless"),
    ("on the spot", "at run time"),
    ("asks nothing of", "sets no requirement"),
    ("says yes all the same", "still returns true"),
];

/// What users read: documents, texts of rules and errors, and the strings of the program.
const PLACES: &[(&str, &str)] = &[
    ("README.md", "md"),
    ("config.sample.toml", "toml"),
    ("docs", "md"),
    ("src", "rs"),
    ("probes/src", "rs"),
    ("probes/rules", "toml"),
    ("probes/errors", "toml"),
];

fn files(path: &Path, extension: &str) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries =
        fs::read_dir(path).expect("is a folder").map(|entry| entry.expect("reads").path());
    let found = entries.flat_map(|path| match path.is_dir() {
        true => files(&path, extension),
        false => vec![path],
    });
    found.filter(|path| path.extension().is_some_and(|end| end == extension)).collect()
}

/// The text without comments and tests, in lower case, each run of white space one blank.
fn read_by_users(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("is text").to_lowercase();
    let is_code = path.extension().is_some_and(|end| end == "rs");
    let text = if is_code { text.split("#[cfg(test)]").next().unwrap_or_default() } else { &text };
    let lines = text.lines().filter(|line| !(is_code && line.trim_start().starts_with("//")));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

#[test]
fn banned_phrases_stay_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut seen = 0;
    for (place, extension) in PLACES {
        for path in files(&root.join(place), extension) {
            if path.ends_with("tests.rs") || path.iter().any(|part| part == "tests") {
                continue;
            }
            seen += 1;
            let text = read_by_users(&path);
            let faults = BANNED.iter().filter(|row| text.contains(row.0));
            found.extend(faults.map(|(banned, better)| {
                format!("{}: \"{banned}\"; write \"{better}\"", path.display())
            }));
        }
    }
    assert!(seen > 300, "{seen}");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_list_in_contributing_is_this_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).expect("is there");
    for (banned, better) in BANNED {
        let row = format!("| {banned} | {better} |");
        assert!(text.contains(&row), "add to CONTRIBUTING.md: {row}");
    }
}

fn printed(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
    let output = command.args(args).env("LC_ALL", "C").output().expect("runs");
    String::from_utf8(output.stdout).expect("is text")
}

#[test]
fn in_the_c_locale_everything_is_ascii() {
    let help = printed(&["--help"]);
    let names = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = names.take_while(|line| line.starts_with("  "));
    let names: Vec<_> = names.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 20 && help.is_ascii());
    for name in names {
        let help = printed(&[name, "--help"]);
        let odd = help.lines().find(|line| !line.is_ascii());
        assert_eq!(odd, None, "{name} --help");
    }
    for args in [
        &["check", "--gpu", "T4", "vllm"][..],
        &["why", "--gpu", "T4", "vllm:awq"],
        &["plan", "Qwen/Qwen2.5-32B-Instruct-AWQ", "--gpu", "2xT4"],
        &["frameworks"],
        &["dtypes"],
        &["gpus", "3090"],
        &["doctor"],
        &["snapshot"],
        &["config", "sample"],
    ] {
        let text = printed(args);
        let odd = text.lines().find(|line| !line.is_ascii());
        assert_eq!(odd, None, "{args:?}");
    }
}
