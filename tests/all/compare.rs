//! `warpscope compare` as its user runs it: files of several tools in, calls and exit codes out.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use warpscope::runs::compare::SplitMix;

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
    command.arg("compare").args(files).args(more).env_clear().env("HOME", "/dev/null");
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
    let side = |name: &str, gemm: f64, seed: u64| -> Vec<PathBuf> {
        let process = |at: u64| {
            let lines = line("gemm", gemm, seed + at) + &line("gemv", 12.0, seed + 50 + at);
            folder.file(&format!("{name}{at}.txt"), &lines)
        };
        (0..6).map(process).collect()
    };
    let (before, after) = (side("before", 40.0, 100), side("after", 42.0, 200));
    let sides = |before: &[PathBuf], after: &[PathBuf], more: &[&str]| {
        let paths = |side: &'static str, files: &[PathBuf]| {
            [PathBuf::from(side)].into_iter().chain(files.to_vec()).collect::<Vec<_>>()
        };
        let words = [paths("--old", before), paths("--new", after)].concat();
        compare(&words.iter().map(PathBuf::as_path).collect::<Vec<_>>(), more)
    };
    let output = sides(&before, &after, &["--json", "--fail-on", "slower"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let row = |at: usize| &document["rows"][at];
    assert_eq!((row(0)["call"].as_str(), row(1)["call"].as_str()), (Some("slower"), Some("same")));
    let change = &row(0)["change"];
    let held = |key: &str| change[key].as_f64().expect("a number");
    assert!(held("low_share") < 0.05 && 0.05 < held("high_share"), "{change}");
    assert_eq!(
        (&row(0)["before"]["processes"], &row(0)["before"]["samples"]),
        (&6.into(), &180.into())
    );

    let again = sides(&before, &before, &["--fail-on", "slower"]);
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

#[test]
fn a_pull_request_gets_a_table_and_a_script_gets_rows() {
    let folder = Folder::new();
    let before = folder.file("before.txt", &(line("gemm", 40.0, 1) + "name=old|x t_us=1\n"));
    let after = folder.file("after.txt", &line("gemm", 44.0, 3));
    let markdown = text(&compare(&[&before, &after], &["--markdown", "--noise", "0.5%"]).stdout);
    let lines: Vec<&str> = markdown.lines().collect();
    let columns = |line: &str| line.matches(" | ").count();
    assert_eq!(columns(lines[0]), columns(lines[2]), "{markdown}");
    assert!(lines[2].starts_with("| SLOWER | gemm m=16 n=4096 bf16 cpu |"), "{markdown}");
    assert!(markdown.contains("- old\\|x in "), "{markdown}");

    let csv = text(&compare(&[&before, &after], &["--csv", "--noise", "0.5%"]).stdout);
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{csv}");
    let cell = |row: usize, name: &str| {
        let at = rows[0].iter().position(|head| *head == name).expect("a column");
        rows[row][at]
    };
    assert_eq!(
        (cell(1, "name"), cell(1, "call"), cell(1, "samples_after")),
        ("gemm", "slower", "30")
    );
    let change: f64 = cell(1, "change_share").parse().expect("a number");
    assert!((change - 0.1).abs() < 0.02, "{change}");
    assert_eq!((cell(2, "run"), cell(2, "call")), (after.to_str().expect("text"), ""));
    let reason = format!("in {}: the other side does not have it", before.display());
    assert_eq!(cell(2, "reason"), reason);
    let both = compare(&[&before, &after], &["--csv", "--json"]);
    assert_eq!(both.status.code(), Some(2));
}

/// Last line of a run that ended well.
const END: &str = "{\"type\":\"end\",\"at_ms\":9,\"samples\":30}\n";

/// A journal of one run.
fn journal(head: &str, name: &str, center: f64, seed: u64) -> String {
    format!("{{\"type\":\"run\",\"schema\":1{head}}}\n{}{END}", line(name, center, seed))
}

#[test]
fn other_regimes_and_tainted_samples_are_refused_with_the_reason() {
    let folder = Folder::new();
    let pulse = folder.file("a.jsonl", &journal(",\"regime\":\"pulse\"", "k", 10.0, 1));
    let sustained = folder.file("b.jsonl", &journal(",\"regime\":\"sustained\"", "k", 20.0, 2));
    let said = text(&compare(&[&pulse, &sustained], &[]).stdout);
    assert!(said.contains("was measured in pulses, this one sustained"), "{said}");
    assert!(said.contains("0 slower"), "{said}");
    let around =
        "{\"type\":\"around\",\"points\":1,\"tainted\":[\"throttled: thermal (software)\"]}\n";
    let hot = folder.file("c.jsonl", &(journal(",\"regime\":\"pulse\"", "k", 20.0, 3) + around));
    let said = text(&compare(&[&pulse, &hot], &[]).stdout);
    assert!(said.contains("30 tainted samples left out: throttled: thermal (software)"), "{said}");
    assert!(said.contains("0 slower, 0 faster, 0 same, 1 ambiguous"), "{said}");
}

#[test]
fn points_without_a_device_from_other_machines_are_warned_of() {
    let folder = Folder::new();
    let run = |gpu: &str| {
        let head =
            format!("{{\"type\":\"run\",\"schema\":1,\"devices\":[{{\"name\":\"{gpu}\"}}]}}\n");
        folder.file(&format!("{gpu}.jsonl"), &(head + "name=k t_us=1,1,1\n"))
    };
    let warned = compare(&[&run("T4"), &run("H200")], &[]);
    assert!(text(&warned.stderr).contains("k names no device"), "{}", text(&warned.stderr));
    assert!(!text(&compare(&[&run("T4"), &run("T4")], &[]).stderr).contains("names no device"));
}

#[test]
fn one_process_a_side_is_judged_by_the_noise_of_its_command_and_of_no_other() {
    let folder = Folder::new();
    let run = |name: &str, center: f64, seed: u64| {
        let head = ",\"command\":[\"/usr/local/bin/bench\",\"--fast\"]";
        folder.file(name, &journal(head, "gemm", center, seed))
    };
    let (before, after) = (run("before.jsonl", 40.0, 1), run("after.jsonl", 44.0, 3));
    let state = folder.0.path().join("warpscope");
    std::fs::create_dir(&state).expect("makes");
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("is readable");
    let said = |host: &str, command: &str, deviation: f64, more: &[&str]| {
        let kernel = format!(
            r#""gemm m=16 n=4096 bf16 cpu":{{"deviation":{deviation},"processes":10,"at_ms":1}}"#
        );
        let noise =
            format!(r#"{{"schema":2,"machines":{{"{host}":{{"{command}":{{{kernel}}}}}}}}}"#);
        std::fs::write(state.join("noise.json"), noise).expect("writes");
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
        command.arg("compare").args([&before, &after]).args(more).env_clear();
        text(&command.env("XDG_STATE_HOME", folder.0.path()).output().expect("starts").stdout)
    };
    let host = host.trim();
    for (host, command, deviation, more, answer) in [
        (host, "bench --fast", 0.001, &[][..], "1 slower"),
        (host, "bench --fast", 0.2, &[], "1 ambiguous"),
        (host, "bench --slow", 0.001, &[], "run both in turn with `warpscope versus`"),
        ("elsewhere", "bench --fast", 0.001, &[], "run both in turn with `warpscope versus`"),
        (host, "bench --slow", 0.001, &["--noise", "0.5%"], "1 slower"),
    ] {
        let said = said(host, command, deviation, more);
        assert!(said.contains(answer), "{host} {command} {deviation}: {said}");
    }
}

/// A run log holds a process for each run; those of an earlier commit were another program.
#[test]
fn runs_of_one_commit_are_processes_and_those_of_an_earlier_one_are_left_out() {
    let folder = Folder::new();
    let log = |name: &str, runs: &[(&str, f64)]| {
        let run = |(at, (commit, center)): (usize, &(&str, f64))| {
            journal(&format!(",\"commit\":\"{commit}\""), "k", *center, at as u64)
        };
        folder.file(name, &runs.iter().enumerate().map(run).collect::<String>())
    };
    let before =
        log("a.jsonl", &[("c1", 50.0), ("c1", 51.0), ("c2", 10.0), ("c2", 10.1), ("c2", 9.9)]);
    let after = log("b.jsonl", &[("c3", 20.0), ("c3", 20.2), ("c3", 19.8)]);
    let output = compare(&[&before, &after], &["--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let row = &document["rows"][0];
    assert_eq!((&row["call"], &row["before"]["processes"]), (&"slower".into(), &3.into()), "{row}");
    assert!(
        text(&output.stderr).contains("2 runs of an earlier commit"),
        "{}",
        text(&output.stderr)
    );
}

/// Programs in turn: one that sleeps twice as long is found, a program against itself is not, and what they print is read.
#[test]
fn programs_in_turn_are_judged_by_what_they_print_or_by_their_time() {
    let folder = Folder::new();
    let versus = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
        command.arg("versus").args(words).current_dir(folder.0.path());
        command.output().expect("starts")
    };
    let prints = |us: &str| ["sh".to_owned(), "-c".to_owned(), format!("echo name=gemm t_us={us}")];
    let (slow, fast) = (prints("20,21,22"), prints("10,11,12"));
    let words = ["--json", "--"].into_iter().chain(slow.iter().map(String::as_str)).chain(["--"]);
    let words: Vec<&str> = words.chain(fast.iter().map(String::as_str)).collect();
    let found = versus(&words);
    let document: serde_json::Value = serde_json::from_slice(&found.stdout).expect("JSON");
    let row = &document["rows"][0];
    assert_eq!((&row["key"], &row["call"]), (&"gemm".into(), &"faster".into()), "{row}");
    assert_eq!(row["before"]["processes"], 3, "decided at the first look");
    let timed = versus(&["--blocks", "2", "--csv", "--", "true", "--", "true", "--", "true"]);
    let rows = text(&timed.stdout);
    assert_eq!(rows.matches(",wall time,").count(), 2, "{rows}");
    let built = versus(&["--build", "make", "--", "true", "--", "true"]);
    assert!(built.status.code() == Some(2) && text(&built.stderr).contains("name them by --rev"));
    let failed = versus(&["--", "true", "--", "sh", "-c", "echo sorry >&2; exit 3"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(text(&failed.stderr).contains("ends with 3\n  sorry"), "{}", text(&failed.stderr));
    let alone = versus(&["--", "true"]);
    assert!(alone.status.code() == Some(2) && text(&alone.stderr).contains("name two programs"));
}

/// A program of the shell in a folder of its own, with `$n` the number of its runs so far.
fn turns(folder: &Path, more: &[&str], script: &str) -> Output {
    let count = "n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n >n";
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
    command.arg("versus").args(more).args(["--json", "--", "echo", "name=gemm t_us=20", "--"]);
    command.args(["sh", "-c", &format!("{count}; {script}")]).current_dir(folder);
    command.output().expect("starts")
}

/// As often slower as faster: nothing is decided before the fifth run.
const UNDECIDED: &str = "echo name=gemm t_us=$((n % 2 * 20 + 10))";

#[test]
fn what_was_measured_before_a_failure_or_a_signal_is_judged() {
    for (then, more, exit, error) in [
        ("echo sorry >&2; exit 3", &[][..], 0, "ends with 3"),
        ("echo sorry >&2; exit 3", &["--fail-on", "error"], 1, "ends with 3"),
        ("kill -INT $PPID; exec sleep 1000", &["--fail-on", "error"], 130, ""),
    ] {
        let folder = Folder::new();
        let script = format!("[ $n -lt 5 ] || {{ {then}; }}; {UNDECIDED}");
        let output = turns(folder.0.path(), more, &script);
        assert_eq!(output.status.code(), Some(exit), "{then}: {}", text(&output.stderr));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let row = &document["rows"][0];
        assert_eq!((&row["call"], &row["after"]["processes"]), (&"ambiguous".into(), &4.into()));
        let errors = document["errors"].as_array().expect("a list");
        assert_eq!(errors.len(), usize::from(!error.is_empty()), "{document}");
        assert!(errors.iter().all(|why| why.as_str().is_some_and(|why| why.contains(error))));
    }
    let folder = Folder::new();
    let ended = turns(folder.0.path(), &[], "kill -INT $PPID; exec sleep 1000");
    assert_eq!((ended.status.code(), text(&ended.stdout)), (Some(130), String::new()));
}

#[test]
fn what_of_an_output_cannot_be_read_is_an_error() {
    let google = |more: &str| {
        format!("{{\"context\":{{}},\"benchmarks\":[{{\"name\":\"gemm\",\"real_time\":5}}{more}")
    };
    let failed = google(",{\"name\":\"BM_y\",\"error_occurred\":true}]}");
    for (printed, exit, said) in [
        ("name=gemm t_us=20\nname=zero t_us=0", 1, "0"),
        (&failed, 1, "BM_y failed"),
        (&google(""), 1, "damaged"),
        ("name=gemm t_us=0", 1, "0"),
        ("name=gemm t_us=20", 0, ""),
    ] {
        let folder = Folder::new();
        folder.file("out", printed);
        let more = ["--fail-on", "error", "--blocks", "3"];
        let output = turns(folder.0.path(), &more, "cat out");
        let all = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.code() == Some(exit) && all.contains(said), "{printed}: {all}");
        assert!(!all.contains("wall time"), "{printed}: {all}");
    }
    let folder = Folder::new();
    let lines = "echo name=gemm t_us=20; echo took 7 ms";
    let more = ["--pattern", "took (?<t_ms>[0-9]+)", "--blocks", "3"];
    let output = turns(folder.0.path(), &more, lines);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["rows"][0]["key"], "gemm", "{document}");
    assert_eq!(document["not_compared"][0]["key"], "pattern", "{document}");
}

#[test]
fn revisions_are_built_and_run_in_the_folder_they_are_named_in() {
    let folder = Folder::new();
    let inner = folder.0.path().join("inner");
    std::fs::create_dir(&inner).expect("a folder");
    folder.file("inner/bench.sh", "echo name=gemm t_us=20\n");
    let run = |program: &str, words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).current_dir(&inner);
        command.envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "a")));
        command.envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "a@b")));
        command.output()
    };
    if run("git", &["init", "--quiet", ".."]).is_err() {
        return println!("SKIPPED (no git)");
    }
    for words in [&["add", "."][..], &["commit", "--quiet", "--message", "a"]] {
        assert!(run("git", words).expect("starts").status.success());
    }
    let words = ["versus", "--json", "--build", "echo built; test -f bench.sh", "--rev", "HEAD"];
    let words = [&words[..], &["--rev", "HEAD", "--", "sh", "bench.sh"]].concat();
    let output = run(env!("CARGO_BIN_EXE_warpscope"), &words).expect("starts");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("only JSON");
    assert_eq!(document["rows"][0]["call"], "same", "{document}{}", text(&output.stderr));
}

