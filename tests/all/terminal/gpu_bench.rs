use super::*;
use stage::Stage;

/// The processes that measure GPUs for a dashboard.
fn workers(screen: &Session) -> usize {
    let parent = screen.child.process_id().expect("runs");
    let all = std::fs::read_dir("/proc").expect("is there").flatten();
    let of_parent = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit_once(')').map_or("", |parts| parts.1);
        let mut fields = fields.split_whitespace();
        let zombie = fields.next() == Some("Z");
        !zombie && fields.next().and_then(|of| of.parse().ok()) == Some(parent)
    };
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let measures = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.windows(5).any(|part| part == b"--gpu")
    };
    pids.filter(of_parent).filter(measures).count()
}

fn session(stage: &Stage) -> Session {
    let variables = stage.variables();
    let env: Vec<(&str, &str)> = variables.iter().map(|(k, v)| (*k, v.as_str())).collect();
    let args = &["--tab", "bench", "--no-inspect", "--interval", "200ms"];
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
    let begin = std::time::Instant::now();
    while workers(&screen) > 0 {
        assert!(begin.elapsed() < crate::pty::PATIENCE, "the child lives on");
        std::thread::yield_now();
    }
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
