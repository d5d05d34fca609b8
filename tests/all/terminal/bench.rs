use std::fs;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::pty::PATIENCE;

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
    screen.see("running");
    (nvml, screen)
}

/// State letter and parent of a process, from `/proc`; `None` once it is gone.
fn stat(pid: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// The benchmark child of a dashboard.
fn worker(screen: &Session) -> u32 {
    let parent = screen.child.process_id().expect("runs");
    let pids = fs::read_dir("/proc").expect("is there").flatten();
    let mut pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let child = pids.find(|pid| stat(*pid).is_some_and(|(state, of)| of == parent && state != 'Z'));
    child.expect("the dashboard has a child")
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("is a pid");
    kill_process(pid, Signal::KILL).expect("is killed");
}

#[test]
fn the_key_pauses_and_continues() {
    let (_nvml, mut screen) = session();
    screen.keys("b");
    screen.see("paused by key");
    screen.keys("b");
    screen.see_gone("paused by key");
    screen.see("running");
    screen.see("fp16");
    quit(&mut screen);
}

#[test]
fn a_killed_worker_is_shown_survived_and_started_again() {
    let (_nvml, mut screen) = session();
    let first = worker(&screen);
    kill(first);
    screen.see("was killed by signal 9");
    screen.keys("1");
    screen.see("Tesla T4");
    screen.keys("3");
    screen.keys("b");
    screen.see_gone("was killed by signal 9");
    screen.see("running");
    assert_ne!(worker(&screen), first);
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
        let begin = Instant::now();
        while stat(worker).is_some_and(|(state, _)| state != 'Z') {
            assert!(begin.elapsed() < PATIENCE, "the worker {worker} lives on");
            std::thread::yield_now();
        }
    }
}
