//! The same dashboard around a source of our own, in a process of its own: what no input to the shipped
//! program can bring about (a panic), and what must not depend on this machine (whose process is visible).

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use warpscope::features::what_if::WhatIf;
use warpscope::io::source::{Control, FrameSink, Source};
use warpscope::shell::draw::LookOptions;
use warpscope::shell::keymap::Keymap;
use warpscope::shell::runtime::{Kept, Launch, run};
use warpscope::shell::{App, Settings};
use warpscope::widgets::theme::ColorDepth;
use warpscope_probes::process::{Process, Visibility};
use warpscope_probes::{Frame, SCHEMA, host_provider};

use super::*;

/// Where the child finds the pid of the process it shows.
const PID: &str = "WARPSCOPE_TEST_PID";
const READONLY: &str = "WARPSCOPE_TEST_READONLY";
/// Where it finds how it is to end, by a panic if nothing is said.
const END: &str = "WARPSCOPE_TEST_END";

/// One frame with one process; its control ends the program when asked for another interval.
struct Given(Frame);
struct Brittle;

impl Source for Given {
    fn start(self: Box<Self>, sink: FrameSink) -> Box<dyn Control> {
        sink(self.0);
        Box::new(Brittle)
    }
}

impl Control for Brittle {
    fn set_interval(&mut self, _interval: Duration) {
        match std::env::var(END).as_deref() {
            // As a C library would: this runs what `atexit` was told of.
            Ok("exit") => std::process::exit(7),
            Ok("overflow") => drop(std::hint::black_box(descend(u64::MAX))),
            _ => panic!("on purpose"),
        }
    }
}

/// Needs more stack than there is.
fn descend(left: u64) -> u64 {
    let room = std::hint::black_box([left; 1024]);
    if left == 0 { room[0] } else { descend(left - 1) + room[1023] }
}

fn frame(pid: u32) -> Frame {
    let mut process = Process { pid, visibility: Visibility::Visible, ..Process::default() };
    process.host.name = "cat".to_owned().into();
    process.host.command = "cat -of-the-test".to_owned().into();
    process.started_at = host_provider::started_at("/proc".as_ref(), pid);
    Frame { schema: SCHEMA, seq: 1, processes: vec![process], ..Frame::default() }
}

#[test]
#[ignore = "runs in a terminal of its own, started by the tests below"]
fn dashboard() {
    let pid = std::env::var(PID).ok().and_then(|pid| pid.parse().ok()).unwrap_or(0);
    let settings = Settings {
        interval: Duration::from_secs(1),
        readonly: std::env::var_os(READONLY).is_some(),
        inspect: false,
        theme: "dark".into(),
    };
    let launch = Launch {
        kept: Kept::default(),
        source: Box::new(Given(frame(pid))),
        app: App::new(settings, Keymap::default(), WhatIf::default(), Arc::default()),
        look: LookOptions {
            depth: ColorDepth::TrueColor,
            ascii: false,
            paint: true,
            folders: Vec::new(),
        },
        mouse: true,
        reads_rules: false,
    };
    // The thread that owns the terminal is the program's first one; in a test it only has its name.
    let owner = std::thread::Builder::new().name("main".into());
    let ended = owner.spawn(move || run(launch)).expect("starts").join();
    assert!(ended.expect("no panic").is_ok());
}

fn start(env: &[(&str, &str)]) -> Session {
    let program: PathBuf = std::env::current_exe().expect("a test binary has a path");
    let args = ["terminal::embedded::dashboard", "--exact", "--ignored", "--nocapture"];
    let args = [&NO_CORE[..], &[program.to_str().expect("is text")], &args].concat();
    let program = Some(Path::new("/bin/sh"));
    Session::start(&Start { program, args: &args, env, ..Start::default() })
}

#[test]
fn a_panic_gives_the_terminal_back_before_it_speaks() {
    let mut screen = start(&[]);
    screen.see("Overview");
    screen.keys("+");
    assert_ne!(screen.end(), 0);
    screen.assert_clean();
    let raw = String::from_utf8_lossy(&screen.raw);
    let (leaves, speaks) = (raw.rfind("\x1b[?1049l"), raw.find("on purpose"));
    assert!(leaves.is_some() && leaves < speaks, "{leaves:?} {speaks:?}");
    let after = &raw[speaks.unwrap_or_default()..];
    assert!(!after.contains('\x1b'), "nothing is drawn after the message: {after:?}");
}

#[test]
fn a_library_that_calls_exit_gives_the_terminal_back() {
    let mut screen = start(&[(END, "exit")]);
    screen.see("Overview");
    screen.keys("+");
    assert_eq!(screen.end(), 7);
    screen.assert_clean();
}

#[test]
fn a_stack_that_overflows_is_reported_on_a_clean_terminal() {
    let mut screen = start(&[(END, "overflow")]);
    screen.see("Overview");
    screen.keys("+");
    assert_eq!(screen.end_by_signal(), Some(6));
    screen.assert_clean();
    let raw = String::from_utf8_lossy(&screen.raw);
    let (leaves, speaks) = (raw.rfind("\x1b[?1049l"), raw.find("has overflowed its stack"));
    assert!(leaves.is_some() && leaves < speaks, "{leaves:?} {speaks:?}");
}

#[test]
fn a_confirmed_signal_reaches_the_process() {
    // Waits for its input, which stays open until the end of this test.
    let mut target = Command::new("cat").stdin(Stdio::piped()).spawn().expect("starts cat");
    let pid = target.id().to_string();
    let mut screen = start(&[(PID, &pid)]);
    screen.keys("4");
    screen.see("cat -of-the-test");
    screen.keys("K");
    screen.see(&format!("Signal to {pid} cat"));
    screen.keys("\r");
    screen.see(&format!("Send SIGTERM to {pid}?"));
    screen.keys("n");
    screen.see_gone("Send SIGTERM");
    assert!(target.try_wait().expect("is asked").is_none(), "n sends nothing");
    screen.keys("K\ry");
    screen.see(&format!("Sent SIGTERM to {pid}."));
    assert_eq!(target.wait().expect("ends").signal(), Some(15));
    quit(&mut screen);
}

#[test]
fn read_only_offers_no_signal() {
    let mut screen = start(&[(PID, "1"), (READONLY, "1")]);
    screen.keys("4");
    screen.see("read-only");
    screen.keys("K");
    screen.see("Signals are off");
    quit(&mut screen);
}