#[test]
fn noise_that_was_not_measured_is_not_said_to_be_kept() {
    let folder = Folder::new();
    for (script, exit) in [("kill -INT $PPID; exec sleep 1000", 130), ("echo name=k t_us=0", 1)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
        command.args(["noise", "--", "sh", "-c", script]).env_clear();
        let output = command.env("XDG_STATE_HOME", folder.0.path()).output().expect("starts");
        assert_eq!(output.status.code(), Some(exit), "{script}");
        assert!(!text(&output.stderr).contains("kept for"), "{}", text(&output.stderr));
    }
}

/// What is called depends on what else the machine does; that both sides are measured and judged by its own noise does not.
#[test]
fn a_program_is_judged_against_another_by_the_noise_of_the_machine() {
    let folder = Folder::new();
    let program = env!("CARGO_BIN_EXE_warpscope");
    let run = |words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).args(["--dtype", "int4", "--blocks", "3"]).env_clear();
        command.env("XDG_STATE_HOME", folder.0.path()).output().expect("starts")
    };
    let noise = run(&["noise"]);
    assert_eq!(noise.status.code(), Some(0), "{}", text(&noise.stderr));
    let kept = std::fs::read_to_string(folder.0.path().join("warpscope/noise.json")).expect("kept");
    assert!(kept.contains("m0.decode profile=clean int4"), "{kept}");
    let against = run(&["bench", "--against", program, "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&against.stdout).expect("JSON");
    let rows = document["rows"].as_array().expect("a list");
    assert_eq!(rows.len(), 2);
    for row in rows {
        // A machine that is busy all the time leaves no clean sample.
        let processes = row["before"]["processes"].as_u64().expect("a number");
        assert!(processes <= 3 && row["after"]["samples"].is_number(), "{row}");
    }
    let other = run(&["bench", "--against", "/bin/true"]);
    assert_eq!(other.status.code(), Some(1), "{}", text(&other.stdout));
    assert!(text(&other.stderr).contains("/bin/true"), "{}", text(&other.stderr));
}

#[test]
fn a_journal_is_exported_to_a_file_and_nothing_else_is() {
    let folder = Folder::new();
    let run = folder.file("run.jsonl", &journal("", "k", 10.0, 1));
    let other = folder.file("other.txt", "precious notes");
    let target = folder.0.path().join("run.csv");
    let export = |from: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
        command.arg("export").arg(from).arg("-o").arg(&target).env_clear().output().expect("starts")
    };
    assert_eq!(export(&run).status.code(), Some(0));
    let csv = std::fs::read_to_string(&target).expect("is written");
    assert_eq!(csv.lines().count(), 1 + 30);
    let refused = export(&other);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        text(&refused.stderr).contains("other.txt: is not a run log"),
        "{}",
        text(&refused.stderr)
    );
}

