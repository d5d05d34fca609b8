//! `warpscope bench`: every path once, as a table or as JSON.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use warpscope_kernels::model::Profile;

use super::exit::{CliError, Exit};
use super::gpu::course::{Course, run as run_jobs};
use super::gpu::session::Session;
use super::gpu::timing::GpuResult;
use super::gpu::write_table as write_table_of;
use super::identity;
use crate::io::sink::jsonl;
use crate::io::sink::{Holds, Limits, RecordError, Recorder};
use crate::runs::journal::{Device, End, Record, Regime, Taken};
use crate::runs::points::{Key, Point, Shape};
use crate::worker::cpu::{CPU, CpuOptions, Mode};
use crate::worker::precision::{holds, is_default, precision};
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
    /// Journal every sample is written into.
    pub record: Option<PathBuf>,
}

/// What a child said until it ended, as `--json` gives it.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    pub(super) fn new(device: &str) -> Self {
        Self {
            schema: BENCH_SCHEMA,
            device: device.to_owned(),
            hello: None,
            ceiling: None,
            reports: Vec::new(),
            samples: Vec::new(),
            gpus: Vec::new(),
            no_gpu: None,
        }
    }
}

/// Runs the benchmark in a child of the same program. Exit code 0: every path is as it should be; 1: one is not, or the child
/// died; 2: the request names something unknown.
pub fn run(request: &BenchRequest, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    run_with(&std::env::current_exe()?, request, out, err)
}

