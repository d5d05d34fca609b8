//! `tests/gpu/record` from end to end on a machine with a GPU that is not there: kernels that hang, die and leave tiles out, a recording that is killed
//! and goes on, tools that are stand-ins.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use stage::Stage;
use tempfile::TempDir;
use warpscope_kernels::image::images;

/// Longest time for anything that is waited for.
const DEADLINE: Duration = Duration::from_secs(120);

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A recording in a folder that goes with it.
struct Recording {
    stage: Stage,
    folder: TempDir,
}

impl Recording {
    /// None where there are no images or no Python.
    fn new(faults: &[&str]) -> Option<Self> {
        let python = Command::new("python3").arg("--version").output();
        let has_images = ["gemv", "mem"].iter().all(|f| images().iter().any(|i| i.family == *f));
        if !has_images || !python.is_ok_and(|output| output.status.success()) {
            crate::skip::skipped("a recording needs images of mem and gemv, and python3");
            return None;
        }
        let stage = faults.iter().fold(Stage::new("h200"), |stage, fault| stage.fault(fault));
        Some(Self { stage, folder: TempDir::new().expect("a folder") })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, words: &str) -> Command {
        self.command_with(env!("CARGO_BIN_EXE_warpscope"), words)
    }

    fn command_with(&self, program: &str, words: &str) -> Command {
        let mut command = self.stage.command("python3");
        command.arg(root().join("tests/gpu/record"));
        command.args(["--stand-in", "--program", program, "--out"]).arg(self.path("out"));
        command.args(words.split_whitespace());
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.path("tools").display()));
        command.env("PYTHONDONTWRITEBYTECODE", "1").env("HOME", self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, words: &str) -> Output {
        self.command(words).output().expect("starts")
    }

    /// A program that the recording finds before any real one.
    fn tool(&self, name: &str, script: &str) {
        fs::create_dir_all(self.path("tools")).expect("a folder");
        let path = self.path("tools").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("writes");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("can be run");
    }

    fn lines(&self, stage: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.path("out").join(format!("{stage}.jsonl")));
        let text = text.unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// How every job of a stage ended, in the order of their ends.
    fn ended(&self, stage: &str) -> Vec<(String, String)> {
        let lines = self.lines(stage).into_iter();
        let end =
            |line: Value| Some((line["job"].as_str()?.into(), line["ended"].as_str()?.into()));
        lines.filter_map(end).collect()
    }

    fn times_asked(&self, stage: &str, job: &str) -> usize {
        let asked = |line: &&Value| line["job"] == job && line["asked"].is_object();
        self.lines(stage).iter().filter(asked).count()
    }

    fn json(&self, name: &str) -> Value {
        let bytes =
            fs::read(self.path("out").join(name)).unwrap_or_else(|why| panic!("{name}: {why}"));
        serde_json::from_slice(&bytes).unwrap_or_else(|why| panic!("{name}: {why}"))
    }

    /// Starts, and waits until a job was asked for.
    fn start_until(&self, words: &str, job: &str) -> Child {
        let mut child = self.command(words).spawn().expect("starts");
        let begin = Instant::now();
        while self.times_asked("selftest", job) == 0 {
            let ended = child.try_wait().expect("is a child");
            assert!(ended.is_none() && begin.elapsed() < DEADLINE, "{ended:?}");
            thread::yield_now();
        }
        child
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn pairs<'a>(pairs: &[(&'a str, &'a str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(job, end)| ((*job).to_owned(), (*end).to_owned())).collect()
}

#[test]
fn a_kernel_that_hangs_dies_or_is_wrong_costs_itself_alone() {
    let faults = ["hang/copy", "crash/triad", "illegal_address/read", "skip/gemv_bf16"];
    let Some(recording) = Recording::new(&faults) else { return };
    let output = recording.run("--only mem.*,gemv.bf16,gemv.f16 --patience 4 selftest");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let want = [
        ("mem.noise", "ok"),
        ("mem.read", "exit 70"),
        ("mem.copy", "hang"),
        ("mem.triad", "signal 4"),
        ("gemv.bf16", "ok"),
        ("gemv.f16", "ok"),
    ];
    assert_eq!(recording.ended("selftest"), pairs(&want), "{said}");
    for want in ["mem.copy: hang", "gemv.bf16: wrong", "kernels: 2 of 6 right"] {
        assert!(said.contains(want), "{want}: {said}");
    }
    // What ran is known of those that did not come back, and of no other.
    for (kernel, stays) in [("mem.copy", true), ("mem.triad", true), ("gemv.bf16", false)] {
        let running = recording.path("out").join(format!("evidence/{kernel}-running.json"));
        assert_eq!(running.exists(), stays, "{kernel}");
    }
    let running = recording.json("evidence/mem.copy-running.json");
    assert_eq!(running["launches"][0]["entry"], "copy", "{running}");
    explains_a_skipped_tile(&recording);
    let archived = Command::new("tar").arg("-tzf").arg(recording.path("out.tar.gz")).output();
    let archived = text(&archived.expect("tar is there").stdout);
    for name in ["out/selftest.jsonl", "out/summary.txt", "out/evidence/gemv.bf16-1.json"] {
        assert!(archived.contains(name), "{name}: {archived}");
    }
}

