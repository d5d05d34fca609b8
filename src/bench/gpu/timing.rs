//! Times of a kernel's work.
//!
//! A sample is one replay of a graph that holds as many repetitions as make it long against the resolution of the device's
//! events (about 0.5 µs). Operands rotate by the kernel's own plan. Where a stand-in computes there are no samples: what comes
//! out is still hashed, twice, for equal inputs must give equal outputs.

use std::time::{Duration, Instant};

use warpscope_kernels::gpu::family::{kernels, mem};
use warpscope_kernels::gpu::{
    BufferId, Content, DeviceFacts, GpuKernel, GraphId, Launch, Limiter, Machine, MachineError,
    Nanoseconds, Route, Shape, Slot, Work,
};

use super::held::Held;
use super::job::{On, Say, Trouble, note};
use super::request::{Burst, Timing};
use crate::bench::{BenchEvent, KernelReport};

/// Shortest sample.
const SAMPLE_NS: Nanoseconds = 200e3;
/// Longest repetition of a pulse.
const PULSE_NS: Nanoseconds = 2e6;
/// Samples of a pulse, and the fewest of any measurement: enough for an interval of the median.
const PULSE_SAMPLES: usize = 9;
/// Samples of a long measurement, and the time after which fewer must do.
const SAMPLES: usize = 1000;
const TIME: Duration = Duration::from_secs(10);
/// Least and most time to warm up, the first time and later.
const WARM_FIRST: (Duration, Duration) = (Duration::from_secs(3), Duration::from_secs(10));
const WARM_AGAIN: (Duration, Duration) = (Duration::from_millis(300), Duration::from_millis(300));
/// Change of the clock in a second that counts as none, as a share.
const STEADY: f64 = 0.005;
/// Most kernels of one graph.
const NODES: usize = 1024;
/// Largest work that a stand-in does, operations and bytes.
const SIMULATED: f64 = 3e7;
/// Bytes written at once.
const CHUNK: usize = 4 << 20;

/// Times kernels at one size, or at their own, and says what came out.
pub(super) fn run(on: &mut On<'_>, timing: &Timing, say: &mut Say<'_>) -> Result<(), Trouble> {
    for kernel in kernels().filter(|kernel| timing.kernels.matches(kernel.id)) {
        let facts = on.machine.facts().clone();
        let route = (kernel.route)(&facts);
        if matches!(route, Route::Absent { .. }) {
            say(BenchEvent::Kernel(Box::new(absent(kernel, route))))?;
            continue;
        }
        let name = |shape| format!("timing of {} {}", kernel.id, size(shape));
        let works = match timing.shape.map(|shape| (kernel.work)(&facts, shape)) {
            None => (kernel.works)(&facts, on.machine.arena().1),
            Some(Ok(work)) => vec![work],
            Some(Err(why)) => {
                let shape = timing.shape.unwrap_or_default();
                note(on, say, name(shape), MachineError::Refused { why })?;
                continue;
            }
        };
        for work in works.iter().filter(|work| is_worth_while(&facts, work)) {
            match measure(on, kernel, work, timing.regime) {
                Ok(Some(report)) => say(BenchEvent::Kernel(Box::new(report)))?,
                // Sizes grow, and the others would take longer still.
                Ok(None) => break,
                Err(error) => note(on, say, name(work.shape), error)?,
            }
        }
    }
    Ok(())
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
fn is_worth_while(facts: &DeviceFacts, work: &Work) -> bool {
    let bytes: usize = work.buffers.iter().map(Content::bytes).sum();
    !facts.simulated || (work.flops <= SIMULATED && bytes as f64 <= SIMULATED)
}

fn absent(kernel: &GpuKernel, route: Route) -> KernelReport {
    KernelReport {
        kernel: kernel.id.to_owned(),
        route,
        shape: Shape::default(),
        samples_ns: Vec::new(),
        bytes: 0.0,
        flops: 0.0,
        limiter: Limiter::Arithmetic,
        l2_resident: false,
        output_hash: None,
        image: String::new(),
        sm_mhz: None,
    }
}

/// One work; nothing where it is too long for a pulse. All memory is given back.
fn measure(
    on: &mut On<'_>,
    kernel: &GpuKernel,
    work: &Work,
    regime: Burst,
) -> Result<Option<KernelReport>, MachineError> {
    let mut taken = Vec::new();
    let result = in_memory(on, work, regime, &mut taken);
    let freed: Result<Vec<()>, _> =
        taken.into_iter().map(|buffer| on.machine.free(buffer)).collect();
    let Some((samples_ns, hash)) = result.and_then(|out| freed.map(|_| out))? else {
        return Ok(None);
    };
    let facts = on.machine.facts();
    let bytes: usize = work.buffers.iter().map(Content::bytes).sum();
    let images = on.machine.images();
    let image = images.into_iter().find(|image| image.family == kernel.family);
    Ok(Some(KernelReport {
        kernel: kernel.id.to_owned(),
        route: (kernel.route)(facts),
        shape: work.shape,
        samples_ns,
        bytes: work.bytes,
        flops: work.flops,
        limiter: work.limiter,
        l2_resident: (bytes as u64) < 2 * facts.l2_bytes,
        output_hash: Some(format!("{hash:016x}")),
        image: image.map(|image| image.sha256).unwrap_or_default(),
        sm_mhz: (on.clock)(),
    }))
}

type Measured = (Vec<Nanoseconds>, u64);

fn in_memory(
    on: &mut On<'_>,
    work: &Work,
    regime: Burst,
    taken: &mut Vec<BufferId>,
) -> Result<Option<Measured>, MachineError> {
    let mut take = |on: &mut On<'_>, bytes: usize| -> Result<Slot, MachineError> {
        let buffer = on.machine.allocate(bytes.max(1) as u64)?;
        taken.push(buffer);
        Ok(buffer.into())
    };
    let sizes = work.buffers.iter().map(Content::bytes);
    let slots = sizes.map(|bytes| take(on, bytes)).collect::<Result<Vec<_>, _>>()?;
    let digest = take(on, mem::HASH_BYTES)?;
    let launches = (work.plan)(&slots);
    let mut once = || -> Result<u64, MachineError> {
        fill(on.machine, &work.buffers, &slots)?;
        on.machine.run(&launches)?;
        hash(on.machine, &work.buffers, &slots, digest)
    };
    let (hash, again) = (once()?, once()?);
    if hash != again {
        let what = "two runs on the same inputs differ".to_owned();
        return Err(MachineError::Fault { what });
    }
    let samples = samples(on, &launches, regime)?;
    Ok(samples.map(|samples| (samples, hash)))
}

