//! The kernels as data, and the sizes at which they are timed.

use super::Norm;
use super::cases::{self, Bf16, F16, F32, Stored};
use crate::Dtype;
use crate::gpu::{
    Case, Content, DeviceFacts, Element, GpuKernel, Launch, Limiter, Route, Shape, Slot, Work,
};

/// Size of the work that a large decoder has between its matrices.
const WIDTH: u32 = 2048;
const FFN: u32 = 5632;
const VOCAB: u32 = 8192;

fn route(_: &DeviceFacts) -> Route {
    Route::Native { by: "fma.f32".to_owned() }
}

fn integer_route(_: &DeviceFacts) -> Route {
    Route::Native { by: "integer operations".to_owned() }
}

const fn untimed(
    id: &'static str,
    title: &'static str,
    dtype: Dtype,
    cases: fn(&DeviceFacts) -> Vec<Case>,
) -> GpuKernel {
    GpuKernel { id, title, family: "elementwise", dtype, route, cases, ..GpuKernel::UNTIMED }
}

/// Work on `[m, n]` numbers, read `reads` times and written once.
fn rows(
    shape: Shape,
    element: Element,
    reads: usize,
    plan: impl Fn(&[Slot]) -> Result<Launch, String> + 'static,
) -> Result<Work, String> {
    shape.only(&["m", "n"])?;
    let count = shape.m as usize * shape.n as usize;
    if count == 0 || u32::try_from(count).is_err() {
        return Err(format!("{}×{} numbers cannot be", shape.m, shape.n));
    }
    let noise = |seed| Content::Noise { element, count, seed };
    let gains = Content::Noise { element: Element::F32, count: shape.n as usize, seed: 9 };
    let bytes = count * element.bytes();
    let inputs = (1..=reads as u32).map(noise);
    Ok(Work {
        shape,
        buffers: inputs.chain([gains, Content::Poison(bytes)]).collect(),
        plan: Box::new(move |slots| plan(slots).into_iter().collect()),
        bytes: (bytes * (reads + 1)) as f64,
        flops: 4.0 * count as f64,
        limiter: if count < 1 << 20 { Limiter::Latency } else { Limiter::Memory },
        variant: "",
    })
}

fn norm_work<T: Stored>(_: &DeviceFacts, shape: Shape) -> Result<Work, String> {
    rows(shape, T::ELEMENT, 1, move |slots| {
        super::rms_norm(&Norm {
            x: slots[0],
            gains: slots[1],
            out: slots[2],
            rows: shape.m,
            width: shape.n,
            epsilon: 1e-6,
            input: T::ELEMENT,
            output: T::ELEMENT,
        })
    })
}

fn norm_works<T: Stored>(facts: &DeviceFacts, bytes: u64) -> Vec<Work> {
    let shapes = [1, 512].map(|m| Shape { m, n: WIDTH, ..Shape::default() });
    Work::fitting(bytes, shapes.into_iter().map(|shape| norm_work::<T>(facts, shape)))
}

fn swiglu_work<T: Stored>(_: &DeviceFacts, shape: Shape) -> Result<Work, String> {
    rows(shape, T::ELEMENT, 2, move |slots| {
        super::swiglu(T::ELEMENT, [slots[0], slots[1], slots[3]], shape.m * shape.n)
    })
}

fn swiglu_works<T: Stored>(facts: &DeviceFacts, bytes: u64) -> Vec<Work> {
    let shapes = [1, 512].map(|m| Shape { m, n: FFN, ..Shape::default() });
    Work::fitting(bytes, shapes.into_iter().map(|shape| swiglu_work::<T>(facts, shape)))
}

fn argmax_work(_: &DeviceFacts, shape: Shape) -> Result<Work, String> {
    if shape.m != 1 {
        return Err("the largest of one row at a time".to_owned());
    }
    let mut work =
        rows(shape, Element::F32, 1, move |slots| super::argmax(slots[0], slots[2], shape.n))?;
    if let Some(result) = work.buffers.last_mut() {
        *result = Content::Poison(4);
    }
    work.bytes = f64::from(shape.n) * 4.0;
    work.flops = f64::from(shape.n);
    Ok(work)
}

fn argmax_works(facts: &DeviceFacts, bytes: u64) -> Vec<Work> {
    let shape = Shape { m: 1, n: VOCAB, ..Shape::default() };
    Work::fitting(bytes, std::iter::once(argmax_work(facts, shape)))
}

const fn norm<T: Stored>(id: &'static str, dtype: Dtype) -> GpuKernel {
    let base = untimed(id, "RMSNorm, alone and as a sandwich", dtype, cases::norm::<T>);
    GpuKernel { works: norm_works::<T>, work: norm_work::<T>, ..base }
}

const fn swiglu<T: Stored>(id: &'static str, dtype: Dtype) -> GpuKernel {
    let base = untimed(id, "gate of the feed-forward part", dtype, cases::swiglu::<T>);
    GpuKernel { works: swiglu_works::<T>, work: swiglu_work::<T>, ..base }
}

const fn rope<T: Stored>(id: &'static str, dtype: Dtype) -> GpuKernel {
    untimed(id, "rotary encoding and append to the cache", dtype, cases::rope::<T>)
}

const fn moves<T: Stored>(id: &'static str, dtype: Dtype) -> GpuKernel {
    untimed(id, "embedding rows, scans for NaN", dtype, cases::moves::<T>)
}

const fn grid<T: Stored>(id: &'static str, dtype: Dtype) -> GpuKernel {
    let base = untimed(id, "weights from a hash of their index", dtype, cases::grid::<T>);
    GpuKernel { route: integer_route, ..base }
}

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[
    norm::<F32>("norm.f32", Dtype::Fp32),
    norm::<F16>("norm.f16", Dtype::Fp16),
    norm::<Bf16>("norm.bf16", Dtype::Bf16),
    rope::<F32>("rope.f32", Dtype::Fp32),
    rope::<F16>("rope.f16", Dtype::Fp16),
    rope::<Bf16>("rope.bf16", Dtype::Bf16),
    swiglu::<F32>("swiglu.f32", Dtype::Fp32),
    swiglu::<F16>("swiglu.f16", Dtype::Fp16),
    swiglu::<Bf16>("swiglu.bf16", Dtype::Bf16),
    moves::<F32>("moves.f32", Dtype::Fp32),
    moves::<F16>("moves.f16", Dtype::Fp16),
    moves::<Bf16>("moves.bf16", Dtype::Bf16),
    grid::<F32>("grid.f32", Dtype::Fp32),
    grid::<F16>("grid.f16", Dtype::Fp16),
    grid::<Bf16>("grid.bf16", Dtype::Bf16),
    GpuKernel {
        works: argmax_works,
        work: argmax_work,
        route: integer_route,
        ..untimed("argmax.f32", "largest logit", Dtype::Fp32, cases::argmax)
    },
    GpuKernel {
        route: integer_route,
        ..untimed("advance", "end of a decoding step", Dtype::Fp32, cases::advance)
    },
];
