//! Job control: a program that stops takes its children along, and one that is killed leaves none.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use stage::Stage;

use super::*;
use crate::processes::{Process, wait_until};

/// Runs a program as a shell runs a job, and brings it to the foreground again when a line is typed.
const JOB: &str = "set -m; \"$0\" \"$@\"; echo BACK; read line; fg; echo ENDED $?";

/// The dashboard below that shell.
fn job(shell: &Session) -> Process {
    let shell = shell.child.process_id().expect("runs");
    let mut found = None;
    wait_until("the job runs", || {
        found = Process::children(shell).into_iter().find(|child| child.has("--interval"));
        found.is_some()
    });
    found.expect("was found")
}

fn start_job(args: &[&str], env: &[(&str, &str)]) -> Session {
    let program = Some(Path::new("/bin/sh"));
    let args =
        [&["-c", JOB, env!("CARGO_BIN_EXE_warpscope"), "--interval", "200ms"], args].concat();
    Session::start(&Start { program, args: &args, env, ..Start::default() })
}

fn is_stopped(process: &Process) -> bool {
    process.now().is_some_and(|now| now.state == 'T')
}

fn runs(process: &Process) -> bool {
    process.now().is_some_and(|now| now.state != 'T')
}

#[test]
fn the_suspend_key_stops_the_children_too_and_the_foreground_brings_all_back() {
    let nvml = OwnNvml::new("t4");
    let library = nvml.library().display().to_string();
    let mut screen = start_job(&[], &[("WARPSCOPE_LIBRARY", library.as_str())]);
    screen.see("Tesla T4");
    let dashboard = job(&screen);
    let mut children = Vec::new();
    wait_until("two children", || {
        children = Process::children(dashboard.pid);
        ["--nvml", "--live"].iter().all(|arg| children.iter().any(|child| child.has(arg)))
    });
    screen.keys("\x1a");
    screen.see("BACK");
    wait_until("the job is stopped", || is_stopped(&dashboard));
    wait_until("the children are stopped", || children.iter().all(is_stopped));
    assert!(screen.left_behind().is_empty(), "{:?}", screen.left_behind());
    screen.keys("\n");
    screen.see("q quit");
    wait_until("the children go on", || children.iter().all(runs));
    screen.see("Tesla T4");
    screen.keys("q");
    screen.see("ENDED 0");
    screen.end();
    screen.assert_clean();
    wait_until("no child is left", || children.iter().all(|child| child.now().is_none()));
}

#[test]
fn a_stop_and_a_continue_from_outside_draw_the_screen_anew() {
    let mut live = Live::start("t4");
    live.screen.see("Tesla T4");
    live.screen.see("q quit");
    live.screen.signal(Signal::STOP);
    let pid = live.screen.child.process_id().expect("runs");
    wait_until("it is stopped", || Process::read(pid).is_some_and(|now| now.state == 'T'));
    // As a shell leaves a terminal of which it thinks that it is its own again.
    live.screen.cook();
    live.screen.forget();
    live.screen.signal(Signal::CONT);
    live.screen.see("q quit");
    live.screen.see("Tesla T4");
    assert!(!live.screen.line_is_restored(), "the terminal is in raw mode again");
    quit(&mut live.screen);
}

#[test]
fn a_gpu_is_given_back_before_the_program_stops() {
    let stage = Stage::new("t4+idle");
    let variables = stage.variables();
    let env: Vec<(&str, &str)> = variables.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let mut screen = start_job(&["--tab", "bench", "--bench", "auto", "--no-inspect"], &env);
    let dashboard = job(&screen);
    let mut measuring = Vec::new();
    let of_gpu = |pid| -> Vec<Process> {
        Process::children(pid).into_iter().filter(|child| child.has("--gpu")).collect()
    };
    screen.see("idle for");
    screen.see("simulated: right or wrong only");
    wait_until("the GPU is measured", || {
        measuring = of_gpu(dashboard.pid);
        !measuring.is_empty()
    });
    screen.keys("\x1a");
    screen.see("BACK");
    wait_until("the job is stopped", || is_stopped(&dashboard));
    assert!(measuring.iter().all(|child| child.now().is_none()), "no child holds the GPU");
    screen.keys("\n");
    screen.see("warpscope was in the background");
    screen.keys("q");
    screen.see("ENDED 0");
}

