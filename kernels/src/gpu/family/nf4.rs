//! K24, K25: NF4 weights in blocks of 64 with an fp32 maximum, as bitsandbytes stores them.

use half::{bf16, f16};

pub use super::stream::{Formats, Operands};
use super::stream::{THREADS, WARPS, check_aligned, check_shape, token_tile};
use crate::gpu::{Arg, DeviceFacts, Element, GpuKernel, Launch, Shape, Slot};

/// Weights that share a maximum.
pub const BLOCK: usize = 64;
/// Most tokens of one launch.
pub const MOST_TOKENS: u32 = 8;
/// Rows of a warp.
const ROWS: u32 = 2;
/// Tokens that entries are compiled for.
const TOKENS: [u32; 2] = [1, 4];

/// The sixteen values of NF4: quantiles of a normal distribution, scaled to ±1.
///
/// QLoRA (Dettmers and others 2023, arXiv 2305.14314), appendix E, in the digits of bitsandbytes' `csrc/kernels.cu`.
pub const CODE: [f32; 16] = [
    -1.0,
    -0.696_192_8,
    -0.525_073_05,
    -0.394_917_5,
    -0.284_441_38,
    -0.184_773_43,
    -0.091_050_04,
    0.0,
    0.079_580_3,
    0.160_930_2,
    0.246_112_3,
    0.337_915_24,
    0.440_709_83,
    0.562_617,
    0.722_956_84,
    1.0,
];

/// Where NF4 weights are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Codes, two a byte, the first in the high half, row by row.
    pub codes: Slot,
    /// Maxima, binary32, one for each 64 columns, row by row.
    pub maxima: Slot,
}

/// Packs codes 0 … 15, an even number of them.
pub fn pack(codes: &[u8]) -> Vec<u8> {
    codes.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1] & 15).collect()
}

/// The nearest code of each value of a block, and the block's maximum.
pub fn quantize(block: &[f32]) -> (Vec<u8>, f32) {
    let maximum = block.iter().fold(0.0_f32, |max, v| max.max(v.abs()));
    let nearest = |value: &f32| {
        let scaled = if maximum > 0.0 { value / maximum } else { 0.0 };
        let distance = |code: &usize| (CODE[*code] - scaled).abs();
        (0..16).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(7) as u8
    };
    (block.iter().map(nearest).collect(), maximum)
}

/// The number a code stands for, rounded to a 16-bit format: one fp32 product, one rounding.
pub fn widened(code: u8, maximum: f32, element: Element) -> f64 {
    let value = CODE[usize::from(code & 15)] * maximum;
    match element {
        Element::F16 => f64::from(f16::from_f32(value)),
        Element::Bf16 => f64::from(bf16::from_f32(value)),
        _ => f64::from(value),
    }
}

/// Entries by formats of x and y.
const ENTRIES: &[(Element, Element, [&str; 2])] = &[
    (Element::F16, Element::F16, ["nf4_f16_m1", "nf4_f16_m4"]),
    (Element::F16, Element::F32, ["nf4_f16_f32_m1", "nf4_f16_f32_m4"]),
    (Element::Bf16, Element::Bf16, ["nf4_bf16_m1", "nf4_bf16_m4"]),
    (Element::Bf16, Element::F32, ["nf4_bf16_f32_m1", "nf4_bf16_f32_m4"]),
];

/// y = x·Wᵀ of up to [`MOST_TOKENS`] tokens; f16 or bf16 in, the same or f32 out; fp32 accumulation.
pub fn launch(
    facts: &DeviceFacts,
    operands: Operands<Weights>,
    formats: Formats,
    shape: Shape,
) -> Result<Launch, String> {
    let Operands { x, weights, y } = operands;
    check_shape(shape, MOST_TOKENS, BLOCK as u32)?;
    check_aligned(&[x, weights.codes, weights.maxima, y])?;
    let row = ENTRIES.iter().find(|(i, o, _)| (*i, *o) == (formats.input, formats.output));
    let Some((_, _, names)) = row else {
        return Err(format!("no product of {:?} gives {:?}", formats.input, formats.output));
    };
    let index = token_tile(shape.m, &TOKENS);
    // Two blocks fit a multiprocessor; each fills its table once and takes rows until none are left.
    let blocks = shape.n.div_ceil(ROWS * WARPS).min(2 * facts.sms.max(1));
    let args = [weights.codes, weights.maxima, x, y].map(Arg::from).into_iter();
    Ok(Launch {
        family: "nf4",
        entry: names[index],
        grid: [blocks, shape.m.div_ceil(TOKENS[index]), 1],
        block: [THREADS, 1, 1],
        shared_bytes: 0,
        args: args.chain([shape.m, shape.n, shape.k].map(Arg::from)).collect(),
    })
}

/// NF4 weights as `[n, k]` 16-bit numbers, row by row: what prefill multiplies with.
pub fn dequantize(
    weights: Weights,
    to: Slot,
    element: Element,
    n: u32,
    k: u32,
) -> Result<Launch, String> {
    let entry = match element {
        Element::F16 => "nf4_dequant_f16",
        Element::Bf16 => "nf4_dequant_bf16",
        _ => return Err(format!("NF4 weights are not widened to {element:?}")),
    };
    check_shape(Shape { m: 1, n, k, ..Shape::default() }, 1, BLOCK as u32)?;
    check_aligned(&[weights.codes, weights.maxima, to])?;
    let args = [weights.codes, weights.maxima, to].map(Arg::from).into_iter();
    Ok(Launch {
        family: "nf4",
        entry,
        // A thread widens eight weights.
        grid: [(n * (k / 8)).div_ceil(THREADS), 1, 1],
        block: [THREADS, 1, 1],
        shared_bytes: 0,
        args: args.chain([n * (k / 8)].map(Arg::from)).collect(),
    })
}

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[];
