use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use super::*;

#[test]
fn keys_leave_a_clean_terminal_and_exit_with_0() {
    for key in ["q", "\x03", "\x1b[21~"] {
        let mut live = Live::start("t4");
        live.screen.see("Tesla T4");
        live.screen.keys(key);
        assert_eq!(live.screen.end(), 0, "{key:?}");
        live.screen.assert_clean();
    }
}

#[test]
fn signals_leave_a_clean_terminal_and_exit_as_shells_count() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let mut live = Live::start("t4");
        live.screen.see("Tesla T4");
        assert!(!live.screen.line_is_restored(), "the terminal is in raw mode");
        live.screen.signal(signal);
        let ended = live.screen.end();
        assert_eq!(ended, code, "{signal:?}: {}", live.screen.text());
        live.screen.assert_clean();
    }
}

#[test]
fn signals_that_end_a_program_at_once_leave_a_clean_terminal_and_their_own_status() {
    let nvml = OwnNvml::new("t4");
    let library = nvml.library().display().to_string();
    let env = [("WARPSCOPE_LIBRARY", library.as_str())];
    let own = [env!("CARGO_BIN_EXE_warpscope"), "--no-bench"];
    let args = [&NO_CORE[..], &own].concat();
    let program = Some(Path::new("/bin/sh"));
    // By signal(7); 34 and 64 are the first and the last of the real-time signals.
    for number in [3, 4, 5, 6, 7, 8, 10, 11, 12, 14, 16, 24, 25, 26, 27, 29, 30, 31, 34, 64] {
        let mut screen =
            Session::start(&Start { program, args: &args, env: &env, ..Start::default() });
        screen.see("Tesla T4");
        assert!(!screen.line_is_restored(), "the terminal is in raw mode");
        let pid = screen.child.process_id().expect("runs");
        let kill = format!("kill -{number} {pid}");
        assert!(Command::new("sh").args(["-c", &kill]).status().expect("starts").success());
        assert_eq!(screen.end_by_signal(), Some(number), "{}", screen.text());
        screen.assert_clean();
    }
}

#[test]
fn a_pipe_nobody_reads_is_no_reason_to_end() {
    let mut live = Live::start("t4");
    live.screen.see("Tesla T4");
    live.screen.signal(Signal::PIPE);
    live.screen.keys("?");
    live.screen.see("Leave warpscope.");
    live.screen.keys("\x1b");
    live.screen.see_gone("Leave warpscope.");
    quit(&mut live.screen);
}

#[test]
fn the_harness_sees_what_a_killed_program_leaves_behind() {
    let mut live = Live::start("t4");
    live.screen.see("Tesla T4");
    live.screen.signal(Signal::KILL);
    live.screen.end();
    assert!(live.screen.left_behind().contains(&"alternate screen"));
    assert!(!live.screen.line_is_restored());
}

#[test]
fn it_leaves_also_while_the_driver_hangs() {
    for key in ["q", "\x03"] {
        let mut live = Live::start("t4+hang:nvmlInit_v2:10");
        live.screen.see("Asking the NVIDIA driver");
        live.screen.keys(key);
        assert_eq!(live.screen.end(), 0);
        live.screen.assert_clean();
    }
}

#[test]
fn a_popup_or_a_half_typed_filter_changes_nothing_about_the_end() {
    for keys in ["?\x03", "w\x03", "4/abc\x03"] {
        let mut live = Live::start("t4");
        live.screen.see("Tesla T4");
        live.screen.keys(keys);
        assert_eq!(live.screen.end(), 0, "{keys:?}");
        live.screen.assert_clean();
    }
}

#[test]
fn a_terminal_that_cannot_place_the_cursor_is_one_clear_line() {
    let start = Start { env: &[("TERM", "dumb")], ..Start::default() };
    let mut screen = Session::start(&start);
    assert_eq!(screen.end(), 2);
    let said = String::from_utf8_lossy(&screen.raw).trim().to_owned();
    assert!(said.starts_with("error: ") && said.contains("TERM=dumb"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(!said.contains('\x1b'), "{said}");
    screen.assert_clean();
}

#[test]
fn no_terminal_is_one_clear_line() {
    let output = Command::new(env!("CARGO_BIN_EXE_warpscope"))
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .expect("starts");
    let said = String::from_utf8(output.stderr).expect("is text");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("error: ") && said.contains("warpscope snapshot"), "{said}");
    assert_eq!((said.lines().count(), output.stdout.len()), (1, 0), "{said}");
}
