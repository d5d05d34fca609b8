//! K20: products of one to eight tokens with 16-bit and fp32 weights.
//!
//! A warp computes four rows with fp32 accumulators. Where rows are few, the warps of a block share them and each takes a
//! part of k: the parts meet in shared memory, in a fixed order. A second launch over partial sums in device memory was
//! rejected: it needs scratch memory and a dependency for less than a block's worth of sums.

pub use super::stream::{Formats, Operands};
use super::stream::{THREADS, WARPS, check_aligned, check_shape, token_tile};
use crate::gpu::{DeviceFacts, Element, GpuKernel, Launch, Shape};

/// Most tokens of one launch.
pub const MOST_TOKENS: u32 = 8;
/// Rows a warp computes at a time.
const ROWS: u32 = 4;
/// Bytes of shared memory for activations.
const TILE_BYTES: u32 = 32 << 10;
/// Tokens that entries are compiled for.
const TOKENS: [u32; 4] = [1, 2, 4, 8];

/// Entries by format of x and W, format of y, and tokens.
const ENTRIES: &[(Element, Element, [&str; 4])] = &[
    (Element::F16, Element::F16, ["gemv_f16_m1", "gemv_f16_m2", "gemv_f16_m4", "gemv_f16_m8"]),
    (
        Element::F16,
        Element::F32,
        ["gemv_f16_f32_m1", "gemv_f16_f32_m2", "gemv_f16_f32_m4", "gemv_f16_f32_m8"],
    ),
    (
        Element::Bf16,
        Element::Bf16,
        ["gemv_bf16_m1", "gemv_bf16_m2", "gemv_bf16_m4", "gemv_bf16_m8"],
    ),
    (
        Element::Bf16,
        Element::F32,
        ["gemv_bf16_f32_m1", "gemv_bf16_f32_m2", "gemv_bf16_f32_m4", "gemv_bf16_f32_m8"],
    ),
    (Element::F32, Element::F32, ["gemv_f32_m1", "gemv_f32_m2", "gemv_f32_m4", "gemv_f32_m8"]),
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
    let row = ENTRIES.iter().find(|(i, o, _)| (*i, *o) == (formats.input, formats.output));
    let Some((_, _, names)) = row else {
        return Err(format!("no product of {:?} gives {:?}", formats.input, formats.output));
    };
    let tokens = TOKENS[tile_index];
    let split = split(facts, shape, 32 * 16 / size);
    let tile = (TILE_BYTES / (tokens * size)).min(shape.k.next_multiple_of(64));
    let sizes = [shape.m, shape.n, shape.k, split, tile].map(Into::into);
    Ok(Launch {
        family: "gemv",
        entry: names[tile_index],
        grid: [shape.n.div_ceil(ROWS * WARPS / split), 1, 1],
        block: [THREADS, 1, 1],
        shared_bytes: tokens * tile * size,
        args: [weights.into(), x.into(), y.into()].into_iter().chain(sizes).collect(),
    })
}

/// Warps that share rows: as few as fill the device four blocks deep, and none without work.
fn split(facts: &DeviceFacts, shape: Shape, step: u32) -> u32 {
    let enough = |split: &u32| shape.n.div_ceil(ROWS * WARPS / split) >= 4 * facts.sms;
    let useful = shape.k.div_ceil(step).next_power_of_two();
    [1, 2, 4].iter().find(|s| enough(s)).copied().unwrap_or(8).min(useful)
}

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[];
