//! What is known of one GPU's benchmark: where it stands and why, what it has measured, what became of its children.

use std::collections::VecDeque;
use std::time::Duration;

use warpscope_kernels::gpu::Picks;
use warpscope_kernels::model::PROFILES;
use warpscope_probes::{Frame, Gpu, Timestamp};

use super::PATHS;
use super::results::{Dated, Results};
use crate::runs::journal::Window;
use crate::worker::gpu::{Hold, Request};
use crate::worker::pulse::{Allowance, Around, Course, Cue, Order, Stage, Wish, around};
use crate::worker::ways::{Way, way_of, ways};
use crate::worker::{BenchEvent, BenchState, HeadroomReport, KernelReport};

use super::plan;

/// How many deaths are remembered.
const DEATHS: usize = 8;
/// From this age on a result is shown as one of another time: the longest rest between two pulses.
const OLD_S: f64 = 300.0;

/// What the child of a GPU did, or became of it.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// It said something.
    Said(Box<BenchEvent>),
    /// Everything asked for a pulse is done, and took so much of the GPU's time at most.
    Done(Duration),
    /// It died; the sentence says how.
    Died(String),
}

/// What the outside is asked to do about the child of a GPU.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// Start it, if none lives, and ask this of it.
    Ask(Vec<Request>),
    /// Let it stop within the present launch.
    Stop,
    /// End it; everything it held comes back.
    End,
    /// Kill it.
    Kill,
}