/// As [`run`], with the program to start.
pub fn run_with(
    exe: &Path,
    request: &BenchRequest,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<Exit> {
    let nothing = |_: &mut BenchResult| Ok(());
    run_and(exe, request, nothing, (out, err)).map_err(|error| match error {
        CliError::Output(error) => error,
        other => io::Error::other(other.to_string()),
    })
}

/// As [`run_with`], and does more before the result is printed.
pub(super) fn run_and(
    exe: &Path,
    request: &BenchRequest,
    more: impl FnOnce(&mut BenchResult) -> Result<(), CliError>,
    (out, err): (&mut dyn Write, &mut dyn Write),
) -> Result<Exit, CliError> {
    let read = CpuOptions::read(&request.device, &request.profiles, &request.dtypes, Mode::Once);
    let options = match read {
        Ok(options) => options,
        Err(error) => {
            writeln!(err, "warpscope bench: {error}")?;
            return Ok(Exit::Usage);
        }
    };
    let (mut result, course) = measure_cpu(exe, options)?;
    if !course.interrupted {
        more(&mut result)?;
    }
    show(&result, &course, request, (out, err))
}

/// Prints and keeps a result, and judges it.
pub(super) fn show(
    result: &BenchResult,
    course: &Course,
    request: &BenchRequest,
    (out, err): (&mut dyn Write, &mut dyn Write),
) -> Result<Exit, CliError> {
    if request.json {
        out.write_all(&jsonl::pretty(result).map_err(io::Error::from)?)?;
    } else {
        write_table(result, out)?;
        result.gpus.iter().try_for_each(|gpu| write_table_of(gpu, out))?;
    }
    let mut failures = Vec::new();
    course.write(&mut failures)?;
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
    let mut fine = course.is_fine() && result.gpus.iter().all(GpuResult::is_complete);
    for report in wrong {
        fine = false;
        writeln!(err, "warpscope bench: {} {}: {}", report.label(), report.profile, fault(report))?;
    }
    Ok(if fine { Exit::Fine } else { Exit::CheckFailed })
}

/// Writes the run into a journal: who ran what, every sample, how it ended.
fn keep_run(path: &Path, result: &BenchResult) -> Result<(), RecordError> {
    let mut journal = Recorder::open_as(Holds::Journal, path, Limits::default())?;
    for record in result.gpus.iter().flat_map(GpuResult::records) {
        journal.write(&record)?;
    }
    if result.hello.is_none() {
        return Ok(());
    }
    let device = result.hello.as_ref().map(|hello| hello.device_name.clone());
    let mut run = identity::here(identity::own_command());
    run.regime = Regime::Sustained;
    run.devices =
        device.iter().map(|name| Device { name: name.clone(), ..Device::default() }).collect();
    let kernels = result.hello.iter().flat_map(|hello| &hello.kernels);
    run.libraries = kernels
        .filter_map(|kernel| kernel.split_once(' '))
        .map(|(name, kind)| (name.to_owned(), kind.to_owned()))
        .collect();
    journal.write(&Record::Run(Box::new(run)))?;
    let mut samples = 0;
    for path in &result.samples {
        for point in points_of(path, device.as_deref()) {
            samples += point.t_ns.len() as u64;
            let taken = Taken { at_ms: Some(identity::now_ms()), point, window: None };
            journal.write(&Record::Point(Box::new(taken)))?;
        }
    }
    journal.write(&Record::End(End { at_ms: identity::now_ms(), samples, ..End::default() }))
}

/// Decode steps and prompts of one path of the small model. What the scheduler interrupted is kept, and marked.
pub(super) fn points_of(path: &PathSamples, device: Option<&str>) -> Vec<Point> {
    points_of_model("m0", path, device)
}

/// The same of a model by its name.
pub(super) fn points_of_model(model: &str, path: &PathSamples, device: Option<&str>) -> Vec<Point> {
    let special = path.path.as_deref().and_then(precision).filter(|config| !is_default(config));
    let point = |name: &str| Point {
        key: Key {
            name: format!("{model}.{name}"),
            shape: Shape([("profile".to_owned(), path.profile.clone())].into()),
            dtype: Some(path.dtype.id().to_owned()),
            device: device.map(str::to_owned),
        },
        // The usual path of a format was written without a name before there were others.
        config: special.map(|config| format!("path={}", config.id)),
        ..Point::default()
    };
    let decode = Point { bytes: Some(path.decode_bytes), ..point("decode") };
    let prefill = Point { flops: Some(path.prefill_flop), ..point("prefill") };
    let parts = [
        (decode, &path.decode_ns, &path.decode_preempted),
        (prefill, &path.prefill_ns, &path.prefill_preempted),
    ];
    parts.into_iter().flat_map(|(point, ns, preempted)| split(&point, ns, preempted)).collect()
}

/// One point of the samples that are clean and one of the others; none where there are none.
fn split(point: &Point, ns: &[f64], preempted: &[usize]) -> Vec<Point> {
    let (mut clean, mut marked) = (point.clone(), point.clone());
    marked.tainted = vec!["preempted".to_owned()];
    for (at, ns) in ns.iter().enumerate() {
        let side = if preempted.contains(&at) { &mut marked } else { &mut clean };
        side.t_ns.push(*ns);
    }
    [clean, marked].into_iter().filter(|point| !point.t_ns.is_empty()).collect()
}

/// Has the CPU measured by a worker of a program. What it said before it died is kept.
fn measure_cpu(exe: &Path, options: CpuOptions) -> Result<(BenchResult, Course), CliError> {
    let mut result = BenchResult::new(CPU);
    let mut course = Course::default();
    let jobs = options.commands();
    let limits = supervisor::Limits::UNLIMITED;
    let session = Session { exe, target: WorkerTarget::Cpu(options), limits };
    course.interrupted = run_jobs(&session, jobs, |update| match course.hear(update) {
        Some(WorkerEvent::Hello(hello)) => result.hello = Some(hello),
        Some(WorkerEvent::Ceiling(ceiling)) => result.ceiling = Some(ceiling),
        Some(WorkerEvent::Report(report)) => keep(&mut result.reports, *report),
        Some(WorkerEvent::Samples(samples)) => result.samples.push(samples),
        _ => {}
    })?;
    Ok((result, course))
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

/// Whether the arithmetic of a path can hold its profile's numbers.
fn should_be_right(report: &PathReport) -> bool {
    let (config, profile) = (report.precision(), report.profile.parse::<Profile>());
    config.zip(profile.ok()).is_none_or(|(config, profile)| holds(config, profile))
}

/// Whether a path did what the reference does.
fn is_right(report: &PathReport) -> bool {
    report.complete
        && report.tokens == report.expected_tokens
        && report.non_finite == 0
        && report.error.is_some_and(|error| error <= report.error_limit)
}

/// What is wrong with a path, the cause first.
fn fault(report: &PathReport) -> String {
    if let Some(bad) = &report.first_bad {
        return format!(
            "not finite from layer {} {}, token {}, channel {} on",
            bad.layer, bad.op, bad.token, bad.channel
        );
    }
    let right = agreeing(report);
    match report.error {
        _ if !report.complete => format!("ended after {} tokens", report.tokens.len()),
        _ if right < report.expected_tokens.len() => format!("token {right} differs from fp64"),
        Some(error) => format!("error {error:.1e} above {:.0e}", report.error_limit),
        None => "error unknown".to_owned(),
    }
}

/// Tokens equal to the reference's.
fn agreeing(report: &PathReport) -> usize {
    report.tokens.iter().zip(&report.expected_tokens).filter(|(got, want)| got == want).count()
}

fn write_table(result: &BenchResult, out: &mut dyn Write) -> io::Result<()> {
    if let Some(hello) = &result.hello {
        writeln!(out, "{} · {} · threads {}", hello.device, hello.device_name, hello.threads)?;
    }
    if let Some(ceiling) = &result.ceiling {
        let (read, fma) = (ceiling.read_bytes_per_s / 1e9, ceiling.fp32_flop_per_s / 1e9);
        writeln!(out, "ceiling: read {read:.1} GB/s · fp32 multiply-add {fma:.1} GFLOP/s\n")?;
    }
    if result.reports.is_empty() {
        return Ok(());
    }
    write_head(out)?;
    result.reports.iter().try_for_each(|report| write_row(report, out))?;
    let resident = result.reports.iter().any(|r| r.cache_resident == Some(true));
    if resident {
        writeln!(out, "\n* fits the last-level cache, so it may read faster than memory")?;
    }
    Ok(())
}

/// Width of the longest name of a path.
const PATH: usize = 9;

/// The line above the paths.
pub(super) fn write_head(out: &mut dyn Write) -> io::Result<()> {
    let head =
        ["path", "profile", "decode tok/s", "±", "prefill GFLOP/s", "GB/s", "of read", "error"];
    let [path, profile, decode, mad, prefill, gb, share, error] = head;
    write!(out, "{path:<PATH$} {profile:<7} {decode:>12} {mad:>7} {prefill:>15} {gb:>6} ")?;
    writeln!(out, "{share:>8} {error:>8}  tokens  text")
}

pub(super) fn write_row(report: &PathReport, out: &mut dyn Write) -> io::Result<()> {
    let figure = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
    };
    let star = if report.cache_resident == Some(true) { "*" } else { " " };
    let share = figure(report.read_bandwidth_share, 2) + star;
    let error = report.error.map_or_else(|| "–".to_owned(), |error| format!("{error:.1e}"));
    write!(
        out,
        "{:<PATH$} {:<7} {:>12} {:>7} {:>15} {:>6} {share:>8} {error:>8}  ",
        report.label(),
        report.profile,
        figure(report.decode_tokens_per_s, 1),
        figure(report.decode_mad_tokens_per_s, 1),
        figure(report.prefill_gflop_per_s, 1),
        figure(report.gb_per_s, 1),
    )?;
    let count = format!("{}/{}", agreeing(report), report.expected_tokens.len());
    let text: String =
        report.text.trim_start().chars().filter(|c| !c.is_control()).take(32).collect();
    write!(out, "{count:<6}  {text}")?;
    match &report.first_bad {
        Some(_) => writeln!(out, "  {}", fault(report)),
        None => writeln!(out),
    }
}