/// What nvbench writes with `--jsonbin`: two samples lie beside the result, whose mean would say otherwise.
fn nvbench(file: &str) -> String {
    format!(
        r#"{{"meta":{{}},"devices":[],"benchmarks":[{{"name":"copy","states":[{{"summaries":[
            {{"tag":"nv/cold/time/gpu/mean","data":[{{"name":"value","value":"9e-6"}}]}},
            {{"tag":"nv/json/bin:nv/cold/sample_times","data":[{{"name":"filename","value":"{file}"}}]}}]}}]}}]}}"#
    )
}

#[test]
fn samples_of_nvbench_are_read_beside_the_result_and_nowhere_else() {
    let folder = Folder::new();
    let inner = folder.0.path().join("inner/r.json-bin");
    std::fs::create_dir_all(&inner).expect("a folder");
    let samples: Vec<u8> = [1e-6_f32, 3e-6].iter().flat_map(|time| time.to_le_bytes()).collect();
    std::fs::write(inner.join("0.bin"), &samples).expect("writes");
    std::fs::write(folder.0.path().join("0.bin"), &samples).expect("writes");
    let outside = folder.0.path().join("0.bin");
    let cases = [
        ("r.json-bin/0.bin", 2),
        ("elsewhere/r.json-bin/0.bin", 2),
        ("../0.bin", 1),
        (outside.to_str().expect("text"), 1),
    ];
    for (named, count) in cases {
        let result = folder.file("inner/r.json", &nvbench(named));
        let output = compare(&[&result, &result], &["--json"]);
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(document["rows"][0]["before"]["samples"], count, "{named}: {document}");
        let stderr = text(&output.stderr);
        assert_eq!(stderr.contains("0.bin: "), count == 1, "{named}: {stderr}");
    }
}

