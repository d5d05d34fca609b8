//! What a kernel that streams weights should have computed at the size it was timed at: weights widened to dense numbers by one kernel, and all
//! of the product in fp64 by another.

use super::family::mem::{Precision, Sample, reference};
use super::family::stream::{Path, Streamed};
use super::family::{gemv, nf4, w4};
use super::{DeviceFacts, Element, Launch, Shape, Slot};
use crate::gpu::family::gemv::Operands;

/// Writes stored weights as dense numbers.
type Widen = fn(&[Slot], Slot, Element, Shape) -> Result<Launch, String>;

/// A product that can be recomputed.
#[derive(Clone, Copy)]
pub struct Recomputed {
    path: &'static Path,
    widen: Option<Widen>,
}

/// The product of a kernel; nothing of one that is no stream.
pub fn recomputed(kernel: &str) -> Option<Recomputed> {
    let plain = |path| Recomputed { path, widen: None };
    let four = |path| Recomputed { path, widen: Some(of_four_bits) };
    let nf4 = |path| Recomputed { path, widen: Some(of_nf4) };
    let all = [
        plain(first::<gemv::F16>()),
        plain(first::<gemv::Bf16>()),
        plain(first::<gemv::F32>()),
        four(first::<w4::F16>()),
        four(first::<w4::Bf16>()),
        nf4(first::<nf4::F16>()),
        nf4(first::<nf4::Bf16>()),
    ];
    let is_of = |it: &Recomputed| it.path.id.split(' ').next() == Some(kernel);
    all.into_iter().find(is_of)
}

/// The path that is timed.
fn first<S: Streamed>() -> &'static Path {
    &S::PATHS[0]
}

fn of_four_bits(at: &[Slot], to: Slot, element: Element, shape: Shape) -> Result<Launch, String> {
    let weights = w4::Weights { words: at[0], scales: at[1] };
    w4::dequantize(weights, to, element, shape.n, shape.k)
}

fn of_nf4(at: &[Slot], to: Slot, element: Element, shape: Shape) -> Result<Launch, String> {
    let weights = nf4::Weights { codes: at[0], maxima: at[1] };
    nf4::dequantize(weights, to, element, shape.n, shape.k)
}

impl Recomputed {
    /// How results are stored.
    pub fn output(self) -> Element {
        self.path.formats.output
    }

    /// Largest relative distance of a right result: what the self-test allows, and what widened weights are rounded by.
    pub fn limit(self) -> f64 {
        let rounded = match (self.widen, self.path.formats.input) {
            (None, _) => 0.0,
            (Some(_), Element::F16) => 3e-4,
            (Some(_), _) => 2.5e-3,
        };
        self.path.limit + rounded
    }

    /// Bytes for the weights as dense numbers.
    pub fn dense_bytes(self, Shape { n, k, .. }: Shape) -> u64 {
        let dense = u64::from(n) * u64::from(k) * self.path.formats.input.bytes() as u64;
        if self.widen.is_some() { dense } else { 0 }
    }

    /// Writes all of the product as binary64 numbers. `slots` are those of a [`super::Work`]; of several copies of the weights, the last is what
    /// its result is of.
    pub fn launches(
        self,
        facts: &DeviceFacts,
        shape: Shape,
        slots: &[Slot],
        [dense, to]: [Slot; 2],
    ) -> Result<Vec<Launch>, String> {
        let Shape { m, n, k, .. } = shape;
        let parts = (self.path.parts)(n as usize, k as usize).len();
        let weights = &slots[slots.len() - parts..];
        let input = self.path.formats.input;
        let widened = self.widen.map(|widen| widen(weights, dense, input, shape)).transpose()?;
        let all = Sample { rows: m, columns: n };
        let weights = if widened.is_some() { dense } else { weights[0] };
        let operands = Operands { x: slots[0], weights, y: to };
        let product = reference(Precision::of(facts), input, operands, shape, all)?;
        Ok(widened.into_iter().chain([product]).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_can_be_recomputed_within_what_the_self_test_allows() {
        for (kernel, limit) in
            [("gemv.f16", 3e-4), ("gemv.bf16", 2.5e-3), ("w4.f16", 6e-4), ("w4.bf16", 5e-3)]
        {
            let it = recomputed(kernel).expect(kernel);
            assert!((it.limit() - limit).abs() < 1e-9, "{kernel}: {}", it.limit());
        }
        let wide = recomputed("nf4.f16").expect("is a stream");
        let shape = Shape { m: 1, n: 64, k: 128, ..Shape::default() };
        assert_eq!((wide.dense_bytes(shape), wide.output()), (2 * 64 * 128, Element::F16));
        assert!(recomputed("gemm.f16").is_none() && recomputed("w4").is_none());
    }
}
