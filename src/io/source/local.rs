//! This machine, live.
//!
//! Two threads: one asks the GPUs on a timer, the other follows it, asks the host about the processes
//! the GPUs named, and pushes the frame. When the GPUs do not answer in time the second goes on alone and
//! marks their values late. A thread of its own for pacing was rejected: it would wake once more per frame.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use warpscope_probes::driver::DriverState;
use warpscope_probes::gpu::Presence;
use warpscope_probes::provider::{Context, GpuSection, HostSection, Provider, Section};
use warpscope_probes::{Frame, Notice, Origin, SCHEMA, Severity, Timestamp};

use super::{Control, FrameSink, Source};

/// How long after its time an answer counts as late.
const GRACE: Duration = Duration::from_millis(250);

/// How soon GPUs are asked again while one of them starts, and how long that may take.
const SOON: Duration = Duration::from_secs(1);
const STARTING: Duration = Duration::from_secs(10);

/// This machine: one provider for the GPUs, one for the host.
pub struct LocalSource {
    gpu: Box<dyn Provider>,
    host: Box<dyn Provider>,
    interval: Duration,
}

impl LocalSource {
    /// A source that asks both providers once per `interval`.
    pub fn new(gpu: Box<dyn Provider>, host: Box<dyn Provider>, interval: Duration) -> Self {
        Self { gpu, host, interval }
    }
}

impl Source for LocalSource {
    fn start(self: Box<Self>, sink: FrameSink) -> Box<dyn Control> {
        let Self { gpu, host, interval } = *self;
        let shared = Arc::new(Shared::new(interval));
        let for_gpu = Arc::clone(&shared);
        let for_host = Arc::clone(&shared);
        spawn(gpu.name(), move || ask_gpus(gpu, &for_gpu));
        spawn(host.name(), move || ask_host(host, &for_host, &sink));
        Box::new(LocalControl { shared })
    }
}

fn spawn(name: &'static str, work: impl FnOnce() + Send + 'static) {
    // A machine that cannot start a thread shows late values for ever; there is nobody to tell.
    drop(thread::Builder::new().name(name.to_owned()).stack_size(512 << 10).spawn(work));
}

struct LocalControl {
    shared: Arc<Shared>,
}

impl Control for LocalControl {
    fn set_interval(&mut self, interval: Duration) {
        self.shared.pace().interval = interval;
        self.shared.wake.notify_all();
    }

    fn overdue(&mut self) -> Option<Frame> {
        let interval = self.shared.pace().interval;
        Some(self.shared.state().frame(now(), interval, Late { gpu: true, host: true }))
    }
}

impl Drop for LocalControl {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

/// Two locks, each released before its waiter is told: a thread that is woken and finds the lock taken
/// sleeps and wakes twice. A channel between the two threads was given up for that very reason.
struct Shared {
    pace: Mutex<Pace>,
    wake: Condvar,
    state: Mutex<State>,
    answered: Condvar,
}

struct Pace {
    interval: Duration,
    stopped: bool,
}

#[derive(Default)]
struct State {
    /// Whether there is an answer that the host thread has not looked at yet.
    answered: bool,
    seq: u64,
    gpu: Option<GpuSection>,
    /// When the GPUs last answered.
    gpu_at: Timestamp,
    host: Option<HostSection>,
    broken: Vec<Notice>,
}

#[derive(Clone, Copy, Default)]
struct Late {
    gpu: bool,
    host: bool,
}

impl Shared {
    fn new(interval: Duration) -> Self {
        Self {
            pace: Mutex::new(Pace { interval, stopped: false }),
            wake: Condvar::new(),
            state: Mutex::default(),
            answered: Condvar::new(),
        }
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        self.pace().stopped = true;
        self.wake.notify_all();
        self.announce();
    }

    /// Tells the host thread that there is something to look at.
    fn announce(&self) {
        self.state().answered = true;
        self.answered.notify_one();
    }

    /// Waits until there is. False: not in time.
    fn wait_for_answer(&self, patience: Duration) -> bool {
        let waiting = |state: &mut State| !state.answered;
        let woken = self.answered.wait_timeout_while(self.state(), patience, waiting);
        let mut state = woken.unwrap_or_else(PoisonError::into_inner).0;
        std::mem::take(&mut state.answered)
    }

