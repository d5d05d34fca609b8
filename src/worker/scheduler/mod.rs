//! When the live benchmark may use a device: a GPU only while nobody else uses it, briefly, within a budget; the CPU beside other work, within a
//! budget its worker keeps. Pure: time comes in as a parameter.
//!
//! `Off → Armed → Burst → Cooldown`. Kernels of different processes do not overlap but take turns, so the only mode that disturbs nobody
//! is to run where there is nobody. Running at low priority beside others was rejected: priorities order streams of one process only.

mod conditions;

use std::time::Duration;

pub use conditions::{Blocker, Conditions, conditions};

/// When the user wants the benchmark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BenchMode {
    /// Never.
    Off,
    /// On GPUs once the user has said so.
    #[default]
    Ask,
    /// On GPUs while they are looked at.
    Auto,
    /// Also while they are not.
    On,
}

/// How much of a GPU may be taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Share of its time, 0–1.
    pub share: f64,
    /// Most memory, bytes.
    pub memory_bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { share: 0.02, memory_bytes: 256 << 20 }
    }
}

/// Share of a core that the CPU's benchmark takes while nobody looks at it.
const CPU_SHARE: f64 = 0.01;
/// How long a GPU must have been idle before it is measured.
pub const IDLE: Duration = Duration::from_secs(10);
/// How long the least power ever seen is what a GPU at rest draws: an H100 rests at 66 to 75 W, or at 99 W in P0.
const IDLE_AGE: Duration = Duration::from_secs(600);
/// Shortest cooldown after a burst, and the longest through which a worker holds the GPU.
const COOLDOWN: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(5 * 60));
/// How long a worker may hold a GPU: a context keeps the board out of its deepest rest.
const SESSION: Duration = Duration::from_secs(60);
/// Cooldown between two sessions.
const BETWEEN: Duration = Duration::from_secs(10 * 60);
/// First and longest backoff after contention or a death.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(10 * 60));
/// Change of the memory in use that shows somebody at work where processes are hidden.
const MEMORY_STEP: u64 = 64 << 20;

/// What happened. Every event comes with its time.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A frame came.
    Frame(Conditions),
    /// The user wants another mode.
    Mode(BenchMode),
    /// The benchmark came into view or left it.
    Seen(bool),
    /// The worker finished a burst that took so much of the device's time.
    Finished(Duration),
    /// The worker gave the device back by itself, and why.
    Paused(String),
    /// The worker ended, and how.
    Died(String),
    /// The user asks for a session now.
    Now,
}

/// What to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start the worker, if none lives, and let it measure within so much memory.
    Burst {
        /// Bytes.
        memory_bytes: u64,
    },
    /// End the worker within the present launch; everything it held comes back.
    End,
}

/// Where the benchmark stands on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It does not run, and why.
    Off(String),
    /// The GPU is idle, but not yet long enough.
    Armed {
        /// Since when.
        since: Duration,
    },
    /// The worker measures.
    Burst {
        /// Since when.
        since: Duration,
    },
    /// Waits.
    Cooldown {
        /// Until when.
        until: Duration,
        /// Why.
        why: String,
    },
}

/// Why a GPU is not measured yet that the user wants measured now.
pub const ASKED: &str = "asked for";

/// `2% of its time`, in two significant digits.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = (1.0 - percent.log10().floor()).clamp(0.0, 12.0) as usize;
    let text = format!("{percent:.digits$}");
    let text = if digits > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}% of its time")
}

/// Schedules the live benchmark of one device.
#[derive(Clone, Debug)]
pub struct Scheduler {
    mode: BenchMode,
    /// What may be taken; a CPU's worker keeps to a budget of its own.
    budget: Option<Budget>,
    stage: Stage,
    seen: bool,
    /// Whether the user wants one session although the mode allows none.
    asked: bool,
    /// What forbade to begin at the last frame.
    blocker: Option<Blocker>,
    /// Whether a worker lived when the mode became off.
    was_running: bool,
    /// Since when a worker lives.
    session: Option<Duration>,
    /// Backoffs without a finished burst in between.
    backoffs: u32,
    /// The least power seen at rest, and when.
    idle: Option<(Duration, f64)>,
    /// Least and most memory in use since arming.
    used: Option<(u64, u64)>,
}

impl Scheduler {
    /// A GPU, not used yet.
    pub fn gpu(mode: BenchMode, budget: Budget) -> Self {
        Self::new(mode, Some(budget), "not looked at yet")
    }

