//! The ways to multiply with 4-bit weights, and the kernels they are.

use half::f16;

use super::fit::{Fitted, asymmetric, symmetric};
use super::{
    Formats, GROUP, MOST_TOKENS, Operands, Weights, awq, block, gemm, hopper, pack, packed_bytes,
    scale_bytes, w4a8,
};
use crate::Sm;
use crate::gpu::family::route::{FEW_BF16, FEW_F16, MMA_BF16, MMA_F16, Step, Support};
use crate::gpu::family::stream::{Path, Selection, Size, Stored, Streamed};
use crate::gpu::{Content, Element};

/// Groups of `[n, k]` weights in four bits, and what is then stored.
fn fitted(weights: &[f32], fit: fn(&[f32]) -> Fitted) -> (Vec<Fitted>, Vec<f64>) {
    let groups: Vec<Fitted> = weights.chunks(GROUP).map(fit).collect();
    let values = groups.iter().flat_map(Fitted::values).collect();
    (groups, values)
}

fn store(n: usize, k: usize, weights: &[f32]) -> Result<Stored, String> {
    let (groups, values) = fitted(weights, symmetric);
    let q: Vec<i8> = groups.iter().flat_map(|g| g.codes.iter().map(|c| *c as i8 - 8)).collect();
    let scales: Vec<f16> = groups.iter().map(|group| group.scale).collect();
    let packed = pack(n, k, &q, &scales)?;
    Ok(Stored { parts: vec![packed.words, packed.scales], values })
}

fn store_awq(_n: usize, _k: usize, weights: &[f32]) -> Result<Stored, String> {
    let (groups, values) = fitted(weights, asymmetric);
    let codes: Vec<u8> = groups.iter().flat_map(|g| g.codes.iter().copied()).collect();
    let scales: Vec<f16> = groups.iter().map(|group| group.scale).collect();
    let zeros: Vec<u8> = groups.iter().map(|group| group.zero).collect();
    let packed = awq::pack(&codes, &scales, &zeros)?;
    Ok(Stored { parts: vec![packed.words, packed.scales, packed.zeros], values })
}

fn parts(n: usize, k: usize) -> Vec<(Element, usize)> {
    vec![(Element::U32, packed_bytes(n, k) / 4), (Element::F16, scale_bytes(n, k) / 2)]
}

/// −8 … 7 times a scale of 1, 2 or 4: the first of a group is −8, which settles what the scale is.
fn whole_weight(column: usize, random: u64) -> f32 {
    let q = if column.is_multiple_of(GROUP) { 0 } else { random % 16 };
    (q as f32 - 8.0) * (1 << (column / GROUP % 3)) as f32
}

/// −8 … 7.
fn whole_x(_column: usize, random: u64) -> f32 {
    (random % 16) as f32 - 8.0
}

/// Largest relative error of fp32 results: sums on tensor cores are up to a thousand times larger than what is left of them
/// once the offset of the nibbles is taken away.
const WIDE_LIMIT: f64 = 1e-4;

/// Tensor cores where they take the format, CUDA cores elsewhere; fp32 sums.
pub(in crate::gpu::family) const fn path(id: &'static str, formats: Formats, limit: f64) -> Path {
    Path {
        id,
        formats,
        most_tokens: MOST_TOKENS,
        multiple: GROUP as u32,
        limit,
        parts,
        scratch: |_, _| Vec::new(),
        launch: |facts, formats, places, shape| {
            let weights = Weights { words: places.weights[0], scales: places.weights[1] };
            let operands = Operands { x: places.x, weights, y: places.y };
            Ok(vec![super::launch(facts, operands, formats, shape)?])
        },
        store,
        whole_weight,
        whole_x,
    }
}

