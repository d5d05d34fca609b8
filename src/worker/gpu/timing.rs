//! Times of a kernel's work.
//!
//! A sample is one replay of a graph that holds as many repetitions as make it long against the resolution of the device's
//! events (about 0.5 µs). Operands rotate by the kernel's own plan. Where a fake device computes there are no samples: what comes
//! out is still hashed, twice, for equal inputs must give equal outputs.

use std::time::{Duration, Instant};

use warpscope_kernels::gpu::family::{kernels, mem};
use warpscope_kernels::gpu::{
    BufferId, Content, DeviceFacts, GpuKernel, GraphId, Launch, Limiter, Machine, MachineError,
    Nanoseconds, Route, Sampled, Shape, Work,
};

use super::job::{On, note};
use super::operands;
use super::session::DeviceSession;
use super::stopping::Stopping;
use super::strain::StrainWatch;
use crate::runs::statistics::Spread;
use crate::worker::child::{Emit, Trouble};
use crate::worker::protocol::{
    Convergence, KernelReport, SampleClocks, SkippedWork, Strain, Timing, TimingMode, WorkerEvent,
};

/// Shortest sample of a burst, and of a measurement that nobody is disturbed by: what is left of the cost of submitting and of the
/// resolution of events is below 0.1% of the latter.
const BURST_SAMPLE_NS: Nanoseconds = 200e3;
const SAMPLE_NS: Nanoseconds = 2e6;
/// Time on the device before the first sample of a job: an idle GPU runs at a fraction of its clock, and takes tens of milliseconds of
/// work to reach what it then holds.
pub(super) const RAMP_NS: Nanoseconds = 50e6;
/// Longest repetition of a burst.
const PULSE_NS: Nanoseconds = 2e6;
/// Samples of a burst: enough for an interval of the median.
const PULSE_SAMPLES: usize = 9;
/// Least and most time to warm up, the first time and later.
const WARM_FIRST: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(10));
const WARM_AGAIN: (Duration, Duration) = (Duration::from_millis(300), Duration::from_millis(300));
/// Change of the clock in a second that counts as none, as a share.
const STEADY: f64 = 0.005;
/// Most kernels of one graph.
const NODES: usize = 1024;
/// Why nothing is told of a work that takes longer.
pub(super) const TOO_LONG: &str = "one run takes longer than a burst may; --full times it";
/// Largest work that a fake device does, operations and bytes.
const SIMULATED: f64 = 3e7;

/// Times kernels at one size, or at their own, and says what came out.
pub(super) fn run(on: &mut On<'_>, timing: &Timing, emit: &mut Emit<'_>) -> Result<(), Trouble> {
    let mut wanted = kernels().filter(|kernel| timing.kernels.matches(kernel.id));
    wanted.try_for_each(|kernel| time(on, kernel, timing, emit))
}

fn time(
    on: &mut On<'_>,
    kernel: &GpuKernel,
    timing: &Timing,
    emit: &mut Emit<'_>,
) -> Result<(), Trouble> {
    let facts = match &timing.variant {
        Some(variant) => on.machine.facts().with_variant(kernel.id, variant),
        None => on.machine.facts().clone(),
    };
    let route = (kernel.route)(&facts);
    if matches!(route, Route::Absent { .. }) {
        return Ok(emit(WorkerEvent::Kernel(Box::new(absent(kernel, route))))?);
    }
    let name = |shape| format!("timing of {} {}", kernel.id, size(shape));
    let works = match works(kernel, timing, &facts, on.machine.pool().1) {
        Ok(works) => works,
        Err(why) => {
            let shape = timing.shape.unwrap_or_default();
            return note(on, emit, name(shape), MachineError::Refused { why });
        }
    };
    let mut too_long = false;
    for work in &works {
        // Sizes grow, and the others would take longer still.
        let left_out = if too_long { Some(TOO_LONG.to_owned()) } else { too_large(&facts, work) };
        if let Some(why) = left_out {
            emit(WorkerEvent::Skipped(skipped(kernel, work.shape, why)))?;
            continue;
        }
        let done = match other_than(work, timing.variant.as_deref()) {
            Some(why) => Err(MachineError::Refused { why }),
            None => measure(on, kernel, work, timing.mode),
        };
        match done {
            Ok(Some(report)) => emit(WorkerEvent::Kernel(Box::new(report)))?,
            Ok(None) if timing.shape.is_none() => {
                too_long = true;
                emit(WorkerEvent::Skipped(skipped(kernel, work.shape, TOO_LONG.to_owned())))?;
            }
            Ok(None) => {
                let why = TOO_LONG.to_owned();
                note(on, emit, name(work.shape), MachineError::Refused { why })?;
            }
            Err(error) => note(on, emit, name(work.shape), error)?,
        }
    }
    Ok(())
}

