use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::processes::{Process, wait_until};

fn session() -> (OwnNvml, Session) {
    let nvml = OwnNvml::new("t4");
    let library = nvml.library().display().to_string();
    let env = [("WARPSCOPE_LIBRARY", library.as_str())];
    let mut screen = Session::start(&Start {
        args: &["--tab", "bench", "--no-bench"],
        env: &env,
        ..Start::default()
    });
    screen.see("off; b starts it");
    screen.keys("b");
    screen.see("measuring");
    (nvml, screen)
}

/// The benchmark child of a dashboard.
fn worker(screen: &Session) -> Process {
    let children = Process::children(screen.child.process_id().expect("runs"));
    children.into_iter().find(|child| child.has("--live")).expect("the dashboard has a child")
}

fn kill(process: &Process) {
    let pid = Pid::from_raw(process.pid.cast_signed()).expect("is a pid");
    kill_process(pid, Signal::KILL).expect("is killed");
}

#[test]
fn the_key_pauses_and_continues() {
    let (_nvml, mut screen) = session();
    screen.keys("b");
    screen.see("paused by key");
    screen.keys("b");
    screen.see_gone("paused by key");
    screen.see("measuring");
    screen.see("fp16");
    quit(&mut screen);
}

#[test]
fn a_killed_worker_is_shown_survived_and_started_again() {
    let (_nvml, mut screen) = session();
    let first = worker(&screen);
    kill(&first);
    screen.see("the process died of");
    screen.keys("1");
    screen.see("Tesla T4");
    screen.keys("3");
    screen.keys("b");
    screen.see_gone("the process died of");
    screen.see("measuring");
    assert_ne!(worker(&screen).pid, first.pid);
    quit(&mut screen);
}

#[test]
fn the_worker_does_not_outlive_the_dashboard() {
    for by_signal in [false, true] {
        let (_nvml, mut screen) = session();
        let worker = worker(&screen);
        if by_signal {
            screen.signal(Signal::KILL);
        } else {
            screen.keys("q");
        }
        screen.end();
        wait_until("the worker ends", || worker.now().is_none());
    }
}
