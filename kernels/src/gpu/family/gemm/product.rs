//! What there is to multiply.

use crate::gpu::Element;
use crate::gpu::family::number::Number;
use crate::gpu::family::route::{self, Step};
use crate::gpu::family::stream::Formats;

/// What is multiplied, summed and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Product {
    /// K10: fp16, fp32 accumulation.
    F16,
    /// K10 with fp32 results: what cannot overflow where it is stored.
    F16Out32,
    /// K12: fp16 with fp16 accumulation.
    F16Acc16,
    /// K11: bf16, fp32 accumulation.
    Bf16,
    /// K11 with fp32 results.
    Bf16Out32,
    /// K14: fp32.
    F32,
    /// K15: 8-bit integers, 32-bit results.
    S8,
    /// K16: 4-bit integers, two a byte, the first in the lower half; 32-bit results.
    S4,
    /// K17: fp8 e4m3, fp32 results.
    E4m3,
    /// K17: fp8 e5m2, fp32 results.
    E5m2,
    /// K13: fp32 rounded to tf32 as it is multiplied, fp32 accumulation.
    Tf32,
}

/// What is to be known of a product.
pub(super) struct Row {
    pub product: Product,
    /// Id of its kernel.
    pub id: &'static str,
    pub family: &'static str,
    pub input: Number,
    pub output: Element,
    pub steps: &'static [Step],
}

/// In the order of [`Product`].
pub(super) const ROWS: [Row; 11] = {
    use Product as P;
    const fn row(
        product: Product,
        id: &'static str,
        family: &'static str,
        (input, output): (Number, Element),
        steps: &'static [Step],
    ) -> Row {
        Row { product, id, family, input, output, steps }
    }
    let (f16, bf16, f32) = (Element::F16, Element::Bf16, Element::F32);
    [
        row(P::F16, "gemm.f16", "gemm", (Number::F16, f16), route::F16),
        row(P::F16Out32, "gemm.f16out32", "gemm", (Number::F16, f32), route::F16),
        row(P::F16Acc16, "gemm.f16acc16", "gemm", (Number::F16, f16), route::F16_ACC16),
        row(P::Bf16, "gemm.bf16", "gemm", (Number::Bf16, bf16), route::BF16),
        row(P::Bf16Out32, "gemm.bf16out32", "gemm", (Number::Bf16, f32), route::BF16),
        row(P::F32, "gemm.f32", "gemm", (Number::F32, f32), route::F32),
        row(P::S8, "gemm.s8", "gemm_int", (Number::S8, Element::I32), route::S8),
        row(P::S4, "gemm.s4", "gemm_int", (Number::S4, Element::I32), route::S4),
        row(P::E4m3, "gemm.e4m3", "gemm_fp8", (Number::E4m3, f32), route::FP8),
        row(P::E5m2, "gemm.e5m2", "gemm_fp8", (Number::E5m2, f32), route::FP8),
        row(P::Tf32, "gemm.tf32", "gemm", (Number::F32, f32), route::TF32),
    ]
};

impl Product {
    /// The product of operands and results stored so; sums in fp32.
    pub fn of(formats: Formats) -> Result<Self, String> {
        match (formats.input, formats.output) {
            (Element::F16, Element::F16) => Ok(Self::F16),
            (Element::F16, Element::F32) => Ok(Self::F16Out32),
            (Element::Bf16, Element::Bf16) => Ok(Self::Bf16),
            (Element::Bf16, Element::F32) => Ok(Self::Bf16Out32),
            (Element::F32, Element::F32) => Ok(Self::F32),
            (input, output) => Err(format!("no matrix product of {input:?} gives {output:?}")),
        }
    }

    /// Id of its kernel.
    pub(super) fn id(self) -> &'static str {
        self.row().id
    }

    /// How results are stored.
    pub fn output(self) -> Element {
        self.row().output
    }

    /// What k must be a multiple of: rows begin at 16 bytes, but for fp32.
    pub fn multiple(self) -> u32 {
        if self == Self::F32 { 1 } else { 128 / self.row().input.bits() }
    }

    /// Bytes of so many multiplicands.
    pub fn bytes(self, count: usize) -> usize {
        count * self.row().input.bits() as usize / 8
    }

    pub(super) fn row(self) -> &'static Row {
        const TABLE: &[Row] = &ROWS;
        &TABLE[self as usize]
    }
}
