//! What a device is asked to do: the decoder, kernels, their dynamic-range margins.

use warpscope_kernels::gpu::GpuKernel;
use warpscope_kernels::gpu::headroom::{Probe, probes};

use super::GpuResult;
use crate::commands::cli::Options;
use crate::config::args;
use crate::worker::precision::{Precision, absent, dtype_of, label, precision_of, precisions};
use crate::worker::{Acquire, Command, Globs, ModelSize, Timing};

/// The device is taken, the decoder runs unless only kernels were asked for, and then every kernel is timed and tried for its headroom.
pub(crate) fn jobs(
    options: &Options,
    result: &mut GpuResult,
    kernels: &[&GpuKernel],
) -> Vec<Command> {
    let regime = result.regime;
    let (beside_others, tuned) = (options.get(&args::ANYWAY), result.tuned.tuned.clone());
    let hold = Acquire { arena_bytes: None, mode: regime, beside_others, tuned };
    let (shape, variant) = (options.get(&args::SHAPE), options.get(&args::VARIANT));
    let job = |kernel: &&GpuKernel| {
        let (kernels, variant) = (Globs::from(kernel.id), variant.clone());
        Command::Kernel(Timing { kernels, shape, variant, mode: regime })
    };
    let mut jobs = vec![Command::Acquire(hold)];
    jobs.extend(decoder_jobs(options, result));
    jobs.extend(kernels.iter().map(job));
    if shape.is_none() && variant.is_none() {
        jobs.extend(headroom_job(kernels));
    }
    jobs
}

/// Both models on every path selected that the device has; the others are noted.
fn decoder_jobs(options: &Options, result: &mut GpuResult) -> Vec<Command> {
    let device = &result.here.device;
    // The large model would take a stand-in hours.
    let models =
        if device.simulated { &[ModelSize::M0][..] } else { &[ModelSize::M0, ModelSize::M1] };
    let mut jobs = Vec::new();
    for way in paths(options) {
        if let Some(why) = absent(way, device) {
            result.absent_paths.push((label(way).to_owned(), why));
            continue;
        }
        jobs.extend(models.iter().map(|model| {
            let profile = match model {
                ModelSize::M0 => options.get(&args::PROFILE),
                ModelSize::M1 => "clean".to_owned(),
            };
            Command::Decode { path: way.id.to_owned(), profile, model: *model }
        }));
    }
    jobs
}

/// The selected paths of the decoder: those named; else those of the formats, each format's usual one or, where there is time, all;
/// else none, where only kernels are.
fn paths(options: &Options) -> Vec<Precision> {
    let (paths, dtypes) = (options.get(&args::PATHS), options.get(&args::DTYPES));
    let only_kernels =
        options.get(&args::SHAPE).is_some() || options.get(&args::KERNELS) != Globs::default();
    if !paths.is_empty() {
        paths
    } else if only_kernels {
        Vec::new()
    } else if options.get(&args::FULL) {
        precisions().filter(|way| dtypes.contains(&dtype_of(way))).collect()
    } else {
        dtypes.iter().filter_map(|dtype| precision_of(*dtype)).collect()
    }
}

/// Whether paths of the decoder are named, and no kernels.
pub(crate) fn only_paths(options: &Options) -> bool {
    !options.get(&args::PATHS).is_empty() && options.get(&args::KERNELS) == Globs::default()
}

/// Tries how far the products of these kernels reach.
fn headroom_job(kernels: &[&GpuKernel]) -> Option<Command> {
    let selected = |probe: &Probe| kernels.iter().any(|kernel| kernel.id == probe.kernel());
    let paths: Vec<_> = probes().filter(selected).map(|probe| probe.path()).collect();
    let globs = Globs::from(paths.join(",").as_str());
    (!paths.is_empty()).then_some(Command::Range { paths: globs })
}
