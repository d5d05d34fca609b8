//! One side of a comparison: what is replayed for it, and how much that does.

use std::collections::BTreeMap;

use warpscope_kernels::cuda::blas::Blas;
use warpscope_kernels::gpu::decoder::{Throughput, sample_in_order, throughput};
use warpscope_kernels::gpu::family::{kernels, mem};
use warpscope_kernels::gpu::{
    BufferId, Content, GraphId, Launch, Limiter, MachineError, Route, Sampled, Shape, Slot, Work,
};

use super::super::decode::right;
use super::super::job::On;
use super::super::operands::twice;
use super::super::timing::repetitions;
use crate::worker::gpu::session::DeviceSession;
use crate::worker::precision::precision_of;
use crate::worker::protocol::{ArmReport, PathDtype, SampleClocks, TimingMode};

/// What is read for the bandwidth on a fake device, KiB.
const READ_SMALL_KIB: u32 = 64;

/// What a goal holds of a device.
#[derive(Default)]
pub(super) struct Taken {
    buffers: Vec<BufferId>,
    graphs: Vec<GraphId>,
    model: Option<Throughput>,
    /// What a library recorded needs its handles as long as it is replayed.
    pub(super) libraries: Vec<Blas>,
}

impl Taken {
    /// So many bytes more.
    pub(super) fn allocate(
        &mut self,
        machine: &mut dyn DeviceSession,
        bytes: u64,
    ) -> Result<Slot, MachineError> {
        let buffer = machine.allocate(bytes.max(1))?;
        self.buffers.push(buffer);
        Ok(buffer.into())
    }

    /// Keeps a graph until all is given back.
    pub(super) fn keep(&mut self, graph: GraphId) -> GraphId {
        self.graphs.push(graph);
        graph
    }

    /// Gives everything back; the first error counts, and stops nothing.
    pub(super) fn free(self, machine: &mut dyn DeviceSession) -> Result<(), MachineError> {
        let mut result = Ok(());
        for graph in self.graphs {
            result = result.and(machine.forget(graph));
        }
        if let Some(model) = self.model {
            result = result.and(model.free(machine));
        }
        for buffer in self.buffers {
            result = result.and(machine.free(buffer));
        }
        result
    }
}

/// Something that can be timed again and again.
pub(super) struct Arm {
    /// What it is, and in the end its times.
    pub(super) report: ArmReport,
    /// Products of one repetition.
    pub(super) products: f64,
    /// Where its weights are.
    pub(super) cache: String,
    /// What is expected to limit it.
    pub(super) limiter: Limiter,
    /// What is replayed, in order.
    pub(super) graphs: Vec<GraphId>,
    /// Repetitions in all of that.
    pub(super) times: usize,
    /// Its operands.
    pub(super) slots: Vec<Slot>,
}

impl Arm {
    /// A product of a library, as much work as the arm it is held against.
    pub(super) fn of_library(what: String, amount: f64, (graph, times): (GraphId, usize)) -> Self {
        Self {
            report: ArmReport { what, amount, ..ArmReport::default() },
            products: 1.0,
            cache: String::new(),
            limiter: Limiter::Arithmetic,
            graphs: vec![graph],
            times,
            slots: Vec::new(),
        }
    }

    /// Time of one repetition, and the clock meanwhile; `None` where time means nothing.
    pub(super) fn turn(
        &self,
        machine: &mut dyn DeviceSession,
    ) -> Result<Option<Sampled>, MachineError> {
        let all = sample_in_order(machine, &self.graphs)?;
        Ok(all.map(|all| Sampled { ns: all.ns / self.times as f64, ..all }))
    }

    /// Keeps the samples of its turns, with their clocks.
    pub(super) fn timed(&mut self, samples: &[Sampled], best_mhz: &mut Option<f64>) {
        let clocks = samples.iter().map(|sample| sample.mhz).collect();
        self.report.clocks = SampleClocks::of(clocks, best_mhz);
        self.report.samples_ns = samples.iter().map(|sample| sample.ns).collect();
    }
}

/// A kernel at a size.
pub(super) struct Asked {
    /// Kernel: `gemm.f16`.
    pub(super) id: &'static str,
    /// The size.
    pub(super) shape: Shape,
    /// Whether weights stay in the second-level cache.
    pub(super) resident: bool,
    /// Whether its rate is of bytes, not of operations.
    pub(super) bytes: bool,
}

/// Reading memory: as many bytes as the kernel that is held against it, for second-level caches keep part of what is read again and again,
/// and more of less.
pub(super) fn read(on: &On<'_>, bytes: f64) -> Asked {
    let (used, cap) = on.machine.pool();
    let room = u32::try_from(cap.saturating_sub(used) / 2 / 1024).unwrap_or(u32::MAX);
    let simulated = on.machine.facts().simulated;
    // A float beyond the range of u32 becomes its end.
    let as_many = (bytes / 1024.0) as u32;
    let n = if simulated { READ_SMALL_KIB } else { (as_many.min(room) / 64 * 64).max(64) };
    let shape = Shape { n, ..Shape::default() };
    Asked { id: "mem.read", shape, resident: false, bytes: true }
}

