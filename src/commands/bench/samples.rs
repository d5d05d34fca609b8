//! Samples of the micro decoder as points, and the run they belong to as a journal.

use std::path::Path;

use crate::commands::bench::decoder::BenchResult;
use crate::commands::bench::timing::GpuResult;
use crate::commands::identity;
use crate::io::sink::{Holds, Limits, RecordError, Recorder};
use crate::runs::run_log::{Device, End, Identity, Record, SampleMode, Taken};
use crate::runs::samples::{Key, Point, Shape};
use crate::worker::precision::{is_default, precision};
use crate::worker::{Hello, PathSamples, SampleClocks};

/// Writes the run into a journal: who ran what, every sample, how it ended.
pub(crate) fn keep_run(path: &Path, result: &BenchResult) -> Result<(), RecordError> {
    let own = result.hello.as_ref().map(|hello| {
        let device = Some(hello.device_name.as_str());
        let points = result.samples.iter().flat_map(|path| points_of(path, device));
        records(identity_of(hello), points.collect())
    });
    keep(path, result.gpus.iter().flat_map(GpuResult::records).chain(own.into_iter().flatten()))
}

/// Appends records to a journal.
pub(crate) fn keep(
    path: &Path,
    mut records: impl Iterator<Item = Record>,
) -> Result<(), RecordError> {
    let mut journal = Recorder::open_as(Holds::RunLog, path, Limits::default())?;
    records.try_for_each(|record| journal.write(&record))
}

/// A run as lines of a journal.
pub(crate) fn records(run: Identity, points: Vec<Point>) -> Vec<Record> {
    let at_ms = identity::now_ms();
    let samples = points.iter().map(|point| point.t_ns.len() as u64).sum();
    let taken = |point| Record::Point(Box::new(Taken { at_ms: Some(at_ms), point, window: None }));
    let mut records = vec![Record::Run(Box::new(run))];
    records.extend(points.into_iter().map(taken));
    records.push(Record::End(End { at_ms, samples, ..End::default() }));
    records
}

/// The CPU that was measured, and its kernels.
fn identity_of(hello: &Hello) -> Identity {
    let mut run = identity::here(identity::own_command());
    run.regime = SampleMode::Sustained;
    run.devices = vec![Device { name: hello.device_name.clone(), ..Device::default() }];
    let kernels = hello.kernels.iter().filter_map(|kernel| kernel.split_once(' '));
    run.libraries = kernels.map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect();
    run
}

/// Decode steps and prompts of one path of the small model. What the scheduler interrupted is kept, and marked.
pub(crate) fn points_of(path: &PathSamples, device: Option<&str>) -> Vec<Point> {
    points_of_model("m0", path, device)
}

/// The same of a model by its name.
pub(crate) fn points_of_model(model: &str, path: &PathSamples, device: Option<&str>) -> Vec<Point> {
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
    let clocks = |clocks: &SampleClocks| clocks.complete().unwrap_or_default();
    let decode = Point {
        bytes: Some(path.decode_bytes),
        sm_mhz: clocks(&path.decode_clocks),
        ..point("decode")
    };
    let prefill = Point {
        flops: Some(path.prefill_flop),
        sm_mhz: clocks(&path.prefill_clocks),
        ..point("prefill")
    };
    let parts = [
        (decode, &path.decode_ns, &path.decode_preempted),
        (prefill, &path.prefill_ns, &path.prefill_preempted),
    ];
    parts.into_iter().flat_map(|(point, ns, preempted)| split(&point, ns, preempted)).collect()
}

/// One point of the samples that are clean and one of the others; none where there are none. Only a CPU is interrupted, and only a GPU has clocks.
fn split(point: &Point, ns: &[f64], preempted: &[usize]) -> Vec<Point> {
    let (mut clean, mut marked) = (point.clone(), point.clone());
    marked.tainted = vec!["preempted".to_owned()];
    for (at, ns) in ns.iter().enumerate() {
        let side = if preempted.contains(&at) { &mut marked } else { &mut clean };
        side.t_ns.push(*ns);
    }
    [clean, marked].into_iter().filter(|point| !point.t_ns.is_empty()).collect()
}
