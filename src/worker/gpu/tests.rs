use std::io::{self, BufReader, PipeWriter, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use warpscope_kernels::gpu::family::kernels;
use warpscope_kernels::gpu::{Launch, MachineError, Nanoseconds, Route};
use warpscope_probes::nvml::Look;

use super::fake::{FakeMachine, Manner, Memory, facts};
use super::*;
use crate::worker::{
    Acquire, Command, DeviceHere, Globs, KernelReport, LINE_MAX, Lines, Timing, TimingMode,
    WorkerEnd, WorkerEvent, WorkerFailure, run_worker,
};

/// What every fake of a test shares: what was done to it and what is to go wrong.
#[derive(Clone, Default)]
struct Fakes(Arc<Mutex<Notes>>);

#[derive(Default)]
struct Notes {
    simulated: bool,
    opened: u32,
    given_back: u32,
    launched: u64,
    held_bytes: u64,
    /// How long it is waited for somebody to go.
    busy_for: Duration,
    /// Looks at which a process that has died is still listed.
    lingers: u32,
    /// The launch that ends the context.
    dies_at: Option<u64>,
    /// Launch at which somebody comes.
    contention_at: Option<u64>,
    /// Launch at which somebody comes whom nobody lists: memory goes.
    hidden_at: Option<u64>,
    /// Launch at which the parent wants something.
    ask_at: Option<(u64, PipeWriter, Command)>,
}

impl Fakes {
    /// How often the device was taken and given back.
    fn counts(&self) -> (u32, u32) {
        let notes = self.notes();
        (notes.opened, notes.given_back)
    }

    fn notes(&self) -> std::sync::MutexGuard<'_, Notes> {
        self.0.lock().expect("no test panics while it holds it")
    }
}

/// Computes nothing, a microsecond a launch, and writes down what is done to it.
struct Noted {
    fakes: Fakes,
    stop: Arc<AtomicBool>,
    ended: Option<MachineError>,
}

impl Drop for Noted {
    fn drop(&mut self) {
        let mut notes = self.fakes.notes();
        notes.given_back += 1;
        notes.held_bytes = 0;
    }
}

impl Manner for Noted {
    fn run(&mut self, _: &mut Memory, _: &Launch) -> Result<(), MachineError> {
        let mut notes = self.fakes.notes();
        notes.launched += 1;
        let count = notes.launched;
        if let Some((_, parent, request)) = notes.ask_at.take_if(|ask| ask.0 == count) {
            ask(&parent, &request);
            while !self.stop.load(Ordering::Relaxed) {
                thread::yield_now();
            }
        }
        let comes =
            [notes.contention_at, notes.hidden_at].into_iter().flatten().any(|at| at <= count);
        let dies = notes.dies_at == Some(count);
        drop(notes);
        while comes && !self.stop.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        if self.stop.load(Ordering::Relaxed) {
            return Err(MachineError::Stopped);
        }
        if !dies {
            return Ok(());
        }
        let (call, name) = ("cuStreamSynchronize".to_owned(), "DEAD".to_owned());
        let error = MachineError::Driver { call, code: 700, name };
        self.ended = Some(error.clone());
        Err(error)
    }

    fn time(&mut self, graph: &[Launch]) -> Nanoseconds {
        1000.0 * graph.len() as f64
    }

    fn hold(&mut self, bytes: u64) {
        self.fakes.notes().held_bytes = bytes;
    }

    fn ended(&self) -> Option<&MachineError> {
        self.ended.as_ref()
    }
}

impl Opener for Fakes {
    fn name(&self) -> String {
        "GPU-fake".to_owned()
    }

    fn devices(&self) -> Result<Vec<DeviceHere>, MachineError> {
        Ok(vec![DeviceHere { uuid: self.name(), device: facts(false) }])
    }