/// The works at the size asked for, or at the kernel's own.
pub(super) fn works(
    kernel: &GpuKernel,
    timing: &Timing,
    facts: &DeviceFacts,
    arena: u64,
) -> Result<Vec<Work>, String> {
    match timing.shape {
        Some(shape) => Ok(vec![(kernel.work)(facts, shape)?]),
        None => Ok((kernel.works)(facts, arena)),
    }
}

/// Why a work is not of the variant that was asked for.
fn other_than(work: &Work, variant: Option<&str>) -> Option<String> {
    let asked = variant.filter(|asked| *asked != work.variant)?;
    Some(match work.variant {
        "" => format!("variant {asked} does not take this size"),
        other => format!("variant {asked} does not take this size; {other} would run"),
    })
}

/// A size for a sentence: what a kernel does not have is left out.
pub fn size(shape: Shape) -> String {
    let Shape { m, n, k, group, context } = shape;
    let sizes: Vec<String> =
        [m, n, k].iter().filter(|size| **size > 0).map(u32::to_string).collect();
    let named = [("group", group), ("context", context)];
    let named = named.iter().filter(|row| row.1 > 0).map(|row| format!(" {} {}", row.0, row.1));
    sizes.join("×") + &named.collect::<String>()
}

/// An interpreter takes minutes for what a device does in a moment.
pub(super) fn is_worth_while(facts: &DeviceFacts, work: &Work) -> bool {
    let bytes: usize = work.buffers.iter().map(Content::bytes).sum();
    !facts.simulated || (work.flops <= SIMULATED && bytes as f64 <= SIMULATED)
}

fn too_large(facts: &DeviceFacts, work: &Work) -> Option<String> {
    let millions = SIMULATED / 1e6;
    (!is_worth_while(facts, work)).then(|| {
        format!(
            "more than {millions:.0} million operations or bytes would take the interpreter of a fake device minutes"
        )
    })
}

fn skipped(kernel: &GpuKernel, shape: Shape, why: String) -> SkippedWork {
    SkippedWork { kernel: kernel.id.to_owned(), shape, why }
}

fn absent(kernel: &GpuKernel, route: Route) -> KernelReport {
    KernelReport {
        kernel: kernel.id.to_owned(),
        route,
        shape: Shape::default(),
        variant: None,
        samples_ns: Vec::new(),
        bytes: 0.0,
        flops: 0.0,
        limiter: Limiter::Arithmetic,
        l2_resident: false,
        output_hash: None,
        family: None,
        image: String::new(),
        sm_mhz: None,
        clocks: SampleClocks::default(),
        convergence: None,
        strain: None,
    }
}

/// One work; nothing where it is too long for a burst. All memory is given back.
fn measure(
    on: &mut On<'_>,
    kernel: &GpuKernel,
    work: &Work,
    mode: TimingMode,
) -> Result<Option<KernelReport>, MachineError> {
    let mut taken = Vec::new();
    let result = in_memory(on, work, mode, &mut taken);
    let freed = operands::give_back(on.machine, taken);
    let Some(Measured { samples, hash, ran }) = result.and_then(|out| freed.map(|()| out))? else {
        return Ok(None);
    };
    let Samples { all, convergence, strain } = samples;
    let clocks = all.iter().map(|sample| sample.mhz).collect();
    let clocks = SampleClocks::of(clocks, on.best_mhz);
    let facts = on.machine.facts();
    let bytes: usize = work.buffers.iter().map(Content::bytes).sum();
    let images = on.machine.images();
    // Variants may lie in families of their own.
    let family = if ran.contains(&kernel.family) { Some(&kernel.family) } else { ran.first() };
    let family = family.map(|family| (*family).to_owned());
    let image = images.into_iter().find(|image| family.as_ref() == Some(&image.family));
    Ok(Some(KernelReport {
        kernel: kernel.id.to_owned(),
        route: (kernel.route)(facts),
        shape: work.shape,
        variant: Some(work.variant.to_owned()).filter(|name| !name.is_empty()),
        samples_ns: all.iter().map(|sample| sample.ns).collect(),
        bytes: work.bytes,
        flops: work.flops,
        limiter: work.limiter,
        l2_resident: (bytes as u64) < 2 * facts.l2_bytes,
        output_hash: hash.map(|hash| format!("{hash:016x}")),
        family,
        image: image.map(|image| image.sha256).unwrap_or_default(),
        sm_mhz: clocks.median().or_else(on.clock),
        clocks,
        convergence,
        strain,
    }))
}

