//! The benchmark child, in this process and as a process of its own.

use std::io::{self, PipeWriter, Write};

use warpscope::worker::cpu::{CpuDevice, CpuOptions, Mode};
use warpscope::worker::{
    Command, ModelSize, PathDtype, PathReport, WorkerEvent, parse, run_worker, to_line,
};
use warpscope_kernels::gpu::MachineError;

fn options(profile: &str, dtype: &str, mode: Mode) -> CpuOptions {
    CpuOptions::read("cpu", &[profile.to_owned()], &[dtype.to_owned()], mode).expect("known")
}

/// The parent of a worker, which answers events with commands and is gone once it drops its end of the pipe.
struct Parent<F> {
    commands: Option<PipeWriter>,
    events: Vec<WorkerEvent>,
    line: Vec<u8>,
    answer: F,
}

impl<F: FnMut(&WorkerEvent, &mut Option<PipeWriter>)> Write for Parent<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        if self.line.ends_with(b"\n") {
            let event = parse(1, &self.line).expect("well-formed");
            (self.answer)(&event, &mut self.commands);
            self.events.push(event);
            self.line.clear();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn send(commands: &mut Option<PipeWriter>, command: &Command) {
    let pipe = commands.as_mut().expect("open");
    pipe.write_all(&to_line(command).expect("serialises")).expect("the worker listens");
}

/// Runs a worker that is sent every command at once.
fn serve(
    options: CpuOptions,
    answer: impl FnMut(&WorkerEvent, &mut Option<PipeWriter>),
) -> Vec<WorkerEvent> {
    let (input, commands) = io::pipe().expect("pipe");
    let mut commands = Some(commands);
    options.commands().iter().for_each(|command| send(&mut commands, command));
    let mut parent = Parent { commands, events: Vec::new(), line: Vec::new(), answer };
    run_worker(|stop| CpuDevice::new(options, stop), input, &mut parent).expect("runs");
    parent.events
}

/// Runs a worker until every command is finished.
fn once(profile: &str, dtype: &str) -> Vec<WorkerEvent> {
    let options = options(profile, dtype, Mode::Once);
    let mut left = options.commands().len();
    serve(options, |event, commands| {
        left -= usize::from(matches!(event, WorkerEvent::Finished { .. }));
        if left == 0 {
            *commands = None;
        }
    })
}

fn reports(events: &[WorkerEvent]) -> Vec<&PathReport> {
    events
        .iter()
        .filter_map(|event| match event {
            WorkerEvent::Report(report) => Some(&**report),
            _ => None,
        })
        .collect()
}

#[test]
fn one_shot_says_hello_ceiling_reports_and_that_it_is_finished() {
    let events = once("clean,glm4", "int4,bf16");
    let WorkerEvent::Hello(hello) = &events[0] else { panic!("first line: {:?}", events[0]) };
    assert_eq!((hello.pid, hello.device.as_str()), (std::process::id(), "cpu"));
    assert!(hello.threads >= 1 && hello.kernels.len() == 6, "{hello:?}");
    let WorkerEvent::Ceiling(ceiling) = events[2] else { panic!("third line: {:?}", events[2]) };
    // A machine that is too busy tells nothing.
    assert!(ceiling.read_bytes_per_s.is_none_or(|read| read > 1e8), "{ceiling:?}");
    assert!(ceiling.fp32_flop_per_s > 1e8, "{ceiling:?}");
    assert!(matches!(events.last(), Some(WorkerEvent::Finished { busy_ns }) if *busy_ns > 0.0));
    let seen: Vec<_> = reports(&events).iter().map(|r| (r.dtype, r.profile.clone())).collect();
    let want = |dtype, profile: &str| (dtype, profile.to_owned());
    let (int4, bf16) = (PathDtype::Int4, PathDtype::Bf16);
    assert_eq!(
        seen,
        [want(int4, "clean"), want(int4, "glm4"), want(bf16, "clean"), want(bf16, "glm4")]
    );
}

#[test]
fn glm4_turns_16_bit_floats_of_5_exponent_bits_into_exclamation_marks() {
    let events = once("glm4", "fp16,bf16");
    let [fp16, bf16] = reports(&events)[..] else { panic!("two reports") };
    assert_eq!(fp16.text, "!".repeat(32));
    let bad = fp16.first_bad.as_ref().expect("overflows");
    assert_eq!((bad.layer, bad.op.as_str()), (1, "o_proj"));
    assert_eq!((fp16.error, fp16.tokens.as_slice()), (None, &[0; 32][..]));
    assert!(fp16.non_finite > 0 && fp16.complete);
    assert_eq!(bf16.tokens, bf16.expected_tokens);
    assert!(bf16.error.expect("finite") <= bf16.error_limit);
    assert_eq!((bf16.non_finite, &bf16.first_bad), (0, &None));
    assert!(!bf16.text.contains('!'));
    for report in [fp16, bf16] {
        let tokens_per_s = report.decode_tokens_per_s.expect("measured");
        let bytes = report.gb_per_s.expect("measured") * 1e9 / tokens_per_s;
        // 13.1 million weights of 2 bytes, and at most 64 positions of keys and values.
        assert!((26.0e6..30.0e6).contains(&bytes), "{bytes}");
        assert!(report.prefill_gflop_per_s.expect("measured") > 0.1);
    }
}

#[test]
fn live_pauses_with_its_reason_runs_again_and_quits() {
    let mut runs = 0;
    let events = serve(options("clean", "int4", Mode::Live), |event, commands| match event {
        WorkerEvent::Started => {
            runs += 1;
            match runs {
                1 => {
                    commands.as_mut().expect("open").write_all(b"nonsense\n").expect("listens");
                    send(commands, &Command::Pause { why: "on battery".to_owned() });
                }
                _ => send(commands, &Command::Quit),
            }
        }
        WorkerEvent::Paused { .. } => send(commands, &options_of_a_path()),
        _ => {}
    });
    let why = "on battery".to_owned();
    assert!(events.contains(&WorkerEvent::Paused { why }), "{events:?}");
    assert!(!reports(&events).iter().any(|report| report.complete), "each was ended at once");
    assert_eq!(runs, 2);
}

fn options_of_a_path() -> Command {
    options("clean", "int4", Mode::Live).commands().pop().expect("a path")
}

#[test]
fn live_ends_when_its_parent_is_gone() {
    let events = serve(options("clean", "int4", Mode::Live), |event, commands| {
        if matches!(event, WorkerEvent::Report(_)) {
            *commands = None;
        }
    });
    assert!(events.iter().any(|event| matches!(event, WorkerEvent::Report(_))));
}

#[test]
fn what_a_cpu_cannot_do_is_refused() {
    let path = |path: &str| Command::Decode {
        path: path.to_owned(),
        profile: "clean".to_owned(),
        model: ModelSize::M0,
    };
    let asked = [path("f16.wide"), path("f99"), Command::Devices];
    let mut refused = 0;
    serve(options("clean", "int4", Mode::Live), |event, commands| match event {
        WorkerEvent::Hello(_) => {
            send(commands, &Command::Stop);
            asked.iter().for_each(|command| send(commands, command));
        }
        WorkerEvent::Failed(failure) => {
            refused += usize::from(matches!(failure.error, MachineError::Refused { .. }));
            if refused == asked.len() {
                *commands = None;
            }
        }
        _ => {}
    });
}

#[test]
fn a_child_whose_reader_is_gone_ends_with_an_error() {
    let (input, _parent) = io::pipe().expect("pipe");
    let (reader, output) = io::pipe().expect("pipe");
    drop(reader);
    let options = options("clean", "int4", Mode::Live);
    let ended = run_worker(|stop| CpuDevice::new(options, stop), input, output);
    assert_eq!(ended.map_err(|e| e.kind()), Err(io::ErrorKind::BrokenPipe));
}

#[cfg(unix)]
mod command {
    use std::io::Write;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    use serde_json::Value;
    use warpscope::commands::bench::decoder::{BenchRequest, run};

