//! Every option and operand that takes a path, named things that are no file it could want.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use warpscope::commands::{COMMANDS, CommandSpec};
use warpscope::config::{ArgSpec, Form, Kind};

use super::{Desk, fifo, journal, text};

/// Longest time a command may take; a silent pipe is given up after half a minute.
const DEADLINE: Duration = Duration::from_secs(300);
/// Kibibytes of address space a command may have.
const MEMORY: u64 = 2 << 20;

/// Options that many commands take and one place reads: two commands are enough.
const READ_IN_ONE_PLACE: &[&str] = &["CONFIG", "LIBRARY", "RULES", "THEME"];

/// Options that lead to nothing here, with the reason: the command must end, and may end well.
const UNASKED: &[(&str, &str, &str)] = &[
    ("replay", "RECORDING", "the terminal comes first, and there is none"),
    ("replay", "THEME", "the terminal comes first, and there is none"),
    ("check", "LIBRARY", "asked about a T4 that is named"),
    ("explain", "ERROR_TEXT", "any text is a log, also one of zeros, in which nothing is found"),
    ("bench", "CUBLAS", "asked on a GPU, and there is none"),
    ("probe", "CUBLAS", "asked on a GPU, and there is none"),
];

fn takes_path(row: &ArgSpec) -> bool {
    matches!(row.kind, Kind::Path | Kind::Paths | Kind::Folders)
}

/// Every command with each of its options that take a path.
fn pairs() -> Vec<(&'static CommandSpec, &'static ArgSpec)> {
    let mut seen: Vec<&str> = Vec::new();
    let mut pairs = Vec::new();
    for command in COMMANDS.iter().filter(|command| !command.hidden) {
        for row in command.specs().filter(|row| takes_path(row)) {
            let before = seen.iter().filter(|id| **id == row.id).count();
            if before < 2 || !READ_IN_ONE_PLACE.contains(&row.id) {
                pairs.push((command, row));
                seen.push(row.id);
            }
        }
    }
    pairs
}

/// What other operands a command demands, and what makes it short.
fn others(desk: &Desk, command: &CommandSpec, tried: &str) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    for row in command.specs().filter(|row| row.id != tried) {
        match (row.id, row.form, row.kind) {
            ("FILE", ..) => words.push(desk.path(format!("new-{tried:?}.jsonl")).into()),
            ("RECORDING" | "JOURNAL", ..) => words.push(desk.path("run.jsonl").into()),
            // Either alone is too few.
            ("OLD", ..) if tried == "NEW" => {
                words.extend(["--old".into(), desk.path("run.jsonl").into()]);
            }
            ("NEW", ..) if tried == "OLD" => {
                words.extend(["--new".into(), desk.path("run.jsonl").into()]);
            }
            ("RUNS", ..) if matches!(tried, "OLD" | "NEW") => {}
            ("RUNS", ..) => {
                words.extend([desk.path("run.jsonl").into(), desk.path("run.jsonl").into()])
            }
            ("DURATION", ..) if tried == "TEXTFILE" => {
                words.extend(["--duration", "0.1s"].map(Into::into))
            }
            ("BASELINE", ..) if tried == "BASELINES" => {
                words.extend(["--baseline", "main"].map(Into::into))
            }
            ("TUNE_SPEC", ..) => words.push(desk.path("spec.toml").into()),
            ("ACTION", ..) => words.push("check".into()),
            ("FRAMEWORKS", ..) => words.push("vllm".into()),
            ("PANEL", ..) if tried == "IMPORT" => {
                words.extend(["--panel", "history"].map(Into::into))
            }
            ("GPUS", ..) if command.specs().any(|row| row.id == "FRAMEWORKS") => {
                words.extend(["--gpu", "T4"].map(Into::into));
            }
            ("ONCE" | "TUNE_ONCE" | "REQUIRE_GPU", ..) => {
                words.push(format!("--{}", row.name()).into())
            }
            (_, Form::RequiredOperand, Kind::OneOf(known)) => words.push(known[0].into()),
            (_, Form::RequiredOperand, _) => words.push("x".into()),
            _ => {}
        }
    }
    words
}

