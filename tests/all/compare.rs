//! `warpscope compare` as its user runs it: files of several tools in, calls and exit codes out.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use warpscope::bench::compare::SplitMix;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).expect("writes");
        path
    }
}

fn compare(files: &[&Path], more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
    command.arg("compare").args(files).args(more).env_clear().env("HOME", "/nowhere");
    command.output().expect("starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("is text")
}

/// Thirty times around a centre, microseconds, with one per cent of noise.
fn line(name: &str, center: f64, seed: u64) -> String {
    let mut random = SplitMix::new(seed);
    let times = (0..30).map(|_| (center * (1.0 + 0.01 * random.normal())).to_string());
    format!(
        "name={name} m=16 n=4096 dtype=bf16 device=cpu t_us={}\n",
        times.collect::<Vec<_>>().join(",")
    )
}

#[test]
fn a_change_of_five_per_cent_is_called_with_an_interval_that_holds_it() {
    let folder = Folder::new();
    let before = folder.file("before.txt", &(line("gemm", 40.0, 1) + &line("gemv", 12.0, 2)));
    let after = folder.file("after.txt", &(line("gemm", 42.0, 3) + &line("gemv", 12.0, 4)));
    let output = compare(&[&before, &after], &["--json", "--fail-on", "slower"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let row = |at: usize| &document["rows"][at];
    assert_eq!((row(0)["call"].as_str(), row(1)["call"].as_str()), (Some("slower"), Some("same")));
    let change = &row(0)["change"];
    let held = |key: &str| change[key].as_f64().expect("a number");
    assert!(held("low_share") < 0.05 && 0.05 < held("high_share"), "{change}");
    assert_eq!(row(0)["before"]["samples"], 30);

    let again = compare(&[&before, &before], &["--fail-on", "slower"]);
    assert_eq!(again.status.code(), Some(0), "{}", text(&again.stdout));
    assert!(text(&again.stdout).contains("0 slower, 0 faster, 2 same, 0 ambiguous"));
}

#[test]
fn what_cannot_be_compared_is_told_and_not_called() {
    let folder = Folder::new();
    let before = folder.file("a.txt", "name=gemm device=T4 t_us=1,1,1\n");
    let after = folder.file("b.txt", "name=gemm device=H200 t_us=9,9,9\n");
    let output = compare(&[&before, &after], &["--fail-on", "slower"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("the other side was measured on T4"));
}

#[test]
fn a_file_that_holds_no_measurement_names_itself_and_the_way_out() {
    let folder = Folder::new();
    let good = folder.file("good.txt", "name=a t_us=1\n");
    for (content, said) in
        [("", "no format warpscope knows"), ("hello\n", "nvbench"), ("[]", "no format")]
    {
        let bad = folder.file("bad.txt", content);
        let output = compare(&[&good, &bad], &[]);
        assert_eq!(output.status.code(), Some(2), "{content:?}");
        let error = text(&output.stderr);
        assert!(error.contains("bad.txt") && error.contains(said), "{error}");
    }
    let alone = compare(&[&good], &[]);
    assert!(alone.status.code() == Some(2) && text(&alone.stderr).contains("two runs or more"));
    let missing = compare(&[&good, Path::new("/nowhere/x")], &[]);
    assert!(missing.status.code() == Some(2) && text(&missing.stderr).contains("/nowhere/x"));
}

#[test]
fn names_in_a_file_cannot_move_the_cursor() {
    let folder = Folder::new();
    let hostile = folder.file("x.txt", "name=a\u{1b}[2J\u{9b}H t_us=1\n");
    let output = compare(&[&hostile, &hostile], &[]);
    assert!(!text(&output.stdout).contains(['\u{1b}', '\u{9b}']));
}
