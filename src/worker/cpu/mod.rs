//! The CPU as a device: runs the micro decoder within its budget.

mod budget;
mod options;
mod path;

use std::time::{Duration, Instant};

use warpscope_kernels::cpu::{
    CleanPasses, Format, READ_TRIES, ReadTest, Team, fastest_fma, fastest_read, fma_flop_per_s,
    last_level_cache_bytes, nice, pick, pick_bf16_gemm, pick_gemm, set_nice,
};
use warpscope_kernels::gpu::MachineError;
use warpscope_kernels::model::{Decoder, Model, Profile};

use self::budget::CpuBudget;
use self::path::Path;
use super::child::{Device, Emit, Stop, Trouble};
use super::precision::{is_default, precision};
use super::protocol::{BENCH_SCHEMA, Ceiling, Command, Hello, ModelSize, PathDtype, WorkerEvent};
pub use options::{CPU, CpuOptions, Mode, OptionError};

/// Work between two pauses: long against a wake-up, short against a keystroke.
const SLICE: Duration = Duration::from_millis(20);
/// Shortest time between two partial reports.
const PARTIAL_EVERY: Duration = Duration::from_millis(250);
/// Runs of each path in one-shot mode: as many prompts as a comparison needs, and two.
const ONCE_RUNS: usize = 12;
/// The bandwidth buffer in last-level caches, and its limits in bytes.
const READ_CACHES: usize = 3;
const READ_BYTES: (usize, usize) = (64 << 20, 128 << 20);
/// Passes over the buffer that nothing interrupted; the fastest counts.
const READ_PASSES: usize = 4;
/// Multiply-add rounds per pass, a few milliseconds, and passes.
const FMA_ROUNDS: u64 = 1 << 20;
const FMA_PASSES: usize = 4;

/// Work was ended from outside.
struct Stopped;

impl From<Stopped> for Trouble {
    fn from(Stopped: Stopped) -> Self {
        Self::Machine { what: "micro decoder".to_owned(), error: MachineError::Stopped }
    }
}

/// The CPU of this machine.
pub struct CpuDevice {
    options: CpuOptions,
    budget: CpuBudget,
    stop: Stop,
    ceiling: Option<Ceiling>,
    /// Reads so far.
    reads: CleanPasses,
    cache: Option<usize>,
    paths: Vec<Path>,
    /// Weights of the last path: those of one format serve all profiles.
    decoder: Option<(Format, Profile, Decoder)>,
    /// Since the last pause.
    worked: Duration,
    busy: Duration,
    last_report: Option<Instant>,
}

impl CpuDevice {
    /// Nothing is measured yet.
    pub fn new(options: CpuOptions, stop: Stop) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            budget: CpuBudget::new(options.mode, cores),
            options,
            stop,
            ceiling: None,
            reads: CleanPasses::default(),
            cache: last_level_cache_bytes(),
            paths: Vec::new(),
            decoder: None,
            worked: Duration::ZERO,
            busy: Duration::ZERO,
            last_report: None,
        }
    }

    /// Does a piece of work, and pauses when a slice is full.
    fn work<T>(&mut self, piece: impl FnOnce() -> T) -> Result<T, Stopped> {
        let start = Instant::now();
        let result = piece();
        let took = start.elapsed();
        self.worked += took;
        self.busy += took;
        if self.worked >= SLICE {
            let worked = std::mem::take(&mut self.worked);
            self.stop.wait(self.budget.pause_after(worked));
        }
        if self.stop.is_raised() { Err(Stopped) } else { Ok(result) }
    }

    /// Reads until enough passes were not interrupted; beside other work a few at a time, and one more each time once there are enough.
    fn measure_ceiling(&mut self, emit: &mut Emit<'_>) -> Result<(), Trouble> {
        let (low, high) = READ_BYTES;
        let bytes = self.cache.unwrap_or(low).saturating_mul(READ_CACHES).clamp(low, high);
        let threads = self.budget.threads;
        let test = self.work(|| ReadTest::new(threads, bytes))?;
        let tries = if self.options.mode == Mode::Live { 1 } else { READ_TRIES };
        for _ in 0..READ_PASSES * tries {
            let rate = self.work(|| test.pass())?;
            self.reads.add(rate);
            if self.reads.fastest_of(READ_PASSES).is_some() {
                break;
            }
        }
        let before = self.ceiling.map_or(0.0, |ceiling| ceiling.fp32_flop_per_s);
        let now = self.work(|| fma_flop_per_s(threads, FMA_ROUNDS, FMA_PASSES))?;
        let read_bytes_per_s = self.reads.fastest_of(READ_PASSES);
        let ceiling = Ceiling { read_bytes_per_s, fp32_flop_per_s: now.max(before) };
        self.ceiling = Some(ceiling);
        Ok(emit(WorkerEvent::Ceiling(ceiling))?)
    }

    /// Runs a path as often as the mode asks for.
    fn decode(
        &mut self,
        (dtype, profile): (PathDtype, Profile),
        emit: &mut Emit<'_>,
    ) -> Result<(), Trouble> {
        let mut decoder = self.decoder_for(dtype, profile)?;
        let known = self.paths.iter().position(|p| p.dtype == dtype && p.profile == profile);
        let mut path = match known {
            Some(place) => {
                self.budget = self.budget.settled();
                self.paths.swap_remove(place)
            }
            None => Path::new(dtype, profile),
        };
        let done = self.run(&mut path, &mut decoder, emit);
        self.paths.push(path);
        self.decoder = Some((dtype, profile, decoder));
        done
    }

    fn decoder_for(&mut self, format: Format, profile: Profile) -> Result<Decoder, Stopped> {
        match self.decoder.take() {
            Some((same, before, mut decoder)) if same == format => {
                decoder.model_mut().set_profile(before, profile);
                Ok(decoder)
            }
            _ => {
                let threads = self.budget.threads;
                self.work(|| Decoder::new(Model::new(format, profile), Team::new(format, threads)))
            }
        }
    }

    fn run(
        &mut self,
        path: &mut Path,
        decoder: &mut Decoder,
        emit: &mut Emit<'_>,
    ) -> Result<(), Trouble> {
        let live = self.options.mode == Mode::Live;
        if !live {
            path.keep_samples();
        }
        for _ in 0..if live { 1 } else { ONCE_RUNS } {
            self.work(|| path.start(decoder))?;
            while self.work(|| path.step(decoder))? {
                let due = self.last_report.is_none_or(|at| at.elapsed() >= PARTIAL_EVERY);
                if due && live {
                    self.report(path, emit)?;
                }
            }
        }
        self.report(path, emit)?;
        match path.samples() {
            Some(samples) => Ok(emit(WorkerEvent::Samples(samples))?),
            None => Ok(()),
        }
    }

    fn report(&mut self, path: &Path, emit: &mut Emit<'_>) -> Result<(), Trouble> {
        self.last_report = Some(Instant::now());
        let report = path.report(self.ceiling.unwrap_or_default(), self.cache);
        Ok(emit(WorkerEvent::Report(Box::new(report)))?)
    }
}

