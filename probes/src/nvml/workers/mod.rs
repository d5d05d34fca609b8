//! Makes calls that may never return, and leaves a thread alone with a call that does not.
//!
//! One thread makes the calls, one after another. When a call has run for too long, that thread is given up: it
//! keeps its one call until that returns, and a new thread goes on with the rest. A second call that hangs shows that
//! waiting for each in turn would take too long, as do many slow ones: every call left then gets a thread of its own.
//! There are never more threads than calls under way, and one that waits for the next.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How many times the patience calls are made one after another.
const IN_TURN: u32 = 3;

/// Names a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u64);

/// What a call returned, or what it panicked with.
pub(super) type Outcome<T> = thread::Result<T>;

type Call<T> = Box<dyn FnOnce() -> T + Send>;
type Guard<'a, T> = MutexGuard<'a, State<T>>;

/// The threads, and the calls they make.
pub(super) struct Workers<T> {
    shared: Arc<Shared<T>>,
    tickets: u64,
    /// How long one call may run while the others wait.
    patience: Duration,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    /// There are calls to make, or there will be none any more.
    work: Condvar,
    /// Every call has returned or was given up.
    settled: Condvar,
}

struct State<T> {
    queue: VecDeque<(Ticket, Call<T>)>,
    running: Vec<Running>,
    outcomes: Vec<(Ticket, Outcome<T>)>,
    /// Threads that were not given up, and how many of them have nothing to do.
    threads: usize,
    idle: usize,
    closed: bool,
}

struct Running {
    ticket: Ticket,
    since: Instant,
    given_up: bool,
}

/// The calls of one time, as their caller waits for them.
struct Round {
    begin: Instant,
    patience: Duration,
    /// Calls given up.
    hung: usize,
    /// Whether every call has a thread of its own.
    spread: bool,
}

/// What the caller does next.
enum Step {
    Wait(Duration),
    Start(usize),
}

impl<T: Send + 'static> Workers<T> {
    /// No threads yet, and no calls; a call is given up after `patience`.
    pub(super) fn new(patience: Duration) -> Self {
        let state = State {
            queue: VecDeque::new(),
            running: Vec::new(),
            outcomes: Vec::new(),
            threads: 0,
            idle: 0,
            closed: false,
        };
        let (work, settled) = (Condvar::new(), Condvar::new());
        let shared = Arc::new(Shared { state: Mutex::new(state), work, settled });
        Self { shared, tickets: 0, patience }
    }

    /// Adds a call to those that [`Workers::settle`] makes.
    pub(super) fn submit(&mut self, call: impl FnOnce() -> T + Send + 'static) -> Ticket {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.shared.lock().queue.push_back((ticket, Box::new(call)));
        ticket
    }

    /// Returns when each call has returned or was given up.
    pub(super) fn settle(&self) {
        let mut round =
            Round { begin: Instant::now(), patience: self.patience, hung: 0, spread: false };
        let mut state = self.shared.lock();
        if state.queue.is_empty() {
            return;
        }
        if state.threads == 0 {
            state = self.start(state, 1);
        } else {
            // Told without the lock, or the thread would wake only to wait for it.
            drop(state);
            self.shared.work.notify_one();
            state = self.shared.lock();
        }
        while !state.is_settled() {
            match state.step(&mut round) {
                Step::Start(count) => state = self.start(state, count),
                Step::Wait(left) => {
                    let woken = self.shared.settled.wait_timeout(state, left);
                    state = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    /// What has returned since last asked, in no order.
    pub(super) fn returned(&self) -> Vec<(Ticket, Outcome<T>)> {
        std::mem::take(&mut self.shared.lock().outcomes)
    }

    /// Starts threads. Where the machine has none to give, the caller makes the calls itself.
    fn start<'a>(&'a self, mut state: Guard<'a, T>, count: usize) -> Guard<'a, T> {
        for _ in 0..count {
            let shared = Arc::clone(&self.shared);
            let thread = thread::Builder::new().name("nvml-device".into()).stack_size(512 << 10);
            state.threads += 1;
            if thread.spawn(move || shared.serve()).is_err() {
                state.threads -= 1;
            }
        }
        if state.threads == 0 { self.shared.make_calls(state).0 } else { state }
    }
}

impl<T> Drop for Workers<T> {
    /// Threads with nothing to do end; one that hangs ends when its call returns, and nobody waits for it.
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.closed = true;
        let left = (std::mem::take(&mut state.queue), std::mem::take(&mut state.outcomes));
        drop(state);
        self.shared.work.notify_all();
        drop(left);
    }
}

impl<T> State<T> {
    fn is_settled(&self) -> bool {
        self.queue.is_empty() && self.running.iter().all(|call| call.given_up)
    }

    fn step(&mut self, round: &mut Round) -> Step {
        let before = round.hung;
        let mut left = round.patience;
        for call in self.running.iter_mut().filter(|call| !call.given_up) {
            left = left.min(round.patience.saturating_sub(call.since.elapsed()));
            call.given_up = call.since.elapsed() >= round.patience;
            round.hung += usize::from(call.given_up);
        }
        self.threads -= round.hung - before;
        let in_turn = (round.patience * IN_TURN).saturating_sub(round.begin.elapsed());
        if self.queue.is_empty() || (self.threads > 0 && round.spread) {
            return Step::Wait(left);
        }
        if self.threads > 0 && !in_turn.is_zero() {
            return Step::Wait(left.min(in_turn));
        }
        round.spread = round.hung > 1 || in_turn.is_zero();
        Step::Start(if round.spread { self.queue.len() } else { 1 })
    }

    /// Keeps what a call returned. Whether it had been given up.
    fn finish(&mut self, ticket: Ticket, outcome: Outcome<T>) -> bool {
        self.outcomes.push((ticket, outcome));
        let position = self.running.iter().position(|call| call.ticket == ticket);
        position.is_some_and(|position| self.running.swap_remove(position).given_up)
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> Guard<'_, T> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The life of a thread. One that has nothing to do waits; a second such ends.
    fn serve(&self) {
        let mut state = self.lock();
        loop {
            let (after, given_up) = self.make_calls(state);
            state = after;
            if given_up {
                return;
            }
            if state.closed || state.idle > 0 {
                state.threads -= 1;
                return;
            }
            state.idle += 1;
            let waiting = |state: &mut State<T>| state.queue.is_empty() && !state.closed;
            state = self.work.wait_while(state, waiting).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Makes calls until there are none, or the one just made had been given up, which the second part tells.
    fn make_calls<'a>(&'a self, mut state: Guard<'a, T>) -> (Guard<'a, T>, bool) {
        while let Some((ticket, call)) = state.queue.pop_front() {
            state.running.push(Running { ticket, since: Instant::now(), given_up: false });
            drop(state);
            let outcome = catch_unwind(AssertUnwindSafe(call));
            state = self.lock();
            if state.finish(ticket, outcome) {
                return (state, true);
            }
        }
        if state.is_settled() {
            drop(state);
            self.settled.notify_one();
            state = self.lock();
        }
        (state, false)
    }
}

#[cfg(test)]
mod tests;
