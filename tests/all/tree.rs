//! What the repository holds at its top: a file left there by mistake is a change of this list.

use std::collections::BTreeSet;
use std::process::Command;

const FOLDERS: &str = ".cargo .ci .github docs examples fuzz kernels packaging probes screenshots scripts src tests themes";
const FILES: &str = ".dockerignore .gitignore ARCHITECTURE.md BENCHMARKS.md CHANGELOG.md CONTRIBUTING.md Cargo.lock \
    Cargo.toml LICENSE-APACHE LICENSE-MIT README.md SECURITY.md clippy.toml config.sample.toml deny.toml flake.nix \
    pyproject.toml rust-toolchain.toml rustfmt.toml";

#[test]
fn the_top_of_the_repository_holds_what_belongs_there() {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let Some(listed) = git.output().ok().filter(|output| output.status.success()) else {
        return crate::skip::skipped(format_args!("this is not a git repository"));
    };
    let names = String::from_utf8(listed.stdout).expect("is text");
    let top =
        names.split('\0').filter_map(|name| name.split('/').next()).filter(|top| !top.is_empty());
    let known: BTreeSet<&str> = FOLDERS.split(' ').chain(FILES.split_whitespace()).collect();
    let strange: BTreeSet<&str> = top.filter(|top| !known.contains(top)).collect();
    assert!(strange.is_empty(), "the repository holds {strange:?}");
}
