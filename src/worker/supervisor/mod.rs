//! Supervises a worker: what it is sent and when, when it is given up, and what its death means.
//!
//! Pure: time comes in as a parameter, what is to be done comes out as actions. One job is sent at a time, so a death has one
//! cause, and what still waits is sent to the next worker.

mod busy;

use std::collections::VecDeque;
use std::time::Duration;

pub use self::busy::not_done;

use self::busy::Busy;
use super::ending::{CONTEXT_LOST, Ending};
use super::protocol::{Acquire, BENCH_SCHEMA, Command, WorkerEvent, WorkerFailure};
use warpscope_kernels::cuda::advice;

/// How long a worker may take before it is killed. What it does for the first time may take longer: the driver starts, images are loaded
/// and compiled; so may everything that a fake device interprets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// As long as it takes: nothing in it can hang.
    Unlimited,
    /// Longest time without an event: while the driver starts, which takes seconds where it is not kept loaded, and while a job runs.
    Silence {
        /// While a device is acquired.
        start: Duration,
        /// While a job runs.
        job: Duration,
    },
    /// Longest time for a job done before, and for one that is done for the first time.
    Job(Duration, Duration),
}

/// What a worker may do and how often it may die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long it may take.
    pub patience: Patience,
    /// Deaths without a finished job between them after which nothing more is tried.
    pub deaths: u32,
    /// Whether a death by a job counts among them. Where it does not, the next job has its chance however many before it died: they may share
    /// a mistake, and each is sent once only.
    pub jobs_count: bool,
    /// How long jobs that another process keeps from the device are tried again, in all. Zero drops whatever waits at the first of them.
    pub busy: Duration,
}

impl Limits {
    /// For a command whose work cannot hang.
    pub const UNLIMITED: Self =
        Self { patience: Patience::Unlimited, ..Self::command(Duration::ZERO) };

    /// For a command somebody waits for.
    pub const fn command(silence: Duration) -> Self {
        let patience = Patience::Silence { start: silence, job: silence };
        Self { patience, deaths: 6, jobs_count: false, busy: Duration::ZERO }
    }

    /// For the dashboard: one worker, whose successor is started by the scheduler.
    pub const fn once(patience: Patience) -> Self {
        Self { patience, deaths: 1, jobs_count: true, busy: Duration::ZERO }
    }
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Somebody wants something.
    Command(Command),
    /// An event of the worker.
    Worker(Box<WorkerEvent>),
    /// The worker wrote something else.
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
    Send(Command),
    /// Kill it.
    Kill,
    /// Tell that it died, and what that means.
    Tell(Death),
    /// Tell that a job gave way to another process and will be sent again: what it has said counts for nothing.
    Retry(Command),
    /// Tell that these jobs gave way, or never had their turn, because of another process.
    Leave {
        /// Who is on the device.
        why: String,
        /// The jobs.
        jobs: Vec<Command>,
    },
}

/// A child that died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Death {
    /// What it was doing; `None` where nothing.
    pub doing: Option<Command>,
    /// How it ended.
    pub ending: Ending,
    /// All of it in a sentence or two.
    pub sentence: String,
    /// Whether nothing more is tried: it died too often.
    pub given_up: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Phase {
    Down,
    Up(Box<Up>),
    GivenUp,
}

/// A child that runs.
#[derive(Clone, Debug, Default, PartialEq)]
struct Up {
    heard: Duration,
    /// What it was sent and has not finished, and when that was.
    doing: Option<(Command, Duration)>,
    /// What it has finished, each once.
    known: Vec<Command>,
    /// Why it was killed.
    killed: Option<Ending>,
    /// Why it said that its context was lost.
    failure: Option<WorkerFailure>,
    /// Whether its device is a fake, which interprets what a device does in a moment.
    simulated: bool,
    /// Pauses it was sent and has not confirmed.
    pauses: u32,
    ending: bool,
}