    fn open(&self, how: &Acquire, stop: &Arc<AtomicBool>) -> Result<Opened, MachineError> {
        let mut notes = self.notes();
        notes.opened += 1;
        let cap = how.arena_bytes.unwrap_or(64 << 20);
        let noted = Noted { fakes: self.clone(), stop: Arc::clone(stop), ended: None };
        let fake = FakeMachine::new(notes.simulated, cap, noted);
        Ok(Opened { uuid: self.name(), session: Box::new(fake) })
    }

    fn contention(&self) -> Option<Box<dyn ContentionProbe>> {
        Some(Box::new(self.clone()))
    }

    fn busy_for(&self) -> Duration {
        self.notes().busy_for
    }
}

impl ContentionProbe for Fakes {
    fn look(&mut self) -> Look {
        let mut notes = self.notes();
        let lingers = notes.lingers > 0;
        notes.lingers = notes.lingers.saturating_sub(1);
        let here = lingers || notes.contention_at.is_some_and(|at| at <= notes.launched);
        let hidden = notes.hidden_at.is_some_and(|at| at <= notes.launched);
        let own = if notes.opened > notes.given_back { 300 << 20 } else { 0 };
        let taken = own + if hidden { 4 << 30 } else { 0 };
        Look {
            computing: Some(if here { vec![u32::MAX] } else { Vec::new() }),
            using: None,
            sm_mhz: Some(1410),
            free_bytes: Some((8 << 30) - taken),
        }
    }
}

fn ask(mut parent: &PipeWriter, request: &Command) {
    let line = serde_json::to_string(request).expect("serialises") + "\n";
    parent.write_all(line.as_bytes()).expect("the child reads");
}

/// The parent of a child that runs on a thread of its own.
struct Parent {
    to: PipeWriter,
    from: Lines<BufReader<io::PipeReader>, WorkerEvent>,
    child: thread::JoinHandle<io::Result<WorkerEnd>>,
}

impl Parent {
    fn of(fakes: &Fakes) -> Self {
        let (input, to) = io::pipe().expect("pipe");
        let (from, output) = io::pipe().expect("pipe");
        let fakes = fakes.clone();
        let child =
            thread::spawn(move || run_worker(|stop| GpuDevice::new(&fakes, stop), input, output));
        let mut from = Lines::new(BufReader::new(from), LINE_MAX);
        let hello = from.next().expect("a first line").expect("well-formed");
        assert!(matches!(&hello, WorkerEvent::Hello(it) if it.device_name == "GPU-fake"));
        Self { to, from, child }
    }

    /// What the child says until it has finished a job, or ends.
    fn job(&mut self, request: &Command) -> Vec<WorkerEvent> {
        ask(&self.to, request);
        let mut said = Vec::new();
        for event in self.from.by_ref() {
            match event.expect("well-formed") {
                WorkerEvent::Finished { .. } => break,
                WorkerEvent::Started => {}
                other => said.push(other),
            }
        }
        said
    }

    /// Goes away.
    fn leave(self) -> WorkerEnd {
        drop(self.to);
        assert_eq!(self.from.count(), 0, "nothing is left to emit");
        self.child.join().expect("does not panic").expect("was heard")
    }
}

/// A kernel the fakes have cases and work for.
fn some_kernel() -> &'static str {
    let fits = |kernel: &&warpscope_kernels::gpu::GpuKernel| {
        let facts = facts(false);
        let native = matches!((kernel.route)(&facts), Route::Native { .. });
        native && !(kernel.cases)(&facts).is_empty() && !(kernel.works)(&facts, 64 << 20).is_empty()
    };
    kernels().find(fits).expect("some kernel is proven and timed").id
}

fn selftest() -> Command {
    Command::Selftest { kernels: Globs::from(some_kernel()), evidence: None }
}

fn timing(mode: TimingMode) -> Command {
    let kernels = Globs::from(some_kernel());
    Command::Kernel(Timing { kernels, mode, ..Timing::default() })
}

