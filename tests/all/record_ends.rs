//! How a recording ends: by signals, by the terminal, and with programs that leave others behind.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::pty::{PATIENCE, Session, Start};
use crate::record::{Desk, names, text};

/// Goes on until something ends it, and looks at its signals soon.
const WAIT: &str = "while :; do sleep 0.05; done";

/// A recording that runs, out of reach of the terminal the tests run in.
struct Recording {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// Lines of stderr.
    stderr: Receiver<String>,
}

impl Recording {
    /// Starts it and waits for its first line.
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn().expect("starts");
        let stdout = BufReader::new(child.stdout.take().expect("is piped"));
        let lines = BufReader::new(child.stderr.take().expect("is piped")).lines();
        let (sender, stderr) = channel();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        let mut recording = Self { child, stdout, stderr };
        let mut ready = String::new();
        recording.stdout.read_line(&mut ready).expect("a line");
        assert_eq!(ready, "ready\n");
        recording
    }

    fn sh(desk: &Desk, script: &str) -> Self {
        Self::start(desk.record(&[], &["sh", "-c", script]))
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a number");
        kill_process(pid, signal).expect("is signalled");
    }

    /// Reads stderr until a line has these words.
    fn wait_for_line(&mut self, words: &str) {
        let end = Instant::now() + 2 * PATIENCE;
        loop {
            let line = self.stderr.recv_timeout(end.saturating_duration_since(Instant::now()));
            if line.unwrap_or_else(|_| panic!("never written: {words}")).contains(words) {
                return;
            }
        }
    }

    fn end(&mut self) -> Option<i32> {
        wait_for("its end", || self.child.try_wait().expect("waits").is_some());
        self.child.wait().expect("ends").code()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // With what it left running, where a test failed in the middle.
        let group = Pid::from_raw(self.child.id().cast_signed());
        let _ = group.map(|group| kill_process_group(group, Signal::KILL));
    }
}

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + 2 * PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn every_signal_that_ends_reaches_the_program_and_is_written_down() {
    let all = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM];
    for signal in all.into_iter().filter(|signal| !is_ignored_here(*signal)) {
        let desk = Desk::new();
        let script =
            format!("trap 'echo name=last t_us=1; exit 9' HUP INT QUIT TERM; echo ready; {WAIT}");
        let mut recording = Recording::sh(&desk, &script);
        recording.signal(signal);
        assert_eq!(recording.end(), Some(9), "{signal:?}");
        let run = desk.run();
        let end = run.end.as_ref().expect("a last line");
        assert_eq!((names(&run), end.exit), (vec!["last"], Some(9)), "{signal:?}");
        assert_eq!((end.samples, end.signal), (1, Some(signal.as_raw())));
    }
}

#[test]
fn a_program_that_does_not_catch_a_signal_ends_by_it_and_so_does_the_recording() {
    for signal in [Signal::HUP, Signal::TERM].into_iter().filter(|one| !is_ignored_here(*one)) {
        let desk = Desk::new();
        let mut recording = Recording::sh(&desk, &format!("echo ready; {WAIT}"));
        recording.signal(signal);
        assert_eq!(recording.end(), Some(128 + signal.as_raw()));
        assert_eq!(desk.run().end.expect("a last line").signal, Some(signal.as_raw()));
    }
}

#[test]
fn a_second_interrupt_kills_a_program_that_is_deaf_to_the_first() {
    if is_ignored_here(Signal::INT) {
        return;
    }
    let desk = Desk::new();
    let mut recording = Recording::sh(&desk, &format!("trap '' INT; echo ready; {WAIT}"));
    recording.signal(Signal::INT);
    recording.wait_for_line("Ctrl-C again kills it");
    recording.signal(Signal::INT);
    assert_eq!(recording.end(), Some(137));
    let end = desk.run().end.expect("a last line");
    assert_eq!((end.exit, end.signal), (Some(137), Some(Signal::INT.as_raw())));
}

fn ignores(pid: u32, signal: Signal) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("runs");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).expect("a mask");
    u64::from_str_radix(mask, 16).expect("a number") >> (signal.as_raw() - 1) & 1 == 1
}

/// Whether the tests run where a recording rightly ignores a signal: under `nohup`, or in the background of a script.
fn is_ignored_here(signal: Signal) -> bool {
    let is_ignored = ignores(std::process::id(), signal);
    if is_ignored {
        crate::skip::skipped(format_args!(
            "{signal:?} is ignored where the tests run, and so by a recording"
        ));
    }
    is_ignored
}

#[test]
fn a_signal_that_was_ignored_from_the_start_stays_ignored_by_both() {
    let desk = Desk::new();
    let inner = desk.record(&[], &["sh", "-c", &format!("echo ready; {WAIT}")]);
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(inner.get_program());
    command.args(inner.get_args()).env("XDG_RUNTIME_DIR", desk.0.path());
    let mut recording = Recording::start(command);
    recording.signal(Signal::HUP);
    assert!(ignores(recording.child.id(), Signal::HUP));
    recording.signal(Signal::TERM);
    assert_eq!(recording.end(), Some(143));
    assert_eq!(desk.run().end.expect("a last line").signal, Some(Signal::TERM.as_raw()));
}

