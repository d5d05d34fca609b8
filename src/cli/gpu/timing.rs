//! The GPUs' part of `warpscope bench`: every kernel timed, as a table, as JSON and in a journal.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use warpscope_kernels::Dtype;
use warpscope_kernels::gpu::family::kernels;
use warpscope_kernels::gpu::{GpuKernel, Limiter, MachineError, Route, Shape};

use super::picks::Tuned;
use super::progress::Progress;
use super::session::{Session, talk};
use super::tuning::frame_of;
use super::{GIVEN_UP, chosen, heading, hindrance_in, reason, route_text};
use crate::bench::gpu::{Burst, Globs, Hold, Limits, Next, Request, Size, Timing, Told, size};
use crate::bench::journal::{Device, End, Identity, Record, Regime, Taken};
use crate::bench::points::{self, Key, Point};
use crate::bench::{
    BenchEvent, BenchState, DeviceHere, Holding, KernelReport, PathDtype, PathReport, PathSamples,
    Spread,
};
use crate::cli::bench::{points_of_model, write_head, write_row as write_path};
use crate::cli::exit::CliError;
use crate::cli::identity;
use crate::cli::options::Options;
use crate::sink::text::clean;

/// What one device did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GpuResult {
    #[serde(flatten)]
    pub(super) here: DeviceHere,
    /// How clocks stood.
    pub(super) regime: Burst,
    /// Version of the driver; null where NVML does not tell, or a stand-in computes.
    pub(super) driver: Option<String>,
    /// What tuning has to say about it.
    pub(super) tuned: Tuned,
    /// What was held of it; null when it was not taken.
    pub(super) holding: Option<Holding>,
    /// One report for each kernel and size.
    pub(super) kernels: Vec<KernelReport>,
    /// The micro decoder: the small model, judged, and the large one, timed.
    pub(super) paths: Vec<PathReport>,
    /// Raw samples of the large model.
    pub(super) samples: Vec<PathSamples>,
    /// What failed, each in a sentence.
    pub(super) troubles: Vec<String>,
    /// Why it was not used, or not to the end.
    pub(super) paused: Option<String>,
    pub(super) interrupted: bool,
}

/// Times the kernels a person means on the devices a person means, or says why there is no device.
pub(in crate::cli) fn measure(options: &Options, exe: &Path) -> Result<Vec<GpuResult>, CliError> {
    let kernels = meant(options)?;
    let devices = chosen(options, exe)?;
    if let Some(variant) = &options.gpu.variant {
        devices.iter().try_for_each(|here| demand_variant(here, &kernels, variant))?;
    }
    let mut results = Vec::new();
    for here in devices {
        let result = time(options, exe, here, &kernels)?;
        let interrupted = result.interrupted;
        results.push(result);
        if interrupted {
            break;
        }
    }
    Ok(results)
}

/// The kernels asked for.
pub(super) fn meant(options: &Options) -> Result<Vec<&'static GpuKernel>, CliError> {
    let kernels: Vec<_> = kernels().filter(|kernel| is_meant(options, kernel)).collect();
    if kernels.is_empty() {
        let why = format!("no kernel is called {} in these formats", options.gpu.kernels);
        return Err(CliError::Usage(why));
    }
    if options.gpu.variant.is_some() && options.gpu.kernels == Globs::default() {
        let why = "--variant goes with --kernel: each kernel has variants of its own";
        return Err(CliError::Usage(why.to_owned()));
    }
    Ok(kernels)
}