fn words(desk: &Desk, command: &CommandSpec, row: &ArgSpec, path: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![command.name.into()];
    match row.long {
        Some(long) => words.extend([format!("--{long}").into(), path.into()]),
        None => words.push(path.into()),
    }
    if row.id == "RUNS" {
        words.push(desk.path("run.jsonl").into());
    }
    words.extend(others(desk, command, row.id));
    words
}

struct Case {
    command: &'static CommandSpec,
    id: &'static str,
    path: PathBuf,
    child: Child,
    said: PathBuf,
    started: Instant,
}

impl Case {
    fn start(desk: &Desk, command: &'static CommandSpec, row: &ArgSpec, path: &Path) -> Self {
        let mut shell = desk.shell(&format!("ulimit -v {MEMORY}"));
        let name = path.file_name().expect("has a name").to_string_lossy().into_owned();
        let said = desk.path(format!("{}-{:?}-{name}.txt", command.name, row.id));
        let out = File::create(&said).expect("creates");
        shell.args(words(desk, command, row, path)).stderr(out.try_clone().expect("a handle"));
        let child = shell.stdout(out).spawn().expect("starts");
        Self { command, id: row.id, path: path.to_owned(), child, said, started: Instant::now() }
    }

    /// What is wrong with how it ended.
    fn fault(mut self) -> Option<String> {
        let label = format!("{} {:?} {}", self.command.name, self.id, self.path.display());
        while self.child.try_wait().expect("is a child").is_none() {
            if self.started.elapsed() > DEADLINE {
                self.child.kill().expect("is a child");
                self.child.wait().expect("is a child");
                return Some(format!("{label}: hangs"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let status = self.child.wait().expect("is a child");
        let said = text(&std::fs::read(&self.said).expect("is there"));
        let excused = UNASKED.iter().any(|row| row.0 == self.command.name && row.1 == self.id);
        let fine = status.code() == Some(0) && !excused;
        if status.signal().is_some() || fine || said.contains("panicked") {
            return Some(format!("{label}: ends with {status}: {said}"));
        }
        let name = self.path.file_name().expect("has a name").to_string_lossy().into_owned();
        (!excused && !said.contains(&name)).then(|| format!("{label}: names no path: {said}"))
    }
}

#[test]
fn no_path_makes_a_command_wait_for_ever_or_fill_the_memory() {
    let desk = Desk::new();
    desk.file("run.jsonl", journal(&["gemm"]));
    desk.spec();
    let sparse = |name: &str, size: u64| {
        let path = desk.path(name);
        File::create(&path).expect("creates").set_len(size).expect("grows");
        path
    };
    let (large, log) = (sparse("sparse", 6 << 30), sparse("log", (MEMORY << 10) + (1 << 29)));
    let pairs = pairs();
    assert!(pairs.len() > 20, "{}", pairs.len());
    // All at once: they wait side by side, each at a pipe of its own.
    let wait = |(command, row): &(&'static CommandSpec, &'static ArgSpec)| {
        let pipe = desk.path(format!("pipe-{}-{:?}", command.name, row.id));
        fifo(&pipe);
        Case::start(&desk, command, row, &pipe)
    };
    let waiting: Vec<Case> = pairs.iter().map(wait).collect();
    let mut faults = Vec::new();
    for path in [Path::new("/dev/zero"), &large, desk.0.path()] {
        for (command, row) in &pairs {
            // A log is read to its end, which takes ten seconds a gigabyte here: enough to fill the memory will do.
            let path = if row.id == "ERROR_TEXT" && path == large { &log } else { path };
            let is_wanted =
                path.is_dir() && matches!(row.id, "RULES" | "MODEL" | "INSPECTED" | "SEARCHED");
            if !is_wanted {
                faults.extend(Case::start(&desk, command, row, path).fault());
            }
        }
    }
    faults.extend(waiting.into_iter().filter_map(Case::fault));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