/// Activations in eight bits. What they are rounded by is in the limit: 127 steps of the largest of 128 normal numbers.
const fn eight_bits(id: &'static str, element: Element) -> Path {
    Path {
        most_tokens: w4a8::MOST_TOKENS,
        scratch: |_, shape| w4a8::quantized_bytes(shape).map(Content::Scratch).into(),
        launch: |facts, formats, places, shape| {
            let weights = Weights { words: places.weights[0], scales: places.weights[1] };
            let operands = Operands { x: places.x, weights, y: places.y };
            let [codes, groups] = [places.scratch[0], places.scratch[1]];
            let between = w4a8::Quantized { codes, groups };
            Ok(w4a8::launch(facts, operands, between, formats.output, shape)?.into())
        },
        // The first of a group is 127, so that integers are their own codes.
        whole_x: |column, random| {
            if column.is_multiple_of(GROUP) { 127.0 } else { (random % 255) as f32 - 127.0 }
        },
        ..path(id, Formats::same(element), 8e-3)
    }
}

/// Many tokens.
const fn gemm<S: Streamed>(id: &'static str, formats: Formats, limit: f64) -> Path {
    Path {
        most_tokens: gemm::MOST_TOKENS,
        scratch: |facts, shape| {
            let [left, arrivals] = gemm::workspace_bytes(facts, S::KERNEL, shape);
            let ordered = Content::Scratch(hopper::scratch(shape));
            vec![ordered, Content::Scratch(left), Content::Zero(arrivals)]
        },
        launch: |facts, formats, places, shape| {
            let weights = Weights { words: places.weights[0], scales: places.weights[1] };
            let operands = Operands { x: places.x, weights, y: places.y };
            let [ordered, left, arrivals] = [0, 1, 2].map(|index| places.scratch[index]);
            match hopper::launch(S::KERNEL, facts, (operands, ordered), formats, shape)? {
                Some(launches) => Ok(launches),
                None => {
                    let workspace = Some(gemm::Workspace { left, arrivals });
                    Ok(vec![gemm::launch(facts, operands, workspace, formats, shape)?])
                }
            }
        },
        ..path(id, formats, limit)
    }
}

/// fp16 activations.
pub(in crate::gpu) struct F16;
/// bf16 activations.
pub(in crate::gpu) struct Bf16;
/// Zero points and fp16 sums.
pub(in crate::gpu) struct Awq;
/// Activations in eight bits.
pub(in crate::gpu) struct EightBits;
/// Many tokens of fp16 activations.
pub(in crate::gpu) struct GemmF16;
/// Many tokens of bf16 activations.
pub(in crate::gpu) struct GemmBf16;

impl Streamed for F16 {
    const KERNEL: &'static str = "w4.f16";
    const STEPS: &'static [Step] = FEW_F16;
    const PATHS: &'static [Path] = &[
        path("w4.f16 fp16 out", Formats::same(Element::F16), 3e-4),
        path("w4.f16 fp32 out", Formats::wide(Element::F16), WIDE_LIMIT),
    ];
    const VARIANT_SIZES: &'static [Size] = FEW_SIZES;
    const SELECTION: Selection = block::SELECTION;
}

impl Streamed for Bf16 {
    const KERNEL: &'static str = "w4.bf16";
    const STEPS: &'static [Step] = FEW_BF16;
    const PATHS: &'static [Path] = &[
        path("w4.bf16 bf16 out", Formats::same(Element::Bf16), 2.5e-3),
        path("w4.bf16 fp32 out", Formats::wide(Element::Bf16), WIDE_LIMIT),
    ];
    const VARIANT_SIZES: &'static [Size] = FEW_SIZES;
    const SELECTION: Selection = block::SELECTION;
}

