//! What is known of one device's benchmark: where it stands and why, what it has measured, what became of its workers.

use std::collections::VecDeque;
use std::time::Duration;

use warpscope_kernels::gpu::TunedConfigs;
use warpscope_kernels::model::PROFILES;
use warpscope_probes::{Frame, Gpu, Timestamp};

use super::results::{Dated, Results};
use super::{PATHS, plan};
use crate::runs::run_log::Window;
use crate::worker::cpu::CpuOptions;
use crate::worker::precision::{Precision, precision_of, precisions};
use crate::worker::process::Update;
use crate::worker::scheduler::{
    Action, BenchMode, Budget, Conditions, Event, Scheduler, Stage, conditions,
};
use crate::worker::{Acquire, Command, KernelReport, RangeReport, WorkerEvent};

/// How many deaths are remembered.
const DEATHS: usize = 8;
/// From this age on a result is shown as one of another time: the longest rest between two bursts.
const OLD_S: f64 = 300.0;

/// What is to be done about the worker of a device.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// Start it, if none lives, and send it these.
    Send(Vec<Command>),
    /// End it within the present launch; everything it held comes back.
    End,
}

/// A line below a GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Line<'a> {
    /// A path of the micro decoder under a weight profile.
    Path(&'static str, Precision),
    /// A kernel.
    Kernel(&'a Dated<KernelReport>),
    /// How far a path reaches.
    Range(&'a Dated<RangeReport>),
}

impl Line<'_> {
    /// The profile and path it is of, where it is of one.
    pub fn path(&self) -> Option<(&'static str, Precision)> {
        match self {
            Self::Path(profile, precision) => Some((profile, precision)),
            Self::Kernel(_) | Self::Range(_) => None,
        }
    }
}

/// What is known of one device's benchmark.
#[derive(Clone, Debug)]
pub struct Device {
    is_cpu: bool,
    scheduler: Scheduler,
    /// What was measured.
    pub results: Results,
    /// How its workers died, the newest last.
    pub deaths: VecDeque<(Timestamp, String)>,
    /// Time of the device used so far, at most.
    pub spent: Duration,
    /// Telemetry around the newest burst.
    pub window: Option<Window>,
    /// Variants of kernels chosen for it.
    tuned: TunedConfigs,
    /// Processes that are its worker.
    own: Vec<u32>,
    /// Commands of the present burst that are not finished, and the time that the others took.
    unfinished: usize,
    busy: Duration,
    /// Whether a burst of this session has begun.
    begun: bool,
    /// Bursts begun in all sessions, those that measure the ceilings aside.
    bursts: usize,
    /// Those of them that measured what no round has.
    extras: usize,
    /// Whether every path and profile is wanted, not only the default ones.
    all_paths: bool,
    /// Whether the next frame is still of the newest burst.
    fresh: bool,
}

impl Device {
    /// A GPU, not measured yet.
    pub fn gpu(mode: BenchMode, budget: Budget) -> Self {
        Self::new(false, Scheduler::gpu(mode, budget))
    }

    /// The CPU, not measured yet.
    pub fn cpu(mode: BenchMode) -> Self {
        Self::new(true, Scheduler::cpu(mode))
    }

    fn new(is_cpu: bool, scheduler: Scheduler) -> Self {
        Self {
            is_cpu,
            scheduler,
            results: Results::default(),
            deaths: VecDeque::new(),
            spent: Duration::ZERO,
            window: None,
            tuned: TunedConfigs::default(),
            own: Vec::new(),
            unfinished: 0,
            busy: Duration::ZERO,
            begun: false,
            bursts: 0,
            extras: 0,
            all_paths: false,
            fresh: false,
        }
    }

    /// Whether it is the CPU.
    pub fn is_cpu(&self) -> bool {
        self.is_cpu
    }

    /// Where it stands.
    pub fn stage(&self) -> &Stage {
        self.scheduler.stage()
    }

    /// Whether its worker measures.
    pub fn is_measuring(&self) -> bool {
        matches!(self.stage(), Stage::Burst { .. })
    }

    /// Whether a worker holds the device, or is about to.
    pub fn has_worker(&self) -> bool {
        self.scheduler.has_worker()
    }

    /// Whether its worker has not spoken yet.
    pub fn is_starting(&self) -> bool {
        self.has_worker() && self.own.is_empty()
    }

    /// Whether what was measured is of another time.
    pub fn is_old(&self, at: Timestamp, now: Timestamp) -> bool {
        let paused = matches!(self.stage(), Stage::Off(_));
        paused || now.seconds_since(at) > OLD_S
    }

    /// How many bursts it has begun.
    pub(crate) fn bursts(&self) -> usize {
        self.bursts + usize::from(self.begun)
    }

    /// Everything there is a line for.
    pub fn lines(&self) -> Vec<Line<'_>> {
        let paths: Vec<Line<'_>> = if self.all_paths {
            let profiles = PROFILES.iter().map(|row| row.1);
            profiles
                .flat_map(|profile| precisions().map(move |it| Line::Path(profile, it)))
                .collect()
        } else {
            let usual = |(profile, dtype): &(&'static str, _)| {
                Some(Line::Path(profile, precision_of(*dtype)?))
            };
            PATHS.iter().filter_map(usual).collect()
        };
        let kernels = self.results.kernels.values().map(Line::Kernel);
        let headroom = self.results.ranges.values().map(Line::Range);
        paths.into_iter().chain(kernels).chain(headroom).collect()
    }

    /// Whether every path and profile is wanted, not only the default ones.
    pub fn has_all_paths(&self) -> bool {
        self.all_paths
    }

    /// Wants every path and profile, or only the default ones.
    pub(crate) fn want_all_paths(&mut self, all: bool) {
        self.all_paths = all;
    }

    /// Notes telemetry around the newest burst, and who is its worker.
    pub(crate) fn observe(&mut self, frame: &Frame, gpu: &Gpu) {
        self.adopt(frame, &gpu.key);
        if self.fresh || self.is_measuring() {
            let frames = std::iter::once(frame);
            self.window = Some(Window::of(frames, &gpu.key, &self.own));
            self.fresh = false;
        }
    }

    /// Takes note of the variants chosen for it; they hold from the next burst on.
    pub(crate) fn tune(&mut self, tuned: TunedConfigs) {
        self.tuned = tuned;
    }

    /// Takes the GPU as a frame shows it.
    pub(crate) fn frame(&mut self, now: Duration, frame: &Frame, gpu: &Gpu) -> Vec<Task> {
        let seen = conditions(frame, gpu, &self.own);
        self.schedule(now, Event::Frame(seen))
    }

    /// Whether it would begin with a frame in which it could.
    pub(crate) fn may_begin(&self, frame: &Frame, gpu: &Gpu) -> bool {
        let resting = matches!(self.stage(), Stage::Armed { .. } | Stage::Cooldown { .. });
        resting && conditions(frame, gpu, &self.own).contention.is_none()
    }

    /// The GPU is not in the frame, or is none that can be measured.
    pub(crate) fn absent(&mut self, now: Duration, why: Conditions) -> Vec<Task> {
        self.schedule(now, Event::Frame(why))
    }

    /// Handles what came of the commands to its worker.
    pub(crate) fn handle(&mut self, now: Duration, at: Timestamp, update: Update) -> Vec<Task> {
        match update {
            Update::Event(event) => self.handle_event(now, at, *event),
            Update::Died(death) => {
                if self.deaths.len() == DEATHS {
                    self.deaths.pop_front();
                }
                let how = death.ending.what(None);
                self.deaths.push_back((at, death.sentence));
                self.schedule(now, Event::Died(how))
            }
            Update::Sent(_) | Update::Retry(_) | Update::Left { .. } | Update::Idle => Vec::new(),
        }
    }

    fn handle_event(&mut self, now: Duration, at: Timestamp, event: WorkerEvent) -> Vec<Task> {
        match event {
            WorkerEvent::Finished { busy_ns } => self.finished(now, busy_ns),
            WorkerEvent::Paused { why } => self.schedule(now, Event::Paused(why)),
            event => {
                if let WorkerEvent::Hello(hello) = &event {
                    self.own = vec![hello.pid];
                }
                self.results.take(at, event);
                Vec::new()
            }
        }
    }

    /// A command is finished; with the last one, the burst.
    fn finished(&mut self, now: Duration, busy_ns: f64) -> Vec<Task> {
        self.busy += Duration::from_nanos(busy_ns.max(0.0) as u64);
        self.unfinished = self.unfinished.saturating_sub(1);
        if self.unfinished > 0 {
            return Vec::new();
        }
        let busy = std::mem::take(&mut self.busy);
        self.spent += busy;
        self.fresh = true;
        let threads = self.results.hello.as_ref().map_or(1, |hello| hello.threads);
        let took = if self.is_cpu { busy * threads } else { busy };
        self.schedule(now, Event::Finished(took))
    }

    /// Where the driver counts processes in another namespace, the only one that computes since our worker holds the GPU is our
    /// worker: before that there was none, or it would not have begun.
    fn adopt(&mut self, frame: &Frame, key: &str) {
        let here = frame.processes.iter().filter(|process| process.gpu == key);
        let [pid] = self.own[..] else { return };
        let mut computing =
            here.filter(|p| p.kind != warpscope_probes::process::ProcessKind::Graphics);
        let hidden = frame.host.machine.container.value().is_some();
        if let (Some(only), None, true) = (computing.next(), computing.next(), hidden)
            && self.has_worker()
            && only.pid != pid
        {
            self.own.push(only.pid);
        }
    }

    /// Tells the scheduler what happened.
    pub(crate) fn schedule(&mut self, now: Duration, event: Event) -> Vec<Task> {
        let actions = self.scheduler.handle(now, event);
        actions.into_iter().map(|action| self.task(action)).collect()
    }

    fn task(&mut self, action: Action) -> Task {
        match action {
            Action::Burst { memory_bytes } => {
                let commands = self.commands(memory_bytes);
                self.unfinished = commands.len();
                Task::Send(commands)
            }
            Action::End => {
                self.own.clear();
                self.begun = false;
                self.unfinished = 0;
                Task::End
            }
        }
    }

    /// One path a burst, so that the rests between them are short.
    fn cpu_commands(&mut self) -> Vec<Command> {
        let mut commands = CpuOptions::live().commands().into_iter();
        let acquire = commands.next();
        let paths: Vec<_> = commands.collect();
        let path = paths.get(self.bursts % paths.len().max(1)).cloned();
        self.bursts += 1;
        acquire.into_iter().chain(path).collect()
    }

    /// A session on a GPU begins with the ceilings, and goes on where the last one ended. What is wanted besides takes turns with that.
    fn commands(&mut self, memory_bytes: u64) -> Vec<Command> {
        if self.is_cpu {
            return self.cpu_commands();
        }
        let simulated = self.results.is_simulated();
        let tuned = self.tuned.clone();
        let acquire = Acquire { arena_bytes: Some(memory_bytes), tuned, ..Acquire::default() };
        if !std::mem::replace(&mut self.begun, true) {
            self.results.begin();
            return plan::ceilings(&acquire, simulated);
        }
        self.bursts += 1;
        let device = self.results.holding.as_ref().map(|holding| &holding.device);
        if let Some(device) = device.filter(|_| self.all_paths && self.bursts.is_multiple_of(2)) {
            self.extras += 1;
            return plan::extra(self.extras - 1, &acquire, device);
        }
        plan::burst(self.bursts - self.extras - 1, &acquire, simulated)
    }
}