#[test]
fn a_file_without_a_point_says_what_it_was_read_as() {
    let folder = Folder::new();
    let failed = r#"{"context":{},"benchmarks":[{"name":"BM_y","error_occurred":true}]}"#;
    let failed = folder.file("failed.json", failed);
    let output = compare(&[&failed, &failed], &[]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = text(&output.stderr);
    assert!(stderr.contains("read as google-benchmark: one entry without a time"), "{stderr}");
}

#[test]
fn build_servers_get_a_report_and_annotations() {
    let folder = Folder::new();
    let side = |name: &str, center: f64| -> Vec<PathBuf> {
        let lines = |seed| line("a_same", 10.0, seed) + &line("b_slower", center, seed + 9);
        (0..6).map(|at| folder.file(&format!("{name}{at}.txt"), &lines(at * 31 + 7))).collect()
    };
    let (before, after) = (side("before", 40.0), side("after", 44.0));
    let report = folder.0.path().join("report.xml");
    let words = [vec!["--old".into()], before, vec!["--new".into()], after].concat();
    let files: Vec<&Path> = words.iter().map(PathBuf::as_path).collect();
    let junit = ["--junit", report.to_str().expect("text"), "--github", "--fail-on", "slower"];
    let output = compare(&files, &junit);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let first = text(&output.stdout).lines().nth(3).map(str::to_owned);
    assert!(first.is_some_and(|row| row.starts_with("SLOWER")), "{}", text(&output.stdout));
    assert!(text(&output.stderr).contains("::error title=SLOWER%3A b_slower"));
    let xml = std::fs::read_to_string(&report).expect("a report");
    assert!(xml.contains("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\""), "{xml}");
    let again = compare(&files, &junit);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("--force replaces it"), "{}", text(&again.stderr));
}