    /// The CPU, not used yet.
    pub fn cpu(mode: BenchMode) -> Self {
        Self::new(mode, None, "off; b starts it")
    }

    fn new(mode: BenchMode, budget: Option<Budget>, why: &str) -> Self {
        Self {
            mode,
            budget,
            stage: Stage::Off(why.to_owned()),
            seen: false,
            asked: false,
            blocker: None,
            was_running: false,
            session: None,
            backoffs: 0,
            idle: None,
            used: None,
        }
    }

    /// Whether a worker lives.
    pub fn has_worker(&self) -> bool {
        self.session.is_some()
    }

    /// Where it stands.
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Handles what happened at a time since some beginning.
    pub fn handle(&mut self, now: Duration, event: Event) -> Vec<Action> {
        match event {
            Event::Frame(conditions) => self.frame(now, &conditions),
            Event::Mode(mode) => {
                (self.mode, self.asked) = (mode, false);
                self.unless_wanted().unwrap_or_else(|| self.begin_at_once(now))
            }
            Event::Seen(seen) => {
                self.seen = seen;
                let mut actions = if seen { Vec::new() } else { self.withdraw() };
                let more = self.unless_wanted().unwrap_or_else(|| self.end_rest_of_cpu(now));
                actions.extend(more);
                actions
            }
            Event::Finished(took) => self.finished(now, took),
            Event::Paused(why) => self.leave(now, why),
            Event::Died(how) => self.leave(now, how),
            Event::Now => self.ask(),
        }
    }

    /// Wants a session as soon as nothing forbids it, and no rest before it.
    fn ask(&mut self) -> Vec<Action> {
        if !matches!(self.stage, Stage::Off(_) | Stage::Cooldown { .. }) {
            return Vec::new();
        }
        self.asked = self.mode != BenchMode::On;
        let why = self.blocker.as_ref().map_or(ASKED.to_owned(), Blocker::to_string);
        self.stage = Stage::Off(why);
        self.unless_wanted().unwrap_or_default()
    }

    /// Ends the session that was asked for.
    fn withdraw(&mut self) -> Vec<Action> {
        if std::mem::take(&mut self.asked) { self.end() } else { Vec::new() }
    }

    /// Ends what is no longer wanted.
    fn unless_wanted(&mut self) -> Option<Vec<Action>> {
        let nothing = self.budget.is_some_and(|budget| budget.share <= 0.0);
        if self.asked && !nothing {
            return None;
        }
        self.was_running = self.mode == BenchMode::Off && (self.was_running || self.has_worker());
        let why = match self.mode {
            _ if nothing => "its share of the time is 0",
            BenchMode::Off if self.was_running => "paused by key; b continues",
            BenchMode::Off => "off; b starts it",
            BenchMode::Ask if self.budget.is_some() => "measured once you allow it",
            BenchMode::Auto if self.budget.is_some() && !self.seen => {
                "measures while the Bench tab is open"
            }
            _ => return None,
        };
        self.stage = Stage::Off(why.into());
        Some(self.end())
    }

    fn end(&mut self) -> Vec<Action> {
        let Some(_) = self.session.take() else { return Vec::new() };
        self.asked = false;
        vec![Action::End]
    }

    /// Who starts the CPU's benchmark need not wait for a frame.
    fn begin_at_once(&mut self, now: Duration) -> Vec<Action> {
        if self.budget.is_some() || self.session.is_some() {
            Vec::new()
        } else {
            self.begin(now, 0)
        }
    }

    /// Whoever looks at the CPU's benchmark need not wait for the end of its rest.
    fn end_rest_of_cpu(&mut self, now: Duration) -> Vec<Action> {
        let rests = matches!(self.stage, Stage::Cooldown { .. }) && self.session.is_some();
        if self.seen && rests && self.budget.is_none() { self.begin(now, 0) } else { Vec::new() }
    }

