//! Commands in README and docs are run, and their output is that of the program: `UPDATE_DOCS=1 cargo test docs` renews it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_dir(root.join("docs"))
        .expect("is there")
        .map(|entry| entry.expect("reads").path());
    let mut pages: Vec<_> =
        docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.push(root.join("README.md"));
    pages
}

/// What a command of a page prints.
fn output(line: &str) -> String {
    let script = format!("exec \"$PROGRAM\" {line}");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]).env_clear().env("HOME", "/dev/null").env("LANG", "C.UTF-8");
    let ran = command.env("PROGRAM", env!("CARGO_BIN_EXE_warpscope")).output().expect("runs");
    let code = ran.status.code();
    assert!(code.is_some_and(|code| code != 2), "{line}: {}", String::from_utf8_lossy(&ran.stderr));
    let text = String::from_utf8(ran.stdout).expect("is text");
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The page with the output of every command in a console block as it is now, and how many there are.
fn renewed(page: &str) -> (String, usize) {
    let mut text = String::new();
    let (mut inside, mut count) = (false, 0);
    for line in page.lines() {
        match (line, line.strip_prefix("$ warpscope ")) {
            ("```console", _) => inside = true,
            ("```", _) => inside = false,
            (_, Some(command)) if inside => {
                count += 1;
                text.push_str(&format!("{line}\n{}", output(command)));
                continue;
            }
            _ if inside => continue,
            _ => {}
        }
        text.push_str(&format!("{line}\n"));
    }
    (text, count)
}

#[test]
fn every_command_with_its_output_is_as_printed() {
    let mut commands = 0;
    for path in pages() {
        let page = fs::read_to_string(&path).expect("is text");
        let (new, count) = renewed(&page);
        commands += count;
        if std::env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, &new).expect("writes");
        }
        let page = fs::read_to_string(&path).expect("is text");
        assert!(page == new, "{} has drifted; run: UPDATE_DOCS=1 cargo test docs", path.display());
    }
    assert!(commands >= 4, "{commands}");
}

#[test]
fn every_page_that_is_linked_exists() {
    for path in pages() {
        let page = fs::read_to_string(&path).expect("is text");
        let folder = path.parent().expect("has a folder");
        for link in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            let is_local = !file.is_empty() && !file.contains("://");
            assert!(!is_local || folder.join(file).exists(), "{}: {link}", path.display());
        }
    }
}
