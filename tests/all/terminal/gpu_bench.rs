use super::*;
use stage::Stage;

use crate::processes::{Process, wait_until};

/// The processes that measure GPUs for a dashboard.
fn workers(screen: &Session) -> usize {
    let parent = screen.child.process_id().expect("runs");
    Process::children(parent).iter().filter(|child| child.has("--gpu")).count()
}

fn session(stage: &Stage) -> Session {
    let variables = stage.variables();
    let env: Vec<(&str, &str)> = variables.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let args = &["--tab", "bench", "--bench", "auto", "--no-inspect", "--interval", "200ms"];
    Session::start(&Start { args, env: &env, size: (120, 36), ..Start::default() })
}

#[test]
fn an_idle_gpu_is_measured_through_its_child_and_given_back_with_the_tab() {
    let stage = Stage::new("t4+idle");
    let mut screen = session(&stage);
    screen.see("idle for");
    assert_eq!(workers(&screen), 0, "nothing is started before it has been idle for ten seconds");
    screen.see("simulated: right or wrong only");
    screen.see("mem.read");
    assert_eq!(workers(&screen), 1);
    screen.keys("1");
    screen.see("Tesla T4");
    wait_until("the child ends", || workers(&screen) == 0);
    quit(&mut screen);
}

#[test]
fn a_gpu_in_use_is_left_alone_and_says_so() {
    let stage = Stage::new("t4+procs");
    let mut screen = session(&stage);
    screen.see("busy: ");
    screen.see("PAUSED");
    assert_eq!(workers(&screen), 0);
    quit(&mut screen);
}
