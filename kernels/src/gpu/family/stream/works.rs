//! What is timed of a [`Path`]: weights rotate over copies until the second-level cache has seen twice its size.

use super::NOWHERE;
use super::path::{Path, Places, Streamed};
use crate::gpu::{Content, DeviceFacts, Element, Launch, Limiter, Shape, Slot, Work};

/// Output and input channels that are timed by default: layers of a small and of larger models.
const SIZES: &[(u32, u32)] = &[(2048, 2048), (5632, 2048), (8192, 8192), (28_672, 8192)];
/// Most copies of the weights: the launches of a repetition are recorded in one graph.
const MOST_COPIES: u64 = 64;

/// The default sizes that fit into so many bytes, smallest first: one token, and as many as a launch takes.
pub(super) fn works<S: Streamed>(facts: &DeviceFacts, arena: u64) -> Vec<Work> {
    let Some(path) = S::PATHS.first() else { return Vec::new() };
    let few = [1, path.most_tokens];
    let tokens = if S::TIMED.is_empty() { &few } else { S::TIMED };
    let shapes = SIZES
        .iter()
        .flat_map(|&(n, k)| tokens.iter().map(move |&m| Shape { m, n, k, ..Shape::default() }));
    shapes.filter_map(|shape| timed::<S>(path, facts, shape, arena).ok()).collect()
}

/// The size a user asks for, in half of the device's memory.
pub(super) fn work<S: Streamed>(facts: &DeviceFacts, shape: Shape) -> Result<Work, String> {
    let path = S::PATHS.first().ok_or("it is not timed")?;
    timed::<S>(path, facts, shape, facts.memory_bytes / 2)
}

fn timed<S: Streamed>(
    path: &'static Path,
    facts: &DeviceFacts,
    shape: Shape,
    arena: u64,
) -> Result<Work, String> {
    let (variant, limiter) = (S::chosen(facts, shape), S::limiter(facts, shape));
    Ok(Work { variant, limiter, ..rotating(path, facts, shape, arena)? })
}

/// Copies of the weights of one product that together are twice the second-level cache, as far as they fit.
fn copies(path: &Path, facts: &DeviceFacts, shape: Shape, arena: u64) -> Result<u64, String> {
    let weights = path.weight_bytes(shape.n, shape.k) as u64;
    let scratch: usize = (path.scratch)(facts, shape).iter().map(Content::bytes).sum();
    let besides = activations(path, shape) + scratch as u64;
    let room = arena.saturating_sub(besides) / weights.max(1);
    if room == 0 {
        let Shape { m, n, k, .. } = shape;
        return Err(format!("{m}×{n}×{k} needs {} bytes of {arena}", weights + besides));
    }
    Ok((2 * facts.l2_bytes).div_ceil(weights.max(1)).clamp(1, MOST_COPIES).min(room))
}

/// Bytes of x and y.
fn activations(path: &Path, shape: Shape) -> u64 {
    let [m, n, k] = [shape.m, shape.n, shape.k].map(u64::from);
    m * (k * path.formats.input.bytes() as u64 + n * path.formats.output.bytes() as u64)
}

fn rotating(
    path: &'static Path,
    facts: &DeviceFacts,
    shape: Shape,
    arena: u64,
) -> Result<Work, String> {
    let [m, n, k] = [shape.m, shape.n, shape.k].map(|size| size as usize);
    let parts = (path.parts)(n, k);
    let scratch = (path.scratch)(facts, shape);
    let (count, between) = (parts.len(), scratch.len());
    let planned = facts.clone();
    let plan = move |slots: &[Slot]| -> Result<Vec<Launch>, String> {
        let (scratch, weights) = slots[2..].split_at(between);
        let launch = |weights| {
            let places = Places { x: slots[0], weights, scratch, y: slots[1] };
            (path.launch)(&planned, path.formats, &places, shape)
        };
        Ok(weights.chunks(count).map(launch).collect::<Result<Vec<_>, _>>()?.concat())
    };
    plan(&vec![NOWHERE; 2 + between + count])?;
    let copies = copies(path, facts, shape, arena)?;
    let noise = |(element, count): (Element, usize), seed| Content::Noise { element, count, seed };
    let outputs = Content::Poison(m * n * path.formats.output.bytes());
    let mut buffers = vec![noise((path.formats.input, m * k), 1), outputs];
    buffers.extend(scratch);
    for (seed, part) in (2..).zip((0..copies).flat_map(|_| &parts)) {
        buffers.push(noise(*part, seed));
    }
    let once = path.weight_bytes(shape.n, shape.k) as f64 + activations(path, shape) as f64;
    Ok(Work {
        shape,
        buffers,
        plan: Box::new(move |slots| plan(slots).expect("it was possible elsewhere")),
        bytes: once * copies as f64,
        flops: 2.0 * m as f64 * n as f64 * k as f64 * copies as f64,
        limiter: Limiter::Memory,
        variant: "",
    })
}