pub(super) fn refused(why: String) -> MachineError {
    MachineError::Refused { why }
}

/// Writes what buffers hold.
pub(super) fn fill(
    machine: &mut dyn Machine,
    all: &[Content],
    slots: &[Slot],
) -> Result<(), MachineError> {
    for (content, slot) in all.iter().zip(slots) {
        match content {
            Content::Bytes(bytes) => machine.write(*slot, bytes)?,
            Content::Zero(bytes) => repeat(machine, *slot, 0, *bytes)?,
            Content::Poison(bytes) => repeat(machine, *slot, 0xff, *bytes)?,
            Content::Noise { element, count, seed } => {
                let count = u32::try_from(*count).map_err(|_| refused("too large".to_owned()))?;
                let launch = mem::noise(machine.facts(), *slot, *element, count, *seed);
                machine.run(&[launch.map_err(refused)?])?;
            }
        }
    }
    Ok(())
}

fn repeat(machine: &mut dyn Machine, to: Slot, byte: u8, count: usize) -> Result<(), MachineError> {
    let chunk = vec![byte; count.min(CHUNK)];
    let starts = (0..count).step_by(CHUNK);
    starts
        .map(|at| (at, CHUNK.min(count - at)))
        .try_for_each(|(at, bytes)| machine.write(to.plus(at as u64), &chunk[..bytes]))
}

/// One number of everything that kernels write.
fn hash(
    machine: &mut dyn Machine,
    all: &[Content],
    slots: &[Slot],
    digest: Slot,
) -> Result<u64, MachineError> {
    let mut digests = Vec::new();
    for (content, slot) in all.iter().zip(slots) {
        if !matches!(content, Content::Zero(_) | Content::Poison(_)) {
            continue;
        }
        let bytes = u32::try_from(content.bytes()).map_err(|_| refused("too large".to_owned()))?;
        let launches = mem::hash(machine.facts(), *slot, bytes, digest).map_err(refused)?;
        machine.run(&launches)?;
        let mut word = [0; mem::HASH_BYTES];
        machine.read(digest, &mut word)?;
        digests.extend(word);
    }
    Ok(mem::hash_of(&digests))
}

