//! M1: graphs of the size real layers have, to be timed.
//!
//! Layers take turns over as many distinct ones as fit the memory allowed, so that a model larger than the cache is read on
//! small budgets too: the same definition on every GPU. The position of a decode step stays where it is, right behind the
//! prompt: every replay is the same work, whose bytes and operations can be stated. Moving on was rejected: a median over
//! steps of growing length is a median of nothing in particular.

use super::layout::{Layout, Matrix, Weights};
use super::memory::{Memory, keep};
use super::path::Path;
use super::plan::Plan;
use super::step::{Manner, Step};
use super::upload::{ZERO, encode};
use crate::gpu::family::attn::Engine;
use crate::gpu::family::{elementwise, mem, w4};
use crate::gpu::{
    BufferId, DeviceFacts, Element, GraphId, Launch, Machine, MachineError, Nanoseconds, Sampled,
    Slot,
};
use crate::model::{GROUP, Grid, LayerTensor, M1, MATRICES, Shape, prompt};

/// Tokens of the prompt, by preference: fewer where memory is short.
const PROMPTS: [usize; 4] = [512, 256, 128, 64];

/// Longest time a graph may take: between two of them a machine can be told to stop.
const SLICE_NS: Nanoseconds = 1.5e6;
/// Launches of a graph whose time is not known yet.
const CAUTIOUS: usize = 4;

/// Graphs to be timed as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// The graphs, in order: one where it is short, and as many as keep each short where it is not.
    pub graphs: Vec<GraphId>,
    /// Tokens it takes.
    pub tokens: u32,
    /// Positions in the cache before them.
    pub context: u32,
    /// Bytes that must move: weights, keys and values.
    pub bytes: f64,
    /// Operations, a multiply-add counting as two.
    pub flops: f64,
    /// What must be written where before the first of any number of replays.
    pub start: (Slot, Vec<u8>),
}

/// M1 in the memory of a device, ready to be timed.
#[derive(Clone, Debug, PartialEq)]
pub struct Throughput {
    /// The prompt.
    pub prefill: Timed,
    /// One token more.
    pub decode: Timed,
    /// Layers.
    pub layers: u32,
    /// Layers with weights of their own.
    pub distinct_layers: u32,
    /// Bytes of distinct weights.
    pub weight_bytes: u64,
    /// Bytes taken from the machine.
    pub memory_bytes: u64,
    /// Whether the weights are less than twice the second-level cache, which forbids to speak of memory bandwidth.
    pub l2_resident: bool,
    /// Logits of the last step, fp32: the same bits after every replay of the same graph.
    pub logits: Slot,
    /// Bytes of the logits.
    pub logits_bytes: u64,
    /// The launches of the step that is timed.
    pub token: Vec<Launch>,
    /// The same step with a kernel for every operation, to be held against the timed one.
    pub apart: Vec<Launch>,
    /// How far the logits of the two may lie apart: twice what the arithmetic may cost either.
    pub limit: f64,
    /// What is held.
    pub buffers: Vec<BufferId>,
}

impl Timed {
    /// Replays all of it, and says how long one replay took; `None` where time means nothing.
    pub fn sample(&self, machine: &mut dyn Machine) -> Result<Option<Sampled>, MachineError> {
        sample_in_order(machine, &self.graphs)
    }
}

/// Times graphs that are one work, in their order.
pub fn sample_in_order(
    machine: &mut dyn Machine,
    graphs: &[GraphId],
) -> Result<Option<Sampled>, MachineError> {
    match graphs {
        [graph] => machine.sample(*graph),
        parts => machine.sample_parts(parts),
    }
}

/// Records launches as graphs that are short enough to stop between.
fn cut(
    machine: &mut dyn Machine,
    memory: &mut Memory,
    launches: &[Launch],
) -> Result<Vec<GraphId>, MachineError> {
    let mut of = |machine: &mut dyn Machine, size: usize| -> Result<Vec<GraphId>, MachineError> {
        launches.chunks(size.max(1)).map(|part| memory.record(machine, part)).collect()
    };
    let careful = of(machine, CAUTIOUS)?;
    if sample_in_order(machine, &careful)?.is_none() {
        return Ok(careful);
    }
    // The first time it finds nothing where it was.
    let Some(all) = sample_in_order(machine, &careful)? else { return Ok(careful) };
    let parts = (all.ns / SLICE_NS).ceil().max(1.0) as usize;
    let graphs = of(machine, launches.len().div_ceil(parts))?;
    careful.into_iter().try_for_each(|graph| memory.forget(machine, graph))?;
    Ok(graphs)
}