impl Device for CpuDevice {
    fn hello(&mut self) -> Hello {
        let nice = self.budget.nice.map_or_else(nice, set_nice);
        let mut kernels = vec![pick_gemm().id.to_owned()];
        for &format in &self.options.dtypes {
            kernels.push(pick(format).id.to_owned());
            if format == Format::Bf16 {
                kernels.push(pick_bf16_gemm().id.to_owned());
            }
        }
        kernels.extend([fastest_read().id.to_owned(), fastest_fma().id.to_owned()]);
        Hello {
            schema: BENCH_SCHEMA,
            pid: std::process::id(),
            device: CPU.to_owned(),
            device_name: cpu_name().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            threads: self.budget.threads as u32,
            cpu_share_max: self.budget.share,
            nice,
            kernels,
        }
    }

    fn perform(&mut self, job: &Command, emit: &mut Emit<'_>) -> Result<(), Trouble> {
        let refused =
            |why: &str| Err(Trouble::of(job, MachineError::Refused { why: why.to_owned() }));
        match job {
            // One time may have been a bad one.
            Command::Acquire(_) if self.ceiling.is_none() || self.options.mode == Mode::Live => {
                self.measure_ceiling(emit)
            }
            Command::Acquire(_) => Ok(()),
            Command::Decode { path, profile, model: ModelSize::M0 } => {
                let dtype =
                    precision(path).filter(|it| is_default(it)).map(super::precision::dtype_of);
                match dtype.zip(profile.parse::<Profile>().ok()) {
                    Some(path) => self.decode(path, emit),
                    None => refused("a CPU has no such path"),
                }
            }
            _ => refused("a CPU has no such job"),
        }
    }

    fn release(&mut self) {
        self.decoder = None;
    }

    fn take_busy(&mut self) -> Duration {
        std::mem::take(&mut self.busy)
    }

    fn is_lost(&self) -> bool {
        false
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::protocol::Acquire;

    fn device(mode: Mode) -> CpuDevice {
        CpuDevice::new(CpuOptions { mode, ..CpuOptions::live() }, Stop::new())
    }

    /// A ceiling that was measured at a bad moment is not the last word.
    #[test]
    fn beside_other_work_a_higher_ceiling_is_looked_for_each_time() {
        for (mode, times) in [(Mode::Once, 1), (Mode::Live, 3)] {
            let (mut device, mut ceilings) = (device(mode), Vec::new());
            for _ in 0..3 {
                let mut emit = |event| {
                    ceilings.extend(match event {
                        WorkerEvent::Ceiling(Ceiling { read_bytes_per_s, fp32_flop_per_s }) => {
                            Some((read_bytes_per_s, fp32_flop_per_s))
                        }
                        _ => None,
                    });
                    Ok(())
                };
                let acquire = Command::Acquire(Acquire::default());
                assert!(device.perform(&acquire, &mut emit).is_ok());
            }
            assert_eq!(ceilings.len(), times, "{mode:?}");
            let rises = ceilings.windows(2).all(|two| two[0].0 <= two[1].0 && two[0].1 <= two[1].1);
            assert!(rises, "{ceilings:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn it_says_how_nice_it_is_though_it_asks_for_nothing() {
        let told = std::thread::spawn(|| (set_nice(15), device(Mode::Once).hello().nice));
        let (in_force, told) = told.join().expect("no panic");
        assert_eq!((told, in_force.is_some()), (in_force, true));
    }
}
