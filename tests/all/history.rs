//! `warpscope history` as its user runs it, on journals made from fixed seeds.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use warpscope::io::sink::history::History;
use warpscope::runs::compare::SplitMix;
use warpscope::runs::run_log::{Device, End, Identity, Mark, Record, SampleMode};
use warpscope::store::trends::Trend;

pub(crate) const RUNS: usize = 24;

pub(crate) fn journal() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/journals/synthetic.jsonl")
}

fn line(record: &Record) -> String {
    serde_json::to_string(record).expect("is JSON") + "\n"
}

/// Twelve times with 0.4% of noise, microseconds.
fn point(name: &str, level: f64, random: &mut SplitMix, more: &str) -> String {
    let times = (0..12).map(|_| format!("{:.3}", level * (1.0 + 0.004 * random.normal())));
    let times = times.collect::<Vec<_>>().join(",");
    format!("name={name} device=Example-GPU t_us={times}{more}\n")
}

fn identity(at: usize) -> Identity {
    // A commit every other day; the driver is renewed before the fifteenth run.
    let driver = if at < 14 { "570.1" } else { "580.2" };
    Identity {
        name: Some(format!("night {}", at + 1)),
        at_ms: 1_780_000_000_000 + at as u64 * 86_400_000,
        warpscope: "0.1.0".into(),
        command: vec!["python".into(), "tune.py".into()],
        commit: Some(format!("{:08x}{:032x}", 0xc0de_0000_u32 + at as u32 / 2, 0)),
        dirty: (at == 9).then(|| "5a5a5a5a5a5a5a5a".to_owned()).into(),
        driver: Some(driver.into()),
        cuda: Some("13.0".into()),
        devices: vec![Device { name: "Example-GPU".into(), ..Device::default() }],
        regime: SampleMode::Sustained,
        ..Identity::default()
    }
}

/// Four kernels: one slower from the fifteenth run on, one flat, one that changes twice, and one that is new.
pub(crate) fn build(runs: usize) -> String {
    let mut text = String::new();
    for at in 0..runs {
        let mut random = SplitMix::new(at as u64 + 1);
        let slower = if at < 14 { 1.0 } else { 1.062 };
        let twice = if at < 8 { 1.0 } else { 0.92 } * if at < 18 { 1.0 } else { 1.03 };
        text += &line(&Record::Run(Box::new(identity(at))));
        text += &point("gemm m=16 n=4096 k=4096 dtype=bf16", 41.2 * slower, &mut random, "");
        let tainted = if at == 11 { " tainted=throttled" } else { "" };
        text += &point("gemv n=4096 k=4096 dtype=fp16", 12.6, &mut random, tainted);
        text += &point("attention s=8192 dtype=bf16 cfg=BLOCK=64", 880.0 * twice, &mut random, "");
        if at >= 20 {
            text += &point("softmax n=65536 dtype=fp32", 6.4, &mut random, "");
        }
        if at == 17 {
            text +=
                &line(&Record::Mark(Mark { at_ms: 1_781_468_800_500, text: "new tile".into() }));
        }
        text += &line(&Record::End(End { samples: 36, exit: Some(0), ..End::default() }));
    }
    text
}

