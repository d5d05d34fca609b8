//! The ways to multiply with NF4 weights, and the kernels they are.

use super::{BLOCK, CODE, Formats, MOST_TOKENS, Operands, Weights, dequantize, pack, quantize};
use crate::Dtype;
use crate::gpu::family::route::{F32 as FP32, FEW_BF16, FEW_F16, Step, route};
use crate::gpu::family::stream::{
    Path, Selection, Size, Stored, Streamed, Widened, kernel, widening,
};
use crate::gpu::{Element, GpuKernel, Launch, Shape, Slot};

fn store(_n: usize, _k: usize, weights: &[f32]) -> Result<Stored, String> {
    let blocks: Vec<(Vec<u8>, f32)> = weights.chunks(BLOCK).map(quantize).collect();
    let codes: Vec<u8> = blocks.iter().flat_map(|(codes, _)| codes.iter().copied()).collect();
    let maxima = blocks.iter().flat_map(|(_, maximum)| maximum.to_le_bytes()).collect();
    let value = |code: &u8, maximum: f32| f64::from(CODE[usize::from(*code)]) * f64::from(maximum);
    let values = blocks.iter().flat_map(|(c, max)| c.iter().map(move |code| value(code, *max)));
    Ok(Stored { values: values.collect(), parts: vec![pack(&codes), maxima] })
}

/// −1, 0 or 1, the codes that are whole, times a maximum of 1, 2 or 3, which the first of a block has.
fn whole_weight(column: usize, random: u64) -> f32 {
    let sign = if column.is_multiple_of(BLOCK) { 1.0 } else { (random % 3) as f32 - 1.0 };
    sign * (1 + column / BLOCK % 3) as f32
}

pub(in crate::gpu::family) const fn path(id: &'static str, formats: Formats, limit: f64) -> Path {
    Path {
        id,
        formats,
        most_tokens: MOST_TOKENS,
        multiple: BLOCK as u32,
        limit,
        parts: |n, k| vec![(Element::U8, n * k / 2), (Element::F32, n * k / BLOCK)],
        scratch: |_, _| Vec::new(),
        launch: |facts, formats, places, shape| {
            let weights = Weights { codes: places.weights[0], maxima: places.weights[1] };
            let operands = Operands { x: places.x, weights, y: places.y };
            Ok(vec![super::launch(facts, operands, formats, shape)?])
        },
        store,
        whole_weight,
        whole_x: |_, random| (random % 16) as f32 - 8.0,
    }
}

/// Uneven shares of the columns, fewer than a warp takes, and as many as each loads ahead and more, on one multiprocessor and on many.
const SIZES: &[Size] = &[(1, 37, 1100, 80), (3, 19, 100, 1), (2, 35, 5376, 1), (7, 18, 5376, 80)];

/// Largest relative errors, wherever results are stored: tensor cores take the sixteen values rounded to the format of the activations, as bitsandbytes
/// does.
const F16_LIMIT: f64 = 5e-4;
const BF16_LIMIT: f64 = 4e-3;

/// fp16 activations.
pub(in crate::gpu) struct F16;
/// bf16 activations.
pub(in crate::gpu) struct Bf16;

impl Streamed for F16 {
    const KERNEL: &'static str = "nf4.f16";
    const STEPS: &'static [Step] = FEW_F16;
    const PATHS: &'static [Path] = &[
        path("nf4.f16 fp16 out", Formats::same(Element::F16), F16_LIMIT),
        path("nf4.f16 fp32 out", Formats::wide(Element::F16), F16_LIMIT),
    ];
    const VARIANT_SIZES: &'static [Size] = SIZES;
    const SELECTION: Selection = super::SELECTION;
}

impl Streamed for Bf16 {
    const KERNEL: &'static str = "nf4.bf16";
    const STEPS: &'static [Step] = FEW_BF16;
    const PATHS: &'static [Path] = &[
        path("nf4.bf16 bf16 out", Formats::same(Element::Bf16), BF16_LIMIT),
        path("nf4.bf16 fp32 out", Formats::wide(Element::Bf16), BF16_LIMIT),
    ];
    const VARIANT_SIZES: &'static [Size] = SIZES;
    const SELECTION: Selection = super::SELECTION;
}

struct Packed;

impl Widened for Packed {
    const PATH: &'static Path = &F16::PATHS[0];

    fn launch(
        weights: &[Slot],
        to: Slot,
        element: Element,
        Shape { n, k, .. }: Shape,
    ) -> Result<Launch, String> {
        dequantize(Weights { codes: weights[0], maxima: weights[1] }, to, element, n, k)
    }
}

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[
    kernel::<F16>("NF4 weights, fp16 activations", "nf4", Dtype::Int4Weight),
    kernel::<Bf16>("NF4 weights, bf16 activations", "nf4", Dtype::Int4Weight),
    widening::<Packed>("nf4.dequant", "NF4 weights as 16-bit numbers", "nf4", |facts| {
        route(FP32, facts)
    }),
];
