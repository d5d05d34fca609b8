//! This machine, live.
//!
//! One thread asks the GPUs on a timer, then the host about the processes the GPUs named, and pushes the frame. It waits for the GPUs
//! on a file descriptor, so that it can go on alone, and mark their values late, when they do not answer in time. A thread for each
//! was given up: they woke each other twice a frame.

mod gpus;
mod state;

use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use warpscope_probes::Frame;
use warpscope_probes::provider::{Context, Provider, Section};

use super::{Control, FrameSink, Source, now};
pub use gpus::{Aside, Gpus, Ready, Update};
use state::{Late, State, broken};

/// How long after its time an answer counts as late.
const GRACE: Duration = Duration::from_millis(250);

/// How soon GPUs are asked again while one of them starts, and how long that may take.
const SOON: Duration = Duration::from_secs(1);
const STARTING: Duration = Duration::from_secs(10);

/// This machine: who asks the GPUs, and who asks the host.
pub struct LocalSource {
    gpus: Box<dyn Gpus>,
    host: Box<dyn Provider>,
    interval: Duration,
}

impl LocalSource {
    /// A source that asks both once per `interval`.
    pub fn new(gpus: Box<dyn Gpus>, host: Box<dyn Provider>, interval: Duration) -> Self {
        Self { gpus, host, interval }
    }
}

impl Source for LocalSource {
    fn start(self: Box<Self>, sink: FrameSink) -> Box<dyn Control> {
        let Self { gpus, host, interval } = *self;
        let shared = Arc::new(Shared {
            pace: Mutex::new(Pace { interval, brief: false, stopped: false }),
            state: Mutex::default(),
        });
        // Without a pipe a change of pace is heard with the next frame.
        let (told, tell) = pipe().ok().unzip();
        let asker =
            Asker { gpus, host, sink, told, shared: Arc::clone(&shared), owed: false, last: None };
        // A machine that cannot start a thread shows late values for ever; there is nobody to tell.
        let thread = thread::Builder::new().name("local".to_owned()).stack_size(512 << 10);
        drop(thread.spawn(move || asker.run()));
        Box::new(LocalControl { shared, tell })
    }
}

struct LocalControl {
    shared: Arc<Shared>,
    tell: Option<PipeWriter>,
}

impl LocalControl {
    fn change(&mut self, change: impl FnOnce(&mut Pace)) {
        change(&mut self.shared.pace());
        // An asker that is gone needs no news.
        self.tell.iter_mut().for_each(|tell| _ = tell.write(&[0]));
    }
}

impl Control for LocalControl {
    fn set_interval(&mut self, interval: Duration) {
        self.change(|pace| pace.interval = interval);
    }

    fn set_brief(&mut self, brief: bool) {
        self.change(|pace| pace.brief = brief);
    }

    fn overdue(&mut self) -> Option<Frame> {
        let interval = self.shared.pace().interval;
        Some(self.shared.state().frame(now(), interval, Late { gpu: true, host: true }))
    }
}

impl Drop for LocalControl {
    fn drop(&mut self) {
        self.change(|pace| pace.stopped = true);
    }
}

struct Shared {
    pace: Mutex<Pace>,
    state: Mutex<State>,
}

#[derive(Clone, Copy)]
struct Pace {
    interval: Duration,
    /// Whether a summary is all that is wanted of every frame.
    brief: bool,
    stopped: bool,
}

impl Shared {
    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What ended a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Woken {
    Answered,
    Told,
    Over,
}

/// The thread that asks.
struct Asker {
    gpus: Box<dyn Gpus>,
    host: Box<dyn Provider>,
    sink: FrameSink,
    told: Option<PipeReader>,
    shared: Arc<Shared>,
    /// Whether the GPUs have not answered yet.
    owed: bool,
    /// When the host was last asked.
    last: Option<Instant>,
}

impl Asker {
    /// Pushes frames until nobody listens.
    fn run(mut self) {
        let begin = Instant::now();
        let mut asked: Option<Instant> = None;
        loop {
            let beat = Instant::now();
            let mut end = beat;
            if !self.owed {
                let since_last = asked.map_or(Duration::ZERO, |asked| beat - asked);
                let brief = self.shared.pace().brief;
                self.gpus.ask(&Context { since_last, brief, ..Context::default() });
                if asked.is_none() {
                    // The GPUs take longer. What panics here does so in the poll too, which reports it.
                    catch_unwind(AssertUnwindSafe(|| self.host.prepare())).ok();
                }
                (self.owed, asked, end) = (true, Some(beat), beat + GRACE);
            }
            while self.owed && self.wait(end) != Woken::Over {}
            if !self.push() || !self.rest(beat, begin) {
                return;
            }
        }
    }