    use super::once;

    struct Ended {
        code: u8,
        out: String,
        err: String,
    }

    /// A stand-in for the child: a shell script with a body of its own. A shell writes it, because a file that this process
    /// held open for writing could be inherited by a child of another test and then not be executed.
    fn bench(script: &str, request: &BenchRequest) -> Ended {
        let dir = tempfile::tempdir().expect("temporary directory");
        let exe: PathBuf = dir.path().join("child");
        let mut writer = Command::new("/bin/sh")
            .args(["-c", "cat >\"$0\" && chmod +x \"$0\""])
            .arg(&exe)
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut input = writer.stdin.take().expect("piped");
        writeln!(input, "#!/bin/sh\n{script}").expect("written");
        drop(input);
        assert!(writer.wait().expect("ends").success());
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = run(&exe, request, |_| Ok(()), (&mut out, &mut err)).expect("writes");
        Ended {
            code: code.code(),
            out: String::from_utf8(out).expect("text"),
            err: String::from_utf8(err).expect("text"),
        }
    }

    fn cpu(json: bool) -> BenchRequest {
        BenchRequest { device: "cpu".to_owned(), json, ..BenchRequest::default() }
    }

    const UNTIL_QUIT: &str = r#"while read -r line; do case $line in *quit*) exit;; esac; done"#;

