//! Two works that take turns, so that what else the machine does meets both.
//!
//! Time is that of the thread on its processor, so that works which wait for it are not charged for waiting. What other
//! processes take from caches and memory is still in it.
#![expect(unsafe_code, reason = "the standard library has no clock of a thread")]

use std::time::{Duration, Instant};

/// Shortest sample: short works are repeated within one.
const SAMPLE: Duration = Duration::from_millis(2);
/// Fewest and most pairs.
const PAIRS: (usize, usize) = (9, 400);

/// Time this thread has spent on a processor.
pub(crate) fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a whole `timespec`.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(failed, 0, "POSIX systems have this clock");
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Rates of a work and of its ceiling, and their ratios pair by pair.
pub(crate) struct Pair {
    fastest: f64,
    top: f64,
    ratios: Vec<f64>,
}

/// Fastest of `count` runs, in seconds.
pub(crate) fn best(count: usize, mut work: impl FnMut()) -> f64 {
    (0..count).map(|_| seconds(&mut work)).fold(f64::MAX, f64::min)
}

fn seconds(work: &mut impl FnMut()) -> f64 {
    let start = thread_time();
    work();
    (thread_time() - start).as_secs_f64().max(1e-9)
}

/// Amount per second of one sample.
fn rate(work: &mut impl FnMut() -> f64, repetitions: usize) -> f64 {
    let mut amount = 0.0;
    let time = seconds(&mut || amount = (0..repetitions).map(|_| work()).sum());
    amount / time
}

/// Runs that make a sample.
fn repetitions(work: &mut impl FnMut() -> f64) -> usize {
    let once = best(3, || _ = work());
    (SAMPLE.as_secs_f64() / once).ceil() as usize
}

impl Pair {
    /// Works that give the amount they did, in turn for about so many seconds.
    pub(crate) fn measure(
        budget: f64,
        mut work: impl FnMut() -> f64,
        mut ceiling: impl FnMut() -> f64,
    ) -> Self {
        let counts = (repetitions(&mut work), repetitions(&mut ceiling));
        let mut pair = Self { fastest: 0.0, top: 0.0, ratios: Vec::new() };
        let start = Instant::now();
        while pair.ratios.len() < PAIRS.0
            || start.elapsed().as_secs_f64() < budget && pair.ratios.len() < PAIRS.1
        {
            // Which goes first changes, so that neither always finds the caches of the other.
            let (one, other) = if pair.ratios.len().is_multiple_of(2) {
                let one = rate(&mut work, counts.0);
                (one, rate(&mut ceiling, counts.1))
            } else {
                let other = rate(&mut ceiling, counts.1);
                (rate(&mut work, counts.0), other)
            };
            pair.fastest = pair.fastest.max(one);
            pair.top = pair.top.max(other);
            pair.ratios.push(one / other);
        }
        pair.ratios.sort_by(f64::total_cmp);
        pair
    }

    fn quantile(&self, part: f64) -> f64 {
        self.ratios[((self.ratios.len() - 1) as f64 * part) as usize]
    }

    fn ratio(&self) -> String {
        let [low, middle, high] = [0.1, 0.5, 0.9].map(|part| self.quantile(part));
        format!(
            "{middle:.2} ({low:.2}–{high:.2}, fastest against fastest {:.2})",
            self.fastest / self.top
        )
    }

    /// Prints a line for products of many tokens.
    pub(crate) fn arithmetic(&self, id: &str, (tokens, rows, k): (usize, usize, usize)) {
        println!(
            "{id} {tokens}x{rows}x{k}  {:.1} of {:.1} Gop/s  {} of peak",
            self.fastest / 1e9,
            self.top / 1e9,
            self.ratio()
        );
    }

    /// Prints a line for products of one token.
    pub(crate) fn bandwidth(&self, id: &str, (rows, cols, bytes): (usize, usize, usize)) {
        println!(
            "{id} {rows}x{cols} ({:.1} MB)  {:.1} of {:.1} GB/s  {} of reading as much",
            bytes as f64 / 1e6,
            self.fastest / 1e9,
            self.top / 1e9,
            self.ratio()
        );
    }
}
