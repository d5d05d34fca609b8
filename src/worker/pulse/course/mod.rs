//! The course of the live benchmark on one GPU, as a state machine.

use std::time::Duration;

use super::around::{Around, Hindrance};

/// What the user wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wish {
    /// Never.
    Off,
    /// While it is looked at.
    #[default]
    Auto,
    /// Also while it is not.
    On,
}

/// How much may be taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allowance {
    /// Share of the GPU's time, 0–1.
    pub share: f64,
    /// Most memory, bytes.
    pub arena_bytes: u64,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { share: 0.02, arena_bytes: 256 << 20 }
    }
}

/// How long a GPU must have been idle before it is measured.
pub const IDLE: Duration = Duration::from_secs(10);
/// How long a pulse may last without news: a driver that sleeps has to wake, images may have to be compiled. Who talks with the child
/// is stricter with what it did before, and this the net below that.
const SILENCE: Duration = Duration::from_secs(35);
/// Limits of the rest after a pulse.
const REST: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(5 * 60));
/// How long a child may live: a context keeps the board out of its deepest rest.
const SESSION: Duration = Duration::from_secs(60);
/// Rest between two sessions.
const BETWEEN: Duration = Duration::from_secs(10 * 60);
/// First and longest retreat after somebody came or the child died.
const RETREAT: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(10 * 60));
/// Change of the memory in use that shows somebody at work where processes are hidden.
const MEMORY_STEP: u64 = 64 << 20;

/// What happened. Every cue comes with its time.
#[derive(Clone, Debug, PartialEq)]
pub enum Cue {
    /// A frame came.
    Frame(Around),
    /// The user wants something else.
    Wish(Wish),
    /// The benchmark came into view or left it.
    Seen(bool),
    /// The child has done a part of the pulse.
    Working,
    /// The child has finished a pulse that took so much of the GPU's time.
    Finished(Duration),
    /// The child gave the GPU back by itself, and why.
    GaveWay(String),
    /// The child ended, and how.
    Died(String),
    /// The user asks for a session now.
    Now,
}

/// What to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Start the child, if none lives, and let it measure within so much memory.
    Pulse {
        /// Bytes.
        arena_bytes: u64,
    },
    /// Stop within the present launch.
    Stop,
    /// End the child; everything it held comes back.
    End,
    /// Kill the child: it did not stop.
    Kill,
}

/// Where the benchmark stands on a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It does not run, and why.
    Off(String),
    /// The GPU is idle, but not yet long enough.
    Armed {
        /// Since when.
        since: Duration,
    },
    /// The child measures.
    Pulse {
        /// Since when.
        since: Duration,
    },
    /// Rests.
    Cool {
        /// Until when.
        until: Duration,
        /// Why.
        why: String,
    },
}

/// `2 % of its time`.
fn percent(share: f64) -> String {
    format!("{} % of its time", (share * 1000.0).round() / 10.0)
}

/// The course of the live benchmark on one GPU.
#[derive(Clone, Debug)]
pub struct Course {
    wish: Wish,
    allowance: Allowance,
    stage: Stage,
    seen: bool,
    /// Since when a child lives.
    session: Option<Duration>,
    /// Retreats without a finished pulse in between.
    retreats: u32,
    idle_w: Option<f64>,
    /// Least and most memory in use since arming.
    used: Option<(u64, u64)>,
}

impl Course {
    /// A course at rest.
    pub fn new(wish: Wish, allowance: Allowance) -> Self {
        Self {
            wish,
            allowance,
            stage: Stage::Off("not looked at yet".into()),
            seen: false,
            session: None,
            retreats: 0,
            idle_w: None,
            used: None,
        }
    }

    /// What the user wants.
    pub fn wish(&self) -> Wish {
        self.wish
    }

    /// Whether a child lives.
    pub fn has_child(&self) -> bool {
        self.session.is_some()
    }

    /// Where it stands.
    pub fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Takes what happened at a time since some beginning.
    pub fn take(&mut self, now: Duration, cue: Cue) -> Vec<Order> {
        match cue {
            Cue::Frame(around) => self.frame(now, &around),
            Cue::Wish(wish) => {
                self.wish = wish;
                self.unless_wanted()
            }
            Cue::Seen(seen) => {
                self.seen = seen;
                self.unless_wanted()
            }
            Cue::Working => {
                if let Stage::Pulse { since } = &mut self.stage {
                    *since = now;
                }
                Vec::new()
            }
            Cue::Finished(took) => self.finished(now, took),
            Cue::GaveWay(why) => {
                if self.session.is_some() {
                    self.retreat(now, why);
                }
                self.end()
            }
            Cue::Died(how) => {
                // One that was told to end is not missed.
                if self.session.take().is_some() {
                    self.retreat(now, how);
                }
                Vec::new()
            }
            Cue::Now => {
                if let Stage::Cool { .. } = self.stage {
                    self.stage = Stage::Off("asked for".into());
                }
                Vec::new()
            }
        }
    }