    /// Waits for the next beat; an answer that is late is pushed meanwhile. False: stop.
    fn rest(&mut self, beat: Instant, begin: Instant) -> bool {
        let before = *self.shared.pace();
        loop {
            let pace = *self.shared.pace();
            // A GPU that takes seconds to start is shown when it has, however long the interval.
            let is_starting = begin.elapsed() < STARTING && self.shared.state().is_starting();
            let interval = if is_starting { pace.interval.min(SOON) } else { pace.interval };
            if pace.stopped || beat.elapsed() >= interval || (before.brief && !pace.brief) {
                return !pace.stopped;
            }
            if self.wait(beat + interval) == Woken::Answered && !self.push() {
                return false;
            }
        }
    }

    /// Waits until a time, for news, or for the GPUs' answer, and takes that.
    fn wait(&mut self, end: Instant) -> Woken {
        let answer = if self.owed { self.gpus.ready() } else { Ready::Never };
        let woken = match answer {
            Ready::Now => Woken::Answered,
            Ready::Never => wait_for(None, self.told.as_ref(), end),
            Ready::Readable(answer) => wait_for(Some(answer), self.told.as_ref(), end),
        };
        match woken {
            Woken::Answered => {
                self.owed = false;
                let update = self.gpus.take();
                let mut state = self.shared.state();
                update(&mut state.gpu);
                state.gpu_at = now();
            }
            Woken::Told => self.told.iter_mut().for_each(|told| _ = told.read(&mut [0; 64])),
            Woken::Over => {}
        }
        woken
    }

    /// Asks the host, and pushes a frame of all that is known. False: nobody listens.
    fn push(&mut self) -> bool {
        if self.shared.pace().stopped {
            return false;
        }
        let start = Instant::now();
        let since_last = self.last.replace(start).map_or(Duration::ZERO, |last| start - last);
        let gpu_processes = self.shared.state().gpu.processes.clone();
        let brief = self.shared.pace().brief;
        let context = Context { since_last, brief, gpu_processes };
        let answer = catch_unwind(AssertUnwindSafe(|| self.host.poll(&context)));
        let mut state = self.shared.state();
        match answer {
            Ok(Section::Host(section)) => (state.host, state.broken) = (*section, None),
            Ok(Section::Gpu(_)) => {}
            Err(_) => state.broken = Some(broken(self.host.name())),
        }
        let Pace { interval, stopped, .. } = *self.shared.pace();
        let frame = state.frame(now(), interval, Late { gpu: self.owed, host: false });
        drop(state);
        !stopped && (self.sink)(frame)
    }
}

fn wait_for(answer: Option<BorrowedFd<'_>>, told: Option<&PipeReader>, end: Instant) -> Woken {
    let fd = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
    let told = told.map(|told| fd(told.as_fd()));
    let mut waited: Vec<_> = told.into_iter().chain(answer.map(fd)).collect();
    let left = end.saturating_duration_since(Instant::now());
    // A wait that is interrupted or refused is over: the caller checks the time.
    poll(&mut waited, Timespec::try_from(left).ok().as_ref()).ok();
    let has_news = |at: usize| waited.get(at).is_some_and(|one| !one.revents().is_empty());
    match (answer.is_some() && has_news(waited.len() - 1), has_news(0)) {
        (true, _) => Woken::Answered,
        (false, true) => Woken::Told,
        (false, false) => Woken::Over,
    }
}

#[cfg(test)]
mod tests;