/// The smallest wrong case: blocks of the second half did not run.
fn explains_a_skipped_tile(recording: &Recording) {
    let first = recording.json("evidence/gemv.bf16-1.json");
    let finding = &first["findings"][0];
    let count = |name: &str| finding[name].as_u64().unwrap_or_else(|| panic!("{name}: {first}"));
    assert_eq!((count("mismatches"), count("poison")), (count("not_finite"), count("mismatches")));
    assert_eq!(first["again"], serde_json::json!(["same bytes", "same bytes"]), "{first}");
    assert!(first["launches"][0]["entry"].as_str().is_some_and(|e| e.starts_with("gemv_bf16")));
    let mut files = first["files"].as_array().expect("files").iter();
    let name = files.find_map(|file| file[0].as_str().filter(|name| name.contains("got1")));
    let got = recording.path("out/evidence").join(name.expect("the output is kept"));
    let got = fs::read(got).expect("is there");
    let at = finding["first"][0]["at"].as_u64().expect("an index") as usize;
    let size = got.len() / count("elements") as usize;
    assert!(got[at * size..(at + 1) * size].iter().all(|byte| *byte == 0xff), "{first}");
    let sizes: Vec<u64> = (1..=3)
        .map(|n| recording.json(&format!("evidence/gemv.bf16-{n}.json")))
        .map(|report| report["findings"][0]["elements"].as_u64().expect("a count"))
        .collect();
    assert!(sizes.is_sorted(), "smaller cases first: {sizes:?}");
}

#[test]
fn a_family_is_left_after_four_hangs_also_when_the_recording_goes_on() {
    let Some(recording) = Recording::new(&["hang/"]) else { return };
    let words = "--only mem.*,hash,probe.finite --patience 1 selftest";
    recording.run(words);
    let ended = recording.ended("selftest");
    let hangs = ended.iter().filter(|end| end.1 == "hang").count();
    let left = ended.iter().filter(|end| end.1 == "left out: 4 hangs of mem").count();
    assert_eq!((hangs, left + hangs), (4, ended.len()), "{ended:?}");
    recording.run(words);
    assert_eq!(recording.ended("selftest"), ended, "nothing is asked again");
}

#[test]
fn what_is_killed_goes_on_where_it_was() {
    let Some(recording) = Recording::new(&["hang/copy"]) else { return };
    let words = "--only mem.noise,mem.read,mem.copy,gemv.f16 --patience 100 selftest";
    let mut child = recording.start_until(words, "mem.copy");
    let worker = worker_below(child.id()).expect("a worker computes");
    child.kill().expect("is killed");
    child.wait().expect("has ended");
    let begin = Instant::now();
    while Path::new(&format!("/proc/{worker}/exe")).exists() {
        assert!(begin.elapsed() < DEADLINE, "the worker goes with the recording");
        thread::yield_now();
    }
    let journal = recording.path("out/selftest.jsonl");
    let mut torn = fs::File::options().append(true).open(&journal).expect("is there");
    torn.write_all(b"{\"job\": \"mem.copy\", \"ev").expect("writes");
    assert_eq!(recording.ended("selftest"), pairs(&[("mem.noise", "ok"), ("mem.read", "ok")]));

    let whole = Recording { stage: Stage::new("h200"), folder: recording.folder };
    let output = whole.run(words);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let kernels = ["mem.noise", "mem.read", "mem.copy", "gemv.f16"];
    assert_eq!(whole.ended("selftest"), kernels.map(|kernel| (kernel.into(), "ok".into())));
    let asked = kernels.map(|kernel| whole.times_asked("selftest", kernel));
    assert_eq!(asked, [1, 1, 2, 1], "only what had not ended is asked again");
}

/// The worker that a process has started.
fn worker_below(pid: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    let mut children = children.split_whitespace().filter_map(|word| word.parse().ok());
    children.find(|child| {
        let words = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        words.split(|byte| *byte == 0).any(|word| word == b"__worker")
    })
}

