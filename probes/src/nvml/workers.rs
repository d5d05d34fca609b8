//! Makes calls that may never return, and leaves a thread alone with a call that does not.
//!
//! One thread makes the calls, one after another. When a call has run for [`PATIENCE`], that thread is given up: it
//! keeps its one call until that returns, and a new thread goes on with the rest. A second call that hangs shows that
//! waiting for each in turn would take too long, as do many slow ones: every call left then gets a thread of its own.
//! There are never more threads than calls under way, and one that waits for the next.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long the others wait for one call: a GPU whose links and counters are due takes some 80 ms.
const PATIENCE: Duration = Duration::from_millis(200);
/// How long calls are made one after another.
const IN_TURN: Duration = Duration::from_millis(500);

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

/// What the caller does next.
enum Step {
    Wait(Duration),
    Start(usize),
}

impl<T: Send + 'static> Workers<T> {
    /// No threads yet, and no calls.
    pub(super) fn new() -> Self {
        let state = State {
            queue: VecDeque::new(),
            running: Vec::new(),
            outcomes: Vec::new(),
            threads: 0,
            idle: 0,
            closed: false,
        };
        let (work, settled) = (Condvar::new(), Condvar::new());
        Self { shared: Arc::new(Shared { state: Mutex::new(state), work, settled }), tickets: 0 }
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
        let begin = Instant::now();
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
        let (mut hung, mut spread) = (0, false);
        while !state.is_settled() {
            match state.step(begin, &mut hung, &mut spread) {
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

    fn step(&mut self, begin: Instant, hung: &mut usize, spread: &mut bool) -> Step {
        let before = *hung;
        let mut left = PATIENCE;
        for call in self.running.iter_mut().filter(|call| !call.given_up) {
            left = left.min(PATIENCE.saturating_sub(call.since.elapsed()));
            call.given_up = call.since.elapsed() >= PATIENCE;
            *hung += usize::from(call.given_up);
        }
        self.threads -= *hung - before;
        let in_turn = IN_TURN.saturating_sub(begin.elapsed());
        if self.queue.is_empty() || (self.threads > 0 && *spread) {
            return Step::Wait(left);
        }
        if self.threads > 0 && !in_turn.is_zero() {
            return Step::Wait(left.min(in_turn));
        }
        *spread = *hung > 1 || in_turn.is_zero();
        Step::Start(if *spread { self.queue.len() } else { 1 })
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
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    fn sorted(workers: &Workers<u32>) -> Vec<u32> {
        let mut values: Vec<u32> =
            workers.returned().into_iter().filter_map(|(_, outcome)| outcome.ok()).collect();
        values.sort_unstable();
        values
    }

    /// A call that returns when told to.
    fn held(value: u32) -> (Sender<()>, impl FnOnce() -> u32 + Send + 'static) {
        let (go, wait): (Sender<()>, Receiver<()>) = channel();
        (go, move || {
            let _ = wait.recv();
            value
        })
    }

    fn wait_for(workers: &Workers<u32>, value: u32) {
        let end = Instant::now() + Duration::from_secs(60);
        while !sorted(workers).contains(&value) {
            assert!(Instant::now() < end, "{value} never returned");
            thread::yield_now();
        }
    }

    fn threads(workers: &Workers<u32>) -> (usize, usize) {
        let state = workers.shared.lock();
        (state.threads, state.running.len())
    }

    #[test]
    fn calls_are_made_in_order_by_one_thread_that_stays() {
        let mut workers = Workers::new();
        let (sender, order) = channel();
        for _ in 0..3 {
            for value in 0..16u32 {
                let sender = sender.clone();
                workers.submit(move || {
                    sender.send((value, thread::current().id())).expect("somebody counts");
                    value
                });
            }
            workers.settle();
            assert_eq!(sorted(&workers), (0..16).collect::<Vec<_>>());
        }
        let made: Vec<_> = order.try_iter().collect();
        assert!(made.iter().all(|call| call.1 == made[0].1), "one thread");
        let values: Vec<_> = made.iter().map(|call| call.0).collect();
        assert_eq!(values, (0..16).cycle().take(48).collect::<Vec<_>>());
    }

    #[test]
    fn a_call_that_hangs_holds_back_no_other_and_returns_later() {
        let mut workers = Workers::new();
        let (go, call) = held(0);
        workers.submit(call);
        for value in 1..8 {
            workers.submit(move || value);
        }
        workers.settle();
        assert_eq!(sorted(&workers), (1..8).collect::<Vec<_>>());
        assert_eq!(threads(&workers), (1, 1));
        workers.submit(|| 9);
        workers.settle();
        assert_eq!(sorted(&workers), [9], "a call given up is waited for once");
        drop(go);
        wait_for(&workers, 0);
    }

    #[test]
    fn however_many_hang_the_caller_waits_for_three_of_them_at_most() {
        let mut workers = Workers::new();
        let begin = Instant::now();
        let go: Vec<_> = (0..64)
            .map(|value| {
                let (go, call) = held(value);
                workers.submit(call);
                go
            })
            .collect();
        workers.submit(|| 99);
        workers.settle();
        // A machine under load may add to the 600 ms; one after another they would take 13 seconds.
        assert!(begin.elapsed() < Duration::from_secs(9), "{:?}", begin.elapsed());
        assert_eq!(sorted(&workers), [99]);
        drop(go);
        wait_for(&workers, 63);
    }

    #[test]
    fn a_panic_is_the_outcome_of_its_call_alone() {
        let mut workers = Workers::new();
        let broken = workers.submit(|| std::panic::resume_unwind(Box::new("no hook")));
        workers.submit(|| 1);
        workers.settle();
        let outcomes = workers.returned();
        let failed = outcomes.iter().filter(|outcome| outcome.1.is_err());
        assert_eq!(failed.map(|outcome| outcome.0).collect::<Vec<_>>(), [broken]);
        assert_eq!(outcomes.len(), 2);
    }

    #[test]
    fn closing_waits_for_nothing_and_what_hangs_is_dropped_when_it_returns() {
        let kept = Arc::new(());
        let (go, wait) = channel::<()>();
        let mut workers = Workers::new();
        let held = Arc::clone(&kept);
        workers.submit(move || {
            let _ = wait.recv();
            held
        });
        workers.settle();
        drop(workers);
        assert_eq!(Arc::strong_count(&kept), 2);
        drop(go);
        let end = Instant::now() + Duration::from_secs(60);
        while Arc::strong_count(&kept) > 1 {
            assert!(Instant::now() < end, "dropped with its thread");
            thread::yield_now();
        }
    }
}