    /// Waits until `interval` after `start`, or `most`, also when the interval changes meanwhile. False: stop.
    fn wait_from(&self, start: Instant, most: Duration) -> bool {
        let mut pace = self.pace();
        loop {
            let left = pace.interval.min(most).saturating_sub(start.elapsed());
            if pace.stopped || left.is_zero() {
                return !pace.stopped;
            }
            pace = self.wake.wait_timeout(pace, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl State {
    /// Whether a GPU has not answered yet.
    fn is_starting(&self) -> bool {
        let gpus = self.gpu.iter().flat_map(|section| &section.gpus);
        gpus.into_iter().any(|gpu| gpu.presence == Presence::Starting)
    }

    fn frame(&mut self, at: Timestamp, interval: Duration, late: Late) -> Frame {
        self.seq += 1;
        let mut frame = Frame {
            schema: SCHEMA,
            seq: self.seq,
            at,
            interval_s: interval.as_secs_f64(),
            origin: Origin::Local,
            ..Frame::default()
        };
        if let Some(gpu) = &self.gpu {
            frame.driver = gpu.driver.clone();
            frame.gpus = gpu.gpus.clone();
            frame.notices = gpu.notices.clone();
        }
        if let Some(host) = &self.host {
            frame.host = host.host.clone();
            frame.processes = host.processes.clone();
            frame.notices.extend(host.notices.iter().cloned());
        }
        frame.notices.extend(self.broken.iter().cloned());
        if late.gpu {
            mark_gpus_late(&mut frame, self.gpu_at);
        }
        if late.host {
            mark_host_late(&mut frame);
        }
        frame
    }
}

fn mark_gpus_late(frame: &mut Frame, last: Timestamp) {
    for gpu in &mut frame.gpus {
        gpu.make_late();
    }
    for process in &mut frame.processes {
        for field in warpscope_probes::process::Usage::FIELDS {
            (field.make_late)(&mut process.usage);
        }
    }
    let what = match frame.driver.status {
        DriverState::Starting => "The NVIDIA driver has not answered yet.".to_owned(),
        _ => {
            let last = last.to_string();
            let time = last.get(11..19).unwrap_or(&last);
            format!("The NVIDIA driver has stopped answering; its values of {time}Z are shown dim.")
        }
    };
    frame.notices.push(Notice {
        id: "driver.late".into(),
        severity: Severity::Warning,
        what,
        remedy: "Loading the driver takes seconds without persistence mode (nvidia-smi -pm 1); otherwise look for Xid messages in dmesg.".into(),
    });
}

fn mark_host_late(frame: &mut Frame) {
    for field in warpscope_probes::host::Machine::FIELDS {
        (field.make_late)(&mut frame.host.machine);
    }
    for process in &mut frame.processes {
        for field in warpscope_probes::process::HostSide::FIELDS {
            (field.make_late)(&mut process.host);
        }
    }
}

fn now() -> Timestamp {
    Timestamp::from_system(SystemTime::now())
}

/// Asks a provider; one that panics is reported and asked again next time.
fn ask(provider: &mut dyn Provider, context: &Context, shared: &Shared) {
    let name = provider.name();
    let answer = catch_unwind(AssertUnwindSafe(|| provider.poll(context)));
    let mut state = shared.state();
    state.broken.retain(|notice| notice.id != format!("provider.{name}"));
    match answer {
        Ok(Section::Gpu(section)) => {
            state.gpu = Some(*section);
            state.gpu_at = now();
        }
        Ok(Section::Host(section)) => state.host = Some(*section),
        Err(_) => state.broken.push(Notice {
            id: format!("provider.{name}"),
            severity: Severity::Error,
            what: format!("Reading {name} failed inside warpscope; its values may be old."),
            remedy: "Please report this with the output of `warpscope doctor --redact`.".into(),
        }),
    }
}

fn ask_gpus(mut provider: Box<dyn Provider>, shared: &Shared) {
    let begin = Instant::now();
    let mut last: Option<Instant> = None;
    loop {
        let start = Instant::now();
        let since_last = last.map_or(Duration::ZERO, |last| start - last);
        last = Some(start);
        ask(&mut *provider, &Context { since_last, ..Context::default() }, shared);
        shared.announce();
        // A GPU that takes seconds to start is shown when it has, however long the interval.
        let starting = shared.state().is_starting() && begin.elapsed() < STARTING;
        if !shared.wait_from(start, if starting { SOON } else { Duration::MAX }) {
            return;
        }
    }
}

fn ask_host(mut provider: Box<dyn Provider>, shared: &Shared, sink: &FrameSink) {
    let mut last: Option<Instant> = None;
    loop {
        let patience = if last.is_none() { GRACE } else { shared.pace().interval + GRACE };
        let late = Late { gpu: !shared.wait_for_answer(patience), ..Late::default() };
        if shared.pace().stopped {
            return;
        }
        let start = Instant::now();
        let since_last = last.map_or(Duration::ZERO, |last| start - last);
        last = Some(start);
        let gpu_processes =
            shared.state().gpu.as_ref().map(|gpu| gpu.processes.clone()).unwrap_or_default();
        ask(&mut *provider, &Context { since_last, gpu_processes }, shared);
        let Pace { interval, stopped } = *shared.pace();
        if stopped {
            return;
        }
        let frame = shared.state().frame(now(), interval, late);
        if !sink(frame) {
            return shared.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use warpscope_probes::Gpu;
    use warpscope_probes::host::Host;
    use warpscope_probes::units::{Percent, Watts};

    use super::*;

    /// Answers only when told to, so that no test waits for a clock.
    struct Scripted(&'static str, Receiver<Section>);

    impl Provider for Scripted {
        fn name(&self) -> &'static str {
            self.0
        }

        fn poll(&mut self, _: &Context) -> Section {
            self.1.recv().expect("the script goes on")
        }
    }

    fn gpu_section(watts: f64) -> Section {
        let mut gpu = Gpu { key: "GPU-0".into(), ..Gpu::default() };
        gpu.vitals.power_w = Watts(watts).into();
        Section::Gpu(Box::new(GpuSection { gpus: vec![gpu], ..GpuSection::default() }))
    }

    fn host_section(cpu: f32) -> Section {
        let mut host = Host::default();
        host.machine.cpu_pct = Percent(cpu).into();
        Section::Host(Box::new(HostSection { host, ..HostSection::default() }))
    }

    #[test]
    fn frames_keep_coming_while_the_driver_hangs_and_recover() {
        let (gpu, gpu_script) = channel();
        let (host, host_script) = channel();
        let source = LocalSource::new(
            Box::new(Scripted("gpu", gpu_script)),
            Box::new(Scripted("host", host_script)),
            Duration::from_millis(1),
        );
        let (sent, frames) = channel();
        let _control = Box::new(source).start(Arc::new(move |frame| sent.send(frame).is_ok()));

        host.send(host_section(1.0)).expect("listens");
        let early = frames.recv().expect("a frame without the driver");
        assert!(early.gpus.is_empty());
        assert_eq!(early.notices[0].id, "driver.late");
        assert_eq!(early.host.machine.cpu_pct.value(), Some(&Percent(1.0)));

        gpu.send(gpu_section(70.0)).expect("listens");
        let mut power = None;
        while power.is_none() {
            host.send(host_section(2.0)).expect("listens");
            power = frames
                .recv()
                .expect("a frame")
                .gpus
                .first()
                .and_then(|gpu| gpu.vitals.power_w.value().copied());
        }
        assert_eq!(power, Some(Watts(70.0)));

        host.send(host_section(3.0)).expect("listens");
        let hung = frames.recv().expect("a frame while the driver hangs");
        let power = &hung.gpus[0].vitals.power_w;
        assert!(power.is_late() && power.last() == Some(&Watts(70.0)));
        assert_eq!(hung.host.machine.cpu_pct.value(), Some(&Percent(3.0)));
    }

    #[test]
    fn a_provider_that_panics_is_named_and_asked_again() {
        struct Broken;
        impl Provider for Broken {
            fn name(&self) -> &'static str {
                "nvml"
            }
            fn poll(&mut self, _: &Context) -> Section {
                std::panic::resume_unwind(Box::new("no message, no hook"))
            }
        }
        let shared = Shared::new(Duration::ZERO);
        ask(&mut Broken, &Context::default(), &shared);
        ask(&mut Broken, &Context::default(), &shared);
        let frame = shared.state().frame(Timestamp(0), Duration::ZERO, Late::default());
        let ids: Vec<_> = frame.notices.iter().map(|notice| notice.id.as_str()).collect();
        assert_eq!(ids, ["provider.nvml"]);
    }

    #[test]
    fn a_shorter_interval_is_heard_while_waiting_for_a_longer_one() {
        let shared = Arc::new(Shared::new(Duration::from_secs(3600)));
        let mut control = LocalControl { shared: Arc::clone(&shared) };
        let waiter = thread::spawn(move || shared.wait_from(Instant::now(), Duration::MAX));
        control.set_interval(Duration::ZERO);
        assert!(waiter.join().expect("ends"));
    }
}
