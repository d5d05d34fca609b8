//! K45: sampled outputs of a product in far more precision than any kernel has.

use crate::gpu::family::stream::{Operands, check_aligned};
use crate::gpu::{DeviceFacts, Element, Launch, Shape};

/// How the reference is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// binary64.
    Double,
    /// Pairs of binary32, about 48 bits: for devices whose fp64 rate is a 32nd or less.
    FloatPairs,
}

impl Precision {
    /// What is fast on a device: datacentre parts of 6.0, 7.0, 8.0, 9.0 and 10.0 have half-rate fp64 (CUDA C++ programming
    /// guide, "Arithmetic Instructions").
    pub fn of(facts: &DeviceFacts) -> Self {
        match (facts.sm.major, facts.sm.minor) {
            (6..=10, 0) => Self::Double,
            _ => Self::FloatPairs,
        }
    }
}

/// Which outputs are computed: `rows` × `columns` of them, spread evenly, from the first on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Tokens.
    pub rows: u32,
    /// Output channels.
    pub columns: u32,
}

impl Sample {
    /// Token and output channel of each, in the order of the result.
    pub fn places(self, shape: Shape) -> impl Iterator<Item = (u32, u32)> {
        let spread =
            |i: u32, of: u32, all: u32| (u64::from(i) * u64::from(all) / u64::from(of)) as u32;
        (0..self.rows).flat_map(move |r| {
            let row = spread(r, self.rows, shape.m);
            (0..self.columns).map(move |c| (row, spread(c, self.columns, shape.n)))
        })
    }
}

/// Sampled outputs of y = x·Wᵀ; x and W f32, f16 or bf16; y receives `rows · columns` binary64 numbers.
pub fn reference(
    precision: Precision,
    element: Element,
    operands: Operands,
    shape: Shape,
    sample: Sample,
) -> Result<Launch, String> {
    let entry = match (precision, element) {
        (Precision::Double, Element::F32) => "ref_f64_f32",
        (Precision::Double, Element::F16) => "ref_f64_f16",
        (Precision::Double, Element::Bf16) => "ref_f64_bf16",
        (Precision::FloatPairs, Element::F32) => "ref_f32x2_f32",
        (Precision::FloatPairs, Element::F16) => "ref_f32x2_f16",
        (Precision::FloatPairs, Element::Bf16) => "ref_f32x2_bf16",
        _ => return Err(format!("there is no reference for {element:?}")),
    };
    let Operands { x, weights, y } = operands;
    check_aligned(&[x, weights, y])?;
    let Sample { rows, columns } = sample;
    if rows > shape.m || columns > shape.n || columns == 0 || rows == 0 {
        let Shape { m, n, .. } = shape;
        return Err(format!("{rows}×{columns} samples of {m}×{n} outputs"));
    }
    let samples = u64::from(rows) * u64::from(columns);
    let grid = u32::try_from(samples).map_err(|_| "too many samples".to_owned())?;
    let sizes = [shape.m, shape.n, shape.k, rows, columns].map(Into::into);
    let args = [x.into(), weights.into(), y.into()].into_iter().chain(sizes);
    Ok(Launch::new(("mem", entry), [grid, 1], 32, args))
}
