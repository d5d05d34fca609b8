//! The child: computes within its budget, listens for commands, says what it finds.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use warpscope_kernels::cpu::{
    Format, Team, fastest_fma, fastest_read, fma_flop_per_s, last_level_cache_bytes, pick,
    pick_bf16_gemm, pick_gemm, read_bytes_per_s, set_nice,
};
use warpscope_kernels::model::{Decoder, Model};

use super::BENCH_SCHEMA;
use super::budget::Budget;
use super::options::{Mode, WorkerOptions};
use super::path::Path;
use super::report::{BenchEvent, BenchState, Ceiling, Hello, PathDtype};

/// Work between two rests: long against a wake-up, short against a keystroke.
const SLICE: Duration = Duration::from_millis(20);
/// Shortest time between two partial reports.
const PARTIAL_EVERY: Duration = Duration::from_millis(250);
/// Runs of each path in one-shot mode: as many prompts as a comparison needs, and two.
const ONCE_RUNS: usize = 12;
/// The bandwidth buffer in last-level caches, and its limits in bytes.
const READ_CACHES: usize = 3;
const READ_BYTES: (usize, usize) = (64 << 20, 128 << 20);
/// Passes over the buffer; the fastest counts.
const READ_PASSES: usize = 4;
/// Multiply-add rounds per pass, a few milliseconds, and passes.
const FMA_ROUNDS: u64 = 1 << 20;
const FMA_PASSES: usize = 4;
/// Longest command line that is read.
const COMMAND_MAX: u64 = 4096;

/// What the parent wants.
#[derive(Default)]
struct Wanted {
    paused: Option<String>,
    quit: bool,
}

/// Where commands wait until the computing thread looks.
#[derive(Default)]
struct Gate {
    wanted: Mutex<Wanted>,
    changed: Condvar,
}

/// The parent asked the child to end, or is gone.
struct Quit;

/// Why the child stops before it is finished.
enum Stop {
    Quit,
    Output(io::Error),
}