/// Samples of one repetition each, and what is told about those of a long measurement.
#[derive(Default)]
struct Samples {
    all: Vec<Sampled>,
    convergence: Option<Convergence>,
    strain: Option<Strain>,
}

struct Measured {
    samples: Samples,
    hash: Option<u64>,
    /// Families of what was launched.
    ran: Vec<&'static str>,
}

fn in_memory(
    on: &mut On<'_>,
    work: &Work,
    mode: TimingMode,
    taken: &mut Vec<BufferId>,
) -> Result<Option<Measured>, MachineError> {
    let slots = operands::take_all(on.machine, &work.buffers, taken)?;
    let digest = operands::take(on.machine, mem::HASH_BYTES, taken)?;
    let launches = (work.plan)(&slots);
    let hash = operands::twice(on.machine, (&work.buffers, &slots), &launches, digest)?;
    let samples = samples(on, &launches, mode)?;
    let ran = launches.iter().map(|launch| launch.family).collect();
    Ok(samples.map(|samples| Measured { samples, hash, ran }))
}

/// Times of one repetition each; none where time means nothing, nothing where one is too long for a burst.
fn samples(
    on: &mut On<'_>,
    launches: &[Launch],
    mode: TimingMode,
) -> Result<Option<Samples>, MachineError> {
    let sample = match record(on, launches, mode)? {
        Recorded::Sample(sample) => sample,
        Recorded::Timeless => return Ok(Some(Samples::default())),
        Recorded::TooLong => return Ok(None),
    };
    let samples = match mode {
        TimingMode::Burst => burst(on.machine, sample),
        TimingMode::Sustained => warm_up(on, sample.graph).and_then(|()| long(on, sample)),
    };
    sample.forget(on.machine)?;
    samples.map(Some)
}

/// What comes of recording a work.
pub(super) enum Recorded {
    /// It can be timed.
    Sample(Sample),
    /// Time means nothing here.
    Timeless,
    /// One repetition takes longer than a burst may.
    TooLong,
}

/// A graph that holds as many repetitions as make it long enough to be timed.
#[derive(Clone, Copy)]
pub(super) struct Sample {
    /// The graph.
    pub(super) graph: GraphId,
    repetitions: usize,
}

impl Sample {
    /// Runs it, and says how long one repetition took.
    pub(super) fn take(self, machine: &mut dyn Machine) -> Result<Option<Sampled>, MachineError> {
        let all = machine.sample(self.graph)?;
        Ok(all.map(|all| Sampled { ns: all.ns / self.repetitions as f64, ..all }))
    }

    /// Forgets its graph.
    pub(super) fn forget(self, machine: &mut dyn Machine) -> Result<(), MachineError> {
        machine.forget(self.graph)
    }
}

/// Records launches as often as one sample wants them. How many that are, and whether one is too long, is judged once the clock has risen.
pub(super) fn record(
    on: &mut On<'_>,
    launches: &[Launch],
    mode: TimingMode,
) -> Result<Recorded, MachineError> {
    let once = on.machine.record(launches)?;
    ramp_up(on, once)?;
    let machine = &mut *on.machine;
    let Some(Sampled { ns: cost, .. }) = machine.sample(once)? else {
        machine.forget(once)?;
        return Ok(Recorded::Timeless);
    };
    if mode == TimingMode::Burst && cost > PULSE_NS {
        machine.forget(once)?;
        return Ok(Recorded::TooLong);
    }
    let repetitions = repetitions(mode, cost, launches.len());
    let graph = if repetitions == 1 {
        once
    } else {
        machine.forget(once)?;
        let all = std::iter::repeat_n(launches, repetitions).flatten().cloned();
        machine.record(&all.collect::<Vec<_>>())?
    };
    Ok(Recorded::Sample(Sample { graph, repetitions }))
}