#[test]
fn a_key_of_the_terminal_reaches_the_program_once() {
    let desk = Desk::new();
    let script = "n=0; trap 'n=$((n+1)); echo got $n' INT; echo ready; \
                  while [ $n = 0 ]; do sleep 0.05; done; read line; echo count=$n; exit 5";
    let journal = desk.journal();
    let args = ["record", journal.to_str().expect("is text"), "--", "sh", "-c", script];
    let runtime = desk.0.path().to_str().expect("is text");
    let path = std::env::var("PATH").expect("is set");
    let env = [("XDG_RUNTIME_DIR", runtime), ("PATH", path.as_str())];
    let mut session = Session::start(&Start { args: &args, env: &env, ..Start::default() });
    session.see("ready");
    session.keys("\x03");
    session.see("got 1");
    session.see("Ctrl-C again kills it");
    session.keys("\r");
    session.see("count=1");
    assert_eq!(session.end(), 5);
    let end = desk.run().end.expect("a last line");
    assert_eq!((end.exit, end.signal), (Some(5), Some(Signal::INT.as_raw())));
}

#[test]
fn a_program_finds_the_terminal_it_would_have_without_a_recording() {
    let desk = Desk::new();
    let script = "stty size <&1; echo $TERM$NO_COLOR; printf '\\033[1mname=a\\033[0m t_us=1\\n'";
    let journal = desk.journal();
    let args = ["record", journal.to_str().expect("is text"), "--", "sh", "-c", script];
    let runtime = desk.0.path().to_str().expect("is text");
    let path = std::env::var("PATH").expect("is set");
    let env = [("XDG_RUNTIME_DIR", runtime), ("PATH", path.as_str())];
    let mut session =
        Session::start(&Start { args: &args, env: &env, size: (97, 31), ..Start::default() });
    session.see("31 97");
    session.see("xterm-256color");
    session.see("name=a t_us=1");
    assert_eq!(session.end(), 0);
    assert_eq!(names(&desk.run()), ["a"]);
}

#[test]
fn a_terminal_that_goes_away_ends_the_run_in_good_order() {
    let desk = Desk::new();
    let pair = native_pty_system().openpty(PtySize::default()).expect("opens a pty");
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_warpscope"));
    let ready = desk.0.path().join("ready");
    let script = format!("echo name=a t_us=1; : > {}; {WAIT}", ready.display());
    let journal = desk.journal();
    command.args(["record", journal.to_str().expect("is text"), "--", "sh", "-c", &script]);
    command.env("XDG_RUNTIME_DIR", desk.0.path());
    let mut child = pair.slave.spawn_command(command).expect("starts");
    drop(pair.slave);
    wait_for("the program", || ready.exists());
    drop(pair.master);
    wait_for("its end", || child.try_wait().expect("waits").is_some());
    let run = desk.run();
    let end = run.end.as_ref().expect("a last line");
    assert_eq!((names(&run), end.exit), (vec!["a"], Some(129)));
    assert_eq!(end.signal, Some(Signal::HUP.as_raw()));
}

/// In a shell that runs beside its parent: waits until that has ended.
const AFTER_ITS_PARENT: &str =
    "while grep -q 'State:.[^Z]' /proc/$$/status 2> /dev/null; do sleep 0.05; done";

#[test]
fn what_a_program_left_running_is_recorded_and_passed_on_too() {
    let desk = Desk::new();
    let script = format!("({AFTER_ITS_PARENT}; echo name=late t_us=1; echo bye) & exit 3");
    let output = desk.sh(&script);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "name=late t_us=1\nbye\n");
    let run = desk.run();
    assert_eq!((names(&run), run.end.as_ref().expect("ended").exit), (vec!["late"], Some(3)));
}

#[test]
fn what_writes_after_the_recording_is_neither_killed_nor_held_back() {
    let desk = Desk::new();
    let file = |name: &str| desk.0.path().join(name);
    let shown = |path: &Path| path.display().to_string();
    let (go, done) = (file("go"), file("done"));
    // More than a pipe holds: it has to be read.
    let flood = "i=0; while [ $i -lt 4000 ]; do echo a line of some forty letters, number $i; i=$((i+1)); done";
    let script = format!(
        "echo ready; (until [ -e {} ]; do sleep 0.05; done; {flood}; : > {}) & exit 3",
        shown(&go),
        shown(&done)
    );
    let mut recording = Recording::sh(&desk, &script);
    recording.wait_for_line("processes it started still write");
    recording.signal(Signal::INT);
    assert_eq!(recording.end(), Some(3));
    recording.wait_for_line("no longer recorded");
    assert_eq!(desk.run().end.expect("a last line").exit, Some(3));
    std::fs::write(&go, "").expect("writes");
    let mut rest = String::new();
    recording.stdout.read_to_string(&mut rest).expect("ends");
    assert_eq!(rest.lines().count(), 4000);
    assert!(rest.ends_with("number 3999\n"));
    wait_for("the writer", || done.exists());
}

#[test]
fn who_has_the_file_of_points_open_can_write_there_after_the_recording() {
    let desk = Desk::new();
    let file = |name: &str| desk.0.path().join(name).display().to_string();
    let flood = "i=0; while [ $i -lt 4000 ]; do echo name=late i=$i t_us=1; i=$((i+1)); done >&3";
    let script = format!(
        "exec 3> \"$WARPSCOPE_POINTS\"; echo ready; echo name=a t_us=1 >&3; \
         (until [ -e {} ]; do sleep 0.05; done; {flood}; : > {}) > /dev/null & exit 3",
        file("go"),
        file("done")
    );
    let mut recording = Recording::sh(&desk, &script);
    assert_eq!(recording.end(), Some(3));
    assert_eq!(names(&desk.run()), ["a"]);
    std::fs::write(file("go"), "").expect("writes");
    wait_for("the writer", || Path::new(&file("done")).exists());
}
