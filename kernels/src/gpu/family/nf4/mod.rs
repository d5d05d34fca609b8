//! K24, K25: NF4 weights in blocks of 64 with an fp32 maximum, as bitsandbytes stores them.

mod paths;

pub use paths::KERNELS;
pub(super) use paths::path;
pub(in crate::gpu) use paths::{Bf16, F16};

pub use super::stream::{Formats, Operands};
use super::stream::{
    Selection, THREADS, WARPS, check_aligned, check_shape, has_mma, suffix, token_tile, wide,
    widening_entry,
};
use crate::gpu::{Arg, DeviceFacts, Element, Launch, Shape, Slot, Variant};

/// Weights that share a maximum.
pub const BLOCK: usize = 64;
/// Most tokens of one launch.
pub const MOST_TOKENS: u32 = 8;
/// Rows of a warp on CUDA cores.
const ROWS: u32 = 2;

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
    -0.091_050_036,
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

/// Columns of two blocks: what tensor cores take at a time.
const STEP: u32 = 2 * BLOCK as u32;

/// Entries of a way by tokens, what a block has of both, and the rows it takes at a time.
struct Dispatch {
    entries: [&'static str; 2],
    tokens: [u32; 2],
    rows: u32,
}

/// Entries by format of x: on CUDA cores, and on tensor cores.
struct Entries {
    input: Element,
    kernel: &'static str,
    simt: Dispatch,
    mma: Dispatch,
}

const fn simt(entries: [&'static str; 2]) -> Dispatch {
    Dispatch { entries, tokens: [1, 4], rows: ROWS * WARPS }
}

const fn mma(entries: [&'static str; 2]) -> Dispatch {
    Dispatch { entries, tokens: [4, 8], rows: 16 }
}

const ENTRIES: &[Entries] = &[
    Entries {
        input: Element::F16,
        kernel: "nf4.f16",
        simt: simt(["nf4_f16_m1", "nf4_f16_m4"]),
        mma: mma(["nf4_mma_f16_m4", "nf4_mma_f16_m8"]),
    },
    Entries {
        input: Element::Bf16,
        kernel: "nf4.bf16",
        simt: simt(["nf4_bf16_m1", "nf4_bf16_m4"]),
        mma: mma(["nf4_mma_bf16_m4", "nf4_mma_bf16_m8"]),
    },
];

/// The ways of a device with tensor cores that take the activations.
const VARIANTS: [Variant; 2] = [
    Variant { name: "mma", what: "pairs of weights in 16 bits, on tensor cores" },
    Variant { name: "simt", what: "pairs of weights in fp32, on CUDA cores" },
];

const SELECTION: Selection = Selection { variants, chosen, ..Selection::NONE };

/// The ways that a device has.
fn variants(facts: &DeviceFacts, input: Element) -> Vec<Variant> {
    if has_mma(facts.sm, input) { VARIANTS.to_vec() } else { Vec::new() }
}

/// Name of the one that a size is computed in: on tensor cores where rows are whole steps, half the instructions.
fn chosen(facts: &DeviceFacts, kernel: &str, input: Element, shape: Shape) -> &'static str {
    let [mma, simt] = VARIANTS.map(|variant| variant.name);
    let picked = facts.tuned.choose(kernel, shape);
    match has_mma(facts.sm, input) {
        false => "",
        true if !shape.k.is_multiple_of(STEP) || picked == Some(simt) => simt,
        true => mma,
    }
}

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
    let row = ENTRIES.iter().find(|row| row.input == formats.input);
    let Some(entries) = row else {
        return Err(format!("NF4 weights take no activations stored as {}", suffix(formats.input)));
    };
    let mma = chosen(facts, entries.kernel, formats.input, shape) == VARIANTS[0].name;
    let Dispatch { entries, tokens, rows } = if mma { &entries.mma } else { &entries.simt };
    let index = token_tile(shape.m, tokens);
    // As many as fit most multiprocessors; each fills its table once and takes rows until none are left.
    let blocks = shape.n.div_ceil(*rows).min(2 * facts.sms.max(1));
    let args = [weights.codes, weights.maxima, x, y].map(Arg::from).into_iter();
    let args = args.chain([shape.m, shape.n, shape.k, wide(formats)?].map(Arg::from));
    let grid = [blocks, shape.m.div_ceil(tokens[index])];
    Ok(Launch::new(("nf4", entries[index]), grid, THREADS, args))
}

/// NF4 weights as `[n, k]` 16-bit numbers, row by row: what prefill multiplies with.
pub fn dequantize(
    weights: Weights,
    to: Slot,
    element: Element,
    n: u32,
    k: u32,
) -> Result<Launch, String> {
    let entry = widening_entry(element, ["nf4_dequant_f16", "nf4_dequant_bf16"])?;
    check_shape(Shape { m: 1, n, k, ..Shape::default() }, 1, BLOCK as u32)?;
    check_aligned(&[weights.codes, weights.maxima, to])?;
    let args = [weights.codes, weights.maxima, to].map(Arg::from).into_iter();
    // A thread widens eight weights.
    let eights = n * (k / 8);
    let args = args.chain([Arg::from(eights)]);
    Ok(Launch::new(("nf4", entry), [eights.div_ceil(THREADS), 1], THREADS, args))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digits of `get_4bit_type` in bitsandbytes' functional.py, which are those of the paper's appendix.
    #[test]
    fn codes_are_those_of_the_paper_to_the_last_bit() {
        let digits = "-1.0 -0.6961928009986877 -0.5250730514526367 -0.39491748809814453 \
            -0.28444138169288635 -0.18477343022823334 -0.09105003625154495 0.0 \
            0.07958029955625534 0.16093020141124725 0.24611230194568634 0.33791524171829224 \
            0.44070982933044434 0.5626170039176941 0.7229568362236023 1.0";
        let published = digits.split_whitespace().map(|text| text.parse::<f32>().unwrap());
        assert!(published.eq(CODE));
    }

    /// bitsandbytes' `create_normal_map` (functional.py): eight quantiles of the normal distribution above zero, seven below,
    /// from 0.9677083 of it on, evenly spaced in probability, over the largest of them.
    #[test]
    fn codes_are_quantiles_of_the_normal_distribution() {
        let offset = 0.967_708_3_f64;
        let even = |steps: usize| {
            let step = (offset - 0.5) / steps as f64;
            (0..steps).map(move |i| quantile(offset - step * i as f64))
        };
        let largest = quantile(offset);
        let mut want: Vec<f64> = even(8).map(|q| q / largest).collect();
        want.extend(even(7).map(|q| -q / largest));
        want.push(0.0);
        want.sort_by(f64::total_cmp);
        for (code, want) in CODE.iter().zip(&want) {
            assert!((f64::from(*code) - want).abs() < 1e-6, "{code} {want}");
        }
    }

    /// The inverse of the normal distribution, by halving: its density integrated by Simpson's rule.
    fn quantile(probability: f64) -> f64 {
        let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let below = |x: f64| {
            let step = x / 200.0;
            let weight = |i: i32| if i == 0 || i == 200 { 1.0 } else { f64::from(2 + i % 2 * 2) };
            0.5 + (0..=200).map(|i| weight(i) * density(step * f64::from(i))).sum::<f64>() * step
                / 3.0
        };
        let (mut low, mut high) = (0.0, 4.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if below(middle) < probability { low = middle } else { high = middle }
        }
        low
    }

    #[test]
    fn codes_of_codes_are_themselves_and_bytes_hold_the_first_above() {
        let block: Vec<f32> = (0..64).map(|i| CODE[i % 16] * 4.0).collect();
        let (codes, maximum) = quantize(&block);
        assert!(codes.iter().enumerate().all(|(i, code)| usize::from(*code) == i % 16));
        assert!((maximum - 4.0).abs() < f32::EPSILON);
        assert_eq!(pack(&codes)[..3], [0x01, 0x23, 0x45]);
        assert_eq!(quantize(&[0.0; 64]), (vec![7; 64], 0.0));
    }
}