/// Repetitions in a graph that make it long against what events resolve.
pub(super) fn repetitions(mode: TimingMode, cost: Nanoseconds, launches: usize) -> usize {
    let least = match mode {
        TimingMode::Burst => BURST_SAMPLE_NS,
        TimingMode::Sustained => SAMPLE_NS,
    };
    let enough = (least / cost.max(1.0)).ceil() as usize;
    enough.clamp(1, (NODES / launches.max(1)).max(1))
}

/// Runs a graph at least once, and the first of a job until the clock had time to rise.
fn ramp_up(on: &mut On<'_>, graph: GraphId) -> Result<(), MachineError> {
    let mut total = 0.0;
    loop {
        // A run of no time at all would go on for ever.
        total += on.machine.replay(graph, 1)?.map_or(RAMP_NS, |time| time.max(1e3));
        if on.ramped || total >= RAMP_NS {
            on.ramped = true;
            return Ok(());
        }
    }
}

fn burst(machine: &mut dyn Machine, sample: Sample) -> Result<Samples, MachineError> {
    sample.take(machine)?;
    let all = (0..PULSE_SAMPLES).map(|_| sample.take(machine));
    let all = all.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    Ok(Samples { all, ..Samples::default() })
}

fn long(on: &mut On<'_>, sample: Sample) -> Result<Samples, MachineError> {
    let mut strain = StrainWatch::open(on.uuid);
    let (mut all, mut stopping) = (Vec::new(), Stopping::new(sample.repetitions));
    let stopped_by = loop {
        strain.look();
        // Time meant something when this was recorded.
        let Some(taken) = sample.take(on.machine)? else { return Ok(Samples::default()) };
        all.push(taken);
        stopping.add(taken.ns);
        if let Some(reason) = stopping.reason() {
            break reason;
        }
    };
    let convergence = Some(stopping.convergence(stopped_by));
    Ok(Samples { all, convergence, strain: Some(strain.seen) })
}

/// Computes until the clock of the multiprocessors stands still: the one that samples tell, or NVML's.
pub(super) fn warm_up(on: &mut On<'_>, graph: GraphId) -> Result<(), MachineError> {
    const LOOK: Duration = Duration::from_secs(1);
    let (least, most) = if *on.warm { WARM_AGAIN } else { WARM_FIRST };
    let start = Instant::now();
    let (mut looked, mut before) = (start, (on.clock)());
    while start.elapsed() < most {
        let sample = on.machine.sample(graph)?;
        on.ramped = true;
        if looked.elapsed() < LOOK && start.elapsed() < least {
            continue;
        }
        let now = sample.and_then(|sample| sample.mhz).or_else(on.clock);
        if start.elapsed() >= least && is_steady(before, now) {
            break;
        }
        (looked, before) = (Instant::now(), now);
    }
    *on.warm = true;
    Ok(())
}

/// Whether a clock stands still; one that nobody can read does.
fn is_steady(before: Option<f64>, now: Option<f64>) -> bool {
    before.zip(now).is_none_or(|(before, now)| (now - before).abs() <= STEADY * before)
}

/// Rates of a kernel's median sample.
pub(crate) struct Rate {
    /// Bytes moved.
    pub(crate) bytes_per_s: f64,
    /// Operations done.
    pub(crate) flop_per_s: f64,
}

/// The rates of a kernel at its largest size in so many bytes; none where the device does not do it natively, has no time, or reads all of
/// it from its second-level cache.
pub(crate) fn median_rate(
    machine: &mut dyn DeviceSession,
    id: &str,
    arena: u64,
) -> Result<Option<Rate>, MachineError> {
    let facts = machine.facts().clone();
    let Some(kernel) = kernels().find(|kernel| kernel.id == id) else { return Ok(None) };
    if !matches!((kernel.route)(&facts), Route::Native { .. }) {
        return Ok(None);
    }
    let Some(work) = (kernel.works)(&facts, arena).pop() else { return Ok(None) };
    let (warm, best_mhz) = (&mut true, &mut None);
    let on = &mut On { uuid: "", machine, clock: &|| None, warm, best_mhz, ramped: true };
    let report = measure(on, kernel, &work, TimingMode::Burst)?;
    let report = report.filter(|report| work.limiter != Limiter::Memory || !report.l2_resident);
    let median =
        report.and_then(|report| Spread::of(report.samples_ns)).map(|spread| spread.median);
    let rate =
        |ns: f64| Rate { bytes_per_s: work.bytes / ns * 1e9, flop_per_s: work.flops / ns * 1e9 };
    Ok(median.map(rate))
}