/// Fails where a kernel has no variant of this name on a device, and says which it has.
fn demand_variant(here: &DeviceHere, kernels: &[&GpuKernel], name: &str) -> Result<(), CliError> {
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
pub(super) fn regime_of(options: &Options) -> Burst {
    if options.gpu.full { Burst::Sustained } else { Burst::Pulse }
}

/// Whether name and format of a kernel were asked for. All four formats of the decoder mean every format there is.
fn is_meant(options: &Options, kernel: &GpuKernel) -> bool {
    let dtypes = &options.bench.dtypes;
    let every = dtypes.len() == 4;
    options.gpu.kernels.matches(kernel.id)
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
) -> Result<GpuResult, CliError> {
    let frame = frame_of(options, &here)?;
    let hindrance = hindrance_in(options, &here, frame.as_ref());
    let mut result = GpuResult {
        regime: regime_of(options),
        driver: frame.as_ref().and_then(|frame| frame.driver.versions.driver.last().cloned()),
        tuned: Tuned::of(&options.env, &here, frame.as_ref()),
        holding: None,
        kernels: Vec::new(),
        paths: Vec::new(),
        samples: Vec::new(),
        troubles: Vec::new(),
        paused: hindrance.map(|why| format!("{why}; --anyway measures")),
        interrupted: false,
        here,
    };
    if result.paused.is_some() {
        return Ok(result);
    }
    let jobs = jobs(options, &result, kernels);
    let uuid = result.here.uuid.clone();
    let limits = Limits::command(options.gpu.patience);
    let progress = Progress::new(jobs.len());
    let mut done = 0;
    let interrupted = talk(&Session { exe, uuid: Some(&uuid), limits }, jobs, |told| {
        if let Told::Doing(job) = &told {
            progress.step(done, &job.to_string());
            done += 1;
        }
        result.hear(told);
    })?;
    progress.end();
    result.interrupted = interrupted;
    Ok(result)
}

/// The device is taken, the decoder runs unless kernels of its own were asked for, and then every kernel is timed.
fn jobs(options: &Options, result: &GpuResult, kernels: &[&GpuKernel]) -> Vec<Request> {
    let regime = result.regime;
    let (beside_others, picks) = (options.gpu.anyway, result.tuned.picks.clone());
    let hold = Hold { arena_bytes: None, regime, beside_others, picks };
    let shape = options.gpu.shape;
    let job = |kernel: &&GpuKernel| {
        let (kernels, variant) = (Globs::from(kernel.id), options.gpu.variant.clone());
        Request::Kernel(Timing { kernels, shape, variant, regime })
    };
    let mut jobs = vec![Request::Hold(hold)];
    if shape.is_none() && options.gpu.kernels == Globs::default() {
        // The large model would take a stand-in hours.
        let models =
            if result.here.device.simulated { &[Size::M0][..] } else { &[Size::M0, Size::M1] };
        for (dtype, model) in
            options.bench.dtypes.iter().flat_map(|d| models.iter().map(|m| (*d, *m)))
        {
            let profile = match model {
                Size::M0 => options.bench.profile.clone(),
                Size::M1 => "clean".to_owned(),
            };
            jobs.push(Request::Decode { dtype, profile, model });
        }
    }
    jobs.extend(kernels.iter().map(job));
    jobs
}

impl GpuResult {
    /// The paths that say whether they are right.
    pub(in crate::cli) fn judged(&self) -> impl Iterator<Item = &PathReport> {
        self.paths.iter().filter(|path| !path.expected_tokens.is_empty())
    }

    /// One row for each format: right or wrong by the small model, how fast by the large one.
    fn rows(&self) -> Vec<PathReport> {
        let (judged, timed): (Vec<_>, Vec<_>) =
            self.paths.iter().partition(|path| !path.expected_tokens.is_empty());
        let with_speed = |path: &PathReport| {
            let speed = timed.iter().find(|speed| speed.dtype == path.dtype);
            speed.map_or_else(
                || path.clone(),
                |speed| PathReport {
                    decode_tokens_per_s: speed.decode_tokens_per_s,
                    decode_mad_tokens_per_s: speed.decode_mad_tokens_per_s,
                    prefill_gflop_per_s: speed.prefill_gflop_per_s,
                    gb_per_s: speed.gb_per_s,
                    cache_resident: speed.cache_resident,
                    ..path.clone()
                },
            )
        };
        judged.into_iter().map(with_speed).collect()
    }

    fn hear(&mut self, told: Told) {
        match told {
            Told::Said(event) => match *event {
                BenchEvent::Holding(holding) => self.holding = Some(holding),
                BenchEvent::State(BenchState::Paused { why }) => self.paused = Some(why),
                BenchEvent::Kernel(report) => self.kernels.push(*report),
                BenchEvent::Report(report) => self.paths.push(*report),
                BenchEvent::Samples(samples) => self.samples.push(samples),
                BenchEvent::Failed(failure) if failure.error != MachineError::Stopped => {
                    self.fail(format!("{}: {}", failure.what, reason(&failure)));
                }
                _ => {}
            },
            Told::Died(death) => {
                self.fail(death.sentence);
                if death.next == Next::GivenUp {
                    self.paused = Some(GIVEN_UP.to_owned());
                }
            }
            Told::Doing(_) | Told::Idle => {}
        }
    }

    /// What a child said before it died is said once.
    fn fail(&mut self, why: String) {
        if !self.troubles.contains(&why) {
            self.troubles.push(why);
        }
    }

    /// Whether everything was measured that was asked.
    pub(in crate::cli) fn is_complete(&self) -> bool {
        self.troubles.is_empty() && self.paused.is_none() && !self.interrupted
    }

    /// Who was measured and how, for a journal.
    fn identity(&self) -> Identity {
        let device = &self.here.device;
        let mut run = identity::here(std::env::args().collect());
        run.regime = match self.regime {
            Burst::Pulse => Regime::Pulse,
            Burst::Sustained => Regime::Sustained,
        };
        run.driver.clone_from(&self.driver);
        run.cuda =
            Some(format!("{}.{}", device.driver_cuda / 1000, device.driver_cuda % 1000 / 10));
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
    pub(in crate::cli) fn records(&self) -> Vec<Record> {
        let mut points: Vec<Point> =
            self.kernels.iter().filter_map(|report| point(report, &self.here)).collect();
        let device = Some(self.here.device.name.as_str());
        let decoder = self.samples.iter().flat_map(|path| points_of_model("m1", path, device));
        points.extend(decoder);
        if points.is_empty() {
            return Vec::new();
        }
        let samples = points.iter().map(|point| point.t_ns.len() as u64).sum();
        let at_ms = Some(identity::now_ms());
        let taken = |point| Record::Point(Box::new(Taken { at_ms, point, window: None }));
        let mut records = vec![Record::Run(Box::new(self.identity()))];
        records.extend(points.into_iter().map(taken));
        records.push(Record::End(End { at_ms: identity::now_ms(), samples, exit: None }));
        records
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

/// What stands behind the device's name.
pub(super) fn regime_words(regime: Burst) -> &'static str {
    match regime {
        Burst::Pulse => "in pulses: clocks may be on their way up",
        Burst::Sustained => "warm",
    }
}

/// A table of what a device did. Where a stand-in computed it has no speeds.
pub(in crate::cli) fn write_table(result: &GpuResult, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n{} · {}", heading(&result.here), regime_words(result.regime))?;
    if let Some(context) = result.holding.as_ref().and_then(|holding| holding.context_bytes) {
        writeln!(out, "context {} MiB", context >> 20)?;
    }
    if let Some(line) = result.tuned.line() {
        writeln!(out, "{}", clean(&line, false))?;
    }
    writeln!(out)?;
    let rows = result.rows();
    if !rows.is_empty() {
        write_head(out)?;
        rows.iter().try_for_each(|row| write_path(row, out))?;
        writeln!(out)?;
    }
    write_kernels(result, out)?;
    result.troubles.iter().try_for_each(|why| writeln!(out, "{why}"))?;
    match &result.paused {
        Some(why) => writeln!(out, "ended early: {why}"),
        None if result.interrupted => writeln!(out, "ended early: interrupted"),
        None => Ok(()),
    }
}

fn write_kernels(result: &GpuResult, out: &mut dyn Write) -> io::Result<()> {
    if result.kernels.is_empty() {
        return Ok(());
    }
    let width = result.kernels.iter().map(|row| row.kernel.len()).max().unwrap_or(0).max(6);
    let names = result.kernels.iter().filter_map(|row| row.variant.as_ref());
    // Where every kernel has one way only there is nothing to tell apart.
    let variant = names.map(|name| name.len().max(7) + 1).max().unwrap_or(0);
    let head = if variant > 0 { "variant" } else { "" };
    write!(out, "{:<width$}  {:<22} {head:<variant$}{:>10} ", "kernel", "size", "µs")?;
    writeln!(out, "{:>6} {:>8} {:>8} {:>5}  by", "±", "GB/s", "TFLOP/s", "MHz")?;
    let missing: Vec<_> = result.kernels.iter().filter(|report| is_absent(report)).collect();
    for report in result.kernels.iter().filter(|report| !is_absent(report)) {
        write_row(report, (width, variant), out)?;
    }
    writeln!(out)?;
    for report in missing {
        writeln!(out, "{}: {}", report.kernel, route_text(&report.route))?;
    }
    if result.kernels.iter().any(|report| report.l2_resident && !report.samples_ns.is_empty()) {
        writeln!(out, "* fits the second-level cache: no figure of the memory")?;
    }
    Ok(())
}

fn is_absent(report: &KernelReport) -> bool {
    matches!(report.route, Route::Absent { .. })
}

fn write_row(
    report: &KernelReport,
    (width, variant): (usize, usize),
    out: &mut dyn Write,
) -> io::Result<()> {
    let spread = Spread::of(report.samples_ns.iter().copied());
    let figure = |value: Option<f64>, digits: usize| {
        value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"))
    };
    let rate = |amount: f64, unit: f64| {
        spread.filter(|_| amount > 0.0).map(|spread| amount / spread.median * 1e9 / unit)
    };
    let star = if report.l2_resident { "*" } else { " " };
    let bytes = figure(rate(report.bytes, 1e9), 1) + star;
    let flops = match report.limiter {
        Limiter::Arithmetic => figure(rate(report.flops, 1e12), 2),
        Limiter::Memory | Limiter::Latency => "–".to_owned(),
    };
    let time = figure(spread.map(|spread| spread.median / 1e3), 2);
    let mad = figure(spread.map(|spread| spread.mad / 1e3), 2);
    let mhz = figure(report.sm_mhz.filter(|_| spread.is_some()), 0);
    let name = report.variant.as_deref().unwrap_or_default();
    write!(out, "{:<width$}  {:<22} ", report.kernel, size(report.shape))?;
    write!(out, "{name:<variant$}{time:>10} ")?;
    writeln!(out, "{mad:>6} {bytes:>9}{flops:>8} {mhz:>5}  {}", route_text(&report.route))
}

#[cfg(test)]
mod tests {
    use warpscope_kernels::Sm;
    use warpscope_kernels::gpu::{DeviceFacts, Variant};

    use super::*;

    fn result(samples_ns: Vec<f64>) -> GpuResult {
        let device = DeviceFacts {
            name: "T4".to_owned(),
            sm: Sm::new(7, 5),
            sms: 40,
            shared_per_block: 48 << 10,
            shared_per_block_optin: 64 << 10,
            l2_bytes: 4 << 20,
            memory_bytes: 15 << 30,
            driver_cuda: 12_080,
            simulated: samples_ns.is_empty(),
            picks: warpscope_kernels::gpu::Picks::default(),
        };
        let kernel = kernels().next().expect("there are kernels");
        let report = KernelReport {
            kernel: kernel.id.to_owned(),
            route: Route::Native { by: "fma".to_owned() },
            shape: Shape { m: 1, n: 64, k: 32, ..Shape::default() },
            variant: None,
            samples_ns,
            bytes: 3e5,
            flops: 8e8,
            limiter: Limiter::Arithmetic,
            l2_resident: true,
            output_hash: Some("00".to_owned()),
            image: "ab".to_owned(),
            sm_mhz: Some(1590.0),
        };
        GpuResult {
            here: DeviceHere { uuid: "GPU-1".to_owned(), device },
            regime: Burst::Pulse,
            driver: Some("570.124.06".to_owned()),
            tuned: Tuned::default(),
            holding: None,
            kernels: vec![report],
            paths: Vec::new(),
            samples: Vec::new(),
            troubles: Vec::new(),
            paused: None,
            interrupted: false,
        }
    }

    fn table(result: &GpuResult) -> String {
        let mut out = Vec::new();
        write_table(result, &mut out).expect("writes");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn rates_are_work_over_the_median_time() {
        let text = table(&result(vec![1000.0, 2000.0, 4000.0]));
        let row = text.lines().find(|line| line.contains("1×64×32")).expect("a row");
        let words: Vec<_> = row.split_whitespace().skip(2).take(5).collect();
        assert_eq!(words, ["2.00", "1.00", "150.0*", "400.00", "1590"], "{text}");
    }

    #[test]
    fn a_stand_in_has_no_speeds_and_no_journal() {
        let result = result(Vec::new());
        let text = table(&result);
        assert!(text.contains("simulated: no speeds"), "{text}");
        let row = text.lines().find(|line| line.contains("1×64×32")).expect("a row");
        assert!(!row.contains("MHz") && row.matches('–').count() == 5, "{row}");
        assert!(result.records().is_empty());
    }

    #[test]
    fn a_journal_names_the_device_and_keeps_every_sample() {
        let records = result(vec![1000.0, 2000.0]).records();
        let [Record::Run(run), Record::Point(taken), Record::End(end)] = &records[..] else {
            panic!("{records:?}")
        };
        assert_eq!((run.regime, run.cuda.as_deref()), (Regime::Pulse, Some("12.8")));
        assert_eq!(run.driver.as_deref(), Some("570.124.06"));
        assert_eq!(run.devices[0].uuid.as_deref(), Some("GPU-1"));
        assert_eq!(taken.point.t_ns, [1000.0, 2000.0]);
        assert_eq!(taken.point.key.shape.to_string(), "k=32 m=1 n=64");
        assert_eq!(end.samples, 2);
    }

    #[test]
    fn variants_stand_in_a_column_of_their_own_and_are_series_of_their_own() {
        let mut result = result(vec![1000.0, 2000.0]);
        assert!(!table(&result).contains("variant"), "blank where nothing has several ways");
        result.kernels[0].variant = Some("128x256x32s3".to_owned());
        let mut plain = result.kernels[0].clone();
        plain.variant = None;
        result.kernels.push(plain);
        let text = table(&result);
        let words = |place: usize| -> Vec<&str> {
            let rows: Vec<_> = text.lines().filter(|line| line.contains("1×64×32")).collect();
            rows[place].split_whitespace().skip(2).take(2).collect()
        };
        assert_eq!(words(0), ["128x256x32s3", "1.50"], "{text}");
        assert_eq!(words(1), ["1.50", "0.50"], "{text}");
        let records = result.records();
        let config = |record: &Record| match record {
            Record::Point(taken) => Some(taken.point.config.clone()),
            _ => None,
        };
        let configs: Vec<_> = records.iter().filter_map(config).collect();
        assert_eq!(configs, [Some("variant=128x256x32s3".to_owned()), None]);
    }

    #[test]
    fn a_variant_that_is_none_is_answered_with_those_there_are() {
        let here = result(vec![1.0]).here;
        let one = kernels().next().expect("there are kernels");
        let with = |variants| GpuKernel {
            id: "gemm.f16",
            title: one.title,
            family: one.family,
            dtype: one.dtype,
            route: one.route,
            cases: one.cases,
            works: one.works,
            work: one.work,
            variants,
        };
        let several = with(|_| {
            vec![
                Variant { name: "small", what: "64 columns" },
                Variant { name: "large", what: "256 columns" },
            ]
        });
        assert!(demand_variant(&here, &[&several], "large").is_ok());
        let plain = with(warpscope_kernels::gpu::only_one);
        for (kernel, want) in [
            (
                &several,
                "gemm.f16 has no variant huge on T4; it has small (64 columns), large (256 columns)",
            ),
            (&plain, "gemm.f16 is computed in one way only on T4"),
        ] {
            let error = demand_variant(&here, &[kernel], "huge").expect_err("is none");
            assert_eq!(error.to_string(), want);
        }
    }
}
