//! This machine, live.
//!
//! Two threads: one asks the GPUs on a timer, the other follows it, asks the host about the processes
//! the GPUs named, and pushes the frame. When the GPUs do not answer in time the second goes on alone and
//! marks their values late. A thread of its own for pacing was rejected: it would wake once more per frame.

mod state;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use warpscope_probes::provider::{Context, Provider, Section};
use warpscope_probes::{Frame, Notice, Severity, Timestamp};

use super::{Control, FrameSink, Source};
use state::{Late, State};

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
mod tests;