impl Throughput {
    /// How far the logits of the timed step lie from those of the one with a kernel for every operation, ‖a − b‖ / ‖b‖; not a number where either
    /// has one that is not finite, or was never written.
    pub fn difference(&self, machine: &mut dyn Machine) -> Result<f64, MachineError> {
        let graphs = &self.decode.graphs;
        let mut replay = |machine: &mut dyn Machine| {
            graphs.iter().try_for_each(|graph| machine.replay(*graph, 1).map(drop))
        };
        let timed = self.logits_of(machine, &mut replay)?;
        let apart = self.logits_of(machine, &mut |machine| machine.run(&self.apart))?;
        let off: f64 = timed.iter().zip(&apart).map(|(a, b)| (a - b).powi(2)).sum();
        Ok((off / apart.iter().map(|b| b.powi(2)).sum::<f64>()).sqrt())
    }

    fn logits_of(
        &self,
        machine: &mut dyn Machine,
        go: &mut dyn FnMut(&mut dyn Machine) -> Result<(), MachineError>,
    ) -> Result<Vec<f64>, MachineError> {
        let mut bytes = vec![0xff; self.logits_bytes as usize];
        machine.write(self.logits, &bytes)?;
        let (place, start) = &self.decode.start;
        machine.write(*place, start)?;
        go(machine)?;
        machine.read(self.logits, &mut bytes)?;
        Ok(Element::F32.values(&bytes))
    }

    /// Gives everything back; the first error counts, and stops nothing.
    pub fn free(self, machine: &mut dyn Machine) -> Result<(), MachineError> {
        let mut result = Ok(());
        for graph in self.prefill.graphs.into_iter().chain(self.decode.graphs) {
            result = result.and(machine.forget(graph));
        }
        for buffer in self.buffers {
            result = result.and(machine.free(buffer));
        }
        result
    }
}

/// Places M1 into so many bytes of device memory, generates its weights there, records its graphs and runs the prompt once.
pub fn throughput(
    machine: &mut dyn Machine,
    path: &Path,
    arena_bytes: u64,
) -> Result<Throughput, MachineError> {
    throughput_of(machine, path, M1, arena_bytes)
}

/// As [`throughput`], of another shape than [`M1`]'s.
pub fn throughput_of(
    machine: &mut dyn Machine,
    path: &Path,
    shape: Shape,
    arena_bytes: u64,
) -> Result<Throughput, MachineError> {
    let plan = fitting(machine.facts(), path, shape, arena_bytes).map_err(MachineError::refused)?;
    let (done, memory) = keep(machine, |machine, memory| set_up(machine, memory, plan))?;
    Ok(Throughput { buffers: memory.buffers, memory_bytes: memory.bytes, ..done })
}

/// The longest prompt and then the most distinct layers that fit.
fn fitting<'a>(
    facts: &DeviceFacts,
    path: &'a Path,
    shape: Shape,
    arena_bytes: u64,
) -> Result<Plan<'a>, String> {
    let most = shape.prompt.min(path.most_tokens());
    let prompts = PROMPTS.into_iter().map(|tokens| tokens.min(most));
    let plans = prompts.map(|prompt| {
        let shape = Shape { prompt, ..shape };
        Plan { path, shape, distinct: 1, tied: true }
    });
    let mut least = u64::MAX;
    for plan in plans {
        let with = |distinct| Plan { distinct, ..plan };
        let fits = |plan: &Plan<'_>| plan.bytes(facts) <= arena_bytes;
        if let Some(most) = (1..=plan.shape.layers).rev().map(with).find(fits) {
            return Ok(most);
        }
        least = least.min(plan.bytes(facts));
    }
    Err(format!("the decoder takes {least} bytes on {}, of {arena_bytes} allowed", path.id))
}

fn set_up(
    machine: &mut dyn Machine,
    memory: &mut Memory,
    plan: Plan<'_>,
) -> Result<Throughput, MachineError> {
    let (facts, shape, path) = (machine.facts().clone(), plan.shape, plan.path);
    let layout = plan.lay_out(&facts, &mut |bytes| memory.take(machine, bytes))?;
    let weights = generate(&facts, path, &layout).map_err(MachineError::refused)?;
    machine.run(&weights)?;
    write_rest(machine, &layout)?;
    let engine = Engine::best(facts.sm, path.activations);
    let manner = Manner { engine, watched: false };
    let apart = Step::token_apart(&facts, path, &layout, manner).map_err(MachineError::refused)?;
    let prefill =
        Step::prompt(&facts, path, &layout, manner, shape.prompt).map_err(MachineError::refused)?;
    let token = Step::token(&facts, path, &layout, manner).map_err(MachineError::refused)?;
    let mut recorded = |machine: &mut dyn Machine, launches: &[Launch], tokens| {
        let timed = timed(&plan, &layout, tokens);
        machine.write(timed.start.0, &timed.start.1)?;
        let graphs = cut(machine, memory, launches)?;
        Ok::<_, MachineError>(Timed { graphs, ..timed })
    };
    let prefill = recorded(machine, &prefill, shape.prompt)?;
    let decode = recorded(machine, &token, 1)?;
    let weight_bytes = plan.weight_bytes();
    Ok(Throughput {
        prefill,
        decode,
        layers: shape.layers as u32,
        distinct_layers: plan.distinct as u32,
        weight_bytes: weight_bytes as u64,
        memory_bytes: 0,
        l2_resident: weight_bytes < 2.0 * facts.l2_bytes as f64,
        logits: layout.activations.logits,
        logits_bytes: 4 * shape.vocab as u64,
        token,
        apart,
        limit: 2.0 * path.error_limit(),
        buffers: Vec::new(),
    })
}

