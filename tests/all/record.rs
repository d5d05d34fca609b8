//! `warpscope record -- COMMAND` and `warpscope mark` as their user runs them.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use warpscope::runs::run_log::{Journal, Run};

pub(crate) struct Desk(pub(crate) tempfile::TempDir);

impl Desk {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.0.path().join("run.jsonl")
    }

    /// warpscope with a runtime folder of its own.
    fn warpscope(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warpscope"));
        command.args(words).env("XDG_RUNTIME_DIR", self.0.path()).env_remove("WARPSCOPE_RECORDING");
        command
    }

    pub(crate) fn record(&self, more: &[&str], program: &[&str]) -> Command {
        let journal = self.journal();
        let mut command = self.warpscope(&["record"]);
        command.arg(journal).args(more).arg("--").args(program);
        command
    }

    pub(crate) fn sh(&self, script: &str) -> Output {
        self.record(&[], &["sh", "-c", script]).output().expect("starts")
    }

    pub(crate) fn read(&self) -> Journal {
        read(&self.journal())
    }

    pub(crate) fn run(&self) -> Run {
        let mut journal = self.read();
        assert_eq!((journal.runs.len(), &journal.skipped.first), (1, &None));
        journal.runs.remove(0)
    }
}

fn read(path: &Path) -> Journal {
    Journal::read(&*std::fs::read(path).expect("is there")).expect("reads")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn names(run: &Run) -> Vec<&str> {
    run.points.iter().map(|point| point.key.name.as_str()).collect()
}

#[test]
fn output_is_passed_on_byte_by_byte_and_points_in_it_are_kept() {
    let desk = Desk::new();
    let script = r"printf 'loss 0.1\n\033[1mname=x t_us=9\033[0m\nname=gemm m=16 t_us=41.3,42\n\377\000tail' ; echo oops >&2; exit 3";
    let direct = Command::new("sh").args(["-c", script]).output().expect("starts");
    let output = desk.sh(script);
    assert_eq!(output.stdout, direct.stdout);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).starts_with("oops\n"), "{}", text(&output.stderr));
    let run = desk.run();
    assert_eq!(run.identity.command, ["sh", "-c", script]);
    assert_eq!(run.points[1].t_ns, [41_300.0, 42_000.0]);
    assert_eq!(names(&run), ["x", "gemm"], "colours are no part of a line");
    let end = run.end.expect("ended");
    assert_eq!((end.samples, end.exit), (3, Some(3)));
}