/// A kernel of ours.
pub(super) fn kernel(
    on: &mut On<'_>,
    taken: &mut Taken,
    asked: &Asked,
) -> Result<Arm, MachineError> {
    let facts = on.machine.facts().clone();
    let kernel = kernels().find(|kernel| kernel.id == asked.id);
    let kernel =
        kernel.ok_or_else(|| MachineError::refused(format!("there is no kernel {}", asked.id)))?;
    if let Route::Absent { why } = (kernel.route)(&facts) {
        return Err(MachineError::refused(why));
    }
    let work = (kernel.work)(&facts, asked.shape).map_err(MachineError::refused)?;
    let slots = place(on, taken, &work, asked.resident)?;
    let digest = taken.allocate(on.machine, mem::HASH_BYTES as u64)?;
    let launches = (work.plan)(&slots);
    twice(on.machine, (&work.buffers, &slots), &launches, digest)?;
    let (graph, times) = recorded(on.machine, taken, &launches)?;
    let Shape { m, n, k, .. } = asked.shape;
    let product = 2.0 * f64::from(m) * f64::from(n) * f64::from(k);
    let copies = if product > 0.0 { (work.flops / product).max(1.0) } else { 1.0 };
    let large = work.bytes >= 2.0 * facts.l2_bytes as f64;
    let cache = match (asked.resident, work.limiter) {
        (true, _) => "cached: the same weights every time".to_owned(),
        _ if copies > 1.0 => format!("cold: {copies:.0} copies in turn"),
        _ if large => "cold: more than twice the second-level cache".to_owned(),
        (_, Limiter::Arithmetic) => "operands read many times".to_owned(),
        _ => "cached: less than twice the second-level cache".to_owned(),
    };
    // What sums up the parts is not what the work is in.
    let entry = launches.iter().map(|launch| launch.entry).next().unwrap_or_default();
    let report = ArmReport {
        what: asked.id.to_owned(),
        entry: entry.to_owned(),
        variant: work.variant.to_owned(),
        amount: if asked.bytes { work.bytes } else { work.flops },
        ..ArmReport::default()
    };
    Ok(Arm {
        report,
        products: copies,
        cache,
        limiter: work.limiter,
        graphs: vec![graph],
        times,
        slots,
    })
}

/// Memory for a work. Copies of the weights that are to stay in the cache are one and the same: what has format and size of an earlier
/// operand is that operand.
fn place(
    on: &mut On<'_>,
    taken: &mut Taken,
    work: &Work,
    resident: bool,
) -> Result<Vec<Slot>, MachineError> {
    let mut known: BTreeMap<(String, usize), Slot> = BTreeMap::new();
    let mut slots = Vec::new();
    for content in &work.buffers {
        let slot = match content {
            Content::Noise { element, count, .. } if resident => {
                let key = (format!("{element:?}"), *count);
                match known.get(&key) {
                    Some(slot) => *slot,
                    None => {
                        let slot = taken.allocate(on.machine, content.bytes() as u64)?;
                        known.insert(key, slot);
                        slot
                    }
                }
            }
            _ => taken.allocate(on.machine, content.bytes() as u64)?,
        };
        slots.push(slot);
    }
    Ok(slots)
}

/// Launches as a graph that is long enough to be timed, and how often it holds them.
fn recorded(
    machine: &mut dyn DeviceSession,
    taken: &mut Taken,
    launches: &[Launch],
) -> Result<(GraphId, usize), MachineError> {
    let once = taken.keep(machine.record(launches)?);
    machine.replay(once, 1)?;
    let Some(sample) = machine.sample(once)? else { return Ok((once, 1)) };
    let times = repetitions(TimingMode::Sustained, sample.ns, launches.len());
    if times == 1 {
        return Ok((once, 1));
    }
    let all: Vec<Launch> = std::iter::repeat_n(launches, times).flatten().cloned().collect();
    Ok((taken.keep(machine.record(&all)?), times))
}

/// One token of the large model of the micro decoder, in half of the memory that may be taken, and how far it lies from the same token with a kernel for
/// every operation.
pub(super) fn decoder(
    on: &mut On<'_>,
    taken: &mut Taken,
    dtype: PathDtype,
) -> Result<(Arm, Option<f64>), MachineError> {
    let path = precision_of(dtype)
        .ok_or_else(|| MachineError::refused(format!("no path computes in {}", dtype.id())))?;
    if let Route::Absent { why } = path.route(on.machine.facts()) {
        return Err(MachineError::refused(why));
    }
    let arena = on.machine.pool().1;
    let model = throughput(on.machine, path, arena / 2)?;
    let apart = right(on.machine, &model);
    let (place, bytes) = &model.decode.start;
    let started = on.machine.write(*place, bytes);
    let (what, amount) = (format!("m1 {}", dtype.id()), model.decode.bytes);
    let arm = Arm {
        report: ArmReport { what, amount, ..ArmReport::default() },
        products: f64::from(model.decode.tokens),
        cache: match model.l2_resident {
            true => "cached: the weights are less than twice the second-level cache".to_owned(),
            false => format!("cold: {} layers with weights of their own", model.distinct_layers),
        },
        limiter: Limiter::Memory,
        graphs: model.decode.graphs.clone(),
        times: 1,
        slots: Vec::new(),
    };
    taken.model = Some(model);
    started.and(apart).map(|apart| (arm, apart))
}
