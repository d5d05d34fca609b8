//! The inner arrows of the house, which the compiler does not hold.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Modules in the order of the arrows: each may use those above it and itself.
pub(crate) const LAYERS: &[&[&str]] = &[
    &["text"],
    &["engine", "runs", "widgets"],
    &["store", "worker"],
    &["tuner"],
    &["io"],
    &["config"],
    &["features"],
    &["shell"],
    &["commands"],
];

/// Files of `features` that gather what the features have in common, and so may name them.
const GATHERING: &[&str] = &["features/mod.rs", "features/msg.rs", "features/shared.rs"];

/// Code that names no file, process, socket or clock.
const PURE: &[&str] = &[
    "engine",
    "features",
    "runs/compare",
    "shell/chrome.rs",
    "shell/draw.rs",
    "shell/keymap.rs",
    "shell/keys.rs",
    "shell/mod.rs",
    "shell/overlay",
    "shell/recording.rs",
    "shell/tabs.rs",
    "shell/update",
    "store",
    "widgets",
    "worker/scheduler",
    "worker/supervisor",
];

/// Files of the pure folders that touch the outside, each with its reason.
const IMPURE: &[(&str, &str)] = &[];

/// Code that writes past the printer, each with its reason.
const WRITERS: &[(&str, &str)] = &[
    ("commands/output/", "the printer's own streams"),
    ("commands/explain/subject.rs", "a watched program's output is passed on byte by byte"),
    ("commands/record/", "a recorded program's output is passed on byte by byte"),
    ("commands/worker.rs", "lines between two processes of the program"),
    ("engine/explain/line.rs", "terminal sequences are taken out of logs"),
    ("io/sink/printer.rs", "the printer"),
    ("shell/runtime/", "the dashboard's screen, whose canvas replaces what is hostile"),
    ("text.rs", "escape sequences are taken out"),
];

/// Code that makes JSON past the one writer, each with its reason.
const JSON: &[(&str, &str)] = &[
    ("commands/tune/workspace.rs", "a job for a child of the program"),
    ("io/sink/history/", "run logs and summaries the program keeps for itself"),
    ("io/source/nvml/", "lines between two processes of the program"),
    ("runs/", "lines of a journal"),
    ("tuner/", "lines to children"),
    ("worker/", "lines to children"),
];

const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::process",
    "std::net",
    "std::thread",
    "Instant::now",
    "SystemTime::now",
    "std::env",
    "tokio::",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("is a folder") {
        let path = entry.expect("is readable").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
}

/// Every source file with its path below `src` and its code without tests and comments.
pub(crate) fn code() -> Vec<(String, String)> {
    code_of("src")
}

/// The same below another folder.
fn code_of(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    sources(&root, &mut found);
    let read = |path: PathBuf| {
        let name = path.strip_prefix(&root).expect("is below").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("is readable");
        let code =
            text.split("#[cfg(test)]\nmod tests").next().expect("has a first part").to_owned();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        (name, lines.collect::<Vec<_>>().join("\n"))
    };
    let is_test = |name: &str| name.ends_with("tests.rs") || name.contains("/tests/");
    found.into_iter().map(read).filter(|(name, _)| !is_test(name)).collect()
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

#[test]
fn modules_use_only_what_stands_before_them() {
    let mut wrong = Vec::new();
    for (name, code) in code() {
        let own = name.split(['/', '.']).next().expect("has a first part").to_owned();
        let Some(own_layer) = layer(&own) else { continue };
        for line in code.lines() {
            for used in line.split("crate::").skip(1) {
                let used =
                    used.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
                if layer(used).is_some_and(|used| used > own_layer) {
                    wrong.push(format!("{name}: {}", line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Words after `features::` in a line, braces taken apart.
fn named_features(line: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let after = line.split("features::").skip(1);
    after
        .flat_map(|rest| match rest.strip_prefix('{') {
            Some(list) => list.split(',').map(word).collect(),
            None => vec![word(rest)],
        })
        .collect()
}

#[test]
fn a_feature_names_no_other_feature() {
    let code = code();
    let folder = |name: &str| {
        let rest = name.strip_prefix("features/")?;
        rest.split_once('/').map(|(feature, _)| feature.to_owned())
    };
    let features: BTreeSet<String> = code.iter().filter_map(|(name, _)| folder(name)).collect();
    assert!(features.contains("compat") && features.len() >= 5, "{features:?}");
    let mut wrong = Vec::new();
    for (name, code) in code.iter().filter(|(name, _)| name.starts_with("features/")) {
        let own = folder(name);
        if GATHERING.contains(&name.as_str()) {
            continue;
        }
        for line in code.lines() {
            // A path up out of the folder names a feature as well.
            let up = line.replace("super::super::", "features::");
            let foreign = named_features(&up)
                .into_iter()
                .filter(|used| features.contains(used) && own.as_ref() != Some(used));
            wrong.extend(foreign.map(|used| format!("{name}: {used}: {}", line.trim())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_router_takes_the_whole_state_to_change_it() {
    let code = code();
    let others = code.iter().filter(|(name, _)| {
        (name.starts_with("features/")
            || name.starts_with("shell/")
            || name.starts_with("widgets/"))
            && !name.starts_with("shell/update/")
    });
    let wrong: Vec<_> =
        others.filter(|(_, code)| code.contains("&mut App")).map(|(name, _)| name).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn the_pure_part_names_no_file_process_socket_or_clock() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (name, code) in code() {
        let pure = PURE.iter().any(|pure| name.starts_with(pure))
            && !IMPURE.iter().any(|row| row.0 == name);
        if pure {
            seen += 1;
            wrong.extend(
                OUTSIDE
                    .iter()
                    .filter(|word| code.contains(**word))
                    .map(|word| format!("{name}: {word}")),
            );
        }
    }
    assert!(seen > 20 && wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Lines of code with one of the words in them, but for excused files.
fn lines_with(words: &[&str], excused: &[(&str, &str)]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, code) in code() {
        if excused.iter().any(|row| name.starts_with(row.0)) {
            continue;
        }
        let hits = code.lines().filter(|line| words.iter().any(|word| line.contains(word)));
        found.extend(hits.map(|line| format!("{name}: {}", line.trim())));
    }
    found
}

#[test]
fn whatever_reaches_a_terminal_passes_the_printer() {
    let words = ["print!(", "println!(", "stdout()", "stderr()", "\\x1b", "\\u{1b}"];
    let harmless = ["output::std", ".is_terminal()"];
    let found = lines_with(&words, WRITERS).into_iter();
    let found: Vec<_> =
        found.filter(|line| !harmless.iter().any(|word| line.contains(word))).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn commands_and_files_have_one_writer_of_json() {
    let words = ["serde_json::to_", "serde_json::Serializer"];
    let excused = [JSON, &[("io/sink/jsonl.rs", "the writer")]].concat();
    let found = lines_with(&words, &excused);
    assert!(found.is_empty(), "{}", found.join("\n"));
}
