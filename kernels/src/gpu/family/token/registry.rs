//! The kernels of one token, and what proves the products in them: the cases of the kernels they are made from.

use super::cases::{OneToken, cases};
use super::{Kept, Made, Product, Weights, launch};
use crate::Dtype;
use crate::gpu::family::route::{F32 as FP32, MMA_BF16, MMA_F16, Step};
use crate::gpu::family::stream::{BF16, Formats, Launches, Path, Places, Size, Streamed, kernel};
use crate::gpu::family::{gemv, nf4, w4};
use crate::gpu::{DeviceFacts, Element, GpuKernel, Shape};

/// One row, more than blocks have at a time, and more columns than warps have on their way.
const SIZES: &[Size] =
    &[(1, 1, 1, 80), (1, 37, 1100, 80), (1, 67, 600, 1), (1, 300, 384, 1), (1, 24, 5120, 1)];

fn as_is<S: OneToken>(
    facts: &DeviceFacts,
    formats: Formats,
    places: &Places<'_>,
    shape: Shape,
) -> Launches {
    let Shape { m, n, k, .. } = shape;
    if m != 1 {
        return Err(format!("{m} tokens; these kernels take one"));
    }
    let product = Product {
        made: Made::AsIs(places.x),
        element: formats.input,
        weights: S::weights(places),
        rows: n,
        k,
        kept: if formats.output == formats.input { Kept::Same } else { Kept::Wide },
        y: places.y,
    };
    let launch = launch(facts, &product)?;
    launch.map(|launch| vec![launch]).ok_or_else(|| format!("no kernel of one token for {n}×{k}"))
}

/// A path with one token, which is multiplied as it is.
const fn one<S: OneToken>(path: Path) -> Path {
    Path {
        id: path.id,
        formats: path.formats,
        most_tokens: 1,
        multiple: path.multiple,
        limit: path.limit,
        parts: path.parts,
        scratch: path.scratch,
        launch: as_is::<S>,
        store: path.store,
        whole_weight: path.whole_weight,
        whole_x: path.whole_x,
    }
}

/// A kernel of some paths with weights of a kind.
macro_rules! one_token {
    ($name:ident, $kernel:literal, $steps:expr, $of:path, $weights:expr, $([$id:literal, $formats:expr, $limit:expr]),+) => {
        struct $name;

        impl OneToken for $name {
            fn weights(places: &Places<'_>) -> Weights {
                let of: fn(&Places<'_>) -> Weights = $weights;
                of(places)
            }
        }

        impl Streamed for $name {
            const KERNEL: &'static str = $kernel;
            const STEPS: &'static [Step] = $steps;
            const PATHS: &'static [Path] = &[$(one::<Self>($of($id, $formats, $limit))),+];
            const SIZES: &'static [Size] = SIZES;
        }
    };
}

const F16: Formats = Formats::same(Element::F16);
const F16_WIDE: Formats = Formats::wide(Element::F16);
const BFLOAT16: Formats = Formats::same(Element::Bf16);
const F32: Formats = Formats::same(Element::F32);

one_token!(
    DenseF16,
    "token.f16",
    FP32,
    gemv::path,
    |p| Weights::Dense(p.weights[0]),
    ["token.f16 fp16 out", F16, 3e-4],
    ["token.f16 fp32 out", F16_WIDE, 5e-6]
);
one_token!(
    DenseBf16,
    "token.bf16",
    BF16,
    gemv::path,
    |p| Weights::Dense(p.weights[0]),
    ["token.bf16 bf16 out", BFLOAT16, 2.5e-3]
);
one_token!(
    DenseF32,
    "token.f32",
    FP32,
    gemv::path,
    |p| Weights::Dense(p.weights[0]),
    ["token.f32", F32, 5e-6]
);
one_token!(
    Int4F16,
    "token.w4.f16",
    MMA_F16,
    w4::path,
    int4,
    ["token.w4.f16 fp16 out", F16, 3e-4],
    ["token.w4.f16 fp32 out", F16_WIDE, 1e-4]
);
one_token!(
    Int4Bf16,
    "token.w4.bf16",
    MMA_BF16,
    w4::path,
    int4,
    ["token.w4.bf16 bf16 out", BFLOAT16, 2.5e-3]
);
one_token!(
    Nf4F16,
    "token.nf4.f16",
    MMA_F16,
    nf4::path,
    nf4_codes,
    ["token.nf4.f16 fp16 out", F16, 5e-4]
);
one_token!(
    Nf4Bf16,
    "token.nf4.bf16",
    MMA_BF16,
    nf4::path,
    nf4_codes,
    ["token.nf4.bf16 bf16 out", BFLOAT16, 4e-3]
);

fn int4(places: &Places<'_>) -> Weights {
    Weights::Int4(w4::Weights { words: places.weights[0], scales: places.weights[1] })
}

fn nf4_codes(places: &Places<'_>) -> Weights {
    Weights::Nf4(nf4::Weights { codes: places.weights[0], maxima: places.weights[1] })
}

const fn token<S: OneToken>(title: &'static str, family: &'static str, dtype: Dtype) -> GpuKernel {
    GpuKernel {
        cases: cases::<S>,
        works: GpuKernel::UNTIMED.works,
        work: GpuKernel::UNTIMED.work,
        ..kernel::<S>(title, family, dtype)
    }
}

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[
    token::<DenseF16>("one token: norms, fp16 weights, gate", "gemv_token", Dtype::Fp16),
    token::<DenseBf16>("one token: norms, bf16 weights, gate", "gemv_token", Dtype::Bf16),
    token::<DenseF32>("one token: norms, fp32 weights, gate", "gemv_token", Dtype::Fp32),
    token::<Int4F16>("one token: norms, 4-bit weights, gate, fp16", "w4_token", Dtype::Int4Weight),
    token::<Int4Bf16>("one token: norms, 4-bit weights, gate, bf16", "w4_token", Dtype::Int4Weight),
    token::<Nf4F16>("one token: norms, NF4 weights, gate, fp16", "nf4_token", Dtype::Int4Weight),
    token::<Nf4Bf16>("one token: norms, NF4 weights, gate, bf16", "nf4_token", Dtype::Int4Weight),
];