impl From<Quit> for Stop {
    fn from(Quit: Quit) -> Self {
        Self::Quit
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl Gate {
    /// Reads commands until the input ends, which means the parent is gone.
    fn listen(&self, input: impl Read) {
        let mut input = BufReader::new(input);
        let mut line = Vec::new();
        loop {
            line.clear();
            let count = input.by_ref().take(COMMAND_MAX).read_until(b'\n', &mut line);
            let text = String::from_utf8_lossy(&line);
            match count {
                Ok(0) | Err(_) => return self.change(|wanted| wanted.quit = true),
                Ok(_) => self.obey(text.trim()),
            }
        }
    }

    /// Unknown commands are ignored: an older child serves a newer parent.
    fn obey(&self, command: &str) {
        let (verb, rest) = command.split_once(' ').unwrap_or((command, "by key"));
        match verb {
            "pause" => self.change(|wanted| wanted.paused = Some(rest.to_owned())),
            "run" => self.change(|wanted| wanted.paused = None),
            "quit" => self.change(|wanted| wanted.quit = true),
            _ => {}
        }
    }

    fn change(&self, change: impl FnOnce(&mut Wanted)) {
        change(&mut self.wanted.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Sleeps so long, or until something is wanted. Gives the reason for a pause, if one is wanted.
    fn rest(&self, time: Duration) -> Result<Option<String>, Quit> {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |w: &mut Wanted| !w.quit && w.paused.is_none();
        let (wanted, _) = self
            .changed
            .wait_timeout_while(wanted, time, idle)
            .unwrap_or_else(PoisonError::into_inner);
        if wanted.quit { Err(Quit) } else { Ok(wanted.paused.clone()) }
    }

    /// Blocks without waking up until the pause ends.
    fn wait_for_run(&self) -> Result<(), Quit> {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let paused = |w: &mut Wanted| !w.quit && w.paused.is_some();
        let wanted =
            self.changed.wait_while(wanted, paused).unwrap_or_else(PoisonError::into_inner);
        if wanted.quit { Err(Quit) } else { Ok(()) }
    }
}

/// Runs the child until it is finished or told to end. Commands come as lines on `input`: `pause [why]`, `run`, `quit`; the
/// end of `input` means that the parent is gone. Events go to `output`, one JSON object a line.
pub fn run_worker(
    options: WorkerOptions,
    input: impl Read + Send + 'static,
    output: impl Write,
) -> io::Result<()> {
    let gate = Arc::new(Gate::default());
    let listener = Arc::clone(&gate);
    std::thread::spawn(move || listener.listen(input));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let budget = Budget::new(options.mode, cores);
    let mut worker = Worker {
        options,
        budget,
        gate,
        output,
        ceiling: Ceiling::default(),
        cache: last_level_cache_bytes(),
        worked: Duration::ZERO,
        last_report: None,
    };
    match worker.run() {
        Ok(()) | Err(Stop::Quit) => Ok(()),
        Err(Stop::Output(error)) => Err(error),
    }
}

struct Worker<W> {
    options: WorkerOptions,
    budget: Budget,
    gate: Arc<Gate>,
    output: W,
    ceiling: Ceiling,
    cache: Option<usize>,
    worked: Duration,
    last_report: Option<Instant>,
}

impl<W: Write> Worker<W> {
    fn run(&mut self) -> Result<(), Stop> {
        self.greet()?;
        self.say(&BenchEvent::State(BenchState::Running))?;
        self.measure_ceiling()?;
        let paths = |dtype: &PathDtype| -> Vec<Path> {
            self.options.profiles.iter().map(|profile| Path::new(*dtype, *profile)).collect()
        };
        let mut paths: Vec<Vec<Path>> = self.options.dtypes.iter().map(paths).collect();
        let runs = match self.options.mode {
            Mode::Once => ONCE_RUNS,
            Mode::Live => 1,
        };
        loop {
            for same_dtype in &mut paths {
                self.run_dtype(same_dtype, runs)?;
            }
            if self.options.mode == Mode::Once {
                self.say(&BenchEvent::State(BenchState::Finished))?;
                return Ok(());
            }
            self.budget = self.budget.settled();
        }
    }

    /// Runs the paths of one format on one set of weights, which is dropped afterwards.
    fn run_dtype(&mut self, paths: &mut [Path], runs: usize) -> Result<(), Stop> {
        let Some(first) = paths.first() else { return Ok(()) };
        let (format, mut profile) = (first.dtype.format(), first.profile);
        let threads = self.budget.threads;
        let mut decoder =
            self.work(|_| Decoder::new(Model::new(format, profile), Team::new(format, threads)))?;
        for path in paths {
            decoder.model_mut().set_profile(profile, path.profile);
            profile = path.profile;
            if self.options.mode == Mode::Once {
                path.keep_samples();
            }
            for _ in 0..runs {
                self.run_path(path, &mut decoder)?;
            }
            self.report(path)?;
            if let Some(samples) = path.samples() {
                self.say(&BenchEvent::Samples(samples))?;
            }
        }
        Ok(())
    }

    fn run_path(&mut self, path: &mut Path, decoder: &mut Decoder) -> Result<(), Stop> {
        self.work(|_| path.start(decoder))?;
        while self.work(|_| path.step(decoder))? {
            let due = self.last_report.is_none_or(|at| at.elapsed() >= PARTIAL_EVERY);
            if due && self.options.mode == Mode::Live {
                self.report(path)?;
            }
        }
        Ok(())
    }

    /// Does a piece of work, and rests when a slice is full.
    fn work<T>(&mut self, piece: impl FnOnce(&Self) -> T) -> Result<T, Stop> {
        let start = Instant::now();
        let result = piece(self);
        self.worked += start.elapsed();
        let rest = if self.worked < SLICE {
            Duration::ZERO
        } else {
            self.budget.rest_after(std::mem::take(&mut self.worked))
        };
        if let Some(why) = self.gate.rest(rest)? {
            self.say(&BenchEvent::State(BenchState::Paused { why }))?;
            self.gate.wait_for_run()?;
            self.say(&BenchEvent::State(BenchState::Running))?;
        }
        Ok(result)
    }

    fn greet(&mut self) -> io::Result<()> {
        let nice = self.budget.nice.and_then(set_nice).unwrap_or(0);
        let mut kernels = vec![pick_gemm().id.to_owned()];
        for format in self.options.dtypes.iter().map(|d| d.format()) {
            kernels.push(pick(format).id.to_owned());
            if format == Format::Bf16 {
                kernels.push(pick_bf16_gemm().id.to_owned());
            }
        }
        kernels.extend([fastest_read().id.to_owned(), fastest_fma().id.to_owned()]);
        let hello = Hello {
            schema: BENCH_SCHEMA,
            pid: std::process::id(),
            device: self.options.device.clone(),
            device_name: cpu_name().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            threads: self.budget.threads as u32,
            cpu_share_max: self.budget.share,
            nice,
            kernels,
        };
        self.say(&BenchEvent::Hello(hello))
    }

    fn measure_ceiling(&mut self) -> Result<(), Stop> {
        let (low, high) = READ_BYTES;
        let bytes = self.cache.unwrap_or(low).saturating_mul(READ_CACHES).clamp(low, high);
        let threads = self.budget.threads;
        self.ceiling.read_bytes_per_s =
            self.work(|_| read_bytes_per_s(threads, bytes, READ_PASSES))?;
        self.ceiling.fp32_flop_per_s =
            self.work(|_| fma_flop_per_s(threads, FMA_ROUNDS, FMA_PASSES))?;
        self.say(&BenchEvent::Ceiling(self.ceiling))?;
        Ok(())
    }

    fn report(&mut self, path: &Path) -> io::Result<()> {
        self.last_report = Some(Instant::now());
        let report = path.report(&self.options.device, self.ceiling, self.cache);
        self.say(&BenchEvent::Report(Box::new(report)))
    }

    fn say(&mut self, event: &BenchEvent) -> io::Result<()> {
        let mut line = serde_json::to_vec(event).map_err(io::Error::other)?;
        line.push(b'\n');
        self.output.write_all(&line)?;
        self.output.flush()
    }
}

/// The CPU's own name, where the system tells it, without anything a terminal could act on.
fn cpu_name() -> Option<String> {
    let info = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    let name: String =
        line.split_once(':')?.1.chars().filter(|c| !c.is_control()).take(80).collect();
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}
