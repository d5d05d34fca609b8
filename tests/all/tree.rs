//! What the repository holds at its top: a file left there by mistake is a change of this list.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const FOLDERS: &str = ".cargo .ci .github docs examples fuzz kernels packaging probes screenshots scripts src tests themes";
const FILES: &str = ".dockerignore .gitignore ARCHITECTURE.md BENCHMARKS.md CHANGELOG.md CONTRIBUTING.md Cargo.lock \
    Cargo.toml LICENSE-APACHE LICENSE-MIT README.md SECURITY.md clippy.toml config.sample.toml deny.toml flake.nix \
    pyproject.toml rust-toolchain.toml rustfmt.toml";

/// Files that git tracks; `None`, and said so, where this is no repository.
fn tracked() -> Option<Vec<String>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let Some(listed) = git.output().ok().filter(|output| output.status.success()) else {
        crate::skip::skipped(format_args!("this is not a git repository"));
        return None;
    };
    let names = String::from_utf8(listed.stdout).expect("is text");
    Some(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

#[test]
fn the_top_of_the_repository_holds_what_belongs_there() {
    let Some(names) = tracked() else { return };
    let top = names.iter().filter_map(|name| name.split('/').next());
    let known: BTreeSet<&str> = FOLDERS.split(' ').chain(FILES.split_whitespace()).collect();
    let strange: BTreeSet<&str> = top.filter(|top| !known.contains(top)).collect();
    assert!(strange.is_empty(), "the repository holds {strange:?}");
}

/// Line of the first fence in comments of documentation that opens anything but `text`.
fn example(code: &str) -> Option<usize> {
    let mut is_open = false;
    for (at, line) in code.lines().enumerate() {
        let line = line.trim_start();
        let comment = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"));
        let Some(fence) = comment.and_then(|text| text.trim().strip_prefix("```")) else {
            continue;
        };
        if !is_open && fence != "text" {
            return Some(at + 1);
        }
        is_open = !is_open;
    }
    None
}

/// No library has tests in its documentation (`doctest = false`): looking for them compiles every crate once more.
#[test]
fn no_example_in_documentation_goes_untested() {
    assert_eq!(example("/// ```text\n/// ```\n    //! ```no_run"), Some(3));
    let Some(names) = tracked() else { return };
    let code: Vec<_> = names.iter().filter(|name| name.ends_with(".rs")).collect();
    assert!(code.len() > 1000, "{} files", code.len());
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let untested = code.iter().filter_map(|name| {
        let code = std::fs::read_to_string(root.join(name)).ok()?;
        Some(format!("{name}:{}", example(&code)?))
    });
    let untested: Vec<_> = untested.collect();
    assert!(untested.is_empty(), "write a test instead: {untested:?}");
}