fn reports(events: &[WorkerEvent]) -> Vec<&KernelReport> {
    let reports = events.iter().filter_map(|event| match event {
        WorkerEvent::Kernel(report) => Some(&**report),
        _ => None,
    });
    reports.collect()
}

fn failure(events: &[WorkerEvent]) -> &WorkerFailure {
    let failure = events.iter().find_map(|event| match event {
        WorkerEvent::Failed(failure) => Some(failure),
        _ => None,
    });
    failure.expect("something failed")
}

fn why_paused(events: &[WorkerEvent]) -> Option<&str> {
    events.iter().find_map(|event| match event {
        WorkerEvent::Paused { why } => Some(why.as_str()),
        _ => None,
    })
}

#[test]
fn devices_are_told_without_taking_one() {
    let fakes = Fakes::default();
    let mut parent = Parent::of(&fakes);
    let said = parent.job(&Command::Devices);
    assert!(
        matches!(&said[..], [WorkerEvent::Device(here)] if here.uuid == "GPU-fake"),
        "{said:?}"
    );
    assert_eq!((parent.leave(), fakes.notes().opened), (WorkerEnd::Told, 0));
}

#[test]
fn a_device_is_taken_once_and_given_back_at_the_end() {
    let fakes = Fakes::default();
    let mut parent = Parent::of(&fakes);
    let said = parent
        .job(&Command::Acquire(Acquire { arena_bytes: Some(32 << 20), ..Acquire::default() }));
    let [WorkerEvent::Holding(holding)] = &said[..] else { panic!("{said:?}") };
    assert_eq!((holding.context_bytes, holding.arena_cap_bytes), (Some(300 << 20), 32 << 20));
    parent.job(&selftest());
    parent.job(&selftest());
    assert_eq!(fakes.counts(), (1, 0));
    assert_eq!(parent.leave(), WorkerEnd::Told);
    assert_eq!(fakes.counts(), (1, 1));
}

#[test]
fn a_machine_that_computes_nothing_fails_every_case_and_keeps_no_memory() {
    let fakes = Fakes::default();
    let mut parent = Parent::of(&fakes);
    let said = parent.job(&selftest());
    let wrong =
        |event: &WorkerEvent| matches!(event, WorkerEvent::Case(case) if case.wrong.is_some());
    assert!(!said.is_empty() && said.iter().all(wrong), "{said:?}");
    assert_eq!(fakes.notes().held_bytes, 0);
}

#[test]
fn a_burst_has_raw_times_of_one_repetition_each() {
    let fakes = Fakes::default();
    let mut parent = Parent::of(&fakes);
    let said = parent.job(&timing(TimingMode::Burst));
    let reports = reports(&said);
    assert!(!reports.is_empty(), "{said:?}");
    for report in reports {
        let launches = report.samples_ns[0] / 1000.0;
        assert!(launches >= 1.0 && launches.fract() == 0.0, "{report:?}");
        assert_eq!(report.samples_ns, [report.samples_ns[0]; 9]);
        assert!(report.bytes > 0.0 && report.output_hash.is_some());
    }
    assert_eq!(fakes.notes().held_bytes, 0);
}

/// What is read is written nowhere, and a variant may lie in an image of its own.
#[test]
fn a_report_tells_of_the_hash_and_the_image_there_is() {
    let mut parent = Parent::of(&Fakes::default());
    for (kernel, family, hashed) in [("mem.read", "mem", false), ("w4.gemm.f16", "w4_gemm", true)] {
        let kernels = Globs::from(kernel);
        let said = parent.job(&Command::Kernel(Timing { kernels, ..Timing::default() }));
        for report in reports(&said) {
            assert_eq!(
                (report.family.as_deref(), report.output_hash.is_some()),
                (Some(family), hashed)
            );
        }
        assert!(!reports(&said).is_empty(), "{said:?}");
    }
}

