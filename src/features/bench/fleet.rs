//! The benchmarks of all GPUs. Frames and the children's news go in, tasks for the outside come out. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use warpscope_kernels::gpu::Picks;
use warpscope_probes::gpu::Presence;
use warpscope_probes::{Frame, Gpu, Origin, Timestamp};

use super::gpu::{GpuBench, News, Task};
use crate::worker::picks::{Book, Force, Situation};
use crate::worker::pulse::{Allowance, Around, Cue, Hindrance, Stage, Wish};

/// GPUs that are measured at the same moment: more would share the CPU, the links and the power of the machine.
const AT_ONCE: usize = 2;

/// A GPU's key, and what to do about its child.
pub type Order = (String, Task);

/// The benchmarks of all GPUs.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// What the user has set; the wish in force differs while the user has paused or pinned it.
    set: Wish,
    wish: Wish,
    allowance: Allowance,
    gpus: BTreeMap<String, GpuBench>,
    /// Variants of kernels chosen on this machine.
    book: Book,
    /// Whether every path and profile is wanted, not only the usual ones.
    all_paths: bool,
    seen: bool,
    /// Time since the first frame. Never goes back, whatever the clock on the wall does.
    now: Duration,
    at: Timestamp,
}

impl Default for Fleet {
    fn default() -> Self {
        Self::new(Wish::default(), Allowance::default())
    }
}

impl Fleet {
    /// Nothing is known of any GPU.
    pub fn new(set: Wish, allowance: Allowance) -> Self {
        Self {
            set,
            wish: set,
            allowance,
            gpus: BTreeMap::new(),
            book: Book::default(),
            all_paths: false,
            seen: false,
            now: Duration::ZERO,
            at: Timestamp::default(),
        }
    }

    /// The same, with variants of kernels that were chosen before.
    #[must_use]
    pub fn tuned(self, book: Book) -> Self {
        Self { book, ..self }
    }

    /// What is known of a GPU, by its key.
    pub fn get(&self, key: &str) -> Option<&GpuBench> {
        self.gpus.get(key)
    }

    /// What the user wants now.
    pub fn wish(&self) -> Wish {
        self.wish
    }

    /// How much may be taken.
    pub fn allowance(&self) -> Allowance {
        self.allowance
    }

    /// Time since some beginning, against which stages count.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// The time of the newest frame, against which results age.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Whether a child measures on any GPU.
    pub fn is_measuring(&self) -> bool {
        self.gpus.values().any(|gpu| matches!(gpu.stage(), Stage::Pulse { .. }))
    }

    /// Takes a frame.
    pub fn frame(&mut self, frame: &Frame) -> Vec<Order> {
        self.pass(frame.at);
        let here = frame.origin == Origin::Local;
        let mut real: Vec<&Gpu> = frame.gpus.iter().filter(|gpu| here && is_real(gpu)).collect();
        // Who was measured least comes first.
        real.sort_by_key(|gpu| self.gpus.get(&gpu.key).map_or(0, GpuBench::pulses));
        let mut orders = self.without(&real);
        let mut measuring = self.gpus.values().filter(|gpu| is_pulsing(gpu)).count();
        for gpu in real {
            let (set, seen, now, all) = (self.wish, self.seen, self.now, self.all_paths);
            let allowance = self.allowance;
            let bench = self.gpus.entry(gpu.key.clone()).or_insert_with(|| {
                let mut bench = GpuBench::new(set, allowance);
                bench.cue(now, Cue::Seen(seen));
                bench.want_all_paths(all);
                bench
            });
            bench.witness(frame, gpu);
            bench.tune(picks(&self.book, frame, gpu));
            if measuring >= AT_ONCE && bench.may_begin(frame, gpu) {
                continue;
            }
            let before = is_pulsing(bench);
            let tasks = if gpu.key.starts_with("GPU-") {
                bench.frame(now, frame, gpu)
            } else {
                bench.absent(now, away("the driver gives it no UUID"))
            };
            measuring += usize::from(!before && is_pulsing(bench));
            orders.extend(tasks.into_iter().map(|task| (gpu.key.clone(), task)));
        }
        orders
    }

