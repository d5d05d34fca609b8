//! K10 to K17: matrix products Y = X·Wᵀ.
//!
//! A block computes a tile of Y; there are several sizes of tiles, see [`way`]. Where they are too few, or a few too many, for the
//! multiprocessors, blocks of 16-bit products share tiles: slabs of k are dealt out evenly, and partial sums added up in fp32.

mod cases;
mod few;
mod hopper;
mod registry;
#[cfg(test)]
pub(in crate::gpu::family) mod tests;
mod tile;
mod way;

pub(super) use hopper::has_wgmma;
pub use registry::KERNELS;

pub use super::deal::Workspace;
use super::number::Number;
use super::route::{self, Step};
use super::stream::check_aligned;
pub use super::stream::{Formats, Operands};
use crate::gpu::{DeviceFacts, Element, Launch, Route, Shape};
use way::Call;

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
struct Row {
    product: Product,
    family: &'static str,
    input: Number,
    output: Element,
    steps: &'static [Step],
}

/// In the order of [`Product`].
const ROWS: [Row; 11] = {
    use Product as P;
    const fn row(
        product: Product,
        family: &'static str,
        (input, output): (Number, Element),
        steps: &'static [Step],
    ) -> Row {
        Row { product, family, input, output, steps }
    }
    let (f16, bf16, f32) = (Element::F16, Element::Bf16, Element::F32);
    [
        row(P::F16, "gemm", (Number::F16, f16), route::F16),
        row(P::F16Out32, "gemm", (Number::F16, f32), route::F16),
        row(P::F16Acc16, "gemm", (Number::F16, f16), route::F16_ACC16),
        row(P::Bf16, "gemm", (Number::Bf16, bf16), route::BF16),
        row(P::Bf16Out32, "gemm", (Number::Bf16, f32), route::BF16),
        row(P::F32, "gemm", (Number::F32, f32), route::F32),
        row(P::S8, "gemm_int", (Number::S8, Element::I32), route::S8),
        row(P::S4, "gemm_int", (Number::S4, Element::I32), route::S4),
        row(P::E4m3, "gemm_fp8", (Number::E4m3, f32), route::FP8),
        row(P::E5m2, "gemm_fp8", (Number::E5m2, f32), route::FP8),
        row(P::Tf32, "gemm", (Number::F32, f32), route::TF32),
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

    /// How a device does it.
    pub fn route(self, facts: &DeviceFacts) -> Route {
        let own = || route::route(self.row().steps, facts);
        hopper::route(self, facts).unwrap_or_else(own)
    }

    /// How results are stored.
    pub fn output(self) -> Element {
        self.row().output
    }

    /// Id of its kernel.
    fn id(self) -> &'static str {
        KERNELS[self as usize].id
    }

    /// What k must be a multiple of: rows begin at 16 bytes, but for fp32.
    pub fn multiple(self) -> u32 {
        if self == Self::F32 { 1 } else { 128 / self.row().input.bits() }
    }

    /// Bytes of so many multiplicands.
    pub fn bytes(self, count: usize) -> usize {
        count * self.row().input.bits() as usize / 8
    }

    fn row(self) -> &'static Row {
        const TABLE: &[Row] = &ROWS;
        &TABLE[self as usize]
    }
}

/// Y = X·Wᵀ.
pub fn launch(
    facts: &DeviceFacts,
    operands: Operands,
    product: Product,
    shape: Shape,
) -> Result<Launch, String> {
    launch_through(facts, operands, None, product, shape)
}

/// Bytes of [`Workspace::left`] and of [`Workspace::arrivals`]; `None` where blocks share no tile at this size.
pub fn workspace_bytes(facts: &DeviceFacts, product: Product, shape: Shape) -> Option<[usize; 2]> {
    let way = way::choose(product, facts, shape, true)?;
    way.deal(shape, facts.sms).map(|deal| deal.workspace_bytes())
}

/// The same, by blocks that may share tiles through a workspace.
pub fn launch_through(
    facts: &DeviceFacts,
    operands: Operands,
    workspace: Option<Workspace>,
    product: Product,
    shape: Shape,
) -> Result<Launch, String> {
    if let Route::Absent { why } = product.route(facts) {
        return Err(format!("{product:?} cannot be multiplied: {why}"));
    }
    let Operands { x, weights, y } = operands;
    check_aligned(&[x, weights, y])?;
    let pitch = pitch(product, shape)?;
    let way = way::choose(product, facts, shape, workspace.is_some());
    let way = way.ok_or_else(|| format!("nothing multiplies {product:?} of this size here"))?;
    (way.launch)(&way, &Call { product, operands, workspace, shape, pitch, sms: facts.sms })
}

/// Bytes of a row of X and of W, or why the shape cannot be.
fn pitch(product: Product, shape: Shape) -> Result<u32, String> {
    let Shape { m, n, k, .. } = shape;
    if m == 0 || n == 0 || k == 0 {
        return Err(format!("{m}×{n}×{k} has nothing to compute"));
    }
    let multiple = product.multiple();
    if k % multiple != 0 {
        return Err(format!("k is {k}; rows of {product:?} must be multiples of {multiple}"));
    }
    let bytes = u64::from(k) * u64::from(product.row().input.bits()) / 8;
    // A slab more is counted past the end of a row.
    let most = i32::MAX as u32 - 64;
    let fits = u32::try_from(bytes).ok().filter(|bytes| *bytes <= most);
    fits.ok_or_else(|| format!("k is {k}; a row may have {most} bytes"))
}
