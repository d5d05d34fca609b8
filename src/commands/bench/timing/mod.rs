//! The GPUs' part of `warpscope bench`: every kernel timed, as a table, as JSON and in a journal.

mod jobs;
pub(crate) mod table;

use std::path::Path;

use serde::Serialize;
use warpscope_kernels::Dtype;
use warpscope_kernels::gpu::family::kernels;
use warpscope_kernels::gpu::{GpuKernel, Shape};

use crate::commands::bench::autotune::frame_of;
use crate::commands::bench::samples::{points_of_model, records};
use crate::commands::bench::timing::jobs::{jobs, only_paths};
use crate::commands::cli::{CliError, Options, Result};
use crate::commands::gpu::outcome::Outcome;
use crate::commands::gpu::session::Session;
use crate::commands::gpu::tuned::Tuned;
use crate::commands::gpu::{blocker_in, cuda, outcome, selected_devices};
use crate::commands::identity;
use crate::config::args;
use crate::runs::run_log::{Device, Identity, Record, SampleMode};
use crate::runs::samples as points;
use crate::runs::samples::{Key, Point};
use crate::worker::{
    DeviceHere, Globs, Holding, KernelReport, PathDtype, PathReport, PathSamples, RangeReport,
    SkippedWork, TimingMode, Update, WorkerEvent,
};

/// What one device did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GpuResult {
    #[serde(flatten)]
    pub(crate) here: DeviceHere,
    /// How clocks stood.
    pub(crate) regime: TimingMode,
    /// Version of the driver; null where NVML does not tell, or a stand-in computes.
    pub(crate) driver: Option<String>,
    /// What tuning has to say about it.
    pub(crate) tuned: Tuned,
    /// What was held of it; null when it was not taken.
    pub(crate) holding: Option<Holding>,
    /// One report for each kernel and size.
    pub(crate) kernels: Vec<KernelReport>,
    /// Sizes at which kernels were not run.
    pub(crate) skipped: Vec<SkippedWork>,
    /// The micro decoder: the small model, judged, and the large one, timed.
    pub(crate) paths: Vec<PathReport>,
    /// Paths of the decoder that the device does not have, each with the reason.
    pub(crate) absent_paths: Vec<(String, String)>,
    /// Raw samples of the large model.
    pub(crate) samples: Vec<PathSamples>,
    /// How far each product reaches before it leaves the finite numbers.
    pub(crate) headroom: Vec<RangeReport>,
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

/// Times the kernels a person means on the devices a person means, or says why there is no device.
pub(crate) fn measure(options: &Options, exe: &Path) -> Result<Vec<GpuResult>> {
    let kernels = if only_paths(options) { Vec::new() } else { selected(options)? };
    let devices = selected_devices(options, exe)?;
    if let Some(variant) = options.get(&args::VARIANT) {
        devices.iter().try_for_each(|here| demand_variant(here, &kernels, &variant))?;
    }
    let mut results = Vec::new();
    for here in devices {
        let result = time(options, exe, here, &kernels)?;
        let interrupted = result.outcome.interrupted;
        results.push(result);
        if interrupted {
            break;
        }
    }
    Ok(results)
}

/// The kernels asked for.
pub(crate) fn selected(options: &Options) -> Result<Vec<&'static GpuKernel>> {
    let kernels: Vec<_> = kernels().filter(|kernel| is_selected(options, kernel)).collect();
    if kernels.is_empty() {
        let why = format!("no kernel matches {} in these formats", options.get(&args::KERNELS));
        return Err(CliError::Usage(why));
    }
    if options.get(&args::VARIANT).is_some() && options.get(&args::KERNELS) == Globs::default() {
        let why = "--variant requires --kernel: each kernel has its own variants";
        return Err(CliError::usage(why));
    }
    Ok(kernels)
}

/// Fails where a kernel has no variant of this name on a device, and says which it has.
fn demand_variant(here: &DeviceHere, kernels: &[&GpuKernel], name: &str) -> Result<()> {
    for kernel in kernels {
        let variants = (kernel.variants)(&here.device);
        if variants.iter().any(|variant| variant.name == name) {
            continue;
        }
        let (id, device) = (kernel.id, &here.device.name);
        let known = variants.iter().map(|one| format!("{} ({})", one.name, one.what));
        let known = known.collect::<Vec<_>>().join(", ");
        return Err(CliError::Usage(match variants.is_empty() {
            true => format!("{id} is computed in one way only on {device}"),
            false => format!("{id} has no variant {name} on {device}; it has {known}"),
        }));
    }
    Ok(())
}

/// How long kernels are timed.
pub(crate) fn regime_of(options: &Options) -> TimingMode {
    if options.get(&args::FULL) { TimingMode::Sustained } else { TimingMode::Burst }
}

/// Whether name and format of a kernel were asked for. All four formats of the decoder mean every format there is.
fn is_selected(options: &Options, kernel: &GpuKernel) -> bool {
    let dtypes = options.get(&args::DTYPES);
    let every = dtypes.len() == 4;
    options.get(&args::KERNELS).matches(kernel.id)
        && (every || dtypes.iter().any(|dtype| formats(*dtype).contains(&kernel.dtype)))
}

/// What a format of the decoder is among those of kernels.
fn formats(dtype: PathDtype) -> &'static [Dtype] {
    match dtype {
        PathDtype::Fp32 => &[Dtype::Fp32],
        PathDtype::Fp16 => &[Dtype::Fp16],
        PathDtype::Bf16 => &[Dtype::Bf16],
        PathDtype::Int4 => &[Dtype::Int4Weight, Dtype::Int4],
    }
}