    /// GPUs that are gone, or of another machine or time.
    fn without(&mut self, real: &[&Gpu]) -> Vec<Order> {
        let now = self.now;
        let gone = self.gpus.iter_mut().filter(|(key, _)| !real.iter().any(|g| g.key == **key));
        let ended = gone.flat_map(|(key, bench)| {
            let tasks = bench.absent(now, away("it is not there"));
            tasks.into_iter().map(|task| (key.clone(), task)).collect::<Vec<_>>()
        });
        ended.collect()
    }

    fn pass(&mut self, at: Timestamp) {
        let passed = at.seconds_since(self.at);
        if self.at != Timestamp::default() && passed > 0.0 {
            self.now += Duration::from_secs_f64(passed.min(1e9));
        }
        self.at = at;
    }

    /// Takes what the child of a GPU did.
    pub fn hear(&mut self, key: &str, news: News) -> Vec<Order> {
        let (now, at) = (self.now, self.at);
        let Some(bench) = self.gpus.get_mut(key) else { return Vec::new() };
        let tasks = bench.hear(now, at, news);
        tasks.into_iter().map(|task| (key.to_owned(), task)).collect()
    }

    /// Gives every GPU that is held back, and keeps away for a while.
    pub fn give_way(&mut self, why: &str) -> Vec<Order> {
        self.tell_all(&Cue::GaveWay(why.to_owned()))
    }

    /// The benchmark came into view or left it.
    pub fn see(&mut self, seen: bool) -> Vec<Order> {
        if std::mem::replace(&mut self.seen, seen) == seen {
            return Vec::new();
        }
        self.tell_all(&Cue::Seen(seen))
    }

    /// The user pauses it, or lets it go on as set.
    pub fn pause(&mut self, paused: bool) -> Vec<Order> {
        let usual = if self.set == Wish::Off { Wish::Auto } else { self.set };
        self.want(if paused { Wish::Off } else { usual })
    }

    /// The user wants it to go on without the rest between sessions, or no longer.
    pub fn pin(&mut self) -> Vec<Order> {
        self.want(if self.wish == Wish::On { Wish::Auto } else { Wish::On })
    }

    /// Wants every path and profile measured and shown, or only the usual ones again; says which.
    pub fn toggle_all_paths(&mut self) -> bool {
        self.all_paths = !self.all_paths;
        self.gpus.values_mut().for_each(|gpu| gpu.want_all_paths(self.all_paths));
        self.all_paths
    }

    fn want(&mut self, wish: Wish) -> Vec<Order> {
        self.wish = wish;
        self.tell_all(&Cue::Wish(wish))
    }

    /// The user asks for a session on a GPU now.
    pub fn ask(&mut self, key: &str) -> Vec<Order> {
        let now = self.now;
        let Some(bench) = self.gpus.get_mut(key) else { return Vec::new() };
        bench.cue(now, Cue::Now).into_iter().map(|task| (key.to_owned(), task)).collect()
    }

    fn tell_all(&mut self, cue: &Cue) -> Vec<Order> {
        let now = self.now;
        let all = self.gpus.iter_mut().flat_map(|(key, bench)| {
            let tasks = bench.cue(now, cue.clone());
            tasks.into_iter().map(|task| (key.clone(), task)).collect::<Vec<_>>()
        });
        all.collect()
    }
}

/// Whether there is a device behind it, or was.
pub fn is_real(gpu: &Gpu) -> bool {
    gpu.presence != Presence::WhatIf
}

/// The variants chosen for a GPU that count now.
fn picks(book: &Book, frame: &Frame, gpu: &Gpu) -> Picks {
    if book.entries.is_empty() {
        return Picks::default();
    }
    let driver = frame.driver.versions.driver.last().map(String::as_str);
    match book.force(&Situation::of(gpu, driver)) {
        Force::Chosen(entry) => entry.picks(),
        Force::Untuned | Force::Ignored(_) => Picks::default(),
    }
}

fn is_pulsing(bench: &GpuBench) -> bool {
    matches!(bench.stage(), Stage::Pulse { .. })
}

fn away(how: &'static str) -> Around {
    let why = Some(Hindrance::NotThere(how));
    Around { hindrance: why.clone(), intrusion: why, ..Around::default() }
}