/// A line below a GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Line<'a> {
    /// A path of the micro decoder under a weight profile.
    Path(&'static str, Way),
    /// A kernel.
    Kernel(&'a Dated<KernelReport>),
    /// How far a path reaches.
    Headroom(&'a Dated<HeadroomReport>),
}

impl Line<'_> {
    /// The profile and path it is of, where it is of one.
    pub fn path(&self) -> Option<(&'static str, Way)> {
        match self {
            Self::Path(profile, way) => Some((profile, way)),
            Self::Kernel(_) | Self::Headroom(_) => None,
        }
    }
}

/// What is known of one GPU's benchmark.
#[derive(Clone, Debug)]
pub struct GpuBench {
    course: Course,
    /// What was measured.
    pub results: Results,
    /// How its children died, the newest last.
    pub deaths: VecDeque<(Timestamp, String)>,
    /// GPU time used so far, at most.
    pub spent: Duration,
    /// The machine around the newest pulse.
    pub around: Option<Window>,
    /// Variants of kernels chosen for it.
    picks: Picks,
    /// Processes that are its child.
    own: Vec<u32>,
    /// Whether a pulse of this session has begun.
    begun: bool,
    /// Pulses begun in all sessions, those that measure the ceilings aside.
    pulses: usize,
    /// Those of them that measured what no round has.
    extras: usize,
    /// Whether every path and profile is wanted, not only the usual ones.
    all_paths: bool,
    /// Whether the next frame is still of the newest pulse.
    fresh: bool,
}

impl GpuBench {
    /// Nothing is known yet.
    pub fn new(wish: Wish, allowance: Allowance) -> Self {
        Self {
            course: Course::new(wish, allowance),
            results: Results::default(),
            deaths: VecDeque::new(),
            spent: Duration::ZERO,
            around: None,
            picks: Picks::default(),
            own: Vec::new(),
            begun: false,
            pulses: 0,
            extras: 0,
            all_paths: false,
            fresh: false,
        }
    }

    /// Where it stands.
    pub fn stage(&self) -> &Stage {
        self.course.stage()
    }

    /// Whether a child holds the GPU, or is about to.
    pub fn has_child(&self) -> bool {
        self.course.has_child()
    }

    /// Whether what was measured is of another time.
    pub fn is_old(&self, at: Timestamp, now: Timestamp) -> bool {
        let paused = matches!(self.stage(), Stage::Off(_));
        paused || now.seconds_since(at) > OLD_S
    }

    /// How many pulses it has begun.
    pub(crate) fn pulses(&self) -> usize {
        self.pulses + usize::from(self.begun)
    }

    /// Everything there is a line for.
    pub fn lines(&self) -> Vec<Line<'_>> {
        let paths: Vec<Line<'_>> = if self.all_paths {
            let profiles = PROFILES.iter().map(|row| row.1);
            profiles.flat_map(|profile| ways().map(move |way| Line::Path(profile, way))).collect()
        } else {
            let usual =
                |(profile, dtype): &(&'static str, _)| Some(Line::Path(profile, way_of(*dtype)?));
            PATHS.iter().filter_map(usual).collect()
        };
        let kernels = self.results.kernels.values().map(Line::Kernel);
        let headroom = self.results.headroom.values().map(Line::Headroom);
        paths.into_iter().chain(kernels).chain(headroom).collect()
    }

    /// Whether every path and profile is wanted, not only the usual ones.
    pub fn has_all_paths(&self) -> bool {
        self.all_paths
    }

    /// Wants every path and profile, or only the usual ones.
    pub(crate) fn want_all_paths(&mut self, all: bool) {
        self.all_paths = all;
    }

    /// Notes the machine around the newest pulse, and who is its child.
    pub(crate) fn witness(&mut self, frame: &Frame, gpu: &Gpu) {
        self.adopt(frame, &gpu.key);
        if self.fresh || matches!(self.stage(), Stage::Pulse { .. }) {
            let frames = std::iter::once(frame);
            self.around = Some(Window::of(frames, &gpu.key, &self.own));
            self.fresh = false;
        }
    }

    /// Takes note of the variants chosen for it; they hold from the next pulse on.
    pub(crate) fn tune(&mut self, picks: Picks) {
        self.picks = picks;
    }

    /// Takes the GPU as a frame shows it.
    pub(crate) fn frame(&mut self, now: Duration, frame: &Frame, gpu: &Gpu) -> Vec<Task> {
        let seen = around(frame, gpu, &self.own);
        self.cue(now, Cue::Frame(seen))
    }

    /// What it would do next with a frame in which it could begin.
    pub(crate) fn may_begin(&self, frame: &Frame, gpu: &Gpu) -> bool {
        let resting = matches!(self.stage(), Stage::Armed { .. } | Stage::Cool { .. });
        resting && around(frame, gpu, &self.own).intrusion.is_none()
    }

    /// The GPU is not in the frame, or is none that can be measured.
    pub(crate) fn absent(&mut self, now: Duration, why: Around) -> Vec<Task> {
        self.cue(now, Cue::Frame(why))
    }

    /// Takes what its child did.
    pub(crate) fn hear(&mut self, now: Duration, at: Timestamp, news: News) -> Vec<Task> {
        match news {
            News::Said(event) => self.said(now, at, *event),
            News::Done(spent) => {
                self.spent += spent;
                self.fresh = true;
                self.cue(now, Cue::Finished(spent))
            }
            News::Died(how) => {
                if self.deaths.len() == DEATHS {
                    self.deaths.pop_front();
                }
                self.deaths.push_back((at, how.clone()));
                self.part();
                let mut tasks = self.cue(now, Cue::Died(how));
                // Nobody starts another one by himself.
                tasks.push(Task::End);
                tasks
            }
        }
    }

    fn said(&mut self, now: Duration, at: Timestamp, event: BenchEvent) -> Vec<Task> {
        match event {
            BenchEvent::Hello(hello) => {
                self.own = vec![hello.pid];
                Vec::new()
            }
            BenchEvent::State(BenchState::Finished) => self.cue(now, Cue::Working),
            BenchEvent::State(BenchState::Paused { why }) => self.cue(now, Cue::GaveWay(why)),
            event => {
                self.results.take(at, event);
                Vec::new()
            }
        }
    }

    /// Where the driver counts processes in another namespace, the only one that computes since our child holds the GPU is our
    /// child: before that there was none, or it would not have begun.
    fn adopt(&mut self, frame: &Frame, key: &str) {
        let here = frame.processes.iter().filter(|process| process.gpu == key);
        let [pid] = self.own[..] else { return };
        let mut computing =
            here.filter(|p| p.kind != warpscope_probes::process::ProcessKind::Graphics);
        let hidden = frame.host.machine.container.value().is_some();
        if let (Some(only), None, true) = (computing.next(), computing.next(), hidden)
            && self.course.has_child()
            && only.pid != pid
        {
            self.own.push(only.pid);
        }
    }

    /// Tells the course something, and does what it orders.
    pub(crate) fn cue(&mut self, now: Duration, cue: Cue) -> Vec<Task> {
        let orders = self.course.take(now, cue);
        orders.into_iter().map(|order| self.task(order)).collect()
    }

    fn task(&mut self, order: Order) -> Task {
        match order {
            Order::Pulse { arena_bytes } => Task::Ask(self.requests(arena_bytes)),
            Order::Stop => Task::Stop,
            Order::End => {
                self.part();
                Task::End
            }
            Order::Kill => {
                self.part();
                Task::Kill
            }
        }
    }

    /// A session begins with the ceilings, and goes on where the last one ended. What is wanted besides takes turns with that.
    fn requests(&mut self, arena_bytes: u64) -> Vec<Request> {
        let simulated = self.results.is_simulated();
        let picks = self.picks.clone();
        let hold = Hold { arena_bytes: Some(arena_bytes), picks, ..Hold::default() };
        if !std::mem::replace(&mut self.begun, true) {
            self.results.begin();
            return plan::ceilings(&hold, simulated);
        }
        self.pulses += 1;
        let device = self.results.holding.as_ref().map(|holding| &holding.device);
        if let Some(device) = device.filter(|_| self.all_paths && self.pulses.is_multiple_of(2)) {
            self.extras += 1;
            return plan::extra(self.extras - 1, &hold, device);
        }
        plan::pulse(self.pulses - self.extras - 1, &hold, simulated)
    }

    /// The child is no more.
    fn part(&mut self) {
        self.own.clear();
        self.begun = false;
    }
}
