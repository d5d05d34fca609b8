//! The real binary: help and man page under snapshot, one-shot commands on recordings,
//! exit codes, and what happens when a reader, a writer or the program itself goes away.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use warpscope::commands::COMMANDS;
use warpscope::io::sink::FrameReader;
use warpscope_probes::{Frame, Origin};

use crate::fake::nvml_dir;
use crate::frames::path;

/// The binary in an environment of its own.
fn binary(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
    command.args(args).env_clear().env("HOME", "/dev/null").env("LANG", "C.UTF-8");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(args: &[&str]) -> Output {
    binary(args).output().expect("starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("is text")
}

fn printed(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn refused(args: &[&str], code: i32) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(code), "{args:?}");
    text(&output.stderr)
}

fn recording(name: &str) -> String {
    path(name).display().to_string()
}

fn unversioned(text: &str) -> String {
    text.replace(env!("CARGO_PKG_VERSION"), "[version]")
}

#[test]
fn help_of_every_command() {
    insta::assert_snapshot!("help", printed(&["--help"]));
    for command in COMMANDS {
        insta::assert_snapshot!(
            format!("help-{}", command.name),
            printed(&[command.name, "--help"])
        );
    }
}

#[test]
fn manual_pages() {
    insta::assert_snapshot!("man", unversioned(&printed(&["man"])));
    insta::assert_snapshot!("man-record", unversioned(&printed(&["man", "record"])));
    let error = refused(&["man", "recrod"], 2);
    assert!(error.contains("did you mean `record`?"), "{error}");
}

/// A dashboard reads the catalogue for its second frame; a snapshot has one only.
#[test]
fn a_snapshot_says_what_the_catalogue_knows() {
    let mut command = binary(&["snapshot", "--json"]);
    command.env("LD_LIBRARY_PATH", nvml_dir()).env("FAKE_NVML", "h200");
    let frame = command.output().expect("starts").stdout;
    let frame: Frame = serde_json::from_slice(&frame).expect("is a frame");
    let kind = frame.gpus[0].identity.memory_type.value();
    assert_eq!(kind.map(String::as_str), Some("HBM3e"), "{:?}", frame.gpus[0].identity);
}

#[test]
fn completions_know_every_command_and_no_hidden_one() {
    for shell in warpscope::config::args::SHELL.spec.kind.words() {
        let text = printed(&["completions", shell]);
        for command in COMMANDS {
            assert_eq!(text.contains(command.name), !command.hidden, "{shell} {}", command.name);
        }
    }
}

#[test]
fn a_snapshot_is_a_table_or_the_frame_itself() {
    for name in ["synthetic-16", "synthetic-h100x8", "synthetic-none", "synthetic-t4"] {
        let file = recording(&format!("{name}.jsonl"));
        insta::assert_snapshot!(format!("snapshot-{name}"), printed(&["snapshot", "-s", &file]));
        let ascii = printed(&["snapshot", "--ascii", "-s", &file]);
        assert!(ascii.bytes().all(|byte| byte == b'\n' || (0x20..0x7f).contains(&byte)), "{ascii}");
        let json = printed(&["snapshot", "--json", "-s", &file]);
        let frame: Frame = serde_json::from_str(&json).expect("is a frame");
        assert_eq!(frame.origin, Origin::Replay { file: format!("{name}.jsonl"), host: None });
        assert_eq!(frame.gpus.len(), frame.gpus.iter().filter(|gpu| !gpu.key.is_empty()).count());
    }
}

#[test]
fn no_command_lets_a_process_name_reach_the_terminal() {
    let file = recording("synthetic-t4.jsonl");
    for line in [&["snapshot"][..], &["snapshot", "--json"], &["stream", "--speed", "1000"]] {
        let args: Vec<_> = line.iter().copied().chain(["-s", &file]).collect();
        let text = printed(&args);
        let harmful = |letter: char| letter.is_control() && letter != '\n' || letter == '\u{202e}';
        assert!(text.contains("owned") && !text.contains(harmful), "{args:?}");
    }
}

#[test]
fn a_stream_is_json_lines_or_csv() {
    let file = recording("synthetic-16.jsonl");
    let source = ["stream", "-s", &file, "--speed", "1000"];
    let lines = printed(&source);
    let mut reader = FrameReader::new(lines.as_bytes());
    while reader.next_frame().expect("reads").is_some() {}
    assert_eq!((reader.stats().frames, reader.stats().damaged), (3, 0));
    let csv = printed(&[&source[..], &["--format", "csv", "--count", "2"]].concat());
    let columns: Vec<_> = csv.lines().map(|line| line.matches(',').count()).collect();
    assert_eq!(columns.len(), 1 + 2 * 16);
    assert!(columns.iter().all(|count| *count == columns[0]));
}

#[test]
fn a_reader_that_leaves_ends_it_quietly() {
    let file = recording("synthetic-h100x8.jsonl");
    let mut child = binary(&["stream", "-s", &file, "--speed", "1000"]).spawn().expect("starts");
    let mut first = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("is piped"));
    out.read_line(&mut first).expect("reads");
    drop(out);
    let output = child.wait_with_output().expect("ends");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
}

