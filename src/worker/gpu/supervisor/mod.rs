//! Who watches a GPU child: what it is asked and when, when it is given up, and what its death means.
//!
//! Pure: time comes in as a parameter, what is to be done comes out as actions. One job is sent at a time, so a death has one
//! cause, and what still waits is asked of the next child.

use std::collections::VecDeque;
use std::time::Duration;

use super::ending::Ending;
use super::request::{Hold, Request};
use crate::worker::{BENCH_SCHEMA, BenchEvent, BenchState, WorkerFailure};
use warpscope_kernels::cuda::advice;

/// What a child may do and how often it may die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest time without a line while something is being done.
    pub silence: Duration,
    /// Longest time for one job; any where nothing is said.
    pub job: Option<Duration>,
    /// Both of these for what a child does for the first time: the driver starts, images are loaded and compiled. And for everything that
    /// a stand-in does.
    pub first: Duration,
    /// Rest after the first death; doubled with each that follows.
    pub rest: Duration,
    /// The longest rest.
    pub rest_max: Duration,
    /// Deaths without a finished job between them after which nothing more is tried.
    pub deaths: u32,
}

impl Limits {
    /// While somebody looks at the dashboard: a second per pulse.
    pub const LIVE: Self = Self {
        silence: Duration::from_secs(1),
        job: Some(Duration::from_secs(1)),
        first: Duration::from_secs(30),
        rest: Duration::from_secs(30),
        rest_max: Duration::from_secs(600),
        deaths: 6,
    };

    /// For a command somebody waits for: as long as it takes, no rest.
    pub fn command(silence: Duration) -> Self {
        let rest = Duration::ZERO;
        Self { silence, job: None, first: silence, rest, rest_max: rest, deaths: 6 }
    }

    fn rest_after(&self, deaths: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(deaths.saturating_sub(1));
        self.rest.saturating_mul(doubled).min(self.rest_max)
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Somebody wants something.
    Asked(Request),
    /// The child said a line.
    Said(Box<BenchEvent>),
    /// The child said something else.
    Garbled(String),
    /// The child is gone, by itself or by our kill; with what it last wrote on stderr.
    Ended(Ending, Option<String>),
    /// Time went by.
    Tick,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Start a child.
    Start,
    /// Write a line to it.
    Send(Request),
    /// Kill it.
    Kill,
    /// Tell that it died, and what that means.
    Tell(Death),
}

/// A child that died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// What it was doing; `None` where nothing.
    pub doing: Option<Request>,
    /// How it ended.
    pub ending: Ending,
    /// All of it in a sentence or two.
    pub sentence: String,
    /// What comes next.
    pub next: Next,
}

/// What follows a death.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another child after this time, if something is asked.
    Rest(Duration),
    /// Nothing more; it died too often.
    GivenUp,
}

#[derive(Clone, Debug, PartialEq)]
enum Phase {
    Down,
    Up(Box<Up>),
    Resting { until: Duration },
    GivenUp,
}

/// A child that runs.
#[derive(Clone, Debug, PartialEq)]
struct Up {
    heard: Duration,
    /// What it was sent and has not finished, and when that was.
    doing: Option<(Request, Duration)>,
    /// What it has finished, each once.
    known: Vec<Request>,
    /// Why it was killed.
    killed: Option<Ending>,
    /// Why it said that its context was lost.
    failure: Option<WorkerFailure>,
    /// Whether its device is a stand-in, which interprets what a device does in a moment.
    simulated: bool,
    /// Pauses it was asked for and has not told of.
    pauses: u32,
    ending: bool,
}

impl Up {
    fn new(now: Duration) -> Self {
        let known = Vec::new();
        Self {
            heard: now,
            doing: None,
            known,
            killed: None,
            failure: None,
            simulated: false,
            pauses: 0,
            ending: false,
        }
    }
}

