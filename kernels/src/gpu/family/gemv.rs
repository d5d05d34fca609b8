//! K20: products of one to eight tokens with 16-bit and fp32 weights.
//!
//! A warp computes four rows with fp32 accumulators. Where rows are few, the warps of a block share them and each takes a
//! part of k: the parts meet in shared memory, in a fixed order. A second launch over partial sums in device memory was
//! rejected: it needs scratch memory and a dependency for less than a block's worth of sums.

use super::route::{F32 as FP32, Step};
use super::stream::{
    BF16, Parts, Path, Selection, Store, Stored, Streamed, THREADS, WARPS, check_aligned,
    check_shape, kernel, store, suffix, token_tile, wide,
};
pub use super::stream::{Formats, Operands};
use crate::Dtype;
use crate::gpu::{Arg, DeviceFacts, Element, GpuKernel, Launch, Route, Shape, Variant};

/// Most tokens of one launch.
pub const MOST_TOKENS: u32 = 8;
/// Rows a warp computes at a time.
const ROWS: u32 = 4;
/// Bytes of shared memory for activations.
const TILE_BYTES: u32 = 32 << 10;
/// Tokens that entries are compiled for.
const TOKENS: [u32; 4] = [1, 2, 4, 8];

/// Entries by format of x and W: on CUDA cores by tokens, on tensor cores for all of them.
struct Entries {
    input: Element,
    kernel: &'static str,
    simt: [&'static str; 4],
    mma: Option<&'static str>,
}

const ENTRIES: &[Entries] = &[
    Entries {
        input: Element::F16,
        kernel: "gemv.f16",
        simt: ["gemv_f16_m1", "gemv_f16_m2", "gemv_f16_m4", "gemv_f16_m8"],
        mma: Some("gemv_mma_f16"),
    },
    Entries {
        input: Element::Bf16,
        kernel: "gemv.bf16",
        simt: ["gemv_bf16_m1", "gemv_bf16_m2", "gemv_bf16_m4", "gemv_bf16_m8"],
        mma: Some("gemv_mma_bf16"),
    },
    Entries {
        input: Element::F32,
        kernel: "gemv.f32",
        simt: ["gemv_f32_m1", "gemv_f32_m2", "gemv_f32_m4", "gemv_f32_m8"],
        mma: None,
    },
];

/// Fewest tokens that are worth tensor cores: one and two cost CUDA cores less than what memory allows for.
const MMA_TOKENS: u32 = 3;
/// Rows of a block on tensor cores.
const MMA_ROWS: u32 = 32;
/// On tensor cores.
const MMA: Variant = Variant { name: "mma", what: "32 rows a block, on tensor cores" };

/// How many warps share rows, by name.
const SPLITS: &[(Variant, u32)] = &[
    (Variant { name: "s1", what: "a warp for every four rows" }, 1),
    (Variant { name: "s2", what: "two warps share four rows" }, 2),
    (Variant { name: "s4", what: "four warps share four rows" }, 4),
    (Variant { name: "s8", what: "a block shares four rows" }, 8),
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
    let row = ENTRIES.iter().find(|row| row.input == formats.input);
    let Some(Entries { kernel, simt, mma, .. }) = row else {
        return Err(format!("weights stored as {} are not multiplied", suffix(formats.input)));
    };
    let wide = wide(formats)?;
    let place = [weights, x, y].map(Arg::from).into_iter();
    let Shape { m, n, k, .. } = shape;
    if let (Some(entry), true) = (mma, on_tensor_cores(facts, kernel, formats.input, shape)) {
        let args = place.chain([m, n, k, wide].map(Arg::from));
        return Ok(Launch::new(("gemv", entry), [n.div_ceil(MMA_ROWS), 1], THREADS, args));
    }
    let tile_index = token_tile(m, &TOKENS);
    let tokens = TOKENS[tile_index];
    let split = split(facts, kernel, formats.input, shape);
    let tile = (TILE_BYTES / (tokens * size)).min(k.next_multiple_of(64));
    let args = place.chain([m, n, k, split, tile, wide].map(Arg::from));
    let (entry, blocks) = (("gemv", simt[tile_index]), n.div_ceil(ROWS * WARPS / split));
    Ok(Launch::new(entry, [blocks, 1], THREADS, args).with_shared(tokens * tile * size))
}

/// Whether a size is computed on tensor cores: more than two tokens where they take the format, and fewer where that was picked.
fn on_tensor_cores(facts: &DeviceFacts, kernel: &str, input: Element, shape: Shape) -> bool {
    let picked = facts.tuned.choose(kernel, shape) == Some(MMA.name);
    has_tensor_cores(facts, input) && (picked || shape.m >= MMA_TOKENS)
}

/// Those of sm_80 and later, which multiply sixteen columns at a time.
fn has_tensor_cores(facts: &DeviceFacts, input: Element) -> bool {
    facts.sm.major >= 8 && input != Element::F32
}

/// Warps that share rows: what was picked, else as few as fill the device four blocks deep, and none without work.
fn split(facts: &DeviceFacts, kernel: &str, input: Element, shape: Shape) -> u32 {
    let picked = facts.tuned.choose(kernel, shape);
    let found = SPLITS.iter().find(|(variant, _)| Some(variant.name) == picked);
    if let Some((_, split)) = found {
        return *split;
    }
    let enough = |split: &u32| shape.n.div_ceil(ROWS * WARPS / split) >= 4 * facts.sms;
    let step = 32 * 16 / input.bytes() as u32;
    let useful = shape.k.div_ceil(step).next_power_of_two();
    [1, 2, 4].iter().find(|s| enough(s)).copied().unwrap_or(8).min(useful)
}

/// How a device does it: on CUDA cores, and many tokens on tensor cores where it has those.
fn cores(cuda: Route, facts: &DeviceFacts, input: Element) -> Route {
    match cuda {
        Route::Native { by } if has_tensor_cores(facts, input) => {
            Route::Native { by: format!("{by}, from {MMA_TOKENS} tokens on mma.m16n8k16") }
        }
        other => other,
    }
}

const SELECTION: Selection = Selection { variants, chosen, route: cores, ..Selection::NONE };

/// The ways that a device has.
fn variants(facts: &DeviceFacts, input: Element) -> Vec<Variant> {
    let splits = SPLITS.iter().map(|(variant, _)| *variant);
    splits.chain(has_tensor_cores(facts, input).then_some(MMA)).collect()
}

/// Name of the one that a size is computed in.
fn chosen(facts: &DeviceFacts, kernel: &str, input: Element, shape: Shape) -> &'static str {
    if on_tensor_cores(facts, kernel, input, shape) {
        return MMA.name;
    }
    let split = split(facts, kernel, input, shape);
    SPLITS.iter().find(|(_, other)| *other == split).map_or("", |(variant, _)| variant.name)
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
        scratch: |_, _| Vec::new(),
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
    const STEPS: &'static [Step] = FP32;
    const PATHS: &'static [Path] = &[
        path("gemv.f16 fp16 out", Formats::same(Element::F16), 3e-4),
        path("gemv.f16 fp32 out", Formats::wide(Element::F16), 5e-6),
    ];
    const SELECTION: Selection = SELECTION;
}

impl Streamed for Bf16 {
    const KERNEL: &'static str = "gemv.bf16";
    const STEPS: &'static [Step] = BF16;
    const PATHS: &'static [Path] = &[
        path("gemv.bf16 bf16 out", Formats::same(Element::Bf16), 2.5e-3),
        path("gemv.bf16 fp32 out", Formats::wide(Element::Bf16), 5e-6),
    ];
    const SELECTION: Selection = SELECTION;
}

impl Streamed for F32 {
    const KERNEL: &'static str = "gemv.f32";
    const STEPS: &'static [Step] = FP32;
    const PATHS: &'static [Path] = &[path("gemv.f32", Formats::same(Element::F32), 5e-6)];
    const SELECTION: Selection = SELECTION;
}

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[
    kernel::<F16>("fp16 weights, one to eight tokens", "gemv", Dtype::Fp16),
    kernel::<Bf16>("bf16 weights, one to eight tokens", "gemv", Dtype::Bf16),
    kernel::<F32>("fp32 weights, one to eight tokens", "gemv", Dtype::Fp32),
];