#[test]
fn exit_codes() {
    let none = recording("synthetic-none.jsonl");
    let error = refused(&["snapshot", "--require-gpu", "-s", &none], 3);
    assert!(error.contains("libnvidia-ml"), "{error}");
    assert!(refused(&[], 2).contains("needs a terminal"));
    assert!(refused(&["replay", &none], 2).contains("needs a terminal"));
    assert!(refused(&["snapshot", "--intervall", "1"], 2).contains("--interval"));
    assert!(refused(&["snapshot", "-s", "Cargo.toml"], 2).contains("contains no frames"));
    assert!(refused(&["snapshot", "--config", "/nowhere/c.toml"], 2).contains("/nowhere/c.toml"));
    let t4 = recording("synthetic-t4.jsonl");
    assert!(printed(&["snapshot", "--require-gpu", "-s", &t4]).contains("Tesla T4"));
}

#[test]
fn a_wrong_configuration_stops_all_but_those_that_help() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("warpscope");
    std::fs::create_dir(&home).expect("makes");
    std::fs::write(home.join("config.toml"), "ascii = true\nintervall = 2\n").expect("writes");
    let file = recording("synthetic-t4.jsonl");
    let code = |args: &[&str]| {
        let output = binary(args).env("XDG_CONFIG_HOME", folder.path()).output().expect("starts");
        (output.status.code(), text(&output.stderr))
    };
    for args in [&["snapshot", "-s", &file][..], &["config", "check"]] {
        let (status, error) = code(args);
        assert_eq!(status, Some(2));
        assert!(
            error.contains("config.toml:2: unknown key `intervall`; did you mean `interval`?"),
            "{error}"
        );
    }
    assert_eq!(code(&["man"]).0, Some(0));
    assert_eq!(code(&["completions", "bash"]).0, Some(0));
    assert_eq!(code(&["config", "sample"]).0, Some(0));
    assert_eq!(code(&["doctor", "-s", &file]).0, Some(1));
}

#[test]
fn a_home_that_is_no_folder_holds_no_rules() {
    let mut command = binary(&["frameworks", "vllm"]);
    let output = command.env("HOME", "/dev/null").output().expect("starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn the_configuration_is_found_and_checked() {
    assert_eq!(printed(&["config", "path"]), "/dev/null/.config/warpscope/config.toml\n");
    assert!(printed(&["config", "check"]).contains("defaults are used"));
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/config.sample.toml");
    assert!(
        printed(&["config", "check", "--config", sample]).ends_with("config.sample.toml: fine\n")
    );
}

#[test]
fn the_doctor_says_what_was_found_and_hides_what_it_should() {
    let t4 = recording("synthetic-t4.jsonl");
    insta::assert_snapshot!("doctor-t4", unversioned(&printed(&["doctor", "-s", &t4])));
    let none = run(&["doctor", "-s", &recording("synthetic-none.jsonl"), "--ascii"]);
    assert_eq!(none.status.code(), Some(1));
    insta::assert_snapshot!("doctor-none", unversioned(&text(&none.stdout)));
    let json: serde_json::Value =
        serde_json::from_str(&printed(&["doctor", "--json", "-s", &t4])).expect("is JSON");
    assert_eq!(json["schema"], 1);
    assert!(
        json["checks"]
            .as_array()
            .is_some_and(|checks| checks.iter().all(|one| one["result"].is_string()))
    );
    assert!(!printed(&["doctor", "--redact", "-s", &t4]).contains("/nowhere"));
}

#[test]
fn a_redacted_copy_of_a_recording_names_nobody() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.jsonl");
    let copy = copy.to_str().expect("is text");
    printed(&[
        "record",
        copy,
        "-s",
        &recording("synthetic-t4.jsonl"),
        "--speed",
        "1000",
        "--redact",
    ]);
    let lines = std::fs::read_to_string(copy).expect("is there");
    assert_eq!(lines.lines().count(), 5);
    for secret in ["mallory", "GPU-0000", "\"synthetic\"", "evil"] {
        assert!(!lines.contains(secret), "{secret}");
    }
}