#[test]
fn journals_are_what_their_builder_makes() {
    let text = build(RUNS);
    if std::env::var_os("UPDATE_JOURNALS").is_some() {
        std::fs::write(journal(), &text).expect("writes");
    }
    let committed = std::fs::read_to_string(journal()).expect("is committed");
    assert!(committed == text, "stale: run UPDATE_JOURNALS=1 cargo test journals_are");
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn history(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
        let root = env!("CARGO_MANIFEST_DIR");
        command.current_dir(root).arg("history").args(args).env_clear();
        command.env("HOME", self.0.path()).env("LANG", "C.UTF-8").output().expect("starts")
    }

    fn printed(&self, args: &[&str]) -> String {
        let output = self.history(args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("is text")
}

/// The home with the synthetic journal taken in.
fn filled() -> Home {
    let home = Home::new();
    home.printed(&["--import", "tests/journals/synthetic.jsonl"]);
    home
}

#[test]
fn a_history_that_is_empty_says_how_to_record_and_makes_no_file() {
    let home = Home::new();
    let said = home.printed(&[]);
    assert!(said.contains("bench --record run.jsonl") && said.contains("--import"), "{said}");
    assert_eq!(home.0.path().read_dir().expect("lists").count(), 0);
}

#[test]
fn every_kernel_is_a_line_with_its_last_change() {
    let home = filled();
    insta::assert_snapshot!("history-overview", home.printed(&[]));
    insta::assert_snapshot!("history-gemm", home.printed(&["gemm"]));
    insta::assert_snapshot!("history-softmax", home.printed(&["soft", "FP32", "--ascii"]));
    insta::assert_snapshot!("history-attention-weak", home.printed(&["attention", "--weak"]));
    assert!(home.printed(&["nothing"]).contains("None of 4 kernels"));
}

#[test]
fn json_holds_every_run_and_what_changed_beside_a_change() {
    let home = filled();
    let document: serde_json::Value =
        serde_json::from_str(&home.printed(&["gemm", "--json"])).expect("is JSON");
    let kernel = &document["kernels"][0];
    assert_eq!(kernel["runs"].as_array().map(Vec::len), Some(RUNS));
    assert_eq!(kernel["runs"][0]["at"], "2026-05-28T20:26:40.000Z");
    let change = &kernel["changes"][0];
    assert!(change["run"].as_u64().expect("a number").abs_diff(14) <= 2, "{change}");
    let share = change["change_share"].as_f64().expect("a number");
    assert!((share - 0.062).abs() < 0.005, "{change}");
    assert_eq!(change["beside"][1]["what"], "driver");
    let flat: serde_json::Value =
        serde_json::from_str(&home.printed(&["gemv", "--json"])).expect("is JSON");
    assert_eq!(flat["kernels"][0]["changes"], serde_json::json!([]));
    let shared = &flat["kernels"][0]["runs"][11];
    assert_eq!((&shared["samples"], &shared["tainted"]), (&0.into(), &12.into()));
    assert!(shared["median_ns"].is_null());
}

#[test]
fn a_build_fails_on_kernels_that_became_slower_and_stayed_so() {
    let home = filled();
    let code = |words: &[&str]| home.history(words).status.code();
    assert_eq!(code(&["--fail-on", "slower"]), Some(1));
    assert_eq!(code(&["gemv", "--fail-on", "slower,faster", "--json"]), Some(0));
    assert_eq!(code(&["gemm", "--fail-on", "faster"]), Some(0));
}

#[test]
fn runs_are_forgotten_by_name_commit_and_file() {
    let home = filled();
    let said = |words: &[&str]| text(&home.history(words).stderr);
    assert!(said(&["--forget", "night 3"]).contains("night 3: 1 run forgotten"));
    assert!(said(&["--forget", "c0de0000"]).contains("c0de0000: 2 runs forgotten"));
    assert_eq!(home.history(&["--forget", "c0de0000"]).status.code(), Some(2));
    assert_eq!(home.history(&["--forget", "c0de"]).status.code(), Some(2));
    assert!(said(&["--forget", "tests/journals/synthetic.jsonl"]).contains("21 runs forgotten"));
    assert!(home.printed(&[]).contains("No run is in the history yet"));
}

#[test]
fn importing_twice_changes_nothing_and_says_so() {
    let home = filled();
    let before = home.printed(&["--json"]);
    let again = home.history(&["--import", "tests/journals/synthetic.jsonl", "--json"]);
    let said = text(&again.stderr);
    assert!(said.contains("24 runs (24 already known, rebuilt), 912 samples"), "{said}");
    assert_eq!(text(&again.stdout), before);
}

#[test]
fn what_is_no_journal_is_refused_by_name() {
    let home = Home::new();
    let output = home.history(&["--import", "README.md"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("README.md is not a run log"), "{said}");
    let missing = home.history(&["--import", "/nowhere/x.jsonl"]);
    assert!(missing.status.code() == Some(2) && text(&missing.stderr).contains("/nowhere/x.jsonl"));
}

#[test]
fn names_in_a_journal_cannot_move_the_cursor() {
    let home = Home::new();
    let evil = home.0.path().join("evil.jsonl");
    let name = "a\\u001b[2J";
    let text_of = format!(
        "{{\"type\":\"run\",\"commit\":\"{name}\",\"driver\":\"{name}\"}}\n{{\"type\":\"point\",\"name\":\"{name}\",\"t_ns\":[1]}}\n"
    );
    std::fs::write(&evil, text_of).expect("writes");
    let output = home.history(&["--import", &evil.display().to_string()]);
    assert!(output.status.success() && text(&output.stdout).contains("a\u{fffd}[2J"));
    assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b));
}

/// How samples of one run scatter: gaussian, log-normal, or of two clocks.
const NOISES: [fn(&mut SplitMix) -> f64; 3] = [
    |random| 1.0 + 0.01 * random.normal(),
    |random| (0.01 * random.normal()).exp() * (0.002 * random.normal().powi(2)).exp(),
    |random| (if random.uniform() < 0.8 { 1.0 } else { 1.02 }) * (1.0 + 0.002 * random.normal()),
];

/// A history of sixty runs, twenty kernels for each noise; each slower by a share from a run of its own on.
fn simulated(share: f64) -> Vec<(usize, Trend)> {
    const RUNS: usize = 60;
    let kernels = 20 * NOISES.len();
    let begins: Vec<usize> = (0..kernels).map(|kernel| 12 + kernel * 7 % 37).collect();
    let mut random = SplitMix::new(11);
    let mut text = String::new();
    for run in 0..RUNS {
        text += &line(&Record::Run(Box::new(identity(run))));
        for (kernel, begin) in begins.iter().enumerate() {
            let level = 50.0 * if run >= *begin { 1.0 + share } else { 1.0 };
            let noise = NOISES[kernel % NOISES.len()];
            let times = (0..20).map(|_| format!("{:.4}", level * noise(&mut random)));
            let times = times.collect::<Vec<_>>().join(",");
            text += &format!("name=k{kernel:02} device=cpu t_us={times}\n");
        }
    }
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("writes");
    let store = History::temporary().expect("a store");
    store.import(file.path()).expect("imports");
    begins.into_iter().zip(store.trends().expect("reads")).collect()
}

#[test]
fn steps_go_through_the_store_and_are_found_where_they_are_and_flat_noise_has_none() {
    let flat: Vec<usize> =
        simulated(0.0).iter().map(|(_, trend)| trend.change_points.len()).collect();
    assert_eq!((flat.len(), flat.iter().sum::<usize>()), (60, 0), "{flat:?}");
    for share in [0.02, 0.05, -0.05] {
        for (begin, trend) in simulated(share) {
            let found = &trend.change_points;
            let told = format!("{} {share} at {begin}: {found:?}", trend.name());
            assert_eq!(found.len(), 1, "{told}");
            assert!(found[0].at.abs_diff(begin) <= 2, "{told}");
            assert!((found[0].change - share).abs() < 0.005, "{told}");
        }
    }
}
