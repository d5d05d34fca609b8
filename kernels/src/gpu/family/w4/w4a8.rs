//! K26: activations in eight bits, products by `dp4a`, as llama.cpp multiplies.
//!
//! A group of 128 activations has one scale, its largest magnitude over 127. Groups of 32 were rejected: the weights' scales
//! span 128, so that finer ones cost a multiplication each and tell nothing more about the hardware.

use super::{GROUP, ROWS, Weights};
use crate::gpu::family::stream::{Operands, WARPS, check_aligned, check_shape, token_tile};
use crate::gpu::{Arg, DeviceFacts, Element, Launch, Shape, Slot};

/// Most tokens of one launch.
pub const MOST_TOKENS: u32 = 8;
/// Tokens that entries are compiled for.
const TOKENS: [u32; 2] = [1, 4];

/// Where activations in eight bits are kept between the two launches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantized {
    /// The integers, `[m, k]` row by row.
    pub codes: Slot,
    /// Scale and sum of every group, 8 bytes.
    pub groups: Slot,
}

/// Bytes of the integers, and of the scales and sums, of so many activations.
pub fn quantized_bytes(shape: Shape) -> [usize; 2] {
    let count = shape.m as usize * shape.k as usize;
    [count, count / GROUP * 8]
}

/// y = x·Wᵀ of up to [`MOST_TOKENS`] tokens whose groups are rounded to eight bits; f16, bf16 or f32, in and out alike.
pub fn launch(
    facts: &DeviceFacts,
    operands: Operands<Weights>,
    between: Quantized,
    element: Element,
    shape: Shape,
) -> Result<[Launch; 2], String> {
    let Operands { x, weights, y } = operands;
    check_shape(shape, MOST_TOKENS, GROUP as u32)?;
    check_aligned(&[x, weights.words, weights.scales, between.codes, between.groups, y])?;
    if (facts.sm.major, facts.sm.minor) < (6, 1) {
        return Err(format!("{} has no dp4a", facts.sm));
    }
    let f16 = ["w4a8_f16_m1", "w4a8_f16_m4"];
    let (quantize, names, wide) = match element {
        Element::F16 => ("w4a8_quantize_f16", f16, 0_u32),
        Element::Bf16 => ("w4a8_quantize_bf16", ["w4a8_bf16_m1", "w4a8_bf16_m4"], 0),
        Element::F32 => ("w4a8_quantize_f32", f16, 1),
        _ => {
            return Err(format!("activations stored as {element:?} are not rounded to eight bits"));
        }
    };
    let groups = shape.k / GROUP as u32;
    let index = token_tile(shape.m, &TOKENS);
    let sizes = [shape.m, shape.n, shape.k, wide].map(Arg::from);
    let places = [weights.words, weights.scales, between.codes, between.groups, y].map(Arg::from);
    let rounded = [x, between.codes, between.groups].map(Arg::from);
    let round = Launch::new(("w4", quantize), [shape.m * groups, 1], 32, rounded);
    let grid = [shape.n.div_ceil(ROWS), shape.m.div_ceil(TOKENS[index])];
    let (threads, args) = (32 * groups.min(WARPS), places.into_iter().chain(sizes));
    Ok([round, Launch::new(("w4", names[index]), grid, threads, args)])
}