/// Supervises the worker of one device.
#[derive(Clone, Debug)]
pub struct Supervisor {
    limits: Limits,
    phase: Phase,
    waiting: VecDeque<Command>,
    acquire: Option<Acquire>,
    deaths: u32,
    busy: Busy,
}

impl Supervisor {
    /// No child yet.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            phase: Phase::Down,
            waiting: VecDeque::new(),
            acquire: None,
            deaths: 0,
            busy: Busy::default(),
        }
    }

    /// Takes note of what happened at a time, and says what is to be done.
    pub fn step(&mut self, now: Duration, event: Event) -> Vec<Action> {
        let mut actions = match event {
            Event::Command(command) => self.accept(command),
            Event::Worker(event) => self.handle(now, *event),
            Event::Garbled(why) => self.kill(Ending::Garbled { why }),
            Event::Ended(ending, last_words) => self.ended(ending, last_words.as_deref()),
            Event::Tick => self.late(now),
        };
        self.go_on(now, &mut actions);
        actions
    }

    /// When [`Event::Tick`] is wanted; never where nothing is due.
    pub fn wake_at(&self) -> Option<Duration> {
        match &self.phase {
            Phase::Up(up) if up.killed.is_some() => None,
            Phase::Up(up) if up.doing.is_some() => Some(self.deadline(up)?.0),
            Phase::Up(_) if !self.waiting.is_empty() => Some(self.busy.until),
            _ => None,
        }
    }

    /// Whether every command is finished, or nothing more will be.
    pub fn is_idle(&self) -> bool {
        let busy = match &self.phase {
            Phase::Up(up) => up.doing.is_some() || up.killed.is_some(),
            Phase::GivenUp => return true,
            Phase::Down => false,
        };
        !busy && self.waiting.is_empty()
    }

    fn accept(&mut self, command: Command) -> Vec<Action> {
        if command.is_urgent() {
            self.waiting.clear();
            let Phase::Up(up) = &mut self.phase else { return Vec::new() };
            up.ending = command == Command::Quit;
            up.pauses += u32::from(matches!(command, Command::Pause { .. }));
            return vec![Action::Send(command)];
        }
        if let Command::Acquire(acquire) = &command {
            self.acquire = Some(acquire.clone());
        }
        self.waiting.push_back(command);
        Vec::new()
    }

    fn handle(&mut self, now: Duration, event: WorkerEvent) -> Vec<Action> {
        let Phase::Up(up) = &mut self.phase else { return Vec::new() };
        up.heard = now;
        match event {
            WorkerEvent::Hello(hello) if hello.schema != BENCH_SCHEMA => {
                let why = format!("it speaks format {}, not {BENCH_SCHEMA}", hello.schema);
                return self.kill(Ending::Garbled { why });
            }
            WorkerEvent::Finished { .. } => {
                let Some((done, since)) = up.doing.take() else { return Vec::new() };
                if let Some(why) = self.busy.why.take() {
                    return vec![self.gave_way(now, (done, since), why)];
                }
                if !matches!(done, Command::Acquire(_)) {
                    self.deaths = 0;
                }
                if !up.known.contains(&done) {
                    up.known.push(done);
                }
            }
            // By itself: another process is on the device.
            WorkerEvent::Paused { .. } if up.pauses == 0 && self.limits.busy.is_zero() => {
                self.waiting.clear();
            }
            WorkerEvent::Paused { why } if up.pauses == 0 => self.busy.why = Some(why),
            WorkerEvent::Paused { .. } => up.pauses -= 1,
            WorkerEvent::Holding(holding) => up.simulated = holding.device.simulated,
            WorkerEvent::Failed(failure) => up.failure = Some(failure),
            _ => {}
        }
        Vec::new()
    }

    /// A job gave way. It goes behind the others, which may need less of the device; but without the device none of them can do anything.
    fn gave_way(
        &mut self,
        now: Duration,
        (job, since): (Command, Duration),
        why: String,
    ) -> Action {
        match job {
            Command::Acquire(_) => self.waiting.push_front(job.clone()),
            _ => self.waiting.push_back(job.clone()),
        }
        if self.busy.goes_on(now, since, self.limits.busy) {
            return Action::Retry(job);
        }
        let jobs = self.waiting.drain(..).filter(|job| !matches!(job, Command::Acquire(_)));
        Action::Leave { why, jobs: jobs.collect() }
    }

    /// When a worker is late with what it does now, and how it then ends.
    fn deadline(&self, up: &Up) -> Option<(Duration, Ending)> {
        let (job, since) = up.doing.as_ref()?;
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        match self.limits.patience {
            Patience::Unlimited => None,
            Patience::Silence { start, job: usual } => {
                let starts = matches!(job, Command::Acquire(_) | Command::Devices);
                let limit = if starts { start } else { usual };
                Some((up.heard + limit, Ending::Silent { after_ms: milliseconds(limit) }))
            }
            Patience::Job(usual, first) => {
                let known = up.known.contains(job) && !job.is_long_prepared() && !up.simulated;
                let limit = if known { usual } else { first };
                Some((*since + limit, Ending::OverTime { limit_ms: milliseconds(limit) }))
            }
        }
    }

    fn late(&mut self, now: Duration) -> Vec<Action> {
        let Phase::Up(up) = &self.phase else { return Vec::new() };
        match self.deadline(up) {
            Some((at, ending)) if now >= at => self.kill(ending),
            _ => Vec::new(),
        }
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

    fn ended(&mut self, ending: Ending, last_words: Option<&str>) -> Vec<Action> {
        let Phase::Up(up) = std::mem::replace(&mut self.phase, Phase::Down) else {
            return Vec::new();
        };
        let up = *up;
        self.busy.why = None;
        let ending = up.killed.unwrap_or(ending);
        if up.ending && matches!(ending, Ending::Exit { code: 0 }) {
            return Vec::new();
        }
        let of_job = up.doing.as_ref().is_some_and(|(job, _)| !matches!(job, Command::Acquire(_)));
        let started = !matches!(ending, Ending::NotStarted { .. });
        self.deaths =
            if of_job && started && !self.limits.jobs_count { 0 } else { self.deaths + 1 };
        let given_up = self.deaths >= self.limits.deaths;
        if given_up {
            self.phase = Phase::GivenUp;
            self.waiting.clear();
        }
        let doing = up.doing.map(|(command, _)| command);
        let sentence = sentence(doing.as_ref(), &ending, up.failure.as_ref(), last_words);
        vec![Action::Tell(Death { doing, ending, sentence, given_up })]
    }

    /// Starts a child where one is wanted, and gives a free one its next job.
    fn go_on(&mut self, now: Duration, actions: &mut Vec<Action>) {
        if self.phase == Phase::Down && !self.waiting.is_empty() {
            self.phase = Phase::Up(Box::new(Up { heard: now, ..Up::default() }));
            actions.push(Action::Start);
            let begins =
                matches!(self.waiting.front(), Some(Command::Acquire(_) | Command::Devices));
            if let (Some(acquire), false) = (&self.acquire, begins) {
                self.waiting.push_front(Command::Acquire(acquire.clone()));
            }
        }
        if let Phase::Up(up) = &mut self.phase
            && up.doing.is_none()
            && up.killed.is_none()
            && now >= self.busy.until
            && let Some(next) = self.waiting.pop_front()
        {
            // The wait for the first event of a job begins when it is sent.
            up.heard = now;
            up.doing = Some((next.clone(), now));
            actions.push(Action::Send(next));
        }
    }
}

/// What was done, what happened, and what a person can do about it.
fn sentence(
    doing: Option<&Command>,
    ending: &Ending,
    failure: Option<&WorkerFailure>,
    last_words: Option<&str>,
) -> String {
    let lost = matches!(ending, Ending::Exit { code } if *code == i32::from(CONTEXT_LOST));
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