/// Watches one GPU's child.
#[derive(Clone, Debug)]
pub struct Supervisor {
    limits: Limits,
    phase: Phase,
    waiting: VecDeque<Request>,
    hold: Option<Hold>,
    deaths: u32,
}

impl Supervisor {
    /// No child yet.
    pub fn new(limits: Limits) -> Self {
        let waiting = VecDeque::new();
        Self { limits, phase: Phase::Down, waiting, hold: None, deaths: 0 }
    }

    /// Takes note of what happened at a time, and says what is to be done.
    pub fn step(&mut self, now: Duration, event: Event) -> Vec<Action> {
        let mut actions = match event {
            Event::Asked(request) => self.asked(request),
            Event::Said(said) => self.said(now, *said),
            Event::Garbled(why) => self.kill(Ending::Garbled { why }),
            Event::Ended(ending, last_words) => self.ended(now, ending, last_words.as_deref()),
            Event::Tick => self.late(now),
        };
        self.go_on(now, &mut actions);
        actions
    }

    /// When [`Event::Tick`] is wanted; never where nothing is due.
    pub fn wake_at(&self) -> Option<Duration> {
        match &self.phase {
            Phase::Resting { until } if !self.waiting.is_empty() => Some(*until),
            Phase::Up(up) => {
                let (_, since) = up.doing.as_ref().filter(|_| up.killed.is_none())?;
                let (silence, job) = self.limits_of(up);
                let silent = up.heard + silence;
                Some(job.map_or(silent, |job| silent.min(*since + job)))
            }
            _ => None,
        }
    }

    /// Whether everything asked is done, or nothing more will be.
    pub fn is_idle(&self) -> bool {
        let busy = match &self.phase {
            Phase::Up(up) => up.doing.is_some() || up.killed.is_some(),
            Phase::GivenUp => return true,
            Phase::Down | Phase::Resting { .. } => false,
        };
        !busy && self.waiting.is_empty()
    }

    fn asked(&mut self, request: Request) -> Vec<Action> {
        if request.is_urgent() {
            self.waiting.clear();
            let Phase::Up(up) = &mut self.phase else { return Vec::new() };
            up.ending = request == Request::Quit;
            up.pauses += u32::from(matches!(request, Request::Pause { .. }));
            return vec![Action::Send(request)];
        }
        if let Request::Hold(hold) = &request {
            self.hold = Some(hold.clone());
        }
        self.waiting.push_back(request);
        Vec::new()
    }

    fn said(&mut self, now: Duration, said: BenchEvent) -> Vec<Action> {
        let Phase::Up(up) = &mut self.phase else { return Vec::new() };
        up.heard = now;
        match said {
            BenchEvent::Hello(hello) if hello.schema != BENCH_SCHEMA => {
                let why = format!("it speaks format {}, not {BENCH_SCHEMA}", hello.schema);
                return self.kill(Ending::Garbled { why });
            }
            BenchEvent::State(BenchState::Finished) => {
                let Some((done, _)) = up.doing.take() else { return Vec::new() };
                if !matches!(done, Request::Hold(_)) {
                    self.deaths = 0;
                }
                if !up.known.contains(&done) {
                    up.known.push(done);
                }
            }
            // By itself: somebody else is on the device, so what waits has lost its chance.
            BenchEvent::State(BenchState::Paused { .. }) if up.pauses == 0 => self.waiting.clear(),
            BenchEvent::State(BenchState::Paused { .. }) => up.pauses -= 1,
            BenchEvent::Holding(holding) => up.simulated = holding.device.simulated,
            BenchEvent::Failed(failure) => up.failure = Some(failure),
            _ => {}
        }
        Vec::new()
    }

    /// Longest silence and longest time of what a child does now.
    fn limits_of(&self, up: &Up) -> (Duration, Option<Duration>) {
        let Limits { silence, job, first, .. } = self.limits;
        let quick = |request: &Request| up.known.contains(request) && !request.is_long_prepared();
        let known = up.doing.as_ref().is_some_and(|(request, _)| quick(request));
        if known && !up.simulated {
            (silence, job)
        } else {
            (silence.max(first), job.map(|job| job.max(first)))
        }
    }