#[test]
fn probes_end_before_the_program_stops() {
    let stage = Stage::new("t4+idle").fault("hang:cuLaunchKernel");
    let variables = stage.variables();
    let env: Vec<(&str, &str)> = variables.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let mut screen = start_job(&["--tab", "compat", "--no-bench", "--no-inspect"], &env);
    let dashboard = job(&screen);
    screen.see("T4");
    screen.see("sm_75");
    screen.keys("p");
    let mut probing = Vec::new();
    wait_until("the GPU is probed", || {
        probing = Process::children(dashboard.pid);
        probing.retain(|child| child.has("--gpu"));
        !probing.is_empty()
    });
    screen.keys("\x1a");
    screen.see("BACK");
    wait_until("the job is stopped", || is_stopped(&dashboard));
    wait_until("no child holds the GPU", || probing.iter().all(|child| child.now().is_none()));
    screen.keys("\n");
    screen.see("warpscope went to the background");
    screen.keys("q");
    screen.see("ENDED 0");
}

#[test]
fn a_dashboard_that_is_killed_leaves_no_process_behind() {
    let nvml = Stage::new("t4+idle").fault("hang:cuStreamSynchronize");
    let variables = nvml.variables();
    let env: Vec<(&str, &str)> = variables.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let args = ["--tab", "bench", "--bench", "auto", "--no-inspect", "--interval", "200ms"];
    let mut screen = Session::start(&Start { args: &args, env: &env, ..Start::default() });
    screen.see("idle for");
    let pid = screen.child.process_id().expect("runs");
    let mut children = Vec::new();
    wait_until("three children", || {
        children = Process::children(pid);
        ["--nvml", "--live", "--gpu"].iter().all(|arg| children.iter().any(|child| child.has(arg)))
    });
    screen.signal(Signal::KILL);
    screen.end();
    wait_until("no child is left", || children.iter().all(|child| child.now().is_none()));
}

#[test]
fn a_killed_dashboard_takes_the_process_along_that_hangs_in_the_driver() {
    let mut live = Live::start("t4+hang:nvmlInit_v2:3600");
    live.screen.see("Asking the NVIDIA driver");
    let children = Process::children(live.screen.child.process_id().expect("runs"));
    assert!(children.iter().any(|child| child.has("--nvml")), "{children:?}");
    live.screen.signal(Signal::KILL);
    live.screen.end();
    wait_until("no child is left", || children.iter().all(|child| child.now().is_none()));
}

#[test]
fn a_process_that_does_not_answer_any_more_is_not_waited_for() {
    let mut live = Live::start("t4");
    live.screen.see("MHz");
    let children = Process::children(live.screen.child.process_id().expect("runs"));
    let asks = children.iter().find(|child| child.has("--nvml")).expect("asks the driver");
    // As near as a test comes to one that hangs inside the kernel.
    let pid = Pid::from_raw(asks.pid.cast_signed()).expect("is a pid");
    kill_process(pid, Signal::STOP).expect("is stopped");
    live.screen.see("has stopped answering");
    quit(&mut live.screen);
    wait_until("no child is left", || asks.now().is_none());
}

#[test]
fn ctrl_c_reaches_a_stream_and_not_the_process_that_asks_the_driver() {
    let nvml = OwnNvml::new("t4");
    let library = nvml.library().display().to_string();
    let env = [("WARPSCOPE_LIBRARY", library.as_str())];
    let args = ["stream", "--interval", "200ms"];
    let mut screen = Session::start(&Start { args: &args, env: &env, ..Start::default() });
    screen.see("Tesla T4");
    screen.keys("\x03");
    assert_eq!(screen.end(), 0, "{}", screen.text());
    assert!(!screen.text().contains("crashed"), "{}", screen.text());
}