    fn frame(&mut self, now: Duration, conditions: &Conditions) -> Vec<Action> {
        let own = self.session.is_some();
        let blocker = if own { &conditions.contention } else { &conditions.blocker };
        self.blocker.clone_from(blocker);
        if let Some(unwanted) = self.unless_wanted() {
            return unwanted;
        }
        let bursts = matches!(self.stage, Stage::Burst { .. });
        let unrest = || (!bursts).then(|| self.unrest(now, conditions)).flatten();
        if let Some(why) = blocker.clone().or_else(unrest) {
            return self.keep_away(now, &why);
        }
        match self.stage {
            Stage::Burst { .. } => Vec::new(),
            Stage::Cooldown { until, .. } if now < until => self.end_long_session(now),
            _ if own || self.budget.is_none() => self.begin(now, conditions.memory_bytes),
            Stage::Armed { since } if now.saturating_sub(since) >= IDLE => {
                self.begin(now, conditions.memory_bytes)
            }
            Stage::Armed { .. } => Vec::new(),
            _ => {
                self.used = None;
                self.stage = Stage::Armed { since: now };
                Vec::new()
            }
        }
    }

    /// Signs of others where the readings include nothing of the benchmark.
    fn unrest(&mut self, now: Duration, conditions: &Conditions) -> Option<Blocker> {
        if self.session.is_some() {
            return None;
        }
        // At rest a GPU may stay in a state that draws more than before, for as long as somebody holds a context.
        self.idle.take_if(|(seen, _)| now.saturating_sub(*seen) > IDLE_AGE);
        let rests = conditions.rests(self.idle.map(|(_, least)| least));
        if let Some(power) = conditions.power_w
            && self.idle.is_none_or(|(_, least)| power <= least)
        {
            self.idle = Some((now, power));
        }
        if !rests {
            return Some(Blocker::Power);
        }
        let used = conditions.used_bytes?;
        let (least, most) = self.used.map_or((used, used), |(l, m)| (l.min(used), m.max(used)));
        self.used = Some((least, most));
        (conditions.blind && most - least > MEMORY_STEP).then_some(Blocker::MemoryMoves)
    }

    fn keep_away(&mut self, now: Duration, why: &Blocker) -> Vec<Action> {
        self.used = None;
        let cooling = matches!(self.stage, Stage::Cooldown { until, .. } if now < until);
        if self.session.is_none() && !cooling {
            self.stage = Stage::Off(why.to_string());
        }
        self.leave(now, why.to_string())
    }

    fn begin(&mut self, now: Duration, memory_bytes: u64) -> Vec<Action> {
        self.session.get_or_insert(now);
        self.stage = Stage::Burst { since: now };
        let most = self.budget.map_or(memory_bytes, |budget| budget.memory_bytes);
        vec![Action::Burst { memory_bytes: memory_bytes.min(most) }]
    }

    fn finished(&mut self, now: Duration, took: Duration) -> Vec<Action> {
        if matches!(self.stage, Stage::Burst { .. }) {
            self.backoffs = 0;
            let Some(Budget { share, .. }) = self.budget else {
                return self.cpu_finished(now, took);
            };
            let rest = Duration::try_from_secs_f64(took.as_secs_f64() / share);
            let rest = rest.unwrap_or(Duration::MAX).max(COOLDOWN.0);
            let why = format!("keeps to {}", percent(share));
            self.stage = Stage::Cooldown { until: now.saturating_add(rest), why };
            if rest > COOLDOWN.1 {
                return self.end();
            }
        }
        self.end_long_session(now)
    }

    fn cpu_finished(&mut self, now: Duration, took: Duration) -> Vec<Action> {
        if self.seen {
            return self.begin(now, 0);
        }
        let why = "at most 1% of a core away from the Bench tab".to_owned();
        self.stage = Stage::Cooldown { until: now + took.div_f64(CPU_SHARE), why };
        Vec::new()
    }

    /// A worker that has lived its time ends, unless the user looks at it and wants it on.
    fn end_long_session(&mut self, now: Duration) -> Vec<Action> {
        let pinned = self.mode == BenchMode::On && self.seen;
        let over = self.session.is_some_and(|since| now.saturating_sub(since) >= SESSION);
        if pinned || !over || self.budget.is_none() {
            return Vec::new();
        }
        let why = format!("measured for {} s; the GPU may rest", SESSION.as_secs());
        self.stage = Stage::Cooldown { until: now + BETWEEN, why };
        self.end()
    }

    /// Ends the worker, if one lives, and backs off, longer each time.
    fn leave(&mut self, now: Duration, why: String) -> Vec<Action> {
        if self.session.is_some() {
            let wait = BACKOFF.0.saturating_mul(1 << self.backoffs.min(8)).min(BACKOFF.1);
            self.backoffs += 1;
            self.stage = Stage::Cooldown { until: now + wait, why };
        }
        self.end()
    }
}

#[cfg(test)]
mod tests;