    fn late(&mut self, now: Duration) -> Vec<Action> {
        let Phase::Up(up) = &self.phase else { return Vec::new() };
        let Some((_, since)) = &up.doing else { return Vec::new() };
        let (silence, job) = self.limits_of(up);
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        if let Some(limit) = job.filter(|limit| now.saturating_sub(*since) >= *limit) {
            return self.kill(Ending::OverTime { limit_ms: milliseconds(limit) });
        }
        if now.saturating_sub(up.heard) >= silence {
            return self.kill(Ending::Silent { after_ms: milliseconds(silence) });
        }
        Vec::new()
    }

    fn kill(&mut self, why: Ending) -> Vec<Action> {
        match &mut self.phase {
            Phase::Up(up) if up.killed.is_none() => {
                up.killed = Some(why);
                vec![Action::Kill]
            }
            _ => Vec::new(),
        }
    }

    fn ended(&mut self, now: Duration, ending: Ending, last_words: Option<&str>) -> Vec<Action> {
        let Phase::Up(up) = std::mem::replace(&mut self.phase, Phase::Down) else {
            return Vec::new();
        };
        let up = *up;
        let ending = up.killed.unwrap_or(ending);
        if up.ending && matches!(ending, Ending::Exit { code: 0 }) {
            return Vec::new();
        }
        self.deaths += 1;
        let next = if self.deaths >= self.limits.deaths {
            self.phase = Phase::GivenUp;
            self.waiting.clear();
            Next::GivenUp
        } else {
            let rest = self.limits.rest_after(self.deaths);
            self.phase = Phase::Resting { until: now + rest };
            Next::Rest(rest)
        };
        let doing = up.doing.map(|(request, _)| request);
        let sentence = sentence(doing.as_ref(), &ending, up.failure.as_ref(), last_words);
        vec![Action::Tell(Death { doing, ending, sentence, next })]
    }

    /// Starts a child where one is wanted, and gives a free one its next job.
    fn go_on(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let rested = match self.phase {
            Phase::Down => true,
            Phase::Resting { until } => now >= until,
            Phase::Up(_) | Phase::GivenUp => false,
        };
        if rested && !self.waiting.is_empty() {
            self.phase = Phase::Up(Box::new(Up::new(now)));
            actions.push(Action::Start);
            let begins = matches!(self.waiting.front(), Some(Request::Hold(_) | Request::Devices));
            if let (Some(hold), false) = (&self.hold, begins) {
                self.waiting.push_front(Request::Hold(hold.clone()));
            }
        }
        if let Phase::Up(up) = &mut self.phase
            && up.doing.is_none()
            && up.killed.is_none()
            && let Some(next) = self.waiting.pop_front()
        {
            // A wait for the first line of a job begins when it is asked.
            up.heard = now;
            up.doing = Some((next.clone(), now));
            actions.push(Action::Send(next));
        }
    }
}

/// What was done, what happened, and what a person can do about it.
fn sentence(
    doing: Option<&Request>,
    ending: &Ending,
    failure: Option<&WorkerFailure>,
    last_words: Option<&str>,
) -> String {
    let lost = matches!(ending, Ending::Exit { code } if *code == i32::from(super::CONTEXT_LOST));
    let why = match failure.filter(|_| lost) {
        Some(WorkerFailure { what, error }) => {
            let advice = advice(error).map(|advice| format!(": {advice}")).unwrap_or_default();
            format!("{what}: {error}{advice}")
        }
        None => ending.what(last_words),
    };
    match doing {
        Some(_) if lost && failure.is_some() => why,
        Some(doing) => format!("{doing}: {why}"),
        None => format!("idle: {why}"),
    }
}

#[cfg(test)]
mod tests;