#[test]
fn a_signal_ends_it_with_everything_kept() {
    let Some(recording) = Recording::new(&["hang/copy"]) else { return };
    let words = "--only mem.noise,mem.copy --patience 100 selftest probe";
    let child = recording.start_until(words, "mem.copy");
    Command::new("kill").arg(child.id().to_string()).status().expect("kill is there");
    let output = child.wait_with_output().expect("has ended");
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    let want = pairs(&[("mem.noise", "ok"), ("mem.copy", "interrupted")]);
    assert_eq!(recording.ended("selftest"), want);
    assert!(recording.path("out.tar.gz").exists() && recording.lines("probe").is_empty());
}

#[test]
fn suspects_are_looked_into_with_the_tools_that_are_there() {
    let faults = ["hang/copy", "skip/gemv_f16"];
    let Some(recording) = Recording::new(&faults) else { return };
    // A sanitizer writes a report and runs what comes after its options.
    let sanitizer = r#"log=; while [ "$1" != "${1#-}" ]; do case $1 in --log-file) log=$2; shift 2;; --tool) tool=$2; shift 2;; *) shift 2;; esac; done
echo "checked by $tool" >"$log"; exec "$@""#;
    recording.tool("compute-sanitizer", sanitizer);
    recording.tool("cuda-gdb", "echo no kernels");
    recording.tool("nvidia-smi", "echo 100 %");
    recording.run("--only mem.copy,gemv.f16 --patience 1 selftest why");
    for tool in ["memcheck", "synccheck", "racecheck", "initcheck"] {
        let log = recording.path("out/why").join(format!("{tool}-gemv.f16.log"));
        assert_eq!(fs::read_to_string(log).expect("a report"), format!("checked by {tool}\n"));
    }
    let ended = recording.ended("why");
    for (job, end) in [("dump mem.copy", "hang"), ("memcheck gemv.f16", "ok")] {
        assert!(ended.contains(&(job.to_owned(), end.to_owned())), "{job}: {ended:?}");
    }
    let missing = recording.lines("why").into_iter().find(|line| line["missing"] == true);
    assert_eq!(missing.expect("ncu is missing")["job"], "ncu");
    assert!(recording.lines("hangs").iter().any(|line| line["out"] == "100 %\n"));
}

#[test]
fn only_what_is_right_is_timed_and_every_figure_is_a_line() {
    let Some(recording) = Recording::new(&["skip/gemv_bf16"]) else { return };
    let words = "--only mem.read,gemv.f16,gemv.bf16,memory.allocate selftest probe numbers";
    let output = recording.run(words);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let jobs: Vec<String> = recording.ended("numbers").into_iter().map(|end| end.0).collect();
    assert_eq!(jobs, ["goal gemv.f16", "burst mem.read", "burst gemv.f16"]);
    let probes = recording.lines("probe");
    assert!(probes.iter().any(|line| line["event"] == "probe" && line["answer"] == "works"));
    let table = fs::read_to_string(recording.path("out/table.md")).expect("a table");
    assert!(table.contains("| gemv.f16 | mem.read | – | 0.85 | 0.93 | not measured |"), "{table}");
}

/// What a machine that may be had three times for minutes is asked, in the order in which it is asked.
#[test]
fn three_runs_leave_an_archive_each_and_go_on_from_one_another() {
    let Some(recording) = Recording::new(&["skip/copy"]) else { return };
    for (run, more) in [("A", ""), ("B", ""), ("C", "--screen-s 8")] {
        let words = format!("--only mem.noise,mem.copy {more} {run}");
        let said = text(&recording.run(&words).stderr);
        assert!(recording.path(&format!("out-{run}.tar.gz")).exists(), "{run}: {said}");
    }
    let stages: Vec<String> =
        recording.lines("stages").iter().map(|line| line["job"].to_string()).collect();
    let order =
        ["facts", "selftest", "probe", "numbers", "beside", "long", "why", "beside", "screen"];
    assert_eq!(stages, order.map(|stage| format!("{stage:?}")));
    let timed: Vec<String> = recording.ended("numbers").into_iter().map(|end| end.0).collect();
    assert_eq!(timed, ["burst mem.noise"], "what A found wrong is not timed");
    assert_eq!(recording.ended("screen"), pairs(&[("dashboard", "ok")]));
    let cast = fs::read_to_string(recording.path("out/screen-1.cast")).expect("is kept");
    let lines: Vec<Value> =
        cast.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
    assert_eq!((&lines[0]["version"], &lines[0]["width"]), (&2.into(), &120.into()));
    let drawn: String = lines[1..].iter().filter_map(|line| line[2].as_str()).collect();
    assert!(drawn.contains("Overview") && drawn.contains("Compat"), "{} pieces", lines.len());
}