#[test]
fn one_frame_is_recorded_and_only_added_to_recordings() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, other) = (folder.path().join("run.jsonl"), folder.path().join("notes.txt"));
    let source = recording("synthetic-t4.jsonl");
    for _ in 0..2 {
        printed(&["record", file.to_str().expect("is text"), "--once", "-s", &source]);
    }
    assert_eq!(frames_in(&file), 2);
    std::fs::write(&other, "mine\n").expect("writes");
    let error = refused(&["record", other.to_str().expect("is text"), "--once", "-s", &source], 2);
    assert!(error.contains("is not a recording"), "{error}");
    assert_eq!(std::fs::read(&other).expect("is there"), b"mine\n");
}

#[test]
fn a_recording_that_outgrows_its_size_goes_on_in_a_new_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.jsonl");
    let name = file.to_str().expect("is text");
    let source = recording("synthetic-t4.jsonl");
    printed(&[
        "record",
        name,
        "-s",
        &source,
        "--speed",
        "1000",
        "--max-size",
        "10kB",
        "--keep",
        "1",
    ]);
    let sizes: Vec<_> = std::fs::read_dir(folder.path())
        .expect("lists")
        .map(|file| file.and_then(|file| file.metadata()).expect("is there").len())
        .collect();
    assert!(sizes.len() == 2 && sizes.iter().all(|size| *size <= 10_000), "{sizes:?}");
}

/// A limit on the size of files stands in for a full disk: writes begin to fail halfway a line.
#[test]
fn writes_that_fail_are_said_and_survived() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.jsonl");
    let source = recording("synthetic-t4.jsonl");
    let output = Command::new("bash")
        .args(["-c", "trap '' XFSZ; ulimit -f 10; exec \"$@\"", "bash"])
        .arg(env!("CARGO_BIN_EXE_warpscope"))
        .args(["record", file.to_str().expect("is text"), "-s", &source, "--speed", "1000"])
        .output()
        .expect("starts");
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("cannot write") && error.contains("2 frames written"), "{error}");
    let bytes = std::fs::read(&file).expect("is there");
    let mut reader = FrameReader::new(bytes.as_slice());
    while reader.next_frame().expect("reads").is_some() {}
    assert_eq!(
        (reader.stats().frames, reader.stats().damaged),
        (2, 0),
        "the torn line is taken back"
    );
}

fn frames_in(file: &Path) -> usize {
    let bytes = std::fs::read(file).unwrap_or_default();
    let mut reader = FrameReader::new(bytes.as_slice());
    let frames = std::iter::from_fn(|| reader.next_frame().expect("reads")).count();
    let complete = bytes.iter().filter(|byte| **byte == b'\n').count();
    assert!(frames >= complete, "a complete line does not read");
    frames
}

/// A recording in progress, with at least so many frames in it.
fn recording_in_progress(file: &Path, frames: usize) -> Child {
    let source = recording("synthetic-h100x8.jsonl");
    let args = ["record", file.to_str().expect("is text"), "-s", &source, "--speed", "100"];
    let child = binary(&args).spawn().expect("starts");
    let begin = Instant::now();
    while frames_in(file) < frames {
        assert!(begin.elapsed() < Duration::from_secs(120), "nothing is recorded");
        std::thread::yield_now();
    }
    child
}

/// Killed at any moment: each round waits for another number of frames, and the machine adds its own disorder.
#[test]
fn every_complete_line_is_readable_after_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    for frames in 1..=20 {
        let file = folder.path().join(format!("run-{frames}.jsonl"));
        let mut child = recording_in_progress(&file, frames);
        child.kill().expect("is running");
        child.wait().expect("ends");
        assert!(frames_in(&file) >= frames);
    }
}

#[test]
fn an_interrupt_ends_a_recording_in_good_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.jsonl");
    let child = recording_in_progress(&file, 1);
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("runs").success());
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains(&format!("{} frames written", frames_in(&file))));
}