impl Streamed for Awq {
    const KERNEL: &'static str = "awq.f16";
    const STEPS: &'static [Step] = &[(Sm::new(6, 0), Support::Native("fma.f16x2"))];
    const PATHS: &'static [Path] = &[Path {
        most_tokens: awq::MOST_TOKENS,
        parts: |n, k| {
            let groups = n * k / GROUP;
            vec![(Element::U32, n * k / 8), (Element::F16, groups), (Element::U8, groups)]
        },
        launch: |_, _, places, shape| {
            let [words, scales, zeros] = [0, 1, 2].map(|part| places.weights[part]);
            let weights = awq::Weights { words, scales, zeros };
            let operands = Operands { x: places.x, weights, y: places.y };
            Ok(vec![awq::launch(operands, shape)?])
        },
        store: store_awq,
        // Sixteen neighbouring integers, from −4 … −7 on: the first two of a group are the least and the greatest.
        whole_weight: |column, random| {
            let q = match column % GROUP {
                0 => 0,
                1 => 15,
                _ => random % 16,
            };
            q as f32 - (4 + column / GROUP % 4) as f32
        },
        // Small ones: binary16 counts up to 2048 only.
        whole_x: |_, random| (random % 3) as f32 - 1.0,
        ..path("awq.f16 fp16 sums", Formats::same(Element::F16), 6e-3)
    }];
}

impl Streamed for EightBits {
    const KERNEL: &'static str = "w4a8";
    const STEPS: &'static [Step] = &[(Sm::new(6, 1), Support::Native("dp4a"))];
    const PATHS: &'static [Path] = &[
        eight_bits("w4a8 fp16 out", Element::F16),
        eight_bits("w4a8 bf16 out", Element::Bf16),
        eight_bits("w4a8 fp32 out", Element::F32),
    ];
}

impl Streamed for GemmF16 {
    const KERNEL: &'static str = "w4.gemm.f16";
    const STEPS: &'static [Step] = MMA_F16;
    const PATHS: &'static [Path] = &[
        gemm::<Self>("w4.gemm.f16 fp16 out", Formats::same(Element::F16), 3e-4),
        gemm::<Self>("w4.gemm.f16 fp32 out", Formats::wide(Element::F16), WIDE_LIMIT),
    ];
    const SIZES: &'static [Size] = GEMM_SIZES;
    const VARIANT_SIZES: &'static [Size] = GEMM_VARIANT_SIZES;
    const TIMED: &'static [u32] = &[16, 64, 256];
    const SELECTION: Selection = gemm::SELECTION;
}

impl Streamed for GemmBf16 {
    const KERNEL: &'static str = "w4.gemm.bf16";
    const STEPS: &'static [Step] = MMA_BF16;
    const PATHS: &'static [Path] = &[
        gemm::<Self>("w4.gemm.bf16 bf16 out", Formats::same(Element::Bf16), 2.5e-3),
        gemm::<Self>("w4.gemm.bf16 fp32 out", Formats::wide(Element::Bf16), WIDE_LIMIT),
    ];
    const SIZES: &'static [Size] = GEMM_SIZES;
    const VARIANT_SIZES: &'static [Size] = GEMM_VARIANT_SIZES;
    const TIMED: &'static [u32] = &[16, 64, 256];
    const SELECTION: Selection = gemm::SELECTION;
}

/// Fewer rows than a block has, and more; uneven shares of the groups, one group only, and as many as each warp loads ahead and more.
const FEW_SIZES: &[Size] =
    &[(1, 37, 1100, 80), (3, 19, 100, 1), (2, 18, 5200, 80), (8, 18, 4200, 80), (16, 18, 4200, 80)];

/// Tokens of one tile and of several, rows of one block and of several, one group and uneven shares of many.
const GEMM_SIZES: &[Size] = &[
    (1, 5, 100, 1),
    (16, 270, 200, 1),
    (17, 67, 1100, 80),
    (40, 33, 400, 4),
    (100, 20, 100, 1),
    (130, 35, 200, 80),
];

/// Several tiles; rows of one; one group, and more tiles than blocks at once; a tile that three blocks share, and blocks with pieces of several tiles.
const GEMM_VARIANT_SIZES: &[Size] =
    &[(24, 270, 300, 2), (65, 5, 700, 80), (16, 300, 1, 1), (11, 70, 3200, 80), (70, 135, 200, 3)];
