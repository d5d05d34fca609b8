//! Operands of a contract, and what must come out.

use std::collections::BTreeMap;

use half::{bf16, f16};
use warpscope_kernels::gpu::Element;

use super::judged::Wanted;
use crate::runs::compare::SplitMix;
use crate::tuner::contract::{Amount, Work};

/// Weights that share a scale in the w4a16 contract.
const GROUP: usize = 128;
/// Bytes of all operands together that are made on the host.
const MOST_BYTES: usize = 4 << 30;
/// Multiply-adds of the fp64 reference: above, rows are drawn.
const MOST_WORK: usize = 1 << 28;

/// Formats operands may have, and the largest relative error where a spec names none: that of the kernels' own contracts with
/// fp32 accumulation.
const FORMATS: &[(&str, Element, f64)] =
    &[("fp32", Element::F32, 5e-6), ("fp16", Element::F16, 3e-4), ("bf16", Element::Bf16, 2.5e-3)];

/// Attention rounds its weights to the format on the way.
const ATTENTION_LOOSER: f64 = 5.0;

/// One output of one input.
type Elementwise = fn(f64) -> f64;

/// What an elementwise kernel may compute.
const FUNCTIONS: &[(&str, Elementwise)] = &[
    ("copy", |x| x),
    ("relu", |x| x.max(0.0)),
    ("square", |x| x * x),
    ("exp", f64::exp),
    ("tanh", f64::tanh),
    ("sigmoid", |x| 1.0 / (1.0 + (-x).exp())),
    ("silu", |x| x / (1.0 + (-x).exp())),
];

/// Buffers of a contract by name; the output is the last.
const OPERANDS: &[(Work, &[&str], &[&str])] = &[
    (Work::Gemm, &["a", "b", "c"], &["m", "n", "k"]),
    (Work::Gemv, &["w", "x", "y"], &["n", "k"]),
    (Work::W4a16, &["x", "w", "scales", "y"], &["m", "n", "k"]),
    (Work::Attention, &["q", "k", "v", "o"], &["batch", "heads", "seq", "dim"]),
    (Work::Elementwise, &["x", "y"], &["n"]),
];

