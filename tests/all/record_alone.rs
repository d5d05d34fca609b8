//! A recording starts its program and nothing else: what a repository or a program called git would do does not happen.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use warpscope::runs::run_log::{Dirty, Journal, Run};

use crate::record::{Desk, names, text};

/// Longer than any machine takes, and shorter than what hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// A repository with one committed file, `a`.
struct Repository(PathBuf);

impl Repository {
    /// Nothing where there is no git to make one.
    fn new(desk: &Desk) -> Option<Self> {
        if Command::new("git").arg("--version").output().is_err() {
            crate::skip::skipped(format_args!("there is no git to make a repository with"));
            return None;
        }
        let repository = Self(desk.0.path().join("repository"));
        std::fs::create_dir(&repository.0).expect("makes");
        repository.git(&["init", "-q", "."]);
        repository.write("a", "one\n");
        repository.git(&["add", "."]);
        repository.git(&["commit", "-q", "-m", "text"]);
        Some(repository)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("writes");
    }

    fn git(&self, words: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=n", "-c", "user.email=e"]).args(words).current_dir(&self.0);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let output = git.output().expect("starts");
        assert!(output.status.success(), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    }

    /// A command that is run in it.
    fn run(&self, mut command: Command) -> Output {
        in_time(command.current_dir(&self.0))
    }

    /// The journal of a program that prints a point; of the first try in which the state of the folder was found in time.
    fn record(&self, desk: &Desk, env: &[(&str, &str)]) -> Run {
        let end = Instant::now() + PATIENCE;
        loop {
            let mut command = desk.record(&[], &["echo", "name=a", "t_us=1"]);
            command.envs(env.iter().copied());
            let output = self.run(command);
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
            let run = desk.run();
            assert_eq!((names(&run), run.end.as_ref().expect("ended").exit), (vec!["a"], Some(0)));
            let is_late = run.identity.commit.is_none() || run.identity.dirty == Dirty::Unknown;
            if !is_late || Instant::now() > end {
                return run;
            }
            std::fs::remove_file(desk.journal()).expect("is there");
        }
    }
}

/// The output of a command, which has to end in time.
fn in_time(command: &mut Command) -> Output {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let end = Instant::now() + PATIENCE;
    while child.try_wait().expect("waits").is_none() {
        if Instant::now() > end {
            child.kill().expect("is killed");
            panic!("did not end: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("ends")
}

/// A program that leaves a mark when it is run.
fn trap(folder: &Path, name: &str, then: &str) -> PathBuf {
    let path = folder.join(name);
    let mark = folder.join("was-run").display().to_string();
    std::fs::write(&path, format!("#!/bin/sh\necho {name} >> {mark}\n{then}\n")).expect("writes");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("sets");
    path
}

fn assert_nothing_ran(folder: &Path) {
    let ran = std::fs::read_to_string(folder.join("was-run")).unwrap_or_default();
    assert_eq!(ran, "", "these were run");
}

/// A repository with a changed file, whose configuration names a program wherever it can.
fn trapped(desk: &Desk) -> Option<Repository> {
    let repository = Repository::new(desk)?;
    let program = trap(desk.0.path(), "trap", "cat");
    let hooks = desk.0.path().join("hooks");
    std::fs::create_dir(&hooks).expect("makes");
    for hook in ["post-index-change", "fsmonitor-watchman", "post-checkout"] {
        std::fs::copy(&program, hooks.join(hook)).expect("copies");
    }
    let (program, hooks) = (program.display().to_string(), hooks.display().to_string());
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
    ] {
        repository.git(&["config", key, &program]);
    }
    repository.git(&["config", "core.hooksPath", &hooks]);
    repository.write(".gitattributes", "* filter=evil diff=evil\n");
    repository.write("a", "two\n");
    Some(repository)
}

#[test]
fn no_program_that_a_repository_names_is_run() {
    let desk = Desk::new();
    let Some(repository) = trapped(&desk) else { return };
    let run = repository.record(&desk, &[]);
    assert_nothing_ran(desk.0.path());
    assert!(matches!(run.identity.dirty, Dirty::Hash(_)), "{:?}", run.identity.dirty);
    // Read from the file: git itself would run the traps.
    let branch = std::fs::read_to_string(repository.path(".git/HEAD")).expect("reads");
    let branch = branch.trim().strip_prefix("ref: ").expect("a branch");
    let commit = std::fs::read_to_string(repository.path(".git").join(branch)).expect("reads");
    assert_eq!(run.identity.commit.as_deref(), Some(commit.trim()));
}

#[test]
fn a_search_for_the_best_candidate_runs_none_of_them_either() {
    let desk = Desk::new();
    let Some(repository) = trapped(&desk) else { return };
    let journal = desk.journal().display().to_string();
    repository.write(
        "f.toml",
        "name = \"f\"\nsource = \"a\"\nrun = [\"echo\", \"name=f t_us=1,1,1 error=0\"]\n\
         [contract]\nkind = \"elementwise\"\ntolerance = 1e-5\n[[shape]]\nn = 1000\n",
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
    command.args(["tune", "f.toml", "--once", "--record", &journal]);
    let output = repository.run(command);
    assert_nothing_ran(desk.0.path());
    // Beside a busy machine it may have been too late to look at the folder.
    let dirty = desk.run().identity.dirty;
    assert!(matches!(dirty, Dirty::Hash(_) | Dirty::Unknown), "{}", text(&output.stderr));
}

#[test]
fn a_git_that_hangs_holds_nothing_back() {
    let desk = Desk::new();
    let Some(repository) = Repository::new(&desk) else { return };
    let tools = desk.0.path().join("tools");
    std::fs::create_dir(&tools).expect("makes");
    trap(&tools, "git", "exec sleep 100000");
    let path = std::env::var("PATH").expect("is set");
    let path = format!("{}:{path}", tools.display());
    let run = repository.record(&desk, &[("PATH", &path)]);
    assert_nothing_ran(&tools);
    assert_eq!(run.identity.dirty, Dirty::No);
    assert_eq!(run.identity.commit, Some(repository.git(&["rev-parse", "HEAD"])));
}

#[test]
fn a_changed_file_too_large_to_read_is_said_to_be_changed_and_not_hashed() {
    let desk = Desk::new();
    let Some(repository) = Repository::new(&desk) else { return };
    let large = std::fs::OpenOptions::new().write(true).open(repository.path("a")).expect("opens");
    large.set_len(1 << 40).expect("has holes and takes no room");
    assert_eq!(repository.record(&desk, &[]).identity.dirty, Dirty::NotHashed);
}

/// The first line is there before anything that takes time is known, and points follow it: killed at any moment, they are read.
#[test]
fn points_do_not_wait_for_what_is_found_out_later() {
    let desk = Desk::new();
    let Some(repository) = Repository::new(&desk) else { return };
    repository.record(&desk, &[]);
    let text = std::fs::read_to_string(desk.journal()).expect("reads");
    let kinds: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("{\"type\":\"")?.split('"').next())
        .collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"run"), Some(&"end")));
    assert!(kinds.contains(&"identity") && kinds.contains(&"point"), "{kinds:?}");
    for lines in 1..kinds.len() {
        let begun: Vec<&str> = text.lines().take(lines).collect();
        let journal = Journal::read(begun.join("\n").as_bytes()).expect("memory does not fail");
        let points = kinds[..lines].iter().filter(|kind| **kind == "point").count();
        assert_eq!((journal.runs.len(), journal.skipped.first), (1, None));
        assert_eq!(journal.runs[0].points.len(), points);
        assert_eq!(journal.runs[0].identity.command, ["echo", "name=a", "t_us=1"]);
    }
}