/// Times of one repetition each; none where time means nothing, nothing where one is too long for a pulse.
fn samples(
    on: &mut On<'_>,
    launches: &[Launch],
    regime: Burst,
) -> Result<Option<Vec<Nanoseconds>>, MachineError> {
    let once = on.machine.record(launches)?;
    on.machine.replay(once, 1)?;
    let Some(cost) = on.machine.replay(once, 1)? else {
        on.machine.forget(once)?;
        return Ok(Some(Vec::new()));
    };
    if regime == Burst::Pulse && cost > PULSE_NS {
        on.machine.forget(once)?;
        return Ok(None);
    }
    let times = repetitions(cost, launches.len());
    let graph = if times == 1 {
        once
    } else {
        on.machine.forget(once)?;
        let all = std::iter::repeat_n(launches, times).flatten().cloned();
        on.machine.record(&all.collect::<Vec<_>>())?
    };
    let samples = match regime {
        Burst::Pulse => pulse(on.machine, graph),
        Burst::Sustained => warm_up(on, graph).and_then(|()| long(on.machine, graph)),
    };
    on.machine.forget(graph)?;
    let one = |ns: Nanoseconds| ns / times as f64;
    samples.map(|samples| Some(samples.into_iter().map(one).collect()))
}

/// Repetitions in a graph that make it long against what events resolve.
pub(super) fn repetitions(cost: Nanoseconds, launches: usize) -> usize {
    let enough = (SAMPLE_NS / cost.max(1.0)).ceil() as usize;
    enough.clamp(1, (NODES / launches.max(1)).max(1))
}

fn pulse(machine: &mut dyn Machine, graph: GraphId) -> Result<Vec<Nanoseconds>, MachineError> {
    machine.replay(graph, 1)?;
    let all = (0..PULSE_SAMPLES).map(|_| machine.replay(graph, 1));
    Ok(all.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

fn long(machine: &mut dyn Machine, graph: GraphId) -> Result<Vec<Nanoseconds>, MachineError> {
    let start = Instant::now();
    let mut samples = Vec::new();
    while samples.len() < PULSE_SAMPLES || samples.len() < SAMPLES && start.elapsed() < TIME {
        samples.extend(machine.replay(graph, 1)?);
    }
    Ok(samples)
}

/// Computes until the clock of the multiprocessors stands still.
pub(super) fn warm_up(on: &mut On<'_>, graph: GraphId) -> Result<(), MachineError> {
    const LOOK: Duration = Duration::from_secs(1);
    let (least, most) = if *on.warm { WARM_AGAIN } else { WARM_FIRST };
    let start = Instant::now();
    let (mut looked, mut before) = (start, (on.clock)());
    while start.elapsed() < most {
        on.machine.replay(graph, 1)?;
        if looked.elapsed() < LOOK && start.elapsed() < least {
            continue;
        }
        let now = (on.clock)();
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

/// Rates of a kernel's fastest sample.
pub(crate) struct Rate {
    /// Bytes moved.
    pub(crate) bytes_per_s: f64,
    /// Operations done.
    pub(crate) flop_per_s: f64,
}

/// The rates of a kernel at its largest size in so many bytes; none where the device does not do it natively, or has no time.
pub(crate) fn fastest(
    machine: &mut dyn Held,
    id: &str,
    arena: u64,
) -> Result<Option<Rate>, MachineError> {
    let facts = machine.facts().clone();
    let Some(kernel) = kernels().find(|kernel| kernel.id == id) else { return Ok(None) };
    if !matches!((kernel.route)(&facts), Route::Native { .. }) {
        return Ok(None);
    }
    let Some(work) = (kernel.works)(&facts, arena).pop() else { return Ok(None) };
    let on = &mut On { uuid: "", machine, clock: &|| None, warm: &mut true };
    let report = measure(on, kernel, &work, Burst::Pulse)?;
    let least = report.and_then(|report| report.samples_ns.into_iter().reduce(f64::min));
    let rate =
        |ns: f64| Rate { bytes_per_s: work.bytes / ns * 1e9, flop_per_s: work.flops / ns * 1e9 };
    Ok(least.map(rate))
}
