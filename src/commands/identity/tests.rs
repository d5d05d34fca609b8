//! Held against git itself.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::index::entries;
use super::*;

/// Long enough for any machine.
const LONG: Duration = Duration::from_secs(60);

/// A folder with a repository, and git without anybody's configuration.
struct Desk(tempfile::TempDir);

impl Desk {
    /// Nothing where there is no git.
    fn new() -> Option<Self> {
        if Command::new("git").arg("--version").output().is_err() {
            println!("SKIPPED: there is no git to compare with");
            return None;
        }
        let desk = Self(tempfile::tempdir().expect("a folder"));
        desk.git(&["init", "-q", "."]);
        for (name, text) in [("a", "one\n"), ("b/c", "two\n"), ("b/d/e", "three\n"), ("b.txt", "")]
        {
            desk.write(name, text);
        }
        symlink("a", desk.path("link")).expect("links");
        desk.git(&["add", "."]);
        desk.commit();
        Some(desk)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("makes");
        std::fs::write(path, text).expect("writes");
    }

    fn git_in(&self, folder: &Path, index: Option<&Path>, words: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always"]);
        git.args(words)
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("HOME", self.0.path());
        git.envs(index.map(|index| ("GIT_INDEX_FILE", index)));
        let output = git.output().expect("starts");
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn git(&self, words: &[&str]) -> String {
        self.git_in(self.0.path(), None, words)
    }

    fn commit(&self) {
        self.git(&["commit", "-q", "-m", "text"]);
    }

    fn found_in(folder: &Path, bytes: u64) -> Checkout {
        Checkout::of(folder.to_owned(), Budget { until: Instant::now() + LONG, bytes })
    }

    fn found(&self) -> Dirty {
        let found = Self::found_in(self.0.path(), MAX_READ);
        assert_eq!(found.commit, Some(self.git(&["rev-parse", "HEAD"])));
        found.dirty
    }

    /// What git makes of the tracked files, with an index of its own so that ours stays as it is.
    fn truth(&self) -> Dirty {
        let index = self.path(".git/other");
        std::fs::copy(self.path(".git/index"), &index).expect("copies");
        // By its time git knows which files may have changed after it was written.
        let written = self.path(".git/index").metadata().and_then(|one| one.modified());
        let copy = std::fs::File::options().write(true).open(&index).expect("opens");
        copy.set_modified(written.expect("has a time")).expect("takes the time");
        self.git_in(self.0.path(), Some(&index), &["add", "-u"]);
        let tree = self.git_in(self.0.path(), Some(&index), &["write-tree"]);
        if tree == self.git(&["rev-parse", "HEAD^{tree}"]) {
            return Dirty::No;
        }
        Dirty::Hash(tree[..16].to_owned())
    }

    fn agrees(&self, what: &str, is_dirty: bool) {
        let found = self.found();
        assert_eq!(found, self.truth(), "{what}");
        assert_eq!(found != Dirty::No, is_dirty, "{what}");
    }
}

#[test]
fn whatever_was_done_to_a_folder_it_is_said_to_hold_what_git_finds_in_it() {
    let Some(desk) = Desk::new() else { return };
    desk.agrees("as committed", false);
    desk.write("untracked", "x");
    desk.agrees("a file git does not know", false);
    desk.write("a", "one\n");
    desk.agrees("written again", false);
    desk.write("a", "One\n");
    desk.agrees("as long as before", true);
    desk.git(&["add", "a"]);
    desk.agrees("staged", true);
    desk.write("a", "one\n");
    desk.agrees("staged and taken back", false);
    desk.git(&["reset", "-q", "--hard"]);
    std::fs::remove_dir_all(desk.path("b")).expect("removes");
    desk.agrees("a folder is gone", true);
    desk.write("b", "a file in place of a folder");
    desk.agrees("a folder became a file", true);
    std::fs::remove_file(desk.path("b")).expect("removes");
    desk.git(&["reset", "-q", "--hard"]);
    desk.agrees("brought back", false);
    std::fs::remove_file(desk.path("link")).expect("removes");
    symlink("b.txt", desk.path("link")).expect("links");
    desk.agrees("a link elsewhere", true);
    desk.git(&["reset", "-q", "--hard"]);
    desk.write("b/new", "new\n");
    desk.git(&["add", "b/new"]);
    desk.agrees("a file was added", true);
    desk.commit();
    desk.agrees("committed", false);
}

#[test]
fn every_way_of_keeping_a_repository_is_read() {
    let Some(desk) = Desk::new() else { return };
    for at in 0..300 {
        desk.write(&format!("many/{at}"), "x");
    }
    desk.git(&["add", "."]);
    desk.commit();
    desk.git(&["update-index", "--index-version", "4"]);
    desk.agrees("a compressed index", false);
    desk.git(&["tag", "-a", "-m", "text", "v1"]);
    desk.git(&["gc", "-q"]);
    desk.git(&["pack-refs", "--all"]);
    assert!(
        !desk.path(".git/refs/heads/master").exists()
            && !desk.path(".git/refs/heads/main").exists()
    );
    desk.agrees("packed", false);
    let inside = Desk::found_in(&desk.path("b/d"), MAX_READ);
    assert_eq!((inside.commit, inside.dirty), (Some(desk.git(&["rev-parse", "HEAD"])), Dirty::No));
    desk.git(&["checkout", "-q", "--detach"]);
    desk.agrees("no branch", false);
    let other = tempfile::tempdir().expect("a folder");
    let (linked, borrowed) = (other.path().join("linked"), other.path().join("borrowed"));
    desk.git(&["worktree", "add", "-q", "-b", "side", linked.to_str().expect("is text")]);
    desk.git(&["clone", "-q", "-s", ".", borrowed.to_str().expect("is text")]);
    for folder in [&linked, &borrowed] {
        let clean = Desk::found_in(folder, MAX_READ);
        assert_eq!(
            (clean.commit, clean.dirty),
            (Some(desk.git(&["rev-parse", "HEAD"])), Dirty::No)
        );
        std::fs::write(folder.join("a"), "other\n").expect("writes");
        assert!(matches!(Desk::found_in(folder, MAX_READ).dirty, Dirty::Hash(_)));
    }
    let none = Desk::found_in(other.path(), MAX_READ);
    assert_eq!(none, Checkout::default());
}

#[test]
fn every_commit_of_a_pack_names_the_tree_git_says_it_has() {
    let Some(desk) = Desk::new() else { return };
    let message = |at: usize| -> String {
        (0..40).map(|line| format!("line {line} of a message, {}\n", at * (line % 3))).collect()
    };
    for at in 0..12 {
        desk.write("a", &at.to_string());
        desk.git(&["commit", "-q", "-a", "-m", &message(at)]);
    }
    desk.git(&["repack", "-adfq", "--depth=50", "--window=50"]);
    desk.git(&["prune-packed"]);
    let pack = desk.git(&["rev-parse", "--git-path", "objects/pack"]);
    let index = std::fs::read_dir(desk.path(&pack)).expect("lists").flatten();
    let index =
        index.map(|one| one.path()).find(|path| path.extension().is_some_and(|ext| ext == "idx"));
    let listed =
        desk.git(&["verify-pack", "-v", index.expect("a pack").to_str().expect("is text")]);
    let is_difference =
        |line: &&str| line.contains(" commit ") && line.split_whitespace().count() > 5;
    assert!(listed.lines().filter(is_difference).count() > 3, "no differences to try: {listed}");
    for pair in desk.git(&["log", "--format=%H %T"]).lines() {
        let (commit, folder) = pair.split_once(' ').expect("two numbers");
        let id = tree::from_hex(commit).expect("a number");
        let found = tree::of_commit(&desk.path(".git/objects"), &id);
        assert_eq!(found.map(|id| tree::hex(&id)).as_deref(), Some(folder), "{commit}");
    }
}

#[test]
fn a_submodule_that_was_moved_on_is_a_change() {
    let (Some(desk), Some(inner)) = (Desk::new(), Desk::new()) else { return };
    desk.git(&["submodule", "--quiet", "add", inner.0.path().to_str().expect("is text"), "sub"]);
    desk.commit();
    desk.agrees("as committed", false);
    desk.git_in(&desk.path("sub"), None, &["commit", "-q", "--allow-empty", "-m", "text"]);
    desk.agrees("moved on", true);
}

#[test]
fn what_cannot_be_known_is_not_called_clean() {
    let Some(desk) = Desk::new() else { return };
    desk.write("a", "one\n"); // the times are other, the content is not
    assert_eq!(Desk::found_in(desk.0.path(), 3).dirty, Dirty::Unknown);
    assert_eq!(Desk::found_in(desk.0.path(), 1000).dirty, Dirty::No);
    desk.write("a", "longer than before\n");
    assert_eq!(Desk::found_in(desk.0.path(), 3).dirty, Dirty::NotHashed);
    desk.git(&["reset", "-q", "--hard"]);
    desk.git(&["update-index", "--split-index"]);
    assert_eq!(desk.found(), Dirty::Unknown);
    desk.git(&["update-index", "--no-split-index"]);
    desk.agrees("an index of one piece", false);
    let past = Budget { until: Instant::now(), bytes: MAX_READ };
    let late = Checkout::of(desk.0.path().to_owned(), past);
    assert!(matches!(late.dirty, Dirty::Unknown | Dirty::No));
    std::fs::remove_file(desk.path(".git/index")).expect("removes");
    assert_eq!(desk.found(), Dirty::Unknown);
}

#[test]
fn a_repository_of_longer_numbers_is_neither_clean_nor_changed() {
    let Some(desk) = Desk::new() else { return };
    desk.write("long/a", "one\n");
    let folder = desk.path("long");
    desk.git_in(&folder, None, &["init", "-q", "--object-format=sha256", "."]);
    desk.git_in(&folder, None, &["add", "."]);
    desk.git_in(&folder, None, &["commit", "-q", "-m", "text"]);
    let found = Desk::found_in(&folder, MAX_READ);
    assert_eq!((found.commit.map(|commit| commit.len()), found.dirty), (Some(64), Dirty::Unknown));
}

#[test]
fn an_unfinished_merge_is_a_change() {
    let Some(desk) = Desk::new() else { return };
    desk.git(&["checkout", "-q", "-b", "other"]);
    desk.write("a", "theirs\n");
    desk.git(&["commit", "-q", "-a", "-m", "text"]);
    desk.git(&["checkout", "-q", "-"]);
    desk.write("a", "ours\n");
    desk.git(&["commit", "-q", "-a", "-m", "text"]);
    let merge = ["-c", "user.name=n", "-c", "user.email=e", "merge", "other"];
    let merged = Command::new("git").args(merge).current_dir(desk.0.path()).output();
    assert!(!merged.expect("starts").status.success());
    assert_eq!(desk.found(), desk.truth());
    assert!(matches!(desk.found(), Dirty::Hash(_)));
}

#[test]
fn a_pipe_in_place_of_any_file_is_not_waited_for() {
    let Some(desk) = Desk::new() else { return };
    let pipe = |name: &str| {
        let path = desk.path(name);
        std::fs::remove_file(&path).expect("removes");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).expect("makes");
    };
    pipe("a");
    assert!(matches!(desk.found(), Dirty::Hash(_)));
    pipe(".git/index");
    assert_eq!(Desk::found_in(desk.0.path(), MAX_READ).dirty, Dirty::Unknown);
    pipe(".git/HEAD");
    assert_eq!(Desk::found_in(desk.0.path(), MAX_READ).commit, None);
}

#[test]
fn an_index_damaged_at_any_byte_does_no_harm() {
    let Some(desk) = Desk::new() else { return };
    for version in ["2", "4"] {
        desk.git(&["update-index", "--index-version", version]);
        let whole = std::fs::read(desk.path(".git/index")).expect("reads");
        let count = |bytes: &[u8]| {
            let mut count = 0;
            let read = entries(bytes, |_| {
                count += 1;
                Some(())
            });
            (read.is_some(), count)
        };
        assert_eq!(count(&whole), (true, 5));
        for at in 0..whole.len() {
            assert!(count(&whole[..at]).1 <= 5);
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            assert!(count(&damaged).1 <= 5, "{at}");
        }
    }
}
