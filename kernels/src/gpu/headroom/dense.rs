//! Matrix products as paths. They have cases of their own; here they are only tried.

use crate::gpu::family::gemm::{self, Operands, Product};
use crate::gpu::family::gemv;
use crate::gpu::family::stream::{Formats, Launches, Path, Places};
use crate::gpu::{DeviceFacts, Element, Shape};

/// What sums in fp32 are stored in.
const fn path(id: &'static str, formats: Formats) -> Path {
    Path {
        launch: |facts, formats, places, shape| launch(facts, Product::of(formats)?, places, shape),
        ..gemv::path(id, formats, 0.0)
    }
}

fn launch(facts: &DeviceFacts, product: Product, places: &Places, shape: Shape) -> Launches {
    let operands = Operands { x: places.x, weights: places.weights[0], y: places.y };
    Ok(vec![gemm::launch(facts, operands, product, shape)?])
}

/// The kernels and their paths.
pub(super) const PATHS: &[(&str, &[Path])] = &[
    ("gemm.f16", &[path("gemm.f16 fp16 out", Formats::same(Element::F16))]),
    ("gemm.f16out32", &[path("gemm.f16out32 fp32 out", Formats::wide(Element::F16))]),
    (
        "gemm.f16acc16",
        &[Path {
            launch: |facts, _, places, shape| launch(facts, Product::F16Acc16, places, shape),
            ..path("gemm.f16acc16 fp16 sums", Formats::same(Element::F16))
        }],
    ),
    ("gemm.bf16", &[path("gemm.bf16 bf16 out", Formats::same(Element::Bf16))]),
    ("gemm.bf16out32", &[path("gemm.bf16out32 fp32 out", Formats::wide(Element::Bf16))]),
    ("gemm.f32", &[path("gemm.f32", Formats::same(Element::F32))]),
];