/// Operands and the judge of their product.
pub(super) struct Operands {
    /// Inputs by name, as they are stored.
    pub(super) inputs: Vec<(&'static str, Vec<u8>)>,
    /// The output's name and how it is stored.
    pub(super) output: (&'static str, Element),
    /// What must be in it.
    pub(super) wanted: Wanted,
    /// The work of one launch.
    pub(super) amount: Amount,
    /// Sizes in the contract's order.
    pub(super) sizes: Vec<u32>,
}

/// Names of a contract's buffers, the output last; empty where a kernel cannot be checked by it.
pub(crate) fn operand_names(work: Work) -> &'static [&'static str] {
    OPERANDS.iter().find(|row| row.0 == work).map_or(&[], |row| row.1)
}

/// Largest relative error for a contract in a format, where it is known.
pub fn default_limit(work: Work, dtype: &str) -> Option<f64> {
    let limit = FORMATS.iter().find(|row| row.0 == dtype).map(|row| row.2)?;
    Some(if work == Work::Attention { limit * ATTENTION_LOOSER } else { limit })
}

/// Whether a contract has operands for these shapes and formats.
pub(crate) fn check(
    work: Work,
    function: Option<&str>,
    shapes: &[BTreeMap<String, String>],
    dtypes: &[String],
) -> Result<(), String> {
    let Some((_, _, sizes)) = OPERANDS.iter().find(|row| row.0 == work) else {
        let known: Vec<&str> = OPERANDS.iter().map(|row| row.0.word()).collect();
        return Err(format!("a kernel of a GPU is checked by {}", known.join(", ")));
    };
    let functions: Vec<&str> = FUNCTIONS.iter().map(|row| row.0).collect();
    match (work == Work::Elementwise, function) {
        (true, Some(name)) if functions.contains(&name) => {}
        (true, _) => return Err(format!("`function` must be one of {}", functions.join(", "))),
        (false, Some(_)) => return Err("`function` is for elementwise only".to_owned()),
        (false, None) => {}
    }
    for dtype in dtypes {
        let known: Vec<&str> = FORMATS.iter().map(|row| row.0).collect();
        if !known.contains(&dtype.as_str()) || (work == Work::W4a16 && dtype == "fp32") {
            return Err(format!(
                "no operands in {dtype}: {} are made, for w4a16 without fp32",
                known.join(", ")
            ));
        }
    }
    for shape in shapes {
        let all = sizes_of(shape, sizes)?;
        let elements = all.iter().try_fold(1_usize, |product, size| product.checked_mul(*size));
        if elements.is_none() {
            return Err("the sizes are beyond counting".to_owned());
        }
        if work == Work::W4a16 && !all[2].is_multiple_of(GROUP) {
            return Err(format!("k = {} is not a multiple of the group size, {GROUP}", all[2]));
        }
    }
    Ok(())
}

fn sizes_of(shape: &BTreeMap<String, String>, names: &[&str]) -> Result<Vec<usize>, String> {
    let one = |name: &&str| {
        let size = shape.get(*name).and_then(|text| text.parse().ok()).filter(|size| *size > 0);
        size.ok_or_else(|| format!("a [[shape]] with {} is needed", names.join(", ")))
    };
    names.iter().map(one).collect()
}

/// Operands of a problem.
pub(super) fn operands(
    work: Work,
    function: Option<&str>,
    shape: &BTreeMap<String, String>,
    dtype: &str,
) -> Result<Operands, String> {
    let dtypes = [dtype.to_owned()];
    check(work, function, std::slice::from_ref(shape), &dtypes)?;
    let (_, names, sizes) = OPERANDS.iter().find(|row| row.0 == work).expect("was checked");
    let sizes = sizes_of(shape, sizes)?;
    let element = FORMATS.iter().find(|row| row.0 == dtype).expect("was checked").1;
    let maker = Maker { element, names };
    let amount = work.amount(shape, Some(dtype));
    let (inputs, wanted) = match (work, sizes.as_slice()) {
        (Work::Gemm, &[m, n, k]) => maker.gemm(m, n, k)?,
        (Work::Gemv, &[n, k]) => maker.gemv(n, k)?,
        (Work::W4a16, &[m, n, k]) => maker.w4a16(m, n, k)?,
        (Work::Attention, &[batch, heads, seq, dim]) => maker.attention(batch * heads, seq, dim)?,
        (_, &[n]) => maker.elementwise(n, function)?,
        _ => unreachable!("as many sizes were read as the table names"),
    };
    let output = (*names.last().expect("every row has buffers"), element);
    let sizes = sizes.iter().map(|size| u32::try_from(*size).unwrap_or(u32::MAX)).collect();
    Ok(Operands { inputs, output, wanted, amount, sizes })
}

type Made = Result<(Vec<(&'static str, Vec<u8>)>, Wanted), String>;

struct Maker {
    element: Element,
    names: &'static [&'static str],
}

impl Maker {
    /// Numbers between −1 and 1 that the format holds.
    fn numbers(&self, count: usize, seed: u64) -> Result<Vec<f32>, String> {
        if count.saturating_mul(size_of::<f32>()) > MOST_BYTES {
            return Err(format!("an operand of {count} numbers is more than the host makes"));
        }
        let mut random = SplitMix::new(seed);
        let one = |_| self.rounded((2.0 * random.uniform() - 1.0) as f32);
        Ok((0..count).map(one).collect())
    }

    fn rounded(&self, value: f32) -> f32 {
        match self.element {
            Element::F16 => f16::from_f32(value).to_f32(),
            Element::Bf16 => bf16::from_f32(value).to_f32(),
            _ => value,
        }
    }

    fn stored(&self, values: &[f32]) -> Vec<u8> {
        let bytes = |value: &f32| match self.element {
            Element::F16 => f16::from_f32(*value).to_le_bytes().to_vec(),
            Element::Bf16 => bf16::from_f32(*value).to_le_bytes().to_vec(),
            _ => value.to_le_bytes().to_vec(),
        };
        values.iter().flat_map(bytes).collect()
    }

    fn named(&self, inputs: impl IntoIterator<Item = Vec<u8>>) -> Vec<(&'static str, Vec<u8>)> {
        self.names.iter().copied().zip(inputs).collect()
    }

    /// C = A·B, all row by row.
    fn gemm(&self, m: usize, n: usize, k: usize) -> Made {
        let (a, b) = (self.numbers(m * k, 1)?, self.numbers(k * n, 2)?);
        let row = |row: usize| {
            let mut sums = vec![0.0; n];
            for (a, b) in a[row * k..(row + 1) * k].iter().zip(b.chunks_exact(n)) {
                sums.iter_mut().zip(b).for_each(|(sum, b)| *sum += f64::from(*a) * f64::from(*b));
            }
            sums
        };
        let wanted = Wanted::rows(m, n, MOST_WORK / (n * k).max(1), row);
        Ok((self.named([self.stored(&a), self.stored(&b)]), wanted))
    }

    /// y = W·x.
    fn gemv(&self, n: usize, k: usize) -> Made {
        let (w, x) = (self.numbers(n * k, 1)?, self.numbers(k, 2)?);
        let row = |row: usize| vec![dot(&w[row * k..(row + 1) * k], &x)];
        let wanted = Wanted::rows(n, 1, MOST_WORK / k.max(1), row);
        Ok((self.named([self.stored(&w), self.stored(&x)]), wanted))
    }

    /// y = x·Wᵀ with weights q·scale, q from −8 to 7 stored as q + 8, two a byte, the even one in the low half.
    fn w4a16(&self, m: usize, n: usize, k: usize) -> Made {
        let x = self.numbers(m * k, 1)?;
        let mut random = SplitMix::new(2);
        let levels: Vec<i8> = (0..n * k).map(|_| (random.bits() >> 60) as i8 - 8).collect();
        let scale = |_| f16::from_f32((random.uniform() as f32 + 0.5) / 16.0);
        let scales: Vec<f16> = (0..n * k / GROUP).map(scale).collect();
        let packed = levels.chunks(2).map(|pair| {
            let code = |level: i8| (level + 8).cast_unsigned();
            code(pair[0]) | code(pair[1]) << 4
        });
        let weight = |at: usize| f64::from(levels[at]) * f64::from(scales[at / GROUP].to_f32());
        let row = |row: usize| {
            let x = &x[row * k..(row + 1) * k];
            let one = |n: usize| {
                x.iter().enumerate().map(|(i, x)| f64::from(*x) * weight(n * k + i)).sum()
            };
            (0..n).map(one).collect()
        };
        let wanted = Wanted::rows(m, n, MOST_WORK / (n * k).max(1), row);
        let scales = scales.iter().flat_map(|scale| scale.to_le_bytes()).collect();
        Ok((self.named([self.stored(&x), packed.collect(), scales]), wanted))
    }

    /// softmax(Q·Kᵀ/√dim)·V, not causal, heads one after the other.
    fn attention(&self, heads: usize, seq: usize, dim: usize) -> Made {
        let count = heads * seq * dim;
        let [q, k, v] = [1, 2, 3].map(|seed| self.numbers(count, seed));
        let (q, k, v) = (q?, k?, v?);
        let row = |row: usize| {
            let head = row / seq * seq * dim..(row / seq + 1) * seq * dim;
            let query = &q[row * dim..(row + 1) * dim];
            let scale = 1.0 / (dim as f64).sqrt();
            let scores: Vec<f64> =
                k[head.clone()].chunks_exact(dim).map(|key| dot(query, key) * scale).collect();
            let most = scores.iter().copied().fold(f64::MIN, f64::max);
            let weights: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
            let all: f64 = weights.iter().sum();
            let mut sums = vec![0.0; dim];
            for (weight, value) in weights.iter().zip(v[head].chunks_exact(dim)) {
                let share = weight / all;
                sums.iter_mut().zip(value).for_each(|(sum, v)| *sum += share * f64::from(*v));
            }
            sums
        };
        let wanted = Wanted::rows(heads * seq, dim, MOST_WORK / (2 * seq * dim).max(1), row);
        Ok((self.named([self.stored(&q), self.stored(&k), self.stored(&v)]), wanted))
    }

    fn elementwise(&self, n: usize, function: Option<&str>) -> Made {
        let row = FUNCTIONS.iter().find(|row| Some(row.0) == function);
        let (_, function) = row.ok_or("no such function")?;
        let x = self.numbers(n, 1)?;
        let wanted = Wanted::rows(n, 1, n, |at| vec![function(f64::from(x[at]))]);
        Ok((self.named([self.stored(&x)]), wanted))
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

#[cfg(test)]
mod tests;
