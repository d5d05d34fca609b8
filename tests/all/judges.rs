//! What nvbench's and Google Benchmark's own comparers say of files that `warpscope compare` judges, side by side.
//!
//! `.ci/judges` installs them and names them in `NVBENCH_COMPARE` and `GBENCH_COMPARE`; what is not there is skipped aloud.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use warpscope::runs::compare::SplitMix;
use warpscope::runs::run_log::Record;

/// Kernel and true change, per cent.
const CASES: &[(&str, f64)] =
    &[("same", 0.0), ("up1", 1.0), ("up2", 2.0), ("up5", 5.0), ("down2", -2.0), ("down5", -5.0)];
/// Samples a kernel and run, and their spread.
const SAMPLES: usize = 60;
const NOISE: f64 = 0.003;

/// What a judge says of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Slower,
    Faster,
    Same,
    Undecided,
}

/// Times of every case in one run, microseconds; the second run has the changes.
fn times(run: u64) -> Vec<(&'static str, Vec<f64>)> {
    let mut random = SplitMix::new(90 + run);
    let mut around = |center: f64| -> Vec<f64> {
        (0..SAMPLES).map(|_| center * (1.0 + NOISE * random.normal())).collect()
    };
    let factor = |change: f64| 1.0 + run as f64 * change / 100.0;
    CASES.iter().map(|(name, change)| (*name, around(40.0 * factor(*change)))).collect()
}

fn words(times: &[f64]) -> String {
    times.iter().map(|us| format!("{us:.4}")).collect::<Vec<_>>().join(",")
}

/// A journal of one line per kernel, at one clock throughout.
fn journal(folder: &Path, run: u64) -> PathBuf {
    let run_line = Record::Run(Box::default());
    let mut text = serde_json::to_string(&run_line).expect("serialises") + "\n";
    for (name, times) in times(run) {
        let clocks = vec!["1500"; SAMPLES].join(",");
        let times = words(&times);
        writeln!(text, "name={name} m=16 dtype=bf16 device=made-up t_us={times} sm_mhz={clocks}")
            .expect("writes to memory");
    }
    keep(folder.join(format!("{run}.jsonl")), &text)
}

/// The same in the JSON of Google Benchmark, one entry per repetition.
fn google(folder: &Path, run: u64) -> PathBuf {
    let mut entries = Vec::new();
    for (family, (name, times)) in times(run).into_iter().enumerate() {
        for (repetition, us) in times.iter().enumerate() {
            entries.push(serde_json::json!({
                "name": name, "run_name": name, "run_type": "iteration", "family_index": family,
                "per_family_instance_index": 0, "repetitions": SAMPLES, "repetition_index": repetition,
                "threads": 1, "iterations": 1, "real_time": us, "cpu_time": us, "time_unit": "us",
            }));
        }
    }
    // The tool writes its context first, and readers know it by that.
    let entries = serde_json::Value::from(entries);
    let context = serde_json::json!({"executable": "made-up", "library_build_type": "release"});
    let document = format!("{{\"context\":{context},\"benchmarks\":{entries}}}");
    keep(folder.join(format!("{run}.google.json")), &document)
}