#[test]
fn runs_are_kept_by_name_compared_with_and_replaced_where_nothing_fails() {
    let folder = Folder::new();
    let process = |side: &str, center: f64, at: u64| {
        folder.file(&format!("{side}{at}.txt"), &line("gemm", center, at))
    };
    let side = |name: &str, center: f64| (0..6).map(|at| process(name, center, at)).collect();
    let (old, slow): (Vec<PathBuf>, Vec<PathBuf>) = (side("old", 40.0), side("slow", 44.0));
    let store = folder.0.path().join("baselines");
    let run = |files: &[PathBuf], more: &[&str]| {
        let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        let store = store.display().to_string();
        let output = compare(&files, &[more, &["--baselines", &store]].concat());
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let missing = run(&old, &["--baseline", "feature/x"]);
    assert_eq!(missing.0, Some(2));
    assert!(missing.2.contains("no baseline feature/x is kept"), "{}", missing.2);
    assert_eq!(run(&old, &["--save-baseline", "feature/x"]).0, Some(0));
    let both = ["--baseline", "feature/x", "--save-baseline", "feature/x", "--fail-on", "slower"];
    for _ in 0..2 {
        let slower = run(&slow, &both);
        assert_eq!(slower.0, Some(1), "{slower:?}");
        assert!(slower.1.contains("SLOWER"), "{}", slower.1);
    }
    let same = run(&old, &both);
    assert_eq!(same.0, Some(0), "{same:?}");
    assert!(same.2.contains("kept as feature/x"), "{}", same.2);

    let save = ["--save-baseline", "feature/x", "--fail-on", "error"];
    let rubbish = [folder.file("rubbish.txt", "rubbish")];
    let killed = [folder.file("killed.jsonl", &journal("", "gemm", 1.0, 1).replace(END, ""))];
    for (files, more, exit, why) in [
        (&rubbish[..], &save[..], 2, "rubbish.txt"),
        (&killed, &save, 1, "a run was cut off"),
        (&old, &[&save[..], &["--json"]].concat(), 2, "nothing is compared"),
        (&old, &[&save[..], &["--github"]].concat(), 2, "nothing is compared"),
    ] {
        let refused = run(files, more);
        assert_eq!(refused.0, Some(exit), "{refused:?}");
        assert!(refused.2.contains(why) && !refused.2.contains("kept as"), "{}", refused.2);
    }
    assert_eq!(run(&old, &both).0, Some(0), "what was kept is still there");
}

/// Of three runs the last lacks a kernel.
#[test]
fn what_is_missing_is_missing_of_the_run_that_lacks_it() {
    let folder = Folder::new();
    let gone = line("gone", 5.0, 2);
    let [base, whole, lacking] =
        [("base.txt", &gone), ("whole.txt", &gone), ("lacking.txt", &String::new())]
            .map(|(name, more)| folder.file(name, &(line("gemm", 40.0, 1) + more)));
    let files = [base.as_path(), &whole, &lacking];
    let names = files.map(|path| path.display().to_string());
    let report = folder.0.path().join("report.xml");
    let junit = ["--junit", report.to_str().expect("text"), "--fail-on", "missing", "--github"];
    let output = compare(&files, &junit);
    assert_eq!(output.status.code(), Some(1));
    let said = format!("in {} against {}: the other side does not have it", names[0], names[2]);
    assert!(text(&output.stdout).contains(&said), "{}", text(&output.stdout));
    let annotation = format!("::{}: the other side", names[2]);
    assert!(text(&output.stderr).contains(&annotation), "{}", text(&output.stderr));
    let xml = std::fs::read_to_string(&report).expect("a report");
    let failures: Vec<&str> = xml.lines().filter(|line| line.contains("<testsuite ")).collect();
    assert!(failures[0].contains("whole.txt\" tests=\"2\" failures=\"0\""), "{xml}");
    assert!(failures[1].contains("lacking.txt\" tests=\"2\" failures=\"1\""), "{xml}");
    let document = compare(&files, &["--json"]).stdout;
    let document: serde_json::Value = serde_json::from_slice(&document).expect("JSON");
    let missing = &document["not_compared"][0];
    assert_eq!(missing["run"], names[0], "{document}");
    assert_eq!(missing["against"], names[2], "{document}");
    let csv = text(&compare(&files, &["--csv"]).stdout);
    let row = csv.lines().last().expect("a row");
    assert!(row.starts_with(&format!("{},gone,", names[2])), "{csv}");
}

#[test]
fn a_run_without_a_measurement_or_an_end_is_an_error() {
    let folder = Folder::new();
    let good = folder.file("good.jsonl", &journal("", "gemm", 40.0, 1));
    let again = journal(",\"commit\":\"c1\"", "gemm", 40.0, 1);
    let empty = format!("{{\"type\":\"run\",\"schema\":1,\"commit\":\"c2\"}}\n{END}");
    for (runs, why) in [
        (again.clone() + &empty, "the newest run holds no measurement"),
        (again.replace(END, "") + &again, "a run was cut off"),
        (again.replace(END, ""), "a run was cut off"),
    ] {
        let bad = folder.file("bad.jsonl", &runs);
        let output = compare(&[&good, &bad], &["--fail-on", "error"]);
        assert_eq!(output.status.code(), Some(1), "{runs}");
        assert!(text(&output.stdout).contains(why), "{}", text(&output.stdout));
    }
}

#[test]
fn a_run_that_failed_is_an_error_where_that_is_asked() {
    let folder = Folder::new();
    let log = |name: &str, exit: i32| {
        let head = r#"{"type":"run","at_ms":1,"warpscope":"0","command":["a"]}"#;
        let end = format!(r#"{{"type":"end","at_ms":2,"samples":30,"exit":{exit}}}"#);
        folder.file(name, &format!("{head}\n{}{end}\n", line("gemm", 40.0, 1)))
    };
    let (good, bad) = (log("good.jsonl", 0), log("bad.jsonl", 3));
    let output = compare(&[&good, &bad], &["--json", "--fail-on", "error"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("a run ended with exit code 3"));
    assert_eq!(compare(&[&good, &good], &["--fail-on", "error"]).status.code(), Some(0));
    assert_eq!(compare(&[&good, &bad], &["--fail-on", "slower"]).status.code(), Some(0));
}
