//! Work on all processors.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// What a function makes of each, in their order, on as many threads as there are processors.
pub(crate) fn in_parallel<T: Sync, R: Send>(jobs: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (open, done) = (Mutex::new(jobs.iter().enumerate()), Mutex::new(Vec::new()));
    let worker = || {
        while let Some((at, job)) = lock(&open).next() {
            let result = work(job);
            lock(&done).push((at, result));
        }
    };
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(worker))));
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// A lock whose holders only push and take.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
