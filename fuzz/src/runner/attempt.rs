//! One input, tried under watch: what it showed, what it cost, and why it failed.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fs;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::targets::Target;
use crate::{Trace, memory};

/// Longest time of the processor an input may take.
const MOST_TIME: Duration = Duration::from_secs(1);
/// Most memory an input may take: so much, and as much again for each of its bytes.
const MOST_MEMORY: usize = 64 << 20;
const MEMORY_PER_BYTE: usize = 64;
/// Longest message that is kept.
const LONGEST_MESSAGE: usize = 2000;

/// Inputs tried so far in this process.
pub(super) static ATTEMPTS: AtomicU64 = AtomicU64::new(0);

/// What came of an input.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    pub(super) features: HashSet<u64>,
    pub(super) time: Duration,
    pub(super) memory: usize,
    pub(super) failure: Option<Failure>,
}

/// Why an input failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// Equal for failures that have one cause, as far as one can see: the place of the panic.
    pub(super) cause: String,
    pub(super) message: String,
}

impl Failure {
    fn new(cause: &str, message: String) -> Self {
        Self { cause: cause.to_owned(), message }
    }
}

thread_local! {
    /// The last panic while an input is tried; none while none is.
    static PANIC: RefCell<Option<Option<Failure>>> = const { RefCell::new(None) };
}

/// Tries an input.
pub(super) fn attempt(target: &Target, bytes: &[u8]) -> Attempt {
    let mut attempt = run(target, bytes);
    ATTEMPTS.fetch_add(1, Ordering::Relaxed);
    let most = MOST_MEMORY + MEMORY_PER_BYTE * bytes.len();
    if attempt.failure.is_none() && attempt.memory > most {
        let message = format!("took {} of memory for {} bytes", attempt.memory, bytes.len());
        attempt.failure = Some(Failure::new("memory", message));
    }
    if attempt.failure.is_none() && attempt.time > MOST_TIME {
        let time = processor_time(|| drop(run(target, bytes)));
        attempt.time = time;
        if time > MOST_TIME {
            let message = format!("took {time:?} for {} bytes", bytes.len());
            attempt.failure = Some(Failure::new("time", message));
        }
    }
    attempt
}

fn run(target: &Target, bytes: &[u8]) -> Attempt {
    watch_panics();
    let mut trace = Trace::default();
    PANIC.set(Some(None));
    let (start, before) = (Instant::now(), memory::begin());
    let result = catch_unwind(AssertUnwindSafe(|| (target.run)(bytes, &mut trace)));
    let (time, memory) = (start.elapsed(), memory::peak() - before);
    let panic = PANIC.take().flatten();
    let unseen = || Failure::new("panic", "a panic of which nothing is known".to_owned());
    let failure = result.err().map(|_| panic.unwrap_or_else(unseen));
    let memory = usize::try_from(memory).unwrap_or_default();
    Attempt { features: trace.features().clone(), time, memory, failure }
}

/// Keeps panics of inputs to itself; all others are reported as before.
fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            let is_tried = PANIC.with_borrow(Option::is_some);
            if is_tried { PANIC.set(Some(Some(failure(info)))) } else { before(info) }
        }));
    });
}

fn failure(info: &PanicHookInfo<'_>) -> Failure {
    let cause = info.location().map(|at| format!("{}:{}", at.file(), at.line()));
    let mut message = info.to_string();
    message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
    Failure { cause: cause.unwrap_or_default(), message }
}

/// Time of the processor this thread took: a machine that is busy with others makes no input slow. Time of the clock where it is not known.
fn processor_time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    let before = scheduled();
    work();
    let taken = scheduled().zip(before).map(|(after, before)| after.saturating_sub(before));
    taken.unwrap_or_else(|| start.elapsed())
}

fn scheduled() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}