fn keep(path: PathBuf, text: &str) -> PathBuf {
    std::fs::write(&path, text).expect("writes");
    path
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn warpscope(arguments: &[&str], files: &[&Path]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
    output(command.args(arguments).args(files).env_clear().env("HOME", "/dev/null"))
}

/// What `warpscope compare` says, by kernel. Processes differ by nothing here, which the others take for granted and it has to be told.
fn own(files: &[&Path], name: &str) -> Said {
    let words = ["compare", "--json", "--noise", "0.05"];
    let document: serde_json::Value =
        serde_json::from_str(&warpscope(&words, files)).expect("JSON");
    let rows = document["rows"].as_array().expect("rows");
    let is = |row: &&serde_json::Value| {
        row["key"].as_str().is_some_and(|key| key.split(' ').next() == Some(name))
    };
    match rows.iter().find(is).and_then(|row| row["call"].as_str()) {
        Some("slower") => Said::Slower,
        Some("faster") => Said::Faster,
        Some("same") => Said::Same,
        Some("ambiguous") => Said::Undecided,
        other => panic!("{name}: {other:?}"),
    }
}

/// nvbench-compare-robust: a heading per kernel, the status in its only row.
fn nvbench(tool: &str, files: &[PathBuf], name: &str) -> Said {
    let text = output(Command::new(tool).arg("--no-color").args(files));
    let section = text.split(&format!("# {name}\n")).nth(1).expect("has the kernel");
    let row = section.lines().find(|line| line.contains("bf16")).expect("has a row");
    let status = [
        ("SLOW", Said::Slower),
        ("FAST", Said::Faster),
        ("SAME", Said::Same),
        ("AMBG", Said::Undecided),
    ];
    status.iter().find(|(word, _)| row.contains(word)).expect("a status that is known").1
}

/// compare.py: a line per repetition with its change, called real where the U test has p < 0.05; it knows no least change that counts.
fn google_says(tool: &str, files: &[PathBuf], name: &str) -> Said {
    let mut command = Command::new("python3");
    let text = output(command.arg(tool).args(["--no-color", "benchmarks"]).args(files));
    let column = |line: &str| -> f64 {
        let word = line.split_whitespace().nth(1).expect("has the column");
        word.parse().expect("a number")
    };
    let lines = |first: &str| -> Vec<f64> {
        text.lines().filter(|l| l.split_whitespace().next() == Some(first)).map(column).collect()
    };
    match lines(&format!("{name}_pvalue")).first() {
        Some(p) if *p >= 0.05 => Said::Same,
        Some(_) if lines(name).iter().sum::<f64>() > 0.0 => Said::Slower,
        Some(_) => Said::Faster,
        None => panic!("no p-value of {name} in {text}"),
    }
}

#[test]
#[ignore = "needs nvbench's and Google Benchmark's comparers; .ci/judges installs them"]
fn other_judges_say_the_same_of_the_same_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let texts = [journal(folder.path(), 0), journal(folder.path(), 1)];
    let google_files = [google(folder.path(), 0), google(folder.path(), 1)];
    let exported = texts.each_ref().map(|path| {
        let json = warpscope(&["export", "--format", "nvbench"], &[path]);
        keep(path.with_extension("nvbench.json"), &json)
    });
    let tool = |name: &str| {
        let tool = std::env::var(name).ok().filter(|tool| !tool.is_empty());
        if tool.is_none() {
            crate::skip::skipped(format_args!("{name} names no comparer"));
        }
        tool
    };
    let (nvbench_tool, google_tool) = (tool("NVBENCH_COMPARE"), tool("GBENCH_COMPARE"));
    println!("{:<8} {:>6}  {:<10} {:<10} google", "kernel", "change", "warpscope", "nvbench");
    for (name, change) in CASES {
        let mine = own(&[&texts[0], &texts[1]], name);
        let theirs = nvbench_tool.as_deref().map(|tool| nvbench(tool, &exported, name));
        let google = google_tool.as_deref().map(|tool| google_says(tool, &google_files, name));
        let word = |said: Option<Said>| said.map_or("-".to_owned(), |said| format!("{said:?}"));
        println!(
            "{name:<8} {change:>+5.0}%  {:<10} {:<10} {}",
            word(Some(mine)),
            word(theirs),
            word(google)
        );
        assert_eq!(
            own(&[&google_files[0], &google_files[1]], name),
            mine,
            "the format changes nothing"
        );
        for other in [theirs, google].into_iter().flatten() {
            assert!(
                other == mine || other == Said::Undecided,
                "{name}: {mine:?} against {other:?}"
            );
            assert!(change.abs() < 2.0 || other != Said::Undecided, "{name}: {other:?}");
        }
    }
}