/// What a graph of so many tokens moves and computes; not recorded yet.
fn timed(plan: &Plan<'_>, layout: &Layout, tokens: usize) -> Timed {
    let shape = plan.shape;
    let context = if tokens == shape.prompt { 0 } else { shape.prompt };
    // Keys and values are written once, and read up to each token's own position at least once.
    let row = 2 * shape.kv_width() * shape.layers * plan.path.activations.bytes();
    let cached = (context + 2 * tokens) * row;
    let flops = if context == 0 {
        shape.prefill_flop()
    } else {
        let pairs = shape.layers * shape.heads * shape.head * (context + 1);
        2.0 * (shape.weights_per_token() - shape.width + 2 * pairs) as f64
    };
    let state = [1, context as u32, 0, 1].map(u32::to_le_bytes).concat();
    Timed {
        graphs: Vec::new(),
        tokens: tokens as u32,
        context: context as u32,
        bytes: plan.streamed_bytes() + cached as f64,
        flops,
        start: (layout.kept.state.0, state),
    }
}

/// Gains of one, zero points, angles and a prompt.
fn write_rest(machine: &mut dyn Machine, layout: &Layout) -> Result<(), MachineError> {
    let shape = layout.shape;
    let ones = encode(Element::F32, &vec![1.0; shape.width]);
    for layer in &layout.layers {
        for slot in layer.norms {
            machine.write(slot, &ones)?;
        }
        for matrix in &layer.matrices {
            if let Weights::Int4Zero(at) = matrix.weights {
                let groups = matrix.n as usize * matrix.k as usize / GROUP;
                machine.write(at.zeros, &vec![ZERO; groups])?;
            }
        }
    }
    machine.write(layout.final_norm, &ones)?;
    layout.clear_arrivals(machine)?;
    let table = shape.rope_table().into_iter().flat_map(|(c, s)| [c as f32, s as f32]);
    machine.write(layout.kept.rope, &encode(Element::F32, &table.collect::<Vec<_>>()))?;
    let vocab = shape.vocab as u32;
    let tokens = prompt().into_iter().cycle().map(|token| token % vocab).take(shape.prompt);
    machine.write(layout.kept.prompt, &tokens.flat_map(u32::to_le_bytes).collect::<Vec<_>>())
}

/// Exponent of the scales that keep the outputs of so many inputs of unit order: weights of 3.1 · 2^e.
fn exponent(k: u32) -> i32 {
    -(f64::from(k).sqrt() * 3.1).log2().round() as i32
}

/// The launches that fill all matrices.
fn generate(facts: &DeviceFacts, path: &Path, layout: &Layout) -> Result<Vec<Launch>, String> {
    let element = path.activations;
    let mut launches = Vec::new();
    for (l, layer) in layout.layers.iter().enumerate() {
        for tensor in MATRICES {
            let number = 16 * (l as u32 + 1) + tensor as u32;
            launches.extend(fill(facts, element, layer.matrix(tensor), number)?);
        }
    }
    launches.extend(fill(facts, element, &layout.head, LayerTensor::Q as u32)?);
    Ok(launches)
}

/// Numbers that are no matrix: scales and maxima.
fn row(element: Element, to: Slot, count: usize, grid: (u32, i32)) -> Result<Launch, String> {
    let (tensor, exponent) = grid;
    elementwise::grid(element, to, &Grid::new(u64::from(tensor), [1, count], exponent))
}

fn fill(
    facts: &DeviceFacts,
    element: Element,
    matrix: &Matrix,
    tensor: u32,
) -> Result<Vec<Launch>, String> {
    let Matrix { n, k, weights } = *matrix;
    let exponent = exponent(k);
    let numbers = n * k;
    match weights {
        Weights::Dense(slot) => {
            let grid = Grid::new(u64::from(tensor), [n as usize, k as usize], exponent);
            Ok(vec![elementwise::grid(element, slot, &grid)?])
        }
        Weights::Int4(at) => {
            let grid = Grid::new(u64::from(tensor), [n as usize, k as usize], exponent);
            Ok(vec![w4::generate(&grid, at)?])
        }
        // Even codes of ±8 have twice the deviation of a grid's; zero points are written from here.
        Weights::Int4Zero(at) => Ok(vec![
            mem::noise(facts, at.words, Element::U8, numbers / 2, tensor)?,
            row(Element::F16, at.scales, numbers as usize / GROUP, (tensor, exponent - 2))?,
        ]),
        Weights::Nf4(at) => Ok(vec![
            mem::noise(facts, at.codes, Element::U8, numbers / 2, tensor)?,
            row(Element::F32, at.maxima, (numbers / 64) as usize, (tensor, exponent))?,
        ]),
    }
}