/// grep holds kilobytes back where its output is no terminal.
#[test]
fn a_line_is_read_when_it_is_written() {
    let desk = Desk::new();
    let mut grep = desk.record(&[], &["grep", "name"]);
    let mut child = grep.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("starts");
    let mut input = child.stdin.take().expect("is piped");
    input.write_all(b"name=a t_us=1\n").expect("is read");
    let written = || std::fs::read_to_string(desk.journal()).unwrap_or_default();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(120);
    while !written().contains("\"t_ns\"") {
        assert!(std::time::Instant::now() < end, "held back: {}", written());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    drop(input);
    assert_eq!(child.wait().expect("ends").code(), Some(0));
}

#[test]
fn a_program_is_asked_for_plain_text_where_nobody_sees_its_output() {
    let output = Desk::new().sh("[ -t 1 ] && echo $TERM $NO_COLOR; printf 'a\\nb'");
    assert_eq!(text(&output.stdout), "dumb 1\na\nb");
}

#[test]
fn a_program_whose_reader_is_gone_ends_as_in_a_pipe() {
    let desk = Desk::new();
    let mut endless = desk.record(&[], &["sh", "-c", "while :; do echo line; done"]);
    let mut child = endless.stdout(Stdio::piped()).spawn().expect("starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("ends").code(), Some(141));
    assert_eq!(desk.run().end.expect("ended").exit, Some(141));
}

#[test]
fn the_end_of_the_program_is_the_end_of_the_recording() {
    let desk = Desk::new();
    assert_eq!(desk.sh("kill -9 $$").status.code(), Some(137));
    assert_eq!(desk.sh("exit 0").status.code(), Some(0));
    let missing = desk.record(&[], &["/nowhere/tune"]).output().expect("starts");
    assert_eq!(missing.status.code(), Some(127));
    assert!(text(&missing.stderr).contains("/nowhere/tune"));
    let exits: Vec<_> =
        desk.read().runs.iter().map(|run| run.end.clone().expect("ended").exit).collect();
    assert_eq!(exits, [Some(137), Some(0), Some(127)]);
}

#[test]
fn a_shell_writes_points_into_a_file() {
    let desk = Desk::new();
    let script = r#"for i in 1 2 3; do echo "name=f t_us=$i" > "$WARPSCOPE_POINTS"; done; echo "no point" > "$WARPSCOPE_POINTS""#;
    let output = desk.sh(script);
    let stderr = text(&output.stderr);
    assert!(
        stderr.contains("3 samples") && stderr.contains("1 lines were not valid samples"),
        "{stderr}"
    );
    assert_eq!(names(&desk.run()), ["f", "f", "f"]);
}

/// A recorded shell that says where its sockets are, and waits for a line.
struct Waiting {
    child: Child,
    ends: [String; 2],
}

impl Waiting {
    fn start(desk: &Desk) -> Self {
        let script =
            "echo $WARPSCOPE_POINTS_DATAGRAM; echo $WARPSCOPE_POINTS_STREAM; read line; exit 5";
        let mut child = desk
            .record(&[], &["sh", "-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut output = BufReader::new(child.stdout.take().expect("is piped"));
        let mut line = || {
            let mut line = String::new();
            output.read_line(&mut line).expect("a line");
            line.trim().to_owned()
        };
        let ends = [line(), line()];
        Self { child, ends }
    }

    fn end(mut self) -> Option<i32> {
        self.child.stdin.take().expect("is piped").write_all(b"\n").expect("is read");
        self.child.wait().expect("ends").code()
    }
}

#[test]
fn sockets_take_points_and_rubbish_does_no_harm() {
    let desk = Desk::new();
    let waiting = Waiting::start(&desk);
    let datagram = UnixDatagram::unbound().expect("a socket");
    datagram.send_to(b"name=d t_us=1\nname=d t_us=2", &waiting.ends[0]).expect("sends");
    datagram.send_to(&[0xff; 3000], &waiting.ends[0]).expect("sends");
    datagram.send_to(b"", &waiting.ends[0]).expect("sends");
    let mut stream = UnixStream::connect(&waiting.ends[1]).expect("connects");
    stream.write_all(b"{\"name\":\"s\",\"t_us\":1}\nname=s t_us=").expect("sends");
    stream.write_all(b"3\n\x1b[2J\nname=torn t_us=4").expect("sends");
    drop(stream);
    let mut endless = UnixStream::connect(&waiting.ends[1]).expect("connects");
    endless.write_all(&vec![b'x'; 3 << 20]).expect("is read on");
    endless.write_all(b"\nname=after t_us=1\n").expect("is read on");
    assert_eq!(waiting.end(), Some(5));
    let run = desk.run();
    let mut seen = names(&run);
    seen.sort_unstable();
    assert_eq!(seen, ["after", "d", "d", "s", "s", "torn"]);
}

#[test]
fn a_remark_finds_the_recording_that_runs() {
    let desk = Desk::new();
    let mark = || desk.warpscope(&["mark", "new", "tile\u{1b}[2J"]).output().expect("starts");
    let alone = mark();
    assert_eq!(alone.status.code(), Some(1));
    assert!(text(&alone.stderr).contains("no recording is running"), "{}", text(&alone.stderr));
    let waiting = Waiting::start(&desk);
    let kept = mark();
    assert_eq!(kept.status.code(), Some(0), "{}", text(&kept.stderr));
    waiting.end();
    let run = desk.run();
    assert_eq!(run.marks[0].text, "new tile\u{1b}[2J");
    let raw = std::fs::read(desk.journal()).expect("reads");
    assert!(!raw.contains(&0x1b), "an escape reached the file");
}

#[test]
fn a_second_writer_is_refused_and_the_first_is_not_disturbed() {
    let desk = Desk::new();
    let waiting = Waiting::start(&desk);
    let second = desk.record(&[], &["true"]).output().expect("starts");
    assert_eq!(second.status.code(), Some(2));
    assert!(text(&second.stderr).contains("run.jsonl"), "{}", text(&second.stderr));
    assert_eq!(waiting.end(), Some(5));
    assert_eq!(desk.run().end.expect("ended").exit, Some(5));
}

#[test]
fn frames_and_a_journal_are_never_mixed() {
    let desk = Desk::new();
    desk.sh("true");
    let journal = desk.journal();
    let path = journal.to_str().expect("is text");
    let frames = desk.warpscope(&["record", path, "--once"]).output().expect("starts");
    assert_eq!(frames.status.code(), Some(2), "{}", text(&frames.stderr));
}

#[test]
fn killed_in_the_middle_everything_said_before_is_there() {
    let desk = Desk::new();
    let mut waiting = Waiting::start(&desk);
    let mut stream = UnixStream::connect(&waiting.ends[1]).expect("connects");
    for at in 0..1000 {
        writeln!(stream, "name=p i={at} t_us=1").expect("sends");
    }
    let written = || std::fs::read_to_string(desk.journal()).unwrap_or_default();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(120);
    while !written().contains("\"i\":\"999\"") && std::time::Instant::now() < end {
        std::thread::yield_now();
    }
    waiting.child.kill().expect("is killed");
    waiting.child.wait().expect("ends");
    let run = desk.run();
    assert_eq!((run.points.len(), run.end), (1000, None));
    desk.sh("echo name=next t_us=1");
    let journal = desk.read();
    assert_eq!((journal.runs.len(), names(&journal.runs[1])), (2, vec!["next"]));
    assert!(journal.skipped.count <= 1);
}

#[test]
fn killed_at_any_moment_it_leaves_whole_lines() {
    let desk = Desk::new();
    let pid = desk.0.path().join("pid");
    let endless = format!(
        "echo $$ > {}; i=0; while :; do i=$((i+1)); echo name=p i=$i t_us=1; done",
        pid.display()
    );
    for kills in 1..=20 {
        let mut record = desk.record(&[], &["sh", "-c", &endless]);
        let mut child = record.stdout(Stdio::null()).spawn().expect("starts");
        let written = || std::fs::read_to_string(desk.journal()).unwrap_or_default();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(120);
        let points = |text: &str| text.matches("\"t_ns\"").count();
        while points(&written()) < kills && std::time::Instant::now() < end {
            std::thread::yield_now();
        }
        child.kill().expect("is killed");
        child.wait().expect("ends");
        let program = std::fs::read_to_string(&pid).expect("is there");
        let runs = || {
            let status = std::fs::read_to_string(format!("/proc/{}/status", program.trim()));
            status.is_ok_and(|status| !status.contains("State:\tZ"))
        };
        while runs() {
            assert!(std::time::Instant::now() < end, "the program goes on without its recorder");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let written = written();
        assert!(points(&written) >= kills, "{written}");
        // The kernel itself may end a write between two pages: then a piece of the last line is left, and readers leave it out.
        for line in written.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            serde_json::from_str::<serde_json::Value>(line).unwrap_or_else(|_| panic!("{line}"));
        }
        std::fs::remove_file(desk.journal()).expect("is there");
    }
}

#[test]
fn a_full_disk_is_told_and_stops_neither_program_nor_reading() {
    let desk = Desk::new();
    let journal = desk.journal();
    // The limit on the size of files stands for a full disk; both fail the write.
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";
    let inner = "i=0; while [ $i -lt 200 ]; do echo name=p i=$i t_us=1; i=$((i+1)); done; exit 4";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_warpscope"), "record"]);
    command.arg(&journal).args(["--", "sh", "-c", inner]);
    let output = command.env("XDG_RUNTIME_DIR", desk.0.path()).output().expect("starts");
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("run.jsonl"), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().count(), 200);
    let kept = desk.read();
    let points = kept.runs[0].points.len();
    assert!(points > 0 && points < 200, "{points}");
    assert_eq!(kept.skipped.first, None, "a torn line was left");
    assert!(std::fs::read(&journal).expect("reads").ends_with(b"\n"));
    let stderr = text(&output.stderr);
    assert!(stderr.contains(&format!("warpscope: {points} samples in ")), "{stderr}");
    assert!(stderr.contains(&format!("; {} more could not be written", 200 - points)), "{stderr}");
    if let Some(end) = &kept.runs[0].end {
        assert_eq!((end.samples, end.exit), (points as u64, Some(4)));
    }
    assert_eq!(desk.sh("echo name=next t_us=1").status.code(), Some(0));
    assert_eq!(names(desk.read().runs.last().expect("a run")), ["next"]);
}

#[test]
fn standard_input_is_recorded_and_passed_on() {
    let desk = Desk::new();
    let journal = desk.journal();
    let path = journal.to_str().expect("is text");
    let words = ["record", path, "--stdin", "--parse", "vllm", "--pattern", r"took (?<t_ms>\d+)"];
    let mut child = desk
        .warpscope(&words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let said = "took 5 ms\nThroughput: 2.00 requests/s, 10.00 tokens/s\nname=last t_us=1";
    child.stdin.take().expect("is piped").write_all(said.as_bytes()).expect("is read");
    let output = child.wait_with_output().expect("ends");
    assert_eq!((text(&output.stdout), output.status.code()), (said.to_owned(), Some(0)));
    assert_eq!(names(&desk.run()), ["pattern", "vllm.request", "vllm.token", "last"]);
}

#[test]
fn what_cannot_be_recorded_is_told_before_anything_starts() {
    let desk = Desk::new();
    let touched = desk.0.path().join("touched");
    let touch = touched.to_str().expect("is text");
    for (more, why) in [
        (&["--attach", "1"][..], "name only one of"),
        (&["--pattern", "("][..], "--pattern"),
        (&["--parse", "magic"][..], "triton"),
        (&["--duration", "1s"][..], "--duration applies to frames"),
        (&["--once"][..], "--once applies to frames"),
        (&["--keep", "9"][..], "--keep applies to frames"),
        (&["--host", "elsewhere"][..], "--host applies to frames"),
        (&["--source", "/dev/null"][..], "--source applies to frames"),
        (&["--speed", "2"][..], "--speed applies to frames"),
        (&["--start", "1s"][..], "--start applies to frames"),
        (&["--gpu", "T4"][..], "--gpu applies to frames"),
        (&["--prometheus", "http://[::1]:1"][..], "--prometheus applies to frames"),
    ] {
        let output = desk.record(more, &["touch", touch]).output().expect("starts");
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(text(&output.stderr).contains(why), "{}", text(&output.stderr));
    }
    assert!(!touched.exists());
    let journal = desk.journal();
    let path = journal.to_str().expect("is text");
    let output =
        desk.warpscope(&["record", path, "--attach", "999999999"]).output().expect("starts");
    assert!(text(&output.stderr).contains("no process 999999999"));
    for (more, why) in [
        (&["--pattern", "("][..], "--pattern applies to a run"),
        (&["--parse", "vllm"][..], "--parse applies to a run"),
        (&["--history"][..], "--history applies to a run"),
    ] {
        let output = desk.warpscope(&["record", path, "--once"]).args(more).output();
        let output = output.expect("starts");
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(text(&output.stderr).contains(why), "{}", text(&output.stderr));
    }
    assert!(!journal.exists());
}

#[test]
fn a_process_that_runs_already_is_recorded_until_it_ends() {
    let desk = Desk::new();
    let mut sleeper = Command::new("sleep").arg("600").spawn().expect("starts");
    let (journal, pid) = (desk.journal(), sleeper.id().to_string());
    let words = ["record", journal.to_str().expect("is text"), "--attach", &pid, "-i", "100ms"];
    let mut recorder = desk.warpscope(&words).stderr(Stdio::piped()).spawn().expect("starts");
    let mut said = BufReader::new(recorder.stderr.take().expect("is piped")).lines();
    let first = said.next().expect("a line").expect("is text");
    let fifo = first.strip_prefix("WARPSCOPE_POINTS=").expect("names the file");
    std::fs::write(fifo, "name=a t_us=1\n").expect("is read");
    sleeper.kill().expect("ends");
    sleeper.wait().expect("ends");
    assert_eq!(recorder.wait().expect("ends").code(), Some(0));
    let run = desk.run();
    assert_eq!((names(&run), run.identity.command.join(" ")), (vec!["a"], "sleep 600".to_owned()));
}

/// The stand-in driver names the process that asks it and that one's parent: this test, which is what is recorded.
#[test]
fn points_of_a_gpu_carry_its_name_and_what_it_did() {
    let desk = Desk::new();
    let (journal, pid) = (desk.journal(), std::process::id().to_string());
    let words = ["record", journal.to_str().expect("is text"), "--attach", &pid, "-i", "100ms"];
    let mut recorder = desk
        .warpscope(&words)
        .env("LD_LIBRARY_PATH", crate::fake::nvml_dir())
        .env("FAKE_NVML", "t4+procs")
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut said = BufReader::new(recorder.stderr.take().expect("is piped")).lines();
    let first = said.next().expect("a line").expect("is text");
    let fifo = first.strip_prefix("WARPSCOPE_POINTS=").expect("names the file");
    std::fs::write(fifo, "name=k t_us=5\n").expect("is read");
    let end = Command::new("kill").args(["-TERM", &recorder.id().to_string()]).status();
    assert!(end.expect("starts").success());
    assert_eq!(recorder.wait().expect("ends").code(), Some(0));
    let run = desk.run();
    let device = &run.identity.devices[0];
    assert!(device.name.contains("T4") && device.sm.is_some(), "{device:?}");
    assert!(run.identity.driver.is_some() && run.identity.cuda.is_some());
    assert!(device.uuid.as_deref().is_some_and(|uuid| uuid.starts_with("GPU-")), "{device:?}");
    assert_eq!(run.points[0].key.device.as_deref(), Some(device.name.as_str()));
    let text = std::fs::read_to_string(&journal).expect("reads");
    let around =
        text.lines().find(|line| line.starts_with("{\"type\":\"around\"")).expect("a line");
    let around: serde_json::Value = serde_json::from_str(around).expect("JSON");
    let window = &around["window"];
    assert!(window["frames"].as_u64() >= Some(2), "{around}");
    assert!(window["sm_mhz"]["median"].as_f64() > Some(0.0), "{around}");
    assert!(window["power_w"]["max"].as_f64() > Some(0.0), "{around}");
}
