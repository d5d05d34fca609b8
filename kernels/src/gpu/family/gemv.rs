//! K20: products of one to eight tokens with 16-bit and fp32 weights.
//!
//! A warp computes four rows with fp32 accumulators. Where rows are few, the warps of a block share them and each takes a
//! part of k: the parts meet in shared memory, in a fixed order. A second launch over partial sums in device memory was
//! rejected: it needs scratch memory and a dependency for less than a block's worth of sums.

use super::route::{F32 as FP32, route};
use super::stream::{
    BF16, Parts, Path, Store, Stored, Streamed, THREADS, WARPS, check_aligned, check_shape, kernel,
    store, suffix, token_tile, wide,
};
pub use super::stream::{Formats, Operands};
use crate::Dtype;
use crate::gpu::{DeviceFacts, Element, GpuKernel, Launch, Shape};

/// Most tokens of one launch.
pub const MOST_TOKENS: u32 = 8;
/// Rows a warp computes at a time.
const ROWS: u32 = 4;
/// Bytes of shared memory for activations.
const TILE_BYTES: u32 = 32 << 10;
/// Tokens that entries are compiled for.
const TOKENS: [u32; 4] = [1, 2, 4, 8];

/// Entries by format of x and W, and tokens.
const ENTRIES: &[(Element, [&str; 4])] = &[
    (Element::F16, ["gemv_f16_m1", "gemv_f16_m2", "gemv_f16_m4", "gemv_f16_m8"]),
    (Element::Bf16, ["gemv_bf16_m1", "gemv_bf16_m2", "gemv_bf16_m4", "gemv_bf16_m8"]),
    (Element::F32, ["gemv_f32_m1", "gemv_f32_m2", "gemv_f32_m4", "gemv_f32_m8"]),
];

/// y = x·Wᵀ of up to [`MOST_TOKENS`] tokens; f16, bf16 or f32 in, the same or f32 out.
pub fn launch(
    facts: &DeviceFacts,
    operands: Operands,
    formats: Formats,
    shape: Shape,
) -> Result<Launch, String> {
    let Operands { x, weights, y } = operands;
    let size = formats.input.bytes() as u32;
    check_shape(shape, MOST_TOKENS, 16 / size)?;
    check_aligned(&[x, weights, y])?;
    let tile_index = token_tile(shape.m, &TOKENS);
    let row = ENTRIES.iter().find(|(input, _)| *input == formats.input);
    let Some((_, names)) = row else {
        return Err(format!("weights stored as {} are not multiplied", suffix(formats.input)));
    };
    let tokens = TOKENS[tile_index];
    let split = split(facts, shape, 32 * 16 / size);
    let tile = (TILE_BYTES / (tokens * size)).min(shape.k.next_multiple_of(64));
    let sizes = [shape.m, shape.n, shape.k, split, tile, wide(formats)?].map(Into::into);
    Ok(Launch {
        family: "gemv",
        entry: names[tile_index],
        grid: [shape.n.div_ceil(ROWS * WARPS / split), 1, 1],
        block: [THREADS, 1, 1],
        shared_bytes: tokens * tile * size,
        args: [weights.into(), x.into(), y.into()].into_iter().chain(sizes).collect(),
        early: false,
    })
}

/// Warps that share rows: as few as fill the device four blocks deep, and none without work.
fn split(facts: &DeviceFacts, shape: Shape, step: u32) -> u32 {
    let enough = |split: &u32| shape.n.div_ceil(ROWS * WARPS / split) >= 4 * facts.sms;
    let useful = shape.k.div_ceil(step).next_power_of_two();
    [1, 2, 4].iter().find(|s| enough(s)).copied().unwrap_or(8).min(useful)
}

/// Weights as they are, in the format of the activations.
fn dense(element: Element, values: &[f32]) -> Stored {
    let values: Vec<f64> = values.iter().copied().map(f64::from).collect();
    let bytes = store(element, &values);
    Stored { values: element.values(&bytes), parts: vec![bytes] }
}

/// −8 … 7.
fn whole(_column: usize, random: u64) -> f32 {
    (random % 16) as f32 - 8.0
}

/// A path of dense weights.
pub(in crate::gpu) const fn path(id: &'static str, formats: Formats, limit: f64) -> Path {
    let (multiple, parts, store): (_, Parts, Store) = match formats.input {
        Element::F16 => {
            (8, |n, k| vec![(Element::F16, n * k)], |_, _, w| Ok(dense(Element::F16, w)))
        }
        Element::Bf16 => {
            (8, |n, k| vec![(Element::Bf16, n * k)], |_, _, w| Ok(dense(Element::Bf16, w)))
        }
        _ => (4, |n, k| vec![(Element::F32, n * k)], |_, _, w| Ok(dense(Element::F32, w))),
    };
    Path {
        id,
        formats,
        most_tokens: MOST_TOKENS,
        multiple,
        limit,
        parts,
        scratch: |_| Vec::new(),
        launch: |facts, formats, places, shape| {
            let operands = Operands { x: places.x, weights: places.weights[0], y: places.y };
            Ok(vec![launch(facts, operands, formats, shape)?])
        },
        store,
        whole_weight: whole,
        whole_x: whole,
    }
}

/// fp16 weights.
pub(in crate::gpu) struct F16;
/// bf16 weights.
pub(in crate::gpu) struct Bf16;
/// fp32 weights.
pub(in crate::gpu) struct F32;

impl Streamed for F16 {
    const KERNEL: &'static str = "gemv.f16";
    const PATHS: &'static [Path] = &[
        path("gemv.f16 fp16 out", Formats::same(Element::F16), 3e-4),
        path("gemv.f16 fp32 out", Formats::wide(Element::F16), 5e-6),
    ];
}

impl Streamed for Bf16 {
    const KERNEL: &'static str = "gemv.bf16";
    const PATHS: &'static [Path] = &[
        path("gemv.bf16 bf16 out", Formats::same(Element::Bf16), 2.5e-3),
        path("gemv.bf16 fp32 out", Formats::wide(Element::Bf16), 5e-6),
    ];
}

impl Streamed for F32 {
    const KERNEL: &'static str = "gemv.f32";
    const PATHS: &'static [Path] = &[path("gemv.f32", Formats::same(Element::F32), 5e-6)];
}

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[
    kernel::<F16>("fp16 weights, one to eight tokens", "gemv", Dtype::Fp16, |facts| {
        route(FP32, facts)
    }),
    kernel::<Bf16>("bf16 weights, one to eight tokens", "gemv", Dtype::Bf16, |facts| {
        route(BF16, facts)
    }),
    kernel::<F32>("fp32 weights, one to eight tokens", "gemv", Dtype::Fp32, |facts| {
        route(FP32, facts)
    }),
];