#[test]
fn nothing_is_kept_of_a_stand_in_and_nothing_starts_without_a_gpu() {
    let Some(recording) = Recording::new(&[]) else { return };
    let mut command = recording.stage.command("python3");
    command.arg(root().join("tests/gpu/record")).env("PYTHONDONTWRITEBYTECODE", "1");
    command.args(["--program", env!("CARGO_BIN_EXE_warpscope"), "--out"]);
    let output = command.arg(recording.path("out")).output().expect("starts");
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(!recording.path("out").exists());
    let none = Recording { stage: Stage::new("none"), folder: recording.folder };
    let output = none.run("facts");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("There is no GPU"), "{said}");
}

#[test]
fn a_gpu_that_others_use_is_measured_only_when_told() {
    let Some(recording) = Recording::new(&[]) else { return };
    let recording = Recording { stage: Stage::new("h200+procs"), ..recording };
    let output = recording.run("--only mem.noise selftest");
    assert_eq!(output.status.code(), Some(1), "nothing was measured: {}", text(&output.stderr));
    assert!(text(&output.stderr).contains("busy"), "{}", text(&output.stderr));
    assert_eq!(recording.ended("selftest"), []);
    let output = recording.run("--only mem.noise --anyway selftest");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(recording.ended("selftest"), pairs(&[("mem.noise", "ok")]));
}

#[test]
fn what_two_programs_did_is_not_mixed() {
    let Some(recording) = Recording::new(&[]) else { return };
    recording.run("--only mem.noise selftest");
    let other = recording.path("other");
    let mut bytes = fs::read(env!("CARGO_BIN_EXE_warpscope")).expect("is there");
    bytes.push(0);
    fs::write(&other, bytes).expect("writes");
    fs::set_permissions(&other, fs::Permissions::from_mode(0o755)).expect("can be run");
    let words = "--only mem.noise selftest";
    let output = recording.command_with(&other.display().to_string(), words).output();
    let output = output.expect("starts");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("another program"), "{}", text(&output.stderr));
}

#[test]
fn names_of_machines_and_users_are_not_kept() {
    let Some(recording) = Recording::new(&[]) else { return };
    let uuid = "GPU-12345678-1234-1234-1234-123456789abc";
    let numbers = [
        "Serial Number : 1654321",
        "    Chassis Serial Number                          : 1654321",
        "<pdi>1654321</pdi><gpu_fabric_guid>1654321</gpu_fabric_guid>",
        "[\"serial: 1654321\", \"platformInfo/host_id: 1654321\", {\"board_id\": \"1654321\"}]",
        "{\"printed\": \"\\\\n GPU PDI : 1654321\\\\n\"}",
    ];
    let kept = ["Minor Number : 7", "FRU Part Number : N/A", "\"module_id: 2\""];
    let lines = numbers.iter().chain(&kept).map(|line| format!("echo '{line}'; "));
    recording.tool("nvidia-smi", &format!("{}echo {uuid}", lines.collect::<String>()));
    recording.run("facts");
    let smi = fs::read_to_string(recording.path("out/nvidia-smi.txt")).expect("is kept");
    assert!(smi.contains("Serial Number : redacted") && !smi.contains(uuid), "{smi}");
    assert!(!smi.contains("1654321") && smi.matches("redacted").count() == 8, "{smi}");
    assert!(kept.iter().all(|line| smi.contains(line)), "{smi}");
    let all = recording.path("out/facts.jsonl");
    let all =
        fs::read_to_string(all).expect("is kept") + &recording.json("machine.json").to_string();
    assert!(!all.contains("-4000-8000-"), "the UUID of the stand-in: {all}");
}

/// The program is a small one here; how much a real one weighs is told where it is packed.
#[test]
fn a_pack_runs_where_it_is_unpacked() {
    let Some(recording) = Recording::new(&[]) else { return };
    let program = recording.path("program");
    fs::write(&program, "#!/bin/sh\nexit 3\n").expect("writes");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("can be run");
    let pack = recording.path("pack.tar.xz");
    let words = format!("--pack {}", pack.display());
    let packed = recording.command_with(&program.display().to_string(), &words).output();
    let said = text(&packed.expect("starts").stderr);
    assert!(said.contains("MiB of at most 40"), "{said}");
    let mut unpack = Command::new("tar");
    unpack.arg("-xJf").arg(&pack).arg("-C").arg(recording.folder.path());
    assert!(unpack.status().expect("tar is there").success());
    let script = recording.path("warpscope-gpu/tests/gpu/record");
    let output = Command::new("python3").arg(script).output().expect("starts");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "its own program is run, and finds no GPU: {said}");
}
