use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

/// Long enough for a machine under load.
const PATIENCE: Duration = Duration::from_secs(1);

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
    let mut workers = Workers::new(PATIENCE);
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
    let mut workers = Workers::new(PATIENCE);
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
    let mut workers = Workers::new(PATIENCE);
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
    // A machine under load may add to the three seconds; one after another they would take a minute.
    assert!(begin.elapsed() < Duration::from_secs(45), "{:?}", begin.elapsed());
    assert_eq!(sorted(&workers), [99]);
    drop(go);
    wait_for(&workers, 63);
}

#[test]
fn a_panic_is_the_outcome_of_its_call_alone() {
    let mut workers = Workers::new(PATIENCE);
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
    let mut workers = Workers::new(PATIENCE);
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
