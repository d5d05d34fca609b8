//! Slows a kernel by a known five per cent, records it and its unchanged self, and shows what `compare` says.
//!
//! `cargo run --release --example record_run`. The kernel is counted work: five per cent more of it is the delay, and no clock takes part in
//! making it. The three runs take turns, in blocks, so that what the machine does falls on all of them.

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use warpscope_kernels::cpu::interruptions;

/// Rounds of the work in one sample: a few milliseconds.
const ROUNDS: u64 = 2_000_000;
/// Samples of one block, and blocks of one run.
const SAMPLES: usize = 30;
const BLOCKS: usize = 8;
/// Runs: name, work in per cent.
const RUNS: &[(&str, u64)] = &[("before", 100), ("unchanged", 100), ("slowed", 105)];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("work") => {
            let percent = words.get(2).and_then(|word| word.parse().ok()).unwrap_or(100);
            work(ROUNDS / 100 * percent);
            ExitCode::SUCCESS
        }
        // Any other word is for warpscope itself, of this very build.
        Some(_) => warpscope::commands::main(),
        None => show(),
    }
}

/// The kernel: every round waits for the one before.
fn work(rounds: u64) {
    for _ in 0..SAMPLES {
        let before = interruptions();
        let start = Instant::now();
        let mut state = black_box(1_u64);
        for _ in 0..rounds {
            state = (state ^ (state >> 7)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        black_box(state);
        let ns = start.elapsed().as_nanos();
        let tainted = if interruptions() == before { "" } else { " tainted=preempted" };
        println!("name=spin t_ns={ns}{tainted}");
    }
}

fn show() -> ExitCode {
    let folder = tempfile::tempdir().expect("a folder for the journals");
    let exe = std::env::current_exe().expect("this program has a name");
    let file = |name: &str| folder.path().join(format!("{name}.jsonl"));
    for block in 0..BLOCKS {
        for turn in 0..RUNS.len() {
            let (name, percent) = RUNS[(turn + block) % RUNS.len()];
            let mut command = Command::new(&exe);
            command.arg("record").arg(file(name)).args(["--".as_ref(), exe.as_os_str()]);
            command.args(["work", &percent.to_string()]).env("XDG_RUNTIME_DIR", folder.path());
            let output = command.output().expect("records");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    let slowed = call(&exe, &file("before"), &file("slowed"));
    let unchanged = call(&exe, &file("before"), &file("unchanged"));
    let right =
        slowed.contains("SLOWER") && !unchanged.contains("SLOWER") && !unchanged.contains("FASTER");
    println!("{}", if right { "called as it is" } else { "NOT called as it is" });
    if right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn call(exe: &Path, before: &Path, after: &Path) -> String {
    let output = Command::new(exe).arg("compare").args([before, after]).output().expect("compares");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{text}");
    text.lines().filter(|line| line.contains("spin")).collect()
}