fn time(
    options: &Options,
    exe: &Path,
    here: DeviceHere,
    kernels: &[&GpuKernel],
) -> Result<GpuResult> {
    let frame = frame_of(options, &here)?;
    let blocker = blocker_in(options, &here, frame.as_ref());
    let mut result = GpuResult {
        regime: regime_of(options),
        driver: frame.as_ref().and_then(|frame| frame.driver.versions.driver.last().cloned()),
        tuned: Tuned::of(&options.env, &here, frame.as_ref()),
        holding: None,
        kernels: Vec::new(),
        skipped: Vec::new(),
        paths: Vec::new(),
        absent_paths: Vec::new(),
        samples: Vec::new(),
        headroom: Vec::new(),
        outcome: Outcome {
            paused: blocker.map(|why| format!("{why}; --anyway measures")),
            ..Outcome::default()
        },
        here,
    };
    if result.outcome.paused.is_some() {
        return Ok(result);
    }
    let jobs = jobs(options, &mut result, kernels);
    let session = Session::on_gpu(options, exe, &result.here);
    result.outcome.interrupted = outcome::run(&session, jobs, |update| result.handle(update))?;
    Ok(result)
}

impl GpuResult {
    /// The paths that say whether they are right.
    pub(crate) fn judged(&self) -> impl Iterator<Item = &PathReport> {
        self.paths.iter().filter(|path| !path.expected_tokens.is_empty())
    }

    /// One row for each path: right or wrong by the small model, how fast by the large one.
    pub(crate) fn rows(&self) -> Vec<PathReport> {
        let (judged, timed): (Vec<_>, Vec<_>) =
            self.paths.iter().partition(|path| !path.expected_tokens.is_empty());
        let with_speed = |path: &PathReport| {
            let speed = timed.iter().find(|speed| speed.precision() == path.precision());
            speed.map_or_else(
                || path.clone(),
                |speed| PathReport {
                    decode_tokens_per_s: speed.decode_tokens_per_s,
                    decode_mad_tokens_per_s: speed.decode_mad_tokens_per_s,
                    prefill_gflop_per_s: speed.prefill_gflop_per_s,
                    gb_per_s: speed.gb_per_s,
                    decode_bytes: speed.decode_bytes,
                    read_gb_per_s: speed.read_gb_per_s,
                    read_bandwidth_share: speed.read_bandwidth_share,
                    cache_resident: speed.cache_resident,
                    ..path.clone()
                },
            )
        };
        judged.into_iter().map(with_speed).collect()
    }

    fn handle(&mut self, update: Update) {
        match self.outcome.handle(update) {
            Some(WorkerEvent::Holding(holding)) => self.holding = Some(holding),
            Some(WorkerEvent::Kernel(report)) => self.kernels.push(*report),
            Some(WorkerEvent::Report(report)) => self.paths.push(*report),
            Some(WorkerEvent::Samples(samples)) => self.samples.push(samples),
            Some(WorkerEvent::Skipped(skipped)) => self.skipped.push(skipped),
            Some(WorkerEvent::Range(report)) => self.headroom.push(report),
            _ => {}
        }
    }

    /// Whether everything was measured that was asked.
    pub(crate) fn is_complete(&self) -> bool {
        self.outcome.is_fine()
    }

    /// Who was measured and how, for a journal.
    fn identity(&self) -> Identity {
        let device = &self.here.device;
        let mut run = identity::here(identity::own_command());
        run.regime = match self.regime {
            TimingMode::Burst => SampleMode::Pulse,
            TimingMode::Sustained => SampleMode::Sustained,
        };
        run.driver.clone_from(&self.driver);
        run.cuda = Some(cuda(device));
        run.devices = vec![Device {
            name: device.name.clone(),
            uuid: Some(self.here.uuid.clone()),
            sm: Some(device.sm.to_string()),
            vbios: None,
        }];
        let images = self.kernels.iter().filter(|report| !report.image.is_empty());
        run.libraries = images
            .map(|report| (format!("image of {}", report.kernel), report.image.clone()))
            .collect();
        run
    }

    /// The run as lines of a journal; none where nothing was timed.
    pub(crate) fn records(&self) -> Vec<Record> {
        let mut points: Vec<Point> =
            self.kernels.iter().filter_map(|report| point(report, &self.here)).collect();
        let device = Some(self.here.device.name.as_str());
        let decoder = self.samples.iter().flat_map(|path| points_of_model("m1", path, device));
        points.extend(decoder);
        if points.is_empty() {
            return Vec::new();
        }
        records(self.identity(), points)
    }
}

fn point(report: &KernelReport, here: &DeviceHere) -> Option<Point> {
    if report.samples_ns.is_empty() {
        return None;
    }
    let dtype = kernels().find(|kernel| kernel.id == report.kernel).map(|kernel| kernel.dtype);
    let key = Key {
        name: report.kernel.clone(),
        shape: points::Shape(sizes(report.shape).collect()),
        dtype: dtype.map(|dtype| dtype.id().to_owned()),
        device: Some(here.device.name.clone()),
    };
    let positive = |figure: f64| Some(figure).filter(|figure| *figure > 0.0);
    Some(Point {
        key,
        config: report.variant.as_ref().map(|variant| format!("variant={variant}")),
        t_ns: report.samples_ns.clone(),
        sm_mhz: report.clocks.complete().unwrap_or_default(),
        flops: positive(report.flops),
        bytes: positive(report.bytes),
        ..Point::default()
    })
}

/// The sizes a kernel has, by name.
fn sizes(shape: Shape) -> impl Iterator<Item = (String, String)> {
    let Shape { m, n, k, group, context } = shape;
    let all = [("m", m), ("n", n), ("k", k), ("group", group), ("context", context)];
    all.into_iter()
        .filter(|(_, size)| *size > 0)
        .map(|(name, size)| (name.to_owned(), size.to_string()))
}

#[cfg(test)]
mod tests;
