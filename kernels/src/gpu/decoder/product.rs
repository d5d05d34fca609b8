//! y = x·Wᵀ for any number of tokens: which kernel multiplies.
//!
//! Few tokens stream the weights as they are stored, and so do more where tensor cores multiply four bits with them. Many
//! are worth a product of matrices, for which packed weights are widened first. Sums in fp16 exist in products of matrices only, so one token is multiplied so too.

use super::layout::{Matrix, Weights};
use super::path::{Path, Sums};
use super::plan::{NARROW, eight_bits};
use crate::gpu::family::gemm::{self, Product};
use crate::gpu::family::w4::{self, awq, w4a8};
use crate::gpu::family::{gemv, nf4};
use crate::gpu::{DeviceFacts, Element, Launch, Shape, Slot};

/// Operands of a product.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// `[tokens, k]`, as activations are stored.
    pub(super) x: Slot,
    /// `[tokens, n]`.
    pub(super) y: Slot,
    /// How y is stored.
    pub(super) output: Element,
    /// How many.
    pub(super) tokens: u32,
}

/// What multiplies, and where it keeps what is in between.
pub(super) struct Multiplier<'a> {
    /// The device.
    pub(super) facts: &'a DeviceFacts,
    /// The way to compute.
    pub(super) path: &'a Path,
    /// A matrix at full width, or activations in eight bits.
    pub(super) scratch: Slot,
}

impl Multiplier<'_> {
    /// The launches of a product, summed as the path sums.
    pub(super) fn launches(&self, matrix: &Matrix, rows: Rows) -> Result<Vec<Launch>, String> {
        self.summed(matrix, rows, self.path.sums)
    }

    /// The launches of a product, summed otherwise where that is a choice.
    pub(super) fn summed(
        &self,
        matrix: &Matrix,
        rows: Rows,
        sums: Sums,
    ) -> Result<Vec<Launch>, String> {
        let many = rows.tokens as usize > NARROW;
        match matrix.weights {
            Weights::Dense(weights) => self.dense(matrix, weights, rows, sums),
            Weights::Int4(weights) if self.path.sums == Sums::Int32 => {
                self.tiles(matrix, rows, w4a8::MOST_TOKENS, |x, y, shape| {
                    let operands = w4::Operands { x, weights, y };
                    let element = self.path.activations;
                    let launches =
                        w4a8::launch(self.facts, operands, self.eight_bits(shape), element, shape);
                    Ok(launches?.to_vec())
                })
            }
            Weights::Int4Zero(weights) => {
                self.tiles(matrix, rows, awq::MOST_TOKENS, |x, y, shape| {
                    Ok(vec![awq::launch(w4::Operands { x, weights, y }, shape)?])
                })
            }
            Weights::Int4(weights) if self.streams_many(rows) => {
                let operands = w4::Operands { x: rows.x, weights, y: rows.y };
                let shape = Shape { m: rows.tokens, n: matrix.n, k: matrix.k, ..Shape::default() };
                let formats = self.formats(rows.output);
                Ok(vec![w4::gemm::launch(self.facts, operands, None, formats, shape)?])
            }
            Weights::Int4(weights) if many => {
                let element = self.path.activations;
                let widen = w4::dequantize(weights, self.scratch, element, matrix.n, matrix.k)?;
                self.behind(widen, matrix, rows)
            }
            Weights::Nf4(weights) if many => {
                let element = self.path.activations;
                let widen = nf4::dequantize(weights, self.scratch, element, matrix.n, matrix.k)?;
                self.behind(widen, matrix, rows)
            }
            Weights::Int4(weights) => self.tiles(matrix, rows, w4::MOST_TOKENS, |x, y, shape| {
                let operands = w4::Operands { x, weights, y };
                Ok(vec![w4::launch(self.facts, operands, self.formats(rows.output), shape)?])
            }),
            Weights::Nf4(weights) => self.tiles(matrix, rows, nf4::MOST_TOKENS, |x, y, shape| {
                let operands = nf4::Operands { x, weights, y };
                Ok(vec![nf4::launch(self.facts, operands, self.formats(rows.output), shape)?])
            }),
        }
    }

    /// Whether packed weights are streamed once for so many tokens.
    fn streams_many(&self, rows: Rows) -> bool {
        let many = w4::MOST_TOKENS + 1..=w4::gemm::MOST_TOKENS;
        many.contains(&rows.tokens)
            && self.path.sums == Sums::Fp32
            && w4::gemm::takes(self.facts, self.path.activations)
    }

    /// The logits of one token: fp32, from fp32 sums, on every path.
    pub(super) fn head(&self, matrix: &Matrix, x: Slot, y: Slot) -> Result<Vec<Launch>, String> {
        self.summed(matrix, Rows { x, y, output: Element::F32, tokens: 1 }, Sums::Fp32)
    }

    /// Where activations in eight bits are.
    fn eight_bits(&self, shape: Shape) -> w4a8::Quantized {
        let [codes, _] = eight_bits(shape.k as usize);
        w4a8::Quantized { codes: self.scratch, groups: self.scratch.plus(codes) }
    }

    fn formats(&self, output: Element) -> gemv::Formats {
        gemv::Formats { input: self.path.activations, output }
    }

    fn behind(&self, widen: Launch, matrix: &Matrix, rows: Rows) -> Result<Vec<Launch>, String> {
        let mut launches = vec![widen];
        launches.extend(self.dense(matrix, self.scratch, rows, self.path.sums)?);
        Ok(launches)
    }

    fn dense(
        &self,
        matrix: &Matrix,
        weights: Slot,
        rows: Rows,
        sums: Sums,
    ) -> Result<Vec<Launch>, String> {
        let formats = self.formats(rows.output);
        let shape = Shape { m: rows.tokens, n: matrix.n, k: matrix.k, ..Shape::default() };
        let operands = gemv::Operands { x: rows.x, weights, y: rows.y };
        let product = match sums {
            Sums::Fp16 => Product::F16Acc16,
            _ if rows.tokens <= gemv::MOST_TOKENS => {
                return Ok(vec![gemv::launch(self.facts, operands, formats, shape)?]);
            }
            _ => Product::of(formats)?,
        };
        Ok(vec![gemm::launch(self.facts, operands, product, shape)?])
    }

    /// The launches of every so many tokens.
    fn tiles(
        &self,
        matrix: &Matrix,
        rows: Rows,
        most: u32,
        launch: impl Fn(Slot, Slot, Shape) -> Result<Vec<Launch>, String>,
    ) -> Result<Vec<Launch>, String> {
        let row = |width: u32, element: Element| u64::from(width) * element.bytes() as u64;
        let (x_row, y_row) = (row(matrix.k, self.path.activations), row(matrix.n, rows.output));
        let tile = |first: usize| {
            let (at, m) = (first as u64, most.min(rows.tokens - first as u32));
            let shape = Shape { m, n: matrix.n, k: matrix.k, ..Shape::default() };
            launch(rows.x.plus(at * x_row), rows.y.plus(at * y_row), shape)
        };
        let tiles = (0..rows.tokens as usize).step_by(most as usize).map(tile);
        Ok(tiles.collect::<Result<Vec<_>, String>>()?.concat())
    }
}