    fn only(profile: &str, dtype: &str, json: bool) -> BenchRequest {
        BenchRequest {
            profiles: vec![profile.to_owned()],
            dtypes: vec![dtype.to_owned()],
            ..cpu(json)
        }
    }

    /// A script that repeats what a real child said.
    fn replay(events: &[warpscope::worker::WorkerEvent]) -> String {
        let line = |event| serde_json::to_string(event).expect("serialises");
        let lines: Vec<_> = events.iter().map(line).collect();
        format!("cat <<'END'\n{}\nEND\n{UNTIL_QUIT}", lines.join("\n"))
    }

    #[test]
    fn unknown_names_end_with_2_before_anything_starts() {
        for (request, want) in [
            (
                BenchRequest { device: "gpu9".to_owned(), ..cpu(false) },
                "device \"gpu9\"; known: cpu",
            ),
            (BenchRequest { profiles: vec!["x".to_owned()], ..cpu(false) }, "known: clean, glm4"),
            (BenchRequest { dtypes: vec!["fp8".to_owned()], ..cpu(false) }, "known: fp32, fp16"),
        ] {
            let ended = bench("echo started", &request);
            assert_eq!((ended.code, ended.out), (2, String::new()));
            assert!(ended.err.contains(want), "{}", ended.err);
        }
    }

    #[test]
    fn a_killed_child_is_named_with_its_signal_and_what_it_said_is_kept() {
        let events = once("clean", "int4");
        let script = replay(&events[..events.len() - 1]).replace(UNTIL_QUIT, "kill -9 $$");
        let ended = bench(&script, &cpu(true));
        assert_eq!(ended.code, 1);
        assert!(ended.err.contains("died of SIGKILL"), "{}", ended.err);
        let json: Value = serde_json::from_str(&ended.out).expect("JSON");
        assert_eq!(json["reports"][0]["dtype"], "int4");
    }

    #[test]
    fn exit_codes_short_output_nonsense_and_a_missing_program_are_said() {
        for (script, want) in [
            ("exit 3", "ended with code 3"),
            ("exit 0", "ended before it was finished"),
            ("echo nonsense; sleep 9", "line 1: expected"),
            (
                r#"echo '{"event":"hello","schema":99,"pid":1,"device":"","device_name":"","threads":1,"cpu_share_max":1,"nice":0,"kernels":[]}'"#,
                "speaks format 99, not 1",
            ),
        ] {
            let ended = bench(script, &cpu(false));
            assert_eq!(ended.code, 1, "{script}");
            assert!(ended.err.contains(want), "{script}: {}", ended.err);
        }
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let missing = PathBuf::from("/nonexistent/warpscope");
        run(&missing, &cpu(false), |_| Ok(()), (&mut out, &mut err)).expect("writes");
        assert!(String::from_utf8_lossy(&err).contains("did not start"));
    }

    #[test]
    fn json_has_what_was_promised_and_the_table_names_the_first_bad_number() {
        let script = replay(&once("glm4", "fp16,fp32"));
        let ended = bench(&script, &only("glm4", "fp16,fp32", true));
        assert_eq!(ended.code, 0, "an overflow that must happen is no failure: {}", ended.err);
        let json: Value = serde_json::from_str(&ended.out).expect("JSON");
        assert_eq!((&json["schema"], &json["device"]), (&Value::from(1), &Value::from("cpu")));
        let report = &json["reports"][0];
        for key in [
            "dtype",
            "profile",
            "tokens",
            "expected_tokens",
            "text",
            "non_finite",
            "first_bad",
            "error",
            "decode_tokens_per_s",
            "prefill_gflop_per_s",
            "gb_per_s",
            "read_bandwidth_share",
        ] {
            assert!(report.get(key).is_some(), "{key} is missing");
        }
        assert_eq!(report["error"], Value::Null);
        let table = bench(&script, &only("glm4", "fp16,fp32", false)).out;
        assert!(table.contains("!!!!  not finite from layer 1 o_proj, token"), "{table}");
    }

    #[test]
    fn a_path_that_should_be_right_and_is_not_ends_with_1() {
        let mut events = once("clean", "int4");
        for event in &mut events {
            if let warpscope::worker::WorkerEvent::Report(report) = event {
                report.tokens[5] = 9;
            }
        }
        let ended = bench(&replay(&events), &only("clean", "int4", false));
        assert_eq!(ended.code, 1);
        assert!(ended.err.contains("int4 clean: token"), "{}", ended.err);
    }
}
