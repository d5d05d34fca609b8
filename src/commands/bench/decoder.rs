//! The micro decoder in a child process: every precision config once, as a table or as JSON.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::commands::bench::samples::keep_run;
use crate::commands::bench::table::{fault, is_right, should_be_right, write_table};
use crate::commands::bench::timing::GpuResult;
use crate::commands::bench::timing::table::write_table as write_gpu_table;
use crate::commands::cli::{Exit, Result};
use crate::commands::gpu::outcome::{Outcome, run as run_jobs};
use crate::commands::gpu::session::Session;
use crate::io::sink::jsonl;
use crate::worker::cpu::{CPU, CpuOptions, Mode};
use crate::worker::{
    BENCH_SCHEMA, Ceiling, Hello, PathReport, PathSamples, WorkerEvent, WorkerTarget, supervisor,
};

/// What a person asked for. Lists may be comma-separated; an empty list means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BenchRequest {
    /// Device: `cpu`.
    pub device: String,
    /// Weight profiles: `clean`, `glm4`.
    pub profiles: Vec<String>,
    /// Number formats: `fp32`, `fp16`, `bf16`, `int4`.
    pub dtypes: Vec<String>,
    /// JSON instead of a table.
    pub json: bool,
    /// Run log every sample is written to.
    pub record: Option<PathBuf>,
}

/// What a child said until it ended, as `--json` gives it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BenchResult {
    /// [`BENCH_SCHEMA`].
    pub schema: u32,
    /// Device asked for.
    pub device: String,
    /// Who computed; null when the child ended before it said so.
    pub hello: Option<Hello>,
    /// What limits the paths; null when it was not measured.
    pub ceiling: Option<Ceiling>,
    /// One report per path.
    pub reports: Vec<PathReport>,
    /// Raw samples of each path.
    pub samples: Vec<PathSamples>,
    /// What each GPU did.
    pub gpus: Vec<GpuResult>,
    /// Why no GPU was measured; null where one was, or none was to be.
    pub no_gpu: Option<String>,
}

impl BenchResult {
    /// Nothing yet.
    pub(crate) fn new(device: &str) -> Self {
        Self { schema: BENCH_SCHEMA, device: device.to_owned(), ..Self::default() }
    }
}

/// Runs the benchmark in a child, a worker of this program, and does more before the result is printed. Exit code 0: every path is as it
/// should be; 1: one is not, or the child died; 2: the request names something unknown.
pub fn run(
    exe: &Path,
    request: &BenchRequest,
    more: impl FnOnce(&mut BenchResult) -> Result<()>,
    (out, err): (&mut dyn Write, &mut dyn Write),
) -> Result<Exit> {
    let read = CpuOptions::read(&request.device, &request.profiles, &request.dtypes, Mode::Once);
    let options = match read {
        Ok(options) => options,
        Err(error) => {
            writeln!(err, "warpscope bench: {error}")?;
            return Ok(Exit::Usage);
        }
    };
    let (mut result, outcome) = measure_cpu(exe, options)?;
    if !outcome.interrupted {
        more(&mut result)?;
    }
    show(&result, &outcome, request, (out, err))
}

/// Prints and keeps a result, and judges it.
pub(crate) fn show(
    result: &BenchResult,
    outcome: &Outcome,
    request: &BenchRequest,
    (out, err): (&mut dyn Write, &mut dyn Write),
) -> Result<Exit> {
    if request.json {
        out.write_all(&jsonl::pretty(result).map_err(io::Error::from)?)?;
    } else {
        write_table(result, out)?;
        result.gpus.iter().try_for_each(|gpu| write_gpu_table(gpu, out))?;
    }
    let mut failures = Vec::new();
    outcome.write(&mut failures)?;
    for failure in String::from_utf8_lossy(&failures).lines() {
        writeln!(err, "warpscope bench: {failure}")?;
    }
    if let Some(path) = &request.record
        && let Err(error) = keep_run(path, result)
    {
        writeln!(err, "warpscope bench: {error}")?;
        return Ok(Exit::Usage);
    }
    let on_gpus = result.gpus.iter().flat_map(|gpu| gpu.judged());
    let all = result.reports.iter().chain(on_gpus);
    let wrong = all.filter(|r| should_be_right(r) && !is_right(r));
    let mut fine = outcome.is_fine() && result.gpus.iter().all(GpuResult::is_complete);
    for report in wrong {
        fine = false;
        writeln!(err, "warpscope bench: {} {}: {}", report.label(), report.profile, fault(report))?;
    }
    Ok(if fine { Exit::Fine } else { Exit::CheckFailed })
}

/// Has the CPU measured by a worker of a program. What it said before it died is kept.
fn measure_cpu(exe: &Path, options: CpuOptions) -> Result<(BenchResult, Outcome)> {
    let mut result = BenchResult::new(CPU);
    let mut outcome = Outcome::default();
    let jobs = options.commands();
    let limits = supervisor::Limits::UNLIMITED;
    let session = Session { exe, target: WorkerTarget::Cpu(options), limits };
    outcome.interrupted = run_jobs(&session, jobs, |update| match outcome.handle(update) {
        Some(WorkerEvent::Hello(hello)) => result.hello = Some(hello),
        Some(WorkerEvent::Ceiling(ceiling)) => result.ceiling = Some(ceiling),
        Some(WorkerEvent::Report(report)) => keep(&mut result.reports, *report),
        Some(WorkerEvent::Samples(samples)) => result.samples.push(samples),
        _ => {}
    })?;
    Ok((result, outcome))
}

/// The newest report of a path replaces the one before.
fn keep(reports: &mut Vec<PathReport>, report: PathReport) {
    let id = |r: &PathReport| (r.dtype, r.path.clone(), r.profile.clone());
    let same = |r: &&mut PathReport| id(r) == id(&report);
    match reports.iter_mut().find(same) {
        Some(old) => *old = report,
        None => reports.push(report),
    }
}
