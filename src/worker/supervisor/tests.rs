use warpscope_kernels::gpu::{DeviceFacts, MachineError};

use super::*;
use crate::worker::protocol::{Globs, Hello, Holding, ModelSize};

const SECOND: Duration = Duration::from_secs(1);
const BURST: Limits = Limits::once(Patience::Job(SECOND, Duration::from_secs(30)));

fn at(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn job(kernel: &str) -> Command {
    Command::Selftest { kernels: Globs::from(kernel), evidence: None }
}

fn said(event: WorkerEvent) -> Event {
    Event::Worker(Box::new(event))
}

fn finished() -> Event {
    said(WorkerEvent::Finished { busy_ns: 0.0 })
}

fn running() -> Event {
    said(WorkerEvent::Started)
}

fn died(signal: i32) -> Event {
    Event::Ended(Ending::Signal { signal }, None)
}

/// Steps with what each must lead to.
fn walk(supervisor: &mut Supervisor, steps: Vec<(f64, Event, Vec<Action>)>) {
    for (seconds, event, want) in steps {
        let text = format!("{seconds} s: {event:?}");
        assert_eq!(supervisor.step(at(seconds), event), want, "{text}");
    }
}

fn deaths(actions: &[Action]) -> Vec<&Death> {
    let deaths = actions.iter().filter_map(|action| match action {
        Action::Tell(death) => Some(death),
        _ => None,
    });
    deaths.collect()
}

#[test]
fn jobs_go_out_one_at_a_time() {
    let mut supervisor = Supervisor::new(Limits::command(SECOND));
    assert!(supervisor.is_idle());
    walk(
        &mut supervisor,
        vec![
            (0.0, Event::Command(job("a")), vec![Action::Start, Action::Send(job("a"))]),
            (0.1, Event::Command(job("b")), vec![]),
            (0.2, running(), vec![]),
            (0.3, finished(), vec![Action::Send(job("b"))]),
            (0.4, finished(), vec![]),
        ],
    );
    assert!(supervisor.is_idle() && supervisor.wake_at().is_none());
    walk(
        &mut supervisor,
        vec![
            (9.0, Event::Command(Command::Quit), vec![Action::Send(Command::Quit)]),
            (9.1, Event::Ended(Ending::Exit { code: 0 }, None), vec![]),
        ],
    );
}

#[test]
fn a_child_that_says_nothing_is_killed_and_the_next_gets_the_rest() {
    let mut supervisor = Supervisor::new(Limits::command(SECOND));
    supervisor.step(at(0.0), Event::Command(job("a")));
    supervisor.step(at(0.0), Event::Command(job("b")));
    supervisor.step(at(0.5), running());
    assert_eq!(supervisor.wake_at(), Some(at(1.5)));
    assert_eq!(supervisor.step(at(1.4), Event::Tick), []);
    assert_eq!(supervisor.step(at(1.5), Event::Tick), [Action::Kill]);
    assert_eq!(supervisor.step(at(1.6), Event::Tick), [], "once");
    let actions = supervisor.step(at(1.7), died(9));
    let [death] = deaths(&actions)[..] else { panic!("{actions:?}") };
    assert_eq!(
        (&death.doing, &death.ending),
        (&Some(job("a")), &Ending::Silent { after_ms: 1000 })
    );
    assert!(death.sentence.contains("self-test of a") && death.sentence.contains("hangs"));
    assert_eq!(&actions[1..], [Action::Start, Action::Send(job("b"))]);
}

#[test]
fn a_job_that_takes_too_long_is_killed_however_much_it_talks() {
    let mut supervisor = Supervisor::new(BURST);
    supervisor.step(at(0.0), Event::Command(job("a")));
    assert_eq!(supervisor.wake_at(), Some(at(30.0)), "the first time images are loaded");
    supervisor.step(at(20.0), finished());
    supervisor.step(at(21.0), Event::Command(job("a")));
    for tenth in 1..10 {
        assert_eq!(supervisor.step(at(21.0 + f64::from(tenth) / 10.0), running()), []);
    }
    assert_eq!(supervisor.wake_at(), Some(at(22.0)));
    assert_eq!(supervisor.step(at(22.0), Event::Tick), [Action::Kill]);
    let actions = supervisor.step(at(22.1), died(9));
    assert_eq!(deaths(&actions)[0].ending, Ending::OverTime { limit_ms: 1000 });
}

/// A job done once before, on a device that is held.
fn asked_again(job: &Command, simulated: bool) -> Supervisor {
    let device = DeviceFacts {
        name: "synthetic".to_owned(),
        sm: "75".parse().expect("is one"),
        sms: 1,
        shared_per_block: 0,
        shared_per_block_optin: 0,
        l2_bytes: 0,
        memory_bytes: 0,
        driver_cuda: 12_080,
        simulated,
        tuned: warpscope_kernels::gpu::TunedConfigs::default(),
    };
    let holding = Holding {
        device,
        uuid: "GPU-0".to_owned(),
        context_bytes: None,
        arena_bytes: 0,
        arena_cap_bytes: 0,
        images: Vec::new(),
        busy_ns: 0.0,
    };
    let mut supervisor = Supervisor::new(BURST);
    supervisor.step(at(0.0), Event::Command(job.clone()));
    supervisor.step(at(0.5), said(WorkerEvent::Holding(holding)));
    supervisor.step(at(1.0), finished());
    supervisor.step(at(2.0), Event::Command(job.clone()));
    supervisor
}

#[test]
fn a_device_has_a_second_for_what_it_did_before_and_a_fake_the_time_of_the_first() {
    assert_eq!(asked_again(&job("a"), false).wake_at(), Some(at(3.0)));
    assert_eq!(asked_again(&job("a"), true).wake_at(), Some(at(32.0)));
    // Of two paths of the decoder the weights of one take the CPU long to prepare, each time anew.
    let decode = |path: &str| Command::Decode {
        path: path.to_owned(),
        profile: "clean".to_owned(),
        model: ModelSize::M0,
    };
    assert_eq!(asked_again(&decode("w4"), false).wake_at(), Some(at(3.0)));
    assert_eq!(asked_again(&decode("nf4.bf16"), false).wake_at(), Some(at(32.0)));
}

#[test]
fn a_finished_job_forgives_the_deaths_before_it() {
    let limits = Limits { deaths: 2, jobs_count: true, ..Limits::command(SECOND) };
    let mut supervisor = Supervisor::new(limits);
    for round in 0..5 {
        supervisor.step(at(0.0), Event::Command(job("dies")));
        let actions = supervisor.step(at(0.1), died(6));
        assert!(!deaths(&actions)[0].given_up, "{round}");
        supervisor.step(at(0.2), Event::Command(job("lives")));
        supervisor.step(at(0.3), finished());
    }
}

#[test]
fn a_new_child_takes_the_device_as_the_last_one_did() {
    let hold = Acquire { arena_bytes: Some(1 << 25), ..Acquire::default() };
    let mut supervisor = Supervisor::new(Limits::command(SECOND));
    supervisor.step(at(0.0), Event::Command(Command::Acquire(hold.clone())));
    supervisor.step(at(0.0), Event::Command(job("a")));
    supervisor.step(at(0.0), Event::Command(job("b")));
    assert_eq!(supervisor.step(at(0.1), finished()), [Action::Send(job("a"))]);
    let actions = supervisor.step(at(0.2), died(7));
    assert_eq!(&actions[1..], [Action::Start, Action::Send(Command::Acquire(hold))]);
    assert_eq!(supervisor.step(at(0.3), finished()), [Action::Send(job("b"))]);
}

#[test]
fn what_ends_work_forgets_what_waits_and_is_heard_at_once() {
    let pause = Command::Pause { why: "busy".to_owned() };
    for urgent in [Command::Stop, pause, Command::Quit] {
        let mut supervisor = Supervisor::new(Limits::command(SECOND));
        assert_eq!(supervisor.step(at(0.0), Event::Command(urgent.clone())), [], "nobody to tell");
        supervisor.step(at(0.0), Event::Command(job("a")));
        supervisor.step(at(0.0), Event::Command(job("b")));
        let told = supervisor.step(at(0.1), Event::Command(urgent.clone()));
        assert_eq!(told, [Action::Send(urgent)]);
        assert_eq!(supervisor.step(at(0.2), finished()), [], "b is forgotten");
    }
}

#[test]
fn a_child_of_another_version_or_without_sense_is_killed() {
    let hello = Hello { schema: BENCH_SCHEMA + 1, ..Hello::default() };
    for (event, word) in [
        (said(WorkerEvent::Hello(hello)), "format 2"),
        (Event::Garbled("line 3: expected value".to_owned()), "line 3"),
    ] {
        let mut supervisor = Supervisor::new(Limits::command(SECOND));
        supervisor.step(at(0.0), Event::Command(job("a")));
        assert_eq!(supervisor.step(at(0.1), event), [Action::Kill]);
        let actions = supervisor.step(at(0.2), died(9));
        let sentence = &deaths(&actions)[0].sentence;
        assert!(sentence.contains(word) && sentence.contains("not understood"), "{sentence}");
    }
}

#[test]
fn a_lost_context_is_told_by_what_the_child_said_of_it() {
    let error = MachineError::Driver {
        call: "cuStreamSynchronize".to_owned(),
        code: 700,
        name: "CUDA_ERROR_ILLEGAL_ADDRESS".to_owned(),
    };
    let failure = WorkerFailure { what: "self-test of a, 17×33".to_owned(), error };
    let mut supervisor = Supervisor::new(Limits::command(SECOND));
    supervisor.step(at(0.0), Event::Command(job("a")));
    supervisor.step(at(0.1), said(WorkerEvent::Failed(failure)));
    let ended = Event::Ended(Ending::Exit { code: CONTEXT_LOST.into() }, None);
    let actions = supervisor.step(at(0.2), ended);
    let want = "self-test of a, 17×33: cuStreamSynchronize returned 700 (CUDA_ERROR_ILLEGAL_ADDRESS): \
                a kernel touched memory it does not have";
    assert_eq!(deaths(&actions)[0].sentence, want);
}

#[test]
fn a_child_that_leaves_unasked_has_died() {
    let mut supervisor = Supervisor::new(Limits::command(SECOND));
    supervisor.step(at(0.0), Event::Command(job("a")));
    supervisor.step(at(0.1), finished());
    let actions = supervisor.step(at(0.2), Event::Ended(Ending::Exit { code: 0 }, None));
    let [death] = deaths(&actions)[..] else { panic!("{actions:?}") };
    assert_eq!(death.doing, None);
    assert!(death.sentence.starts_with("idle:"), "{}", death.sentence);
}

#[test]
fn a_child_that_pauses_by_itself_gets_nothing_of_what_waited() {
    let paused = || said(WorkerEvent::Paused { why: "busy".to_owned() });
    let mut supervisor = Supervisor::new(Limits::command(SECOND));
    supervisor.step(at(0.0), Event::Command(job("a")));
    supervisor.step(at(0.0), Event::Command(job("b")));
    supervisor.step(at(0.1), paused());
    assert_eq!(supervisor.step(at(0.2), finished()), []);
    assert!(supervisor.is_idle());
    let pause = Command::Pause { why: "by key".to_owned() };
    supervisor.step(at(1.0), Event::Command(pause));
    assert_eq!(supervisor.step(at(1.1), Event::Command(job("c"))), [Action::Send(job("c"))]);
    supervisor.step(at(1.1), Event::Command(job("d")));
    supervisor.step(at(1.2), paused());
    assert_eq!(supervisor.step(at(1.3), finished()), [Action::Send(job("d"))], "it was asked to");
}

/// By hand: an attempt of 3 s and the rest of 1 s after it, twice, and the third is beyond 10 s. What another job finishes meanwhile is kept.
#[test]
fn a_command_tries_again_until_its_wait_is_over() {
    let paused = || said(WorkerEvent::Paused { why: "busy".to_owned() });
    let limits = Limits { busy: at(10.0), ..Limits::command(at(15.0)) };
    let mut supervisor = Supervisor::new(limits);
    supervisor.step(at(0.0), Event::Command(job("a")));
    supervisor.step(at(0.0), Event::Command(job("b")));
    let send = |name| vec![Action::Send(job(name))];
    let retry = |name| vec![Action::Retry(job(name))];
    let gone = Action::Leave { why: "busy".to_owned(), jobs: vec![job("a")] };
    walk(&mut supervisor, vec![(3.0, paused(), vec![]), (3.0, finished(), retry("a"))]);
    assert_eq!((supervisor.is_idle(), supervisor.wake_at()), (false, Some(at(4.0))));
    walk(
        &mut supervisor,
        vec![
            (3.5, Event::Tick, vec![]),
            (4.0, Event::Tick, send("b")),
            (5.0, finished(), send("a")),
            (8.0, paused(), vec![]),
            (8.0, finished(), retry("a")),
            (9.0, Event::Tick, send("a")),
            (12.0, paused(), vec![]),
            (12.0, finished(), vec![gone]),
        ],
    );
    assert!(supervisor.is_idle());
}

/// Nothing can be done without the device, so taking it stays in front; and it is nothing that a person asked for.
#[test]
fn a_device_that_stays_busy_leaves_every_job_and_names_it() {
    let paused = || said(WorkerEvent::Paused { why: "busy".to_owned() });
    let limits = Limits { busy: at(7.0), ..Limits::command(at(15.0)) };
    let mut supervisor = Supervisor::new(limits);
    let acquire = || Command::Acquire(Acquire::default());
    supervisor.step(at(0.0), Event::Command(acquire()));
    supervisor.step(at(0.0), Event::Command(job("a")));
    supervisor.step(at(0.0), Event::Command(job("b")));
    let gone = Action::Leave { why: "busy".to_owned(), jobs: vec![job("a"), job("b")] };
    walk(
        &mut supervisor,
        vec![
            (3.0, paused(), vec![]),
            (3.0, finished(), vec![Action::Retry(acquire())]),
            (4.0, Event::Tick, vec![Action::Send(acquire())]),
            (7.0, paused(), vec![]),
            (7.0, finished(), vec![gone]),
        ],
    );
    let said = not_done("busy: process 8 computes on it", &[job("a"), job("b")]);
    let want = "busy: process 8 computes on it; not done: self-test of a, self-test of b";
    assert_eq!((said.as_str(), supervisor.is_idle()), (want, true));
}

/// What a child that died was about to say has no part in what the next one does.
#[test]
fn a_death_is_no_giving_way() {
    let limits = Limits { busy: at(10.0), ..Limits::command(at(15.0)) };
    let mut supervisor = Supervisor::new(limits);
    supervisor.step(at(0.0), Event::Command(job("a")));
    supervisor.step(at(0.0), Event::Command(job("b")));
    supervisor.step(at(1.0), said(WorkerEvent::Paused { why: "busy".to_owned() }));
    let actions = supervisor.step(at(1.1), died(4));
    assert_eq!(actions[1..], [Action::Start, Action::Send(job("b"))]);
    assert_eq!(supervisor.step(at(1.2), finished()), []);
    assert!(supervisor.is_idle());
}

#[test]
fn a_worker_that_dies_again_and_again_is_given_up() {
    let six = Limits { jobs_count: true, ..Limits::command(SECOND) };
    for (limits, most) in [(six, 6), (BURST, 1)] {
        let mut supervisor = Supervisor::new(limits);
        for round in 1..=most {
            let actions = supervisor.step(at(0.0), Event::Command(job("a")));
            assert_eq!(actions.first(), Some(&Action::Start), "{round}");
            let actions = supervisor.step(at(0.1), died(4));
            assert_eq!(deaths(&actions)[0].given_up, round == most);
        }
        assert_eq!(supervisor.step(at(1.0), Event::Command(job("z"))), []);
        assert!(supervisor.is_idle() && supervisor.wake_at().is_none());
    }
}

/// Kernels that share a mistake stand in a row; what follows them has its chance.
#[test]
fn a_command_goes_on_however_many_jobs_have_died() {
    let mut supervisor = Supervisor::new(Limits::command(SECOND));
    supervisor.step(at(0.0), Event::Command(Command::Acquire(Acquire::default())));
    supervisor.step(at(0.0), finished());
    for kernel in 0..20 {
        supervisor.step(at(0.0), Event::Command(job(&kernel.to_string())));
        if kernel > 0 {
            // A new child acquires the device first.
            supervisor.step(at(0.0), finished());
        }
        let actions = supervisor.step(at(0.1), died(4));
        let [death] = deaths(&actions)[..] else { panic!("{actions:?}") };
        assert_eq!((&death.doing, death.given_up), (&Some(job(&kernel.to_string())), false));
    }
    assert!(supervisor.is_idle());
}

/// Each child dies before it comes to the job, which would be waiting for ever.
#[test]
fn a_device_that_cannot_be_acquired_is_given_up() {
    let mut supervisor = Supervisor::new(Limits::command(SECOND));
    supervisor.step(at(0.0), Event::Command(Command::Acquire(Acquire::default())));
    supervisor.step(at(0.0), Event::Command(job("a")));
    let given_up = (1..=6).map(|_| deaths(&supervisor.step(at(0.1), died(4)))[0].given_up);
    assert_eq!(given_up.collect::<Vec<_>>(), [false, false, false, false, false, true]);
}

#[test]
fn work_that_cannot_hang_takes_as_long_as_it_takes() {
    let mut supervisor = Supervisor::new(Limits::UNLIMITED);
    supervisor.step(at(0.0), Event::Command(job("a")));
    assert_eq!(supervisor.wake_at(), None);
    assert_eq!(supervisor.step(at(1e6), Event::Tick), []);
}
