//! Hunting: tries seeds, then changes of what showed something new, until the time is up.

mod attempt;
pub mod current;
mod finding;
pub mod scratch;

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::mutate::Mutator;
use crate::seeds;
use crate::targets::Target;
use attempt::{ATTEMPTS, attempt};
use current::Current;
use finding::Findings;

pub use finding::{folder, save};

/// How long one target is tried before the next of its group has its turn.
const SLICE: Duration = Duration::from_millis(100);
/// Most inputs that are kept of a target; a new one then takes the place of another.
const MOST_KEPT: usize = 4096;
/// An input that takes longer than this never ends.
const SILENCE: Duration = Duration::from_secs(60);

/// What a hunt came to, for one target.
#[derive(Debug, Default)]
pub struct Report {
    /// Name of the target.
    pub name: &'static str,
    /// Inputs that were tried.
    pub runs: u64,
    /// Time they took together.
    pub time: Duration,
    /// Different things its reader showed; how many of them the seeds did.
    pub features: usize,
    /// As `features`, of the seeds alone.
    pub seed_features: usize,
    /// Inputs that showed something new.
    pub kept: usize,
    /// Most memory one took, in bytes.
    pub worst_memory: usize,
    /// Longest time one took.
    pub worst_time: Duration,
    /// Inputs that failed.
    pub findings: Vec<PathBuf>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.findings.is_empty() { "ok    " } else { "FAILED" };
        let new = self.features - self.seed_features;
        let per_second = self.runs as f64 / self.time.as_secs_f64().max(1e-9);
        write!(
            f,
            "{state} {:14} {:>8} runs {per_second:>7.0}/s {new:>5} new behaviours {:>5} kept {:>8.2} MiB {:>7.1} ms",
            self.name,
            self.runs,
            self.kept,
            self.worst_memory as f64 / f64::from(1 << 20),
            self.worst_time.as_secs_f64() * 1e3,
        )
    }
}

/// A target under test.
struct Hunt {
    target: &'static Target,
    mutator: Mutator,
    corpus: Vec<Vec<u8>>,
    seen: HashSet<u64>,
    findings: Findings,
    report: Report,
}

impl Hunt {
    fn new(target: &'static Target, seed: u64, folder: &Path) -> Self {
        let seeds = seeds::of(target);
        let report = Report { name: target.name, ..Report::default() };
        let mut hunt = Self {
            target,
            mutator: Mutator::new(seed, &seeds),
            corpus: Vec::new(),
            seen: HashSet::new(),
            findings: Findings::new(folder),
            report,
        };
        hunt.corpus.push(Vec::new());
        for seed in seeds {
            hunt.try_input(&seed);
        }
        hunt.report.seed_features = hunt.seen.len();
        hunt
    }

    fn slice(&mut self, current: &mut Current) {
        let start = Instant::now();
        while start.elapsed() < SLICE {
            let bytes = self.mutator.next(&self.corpus);
            current.write(self.target.name, &bytes);
            self.try_input(&bytes);
        }
        self.report.time += start.elapsed();
    }

    fn try_input(&mut self, bytes: &[u8]) {
        let attempt = attempt(self.target, bytes);
        self.report.runs += 1;
        self.report.worst_memory = self.report.worst_memory.max(attempt.memory);
        self.report.worst_time = self.report.worst_time.max(attempt.time);
        if let Some(failure) = attempt.failure {
            self.findings.take(self.target, bytes, &failure);
            return;
        }
        let before = self.seen.len();
        self.seen.extend(&attempt.features);
        if self.seen.len() > before {
            self.report.kept += 1;
            let place = self.report.kept % MOST_KEPT;
            match self.corpus.get_mut(place) {
                Some(old) => *old = bytes.to_vec(),
                None => self.corpus.push(bytes.to_vec()),
            }
        }
    }

    fn end(mut self) -> Report {
        self.report.features = self.seen.len();
        self.report.findings = self.findings.files;
        self.report
    }
}

/// Tries targets in turn until the time is up. What fails is written to `folder` and told on standard error.
pub fn hunt(
    targets: &[&'static Target],
    time: Duration,
    seed: u64,
    folder: &Path,
    current: &mut Current,
) -> Vec<Report> {
    let end = Instant::now() + time;
    let mut hunts: Vec<Hunt> =
        targets.iter().map(|target| Hunt::new(target, seed, folder)).collect();
    while Instant::now() < end {
        hunts.iter_mut().for_each(|hunt| hunt.slice(current));
    }
    hunts.into_iter().map(Hunt::end).collect()
}

/// Ends the process when one input takes for ever; run it on a thread of its own.
pub fn end_on_silence() {
    let mut before = (ATTEMPTS.load(Ordering::Relaxed), Instant::now());
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let attempts = ATTEMPTS.load(Ordering::Relaxed);
        if attempts != before.0 {
            before = (attempts, Instant::now());
        } else if before.1.elapsed() > SILENCE {
            eprintln!("an input does not end");
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests;
