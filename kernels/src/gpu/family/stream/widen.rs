//! Stored weights as dense 16-bit numbers: cases to the bit, and what is timed.

use super::path::{Path, draw, numbers, store};
use super::{NOWHERE, suffix};
use crate::Dtype;
use crate::gpu::{
    Case, Content, DeviceFacts, Element, Expect, GpuKernel, Launch, Limiter, Route, Shape, Slot,
    Work,
};

/// Output channels and input channels, the latter rounded up, of the cases; and what all weights are multiplied with, so that
/// some become subnormal and some infinite.
const CASES: &[(u32, u32, f32)] =
    &[(1, 1, 1.0), (17, 200, 1.0), (40, 700, 1e-5), (33, 300, 30_000.0), (2, 5000, 1e-7)];
/// Output channels and input channels that are timed by default.
const SIZES: &[(u32, u32)] = &[(2048, 2048), (5632, 2048), (8192, 8192)];

/// Weights that can be widened.
pub(in super::super) trait Widened {
    /// How they are stored.
    const PATH: &'static Path;

    /// Writes `[n, k]` numbers of a format.
    fn launch(weights: &[Slot], to: Slot, element: Element, shape: Shape)
    -> Result<Launch, String>;
}

/// The entry that writes numbers of a format, of those for fp16 and bf16.
pub(in super::super) fn entry(
    element: Element,
    [f16, bf16]: [&'static str; 2],
) -> Result<&'static str, String> {
    match element {
        Element::F16 => Ok(f16),
        Element::Bf16 => Ok(bf16),
        _ => Err(format!("packed weights are not widened to {}", suffix(element))),
    }
}

/// The kernel that widens such weights.
pub(in super::super) const fn kernel<W: Widened>(
    id: &'static str,
    title: &'static str,
    family: &'static str,
    route: fn(&DeviceFacts) -> Route,
) -> GpuKernel {
    let (dtype, works, work) = (Dtype::Int4Weight, works::<W>, work::<W>);
    GpuKernel {
        id,
        title,
        family,
        dtype,
        route,
        cases: cases::<W>,
        works,
        work,
        ..GpuKernel::UNTIMED
    }
}

fn cases<W: Widened>(_: &DeviceFacts) -> Vec<Case> {
    let sizes = CASES.iter().flat_map(|size| [(size, Element::F16), (size, Element::Bf16)]);
    sizes.filter_map(|(&(n, k, factor), element)| case::<W>(n, k, factor, element).ok()).collect()
}

fn case<W: Widened>(n: u32, k: u32, factor: f32, element: Element) -> Result<Case, String> {
    let k = k.next_multiple_of(W::PATH.multiple);
    let shape = Shape { n, k, ..Shape::default() };
    let (rows, columns) = (n as usize, k as usize);
    let mut weights = numbers(rows, columns, u64::from(n), draw);
    weights.iter_mut().for_each(|w| *w *= factor);
    let stored = (W::PATH.store)(rows, columns, &weights)?;
    // One fp32 product, which is exact or rounded once, and one rounding.
    let values: Vec<f64> = stored.values.iter().map(|value| f64::from(*value as f32)).collect();
    let mut buffers = vec![Content::Poison(rows * columns * element.bytes())];
    buffers.extend(stored.parts.into_iter().map(Content::Bytes));
    let plan = move |slots: &[Slot]| W::launch(&slots[1..], slots[0], element, shape);
    plan(&vec![NOWHERE; buffers.len()])?;
    Ok(Case {
        name: format!("{n}×{k} about {factor:e} to {}", suffix(element)),
        buffers,
        plan: Box::new(move |slots| vec![plan(slots).expect("it was possible elsewhere")]),
        expect: vec![Expect::bits(0, element, store(element, &values))],
    })
}

fn works<W: Widened>(_: &DeviceFacts, arena: u64) -> Vec<Work> {
    let shapes = SIZES.iter().map(|&(n, k)| Shape { n, k, ..Shape::default() });
    shapes.filter_map(|shape| timed::<W>(shape, arena).ok()).collect()
}

fn work<W: Widened>(facts: &DeviceFacts, shape: Shape) -> Result<Work, String> {
    timed::<W>(shape, facts.memory_bytes / 2)
}

fn timed<W: Widened>(shape: Shape, arena: u64) -> Result<Work, String> {
    let Shape { n, k, .. } = shape.only(&["n", "k"])?;
    let parts = (W::PATH.parts)(n as usize, k as usize);
    let plan = move |slots: &[Slot]| W::launch(&slots[1..], slots[0], Element::F16, shape);
    plan(&vec![NOWHERE; 1 + parts.len()])?;
    let numbers = n as usize * k as usize;
    let written = numbers * Element::F16.bytes();
    let bytes = W::PATH.weight_bytes(n, k) + written;
    if bytes as u64 > arena {
        return Err(format!("{n}×{k} needs {bytes} bytes of {arena}"));
    }
    let stored = parts.into_iter().zip(1..);
    let stored = stored.map(|((element, count), seed)| Content::Noise { element, count, seed });
    Ok(Work {
        shape,
        buffers: std::iter::once(Content::Poison(written)).chain(stored).collect(),
        plan: Box::new(move |slots| vec![plan(slots).expect("it was possible elsewhere")]),
        bytes: bytes as f64,
        flops: numbers as f64,
        limiter: Limiter::Memory,
        variant: "",
    })
}