    /// Ends what is no longer wanted.
    fn unless_wanted(&mut self) -> Vec<Order> {
        let why = match self.wish {
            Wish::Off => "off",
            Wish::Auto if !self.seen => "measures while the Bench tab is open",
            _ => return Vec::new(),
        };
        self.stage = Stage::Off(why.into());
        self.end()
    }

    fn end(&mut self) -> Vec<Order> {
        self.session.take().map(|_| Order::End).into_iter().collect()
    }

    fn frame(&mut self, now: Duration, around: &Around) -> Vec<Order> {
        let unwanted = self.unless_wanted();
        if matches!(self.stage, Stage::Off(_)) && (!unwanted.is_empty() || self.is_unwanted()) {
            return unwanted;
        }
        if let Stage::Pulse { since } = self.stage {
            return self.watch(now, since, around);
        }
        let resting_child = self.session.is_some();
        let blocked = if resting_child { &around.intrusion } else { &around.hindrance };
        if let Some(why) = blocked {
            return self.keep_away(now, why);
        }
        if let Some(why) = self.unrest(around) {
            return self.keep_away(now, &why);
        }
        match self.stage {
            Stage::Cool { until, .. } if now < until => self.end_long_session(now),
            Stage::Armed { since } if now.saturating_sub(since) >= IDLE => self.begin(now, around),
            Stage::Cool { .. } if resting_child => self.begin(now, around),
            Stage::Armed { .. } => Vec::new(),
            _ => {
                self.used = None;
                self.stage = Stage::Armed { since: now };
                Vec::new()
            }
        }
    }

    fn is_unwanted(&self) -> bool {
        self.wish == Wish::Off || self.wish == Wish::Auto && !self.seen
    }

    /// Signs of others where the readings include nothing of the benchmark.
    fn unrest(&mut self, around: &Around) -> Option<Hindrance> {
        if self.session.is_some() {
            return None;
        }
        let idle = [self.idle_w, around.power_w].into_iter().flatten().reduce(f64::min);
        let rests = around.rests(self.idle_w);
        self.idle_w = idle;
        if !rests {
            return Some(Hindrance::Power);
        }
        let now = around.used_bytes?;
        let (least, most) = self.used.map_or((now, now), |(l, m)| (l.min(now), m.max(now)));
        self.used = Some((least, most));
        (around.blind && most - least > MEMORY_STEP).then_some(Hindrance::MemoryMoves)
    }

    /// A pulse in progress: stop it for anybody who comes, kill it when it does not end.
    fn watch(&mut self, now: Duration, since: Duration, around: &Around) -> Vec<Order> {
        if let Some(why) = &around.intrusion {
            let why = why.to_string();
            self.session = None;
            self.retreat(now, why);
            return vec![Order::Stop, Order::End];
        }
        if now.saturating_sub(since) <= SILENCE {
            return Vec::new();
        }
        self.session = None;
        self.retreat(now, "it did not stop in time and was killed".into());
        vec![Order::Kill]
    }

    fn keep_away(&mut self, now: Duration, why: &Hindrance) -> Vec<Order> {
        self.used = None;
        let cooling = matches!(self.stage, Stage::Cool { until, .. } if now < until);
        if self.session.is_some() {
            self.retreat(now, why.to_string());
        } else if !cooling {
            self.stage = Stage::Off(why.to_string());
        }
        self.end()
    }

    fn begin(&mut self, now: Duration, around: &Around) -> Vec<Order> {
        self.session.get_or_insert(now);
        self.stage = Stage::Pulse { since: now };
        let arena_bytes = around.arena_bytes.min(self.allowance.arena_bytes);
        vec![Order::Pulse { arena_bytes }]
    }

    fn finished(&mut self, now: Duration, took: Duration) -> Vec<Order> {
        if matches!(self.stage, Stage::Pulse { .. }) {
            self.retreats = 0;
            let rest = took.div_f64(self.allowance.share.clamp(1e-4, 1.0)).clamp(REST.0, REST.1);
            self.stage = Stage::Cool {
                until: now + rest,
                why: format!("keeps to {}", percent(self.allowance.share)),
            };
        }
        self.end_long_session(now)
    }

    /// A child that has lived its time ends, unless the user has pinned it by looking at it and wanting it on.
    fn end_long_session(&mut self, now: Duration) -> Vec<Order> {
        let pinned = self.wish == Wish::On && self.seen;
        let over = self.session.is_some_and(|since| now.saturating_sub(since) >= SESSION);
        if pinned || !over {
            return Vec::new();
        }
        let why = format!("measured for {} s; the GPU may rest", SESSION.as_secs());
        self.stage = Stage::Cool { until: now + BETWEEN, why };
        self.end()
    }

    /// Keeps away, longer each time.
    fn retreat(&mut self, now: Duration, why: String) {
        let wait = RETREAT.0.saturating_mul(1 << self.retreats.min(8)).min(RETREAT.1);
        self.retreats += 1;
        self.stage = Stage::Cool { until: now + wait, why };
    }
}

#[cfg(test)]
mod tests;