#[test]
fn a_fake_has_no_times() {
    let fakes = Fakes::default();
    fakes.notes().simulated = true;
    let said = Parent::of(&fakes).job(&timing(TimingMode::Sustained));
    for report in reports(&said) {
        assert!(report.samples_ns.is_empty() && report.output_hash.is_some(), "{report:?}");
    }
}

#[test]
fn what_ends_work_is_heard_within_a_launch() {
    let pause = Command::Pause { why: "by key".to_owned() };
    for (urgent, given_back) in [(Command::Stop, 0), (pause, 1)] {
        let fakes = Fakes::default();
        let mut parent = Parent::of(&fakes);
        let writer = parent.to.try_clone().expect("pipe");
        fakes.notes().ask_at = Some((3, writer, urgent.clone()));
        let said = parent.job(&selftest());
        assert_eq!(failure(&said).error, MachineError::Stopped, "{urgent}");
        assert_eq!(fakes.notes().launched, 3, "{urgent}");
        let said = parent.job(&selftest());
        assert_eq!(why_paused(&said), (given_back == 1).then_some("by key"));
        assert!(
            said.iter().any(|event| matches!(event, WorkerEvent::Case(_))),
            "goes on: {said:?}"
        );
        assert_eq!(fakes.notes().given_back, given_back);
    }
}

#[test]
fn somebody_who_comes_gets_the_device() {
    let fakes = Fakes::default();
    fakes.notes().contention_at = Some(2);
    let mut parent = Parent::of(&fakes);
    let said = parent.job(&selftest());
    assert_eq!(why_paused(&said), Some("busy: process 4294967295 computes on it"));
    assert_eq!(fakes.notes().launched, 2);
    assert_eq!(fakes.counts(), (1, 1));
    let said = parent.job(&selftest());
    assert!(why_paused(&said).is_some() && said.len() == 1, "still there: {said:?}");
    assert_eq!(fakes.notes().opened, 1);
    fakes.notes().contention_at = None;
    assert_eq!(why_paused(&parent.job(&selftest())), None, "gone");
}

#[test]
fn somebody_nobody_lists_is_noticed_by_the_memory() {
    let fakes = Fakes::default();
    fakes.notes().hidden_at = Some(2);
    let mut parent = Parent::of(&fakes);
    let said = parent.job(&selftest());
    assert!(why_paused(&said).is_some_and(|why| why.contains("not shown")), "{said:?}");
    assert_eq!(fakes.counts(), (1, 1));
}

/// A sibling that was killed is listed for a moment, and costs nobody the job.
#[test]
fn a_device_that_only_looks_busy_is_waited_for() {
    let fakes = Fakes::default();
    (fakes.notes().lingers, fakes.notes().busy_for) = (1, Duration::from_secs(60));
    let mut parent = Parent::of(&fakes);
    let said = parent.job(&selftest());
    assert_eq!(why_paused(&said), None);
    assert!(said.iter().any(|event| matches!(event, WorkerEvent::Case(_))), "{said:?}");
}

#[test]
fn a_lost_context_ends_the_child() {
    let fakes = Fakes::default();
    fakes.notes().dies_at = Some(2);
    let mut parent = Parent::of(&fakes);
    let said = parent.job(&selftest());
    let failure = failure(&said);
    assert!(failure.what.starts_with(&format!("self-test of {}", some_kernel())), "{failure:?}");
    assert!(failure.error.to_string().contains("700"));
    assert_eq!(parent.leave(), WorkerEnd::ContextLost);
    assert_eq!(fakes.notes().launched, 2);
    assert_eq!(fakes.counts(), (1, 1));
}

#[test]
fn what_makes_no_sense_is_told_and_does_no_harm() {
    let fakes = Fakes::default();
    let mut parent = Parent::of(&fakes);
    parent.to.write_all(b"{\"request\":\"format\"}\n").expect("the child reads");
    let said = parent.job(&Command::Devices);
    assert_eq!(failure(&said).what, "a line of the parent");
    assert!(said.iter().any(|event| matches!(event, WorkerEvent::Device(_))));
}