fn rules(name: &str) -> String {
    format!("{}/tests/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Made-up rules, so that what is learnt about real frameworks does not change what is printed here.
#[test]
fn answers_by_rules_of_ones_own() {
    let folder = rules("rules");
    let own = ["--rules", &folder, "--gpu", "V100"];
    let told = |line: &[&str], code: i32| {
        let output = run(&[line, &own].concat());
        assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    insta::assert_snapshot!("check-own-rules", told(&["check", "demo:awq", "--gpu", "T4"], 1));
    insta::assert_snapshot!("why-own-rules", told(&["why", "demo", "awq"], 1));
    insta::assert_snapshot!("check-markdown", told(&["check", "demo", "--markdown"], 1));
    assert_eq!(told(&["check", "demo", "--only", "fails", "--csv"], 1).lines().count(), 2);
    assert_eq!(
        told(&["why", "demo:awq", "--fix-only"], 1),
        told(&["why", "demo:awq", "--fix", "1"], 1)
    );
}

#[test]
fn rules_of_ones_own_are_read_beside_the_configuration_and_mistakes_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("warpscope/rules");
    std::fs::create_dir_all(&home).expect("makes");
    let asked = |args: &[&str]| {
        let output = binary(args).env("XDG_CONFIG_HOME", folder.path()).output().expect("starts");
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let line = ["check", "demo:awq", "--gpu", "V100", "--long"];
    assert_eq!(asked(&line).0, Some(2));
    let good = std::fs::read_to_string(rules("rules/demo.toml")).expect("is there");
    std::fs::write(home.join("demo.toml"), &good).expect("writes");
    std::fs::write(home.join("notes.txt"), "no rules").expect("writes");
    let (code, told) = asked(&line);
    assert!(code == Some(1) && told.contains("(your rule)"), "{told}");
    std::fs::write(home.join("demo.toml"), good.replace("stage = \"gate\"", "stage = \"gait\""))
        .expect("writes");
    let (code, told) = asked(&line);
    assert!(
        code == Some(2) && told.contains("warpscope/rules/demo.toml:") && told.contains("gait"),
        "{told}"
    );
    let missing = refused(&["frameworks", "--rules", "/nowhere/rules"], 2);
    assert!(missing.contains("/nowhere/rules"), "{missing}");
}

#[test]
fn a_model_on_this_machine_is_asked_about() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("Qwen2.5-7B-Instruct-AWQ");
    std::fs::create_dir(&model).expect("makes");
    let config = r#"{"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 3584,
        "num_attention_heads": 28, "torch_dtype": "float16",
        "quantization_config": {"bits": 4, "group_size": 128, "quant_method": "awq"}}"#;
    std::fs::write(model.join("config.json"), config).expect("writes");
    let name = model.to_str().expect("is text");
    let folder = rules("rules");
    let line = ["check", "demo", "--rules", &folder, "--gpu", "T4", "--model", name];
    let output = run(&line);
    insta::assert_snapshot!("check-model", text(&output.stdout));
    assert_eq!(output.status.code(), Some(4));
    let error = refused(&["check", "--gpu", "T4", "--model", "/nowhere/model"], 2);
    assert!(
        error.contains("/nowhere/model: is not there") && error.contains("config.json"),
        "{error}"
    );
}

#[test]
fn a_fix_is_written_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("fix.sh");
    let file = file.to_str().expect("is text");
    let own = rules("rules");
    let line = ["why", "demo:awq", "--gpu", "V100", "--rules", &own, "--write", file];
    assert_eq!(run(&line).status.code(), Some(1));
    assert!(std::fs::read_to_string(file).expect("is there").ends_with("demo serve model-gptq\n"));
    assert!(refused(&line, 2).contains("never overwritten"));
}

#[test]
fn one_form_at_a_time() {
    for pair in [["--json", "--csv"], ["--markdown", "--json"], ["--csv", "--markdown"]] {
        let error = refused(&["check", "vllm", pair[0], pair[1], "--gpu", "T4"], 2);
        assert!(error.contains("cannot be used with"), "{error}");
    }
    assert!(refused(&["check", "--only", "successes"], 2).contains("fails, problems, unknown"));
}

#[test]
fn tables_are_one_line_per_item() {
    insta::assert_snapshot!("gpus-3090", printed(&["gpus", "rtx", "3090"]));
    insta::assert_snapshot!("dtypes-fp8-ada", printed(&["dtypes", "fp8", "8.9"]));
    let own = rules("rules");
    insta::assert_snapshot!("frameworks-demo", printed(&["frameworks", "demo", "--rules", &own]));
    for table in ["gpus", "frameworks", "dtypes"] {
        let json: serde_json::Value =
            serde_json::from_str(&printed(&[table, "--json"])).expect("is JSON");
        let lines = printed(&[table]).lines().count();
        assert_eq!(json[table].as_array().map(|rows| rows.len() + 1), Some(lines), "{table}");
        assert!(refused(&[table, "no such thing"], 1).contains("lists all"));
    }
}
