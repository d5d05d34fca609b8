//! The ways to compute that the decoder is run in.

use crate::Dtype;
use crate::cpu::Format;
use crate::gpu::family::gemm::Product;
use crate::gpu::family::w4::{awq, w4a8};
use crate::gpu::{DeviceFacts, Element, Route};
use crate::model;

/// How the matrices of the layers are stored. Embedding and head are stored as activations are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// As activations are.
    Dense,
    /// 4-bit integers in groups of 128 with an fp16 scale: the same numbers.
    Int4,
    /// The same with a zero point for every group, as AWQ has them.
    Int4Zero,
    /// NF4 in blocks of 64 with an fp32 maximum: other numbers, with a reference of their own.
    Nf4,
}

/// What the products of the layers are summed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sums {
    /// binary32.
    Fp32,
    /// binary16, as kernels that halve the registers of their accumulators do.
    Fp16,
    /// Integers, of activations rounded to eight bits in groups of 128.
    Int32,
}

/// A way to compute.
#[derive(Debug, PartialEq, Eq)]
pub struct Path {
    /// Stable id: `f16.wide`.
    pub id: &'static str,
    /// What it is, in half a sentence.
    pub title: &'static str,
    /// Number format it stands for.
    pub dtype: Dtype,
    /// What activations are stored in.
    pub activations: Element,
    /// How the matrices of the layers are stored.
    pub weights: Storage,
    /// What their products are summed in.
    pub sums: Sums,
    /// Whether what the norms behind attention and feed-forward part read is stored in fp32.
    pub wide: bool,
}

const PLAIN: Path = Path {
    id: "f32",
    title: "fp32 throughout",
    dtype: Dtype::Fp32,
    activations: Element::F32,
    weights: Storage::Dense,
    sums: Sums::Fp32,
    wide: false,
};
const F16: Path = Path {
    id: "f16",
    title: "fp16, fp32 sums, fp16 outputs",
    dtype: Dtype::Fp16,
    activations: Element::F16,
    ..PLAIN
};
const BF16: Path = Path {
    id: "bf16",
    title: "bf16, fp32 sums, bf16 outputs",
    dtype: Dtype::Bf16,
    activations: Element::Bf16,
    ..PLAIN
};
const W4: Path = Path {
    id: "w4",
    title: "4-bit weights, fp16 activations, fp32 sums",
    dtype: Dtype::Int4Weight,
    weights: Storage::Int4,
    ..F16
};
const NF4: Path = Path {
    id: "nf4",
    title: "NF4 weights, fp16 activations, fp32 sums",
    dtype: Dtype::Int4Weight,
    weights: Storage::Nf4,
    ..F16
};

/// Every way to compute.
pub const PATHS: &[Path] = &[
    PLAIN,
    F16,
    Path {
        id: "f16.wide",
        title: "fp16, fp32 sums, fp32 outputs in front of norms",
        wide: true,
        ..F16
    },
    Path { id: "f16.acc16", title: "fp16, fp16 sums, fp16 outputs", sums: Sums::Fp16, ..F16 },
    BF16,
    W4,
    Path {
        id: "w4.bf16",
        title: "4-bit weights, bf16 activations, fp32 sums",
        activations: Element::Bf16,
        ..W4
    },
    Path {
        id: "awq",
        title: "4-bit weights with zero points, fp16 activations, fp16 sums",
        weights: Storage::Int4Zero,
        sums: Sums::Fp16,
        ..W4
    },
    Path {
        id: "w4a8",
        title: "4-bit weights, fp32 activations rounded to 8 bits for each product, integer sums",
        dtype: Dtype::Int4Weight,
        weights: Storage::Int4,
        sums: Sums::Int32,
        ..PLAIN
    },
    NF4,
    Path {
        id: "nf4.bf16",
        title: "NF4 weights, bf16 activations, fp32 sums",
        activations: Element::Bf16,
        ..NF4
    },
];

/// The path of an id.
pub fn path(id: &str) -> Option<&'static Path> {
    PATHS.iter().find(|path| path.id == id)
}

impl Path {
    /// How a device multiplies on it.
    pub fn route(&self, facts: &DeviceFacts) -> Route {
        if self.sums == Sums::Int32 {
            return dp4a(facts);
        }
        let product = match (self.sums, self.activations) {
            (Sums::Fp16, _) if self.weights != Storage::Dense => {
                return Route::Native { by: "fma.f16x2".to_owned() };
            }
            (Sums::Fp16, _) => Product::F16Acc16,
            (_, Element::F32) => Product::F32,
            (_, Element::Bf16) => Product::Bf16,
            (_, _) => Product::F16,
        };
        product.route(facts)
    }

    /// Largest relative Frobenius error of the logits that M0 may have where nothing overflows: three to four times what the
    /// arithmetic costs, executed exactly. That is 3e-3 to 1e-2 for sums in fp16, by their order, and 2.4e-2 for activations
    /// rounded to eight bits.
    pub fn error_limit(&self) -> f64 {
        let format = match (self.sums, self.activations) {
            (Sums::Fp16, _) => return 3e-2,
            (Sums::Int32, _) => return 8e-2,
            (Sums::Fp32, Element::F32) => Format::Fp32,
            (Sums::Fp32, Element::Bf16) => Format::Bf16,
            (Sums::Fp32, _) => Format::Fp16,
        };
        model::error_limit(format)
    }

    /// Most tokens there is a kernel for; more would read all weights again and again.
    pub(super) fn most_tokens(&self) -> usize {
        match (self.weights, self.sums) {
            (Storage::Int4Zero, _) => awq::MOST_TOKENS as usize,
            (_, Sums::Int32) => w4a8::MOST_TOKENS as usize,
            _ => usize::MAX,
        }
    }
}

/// Products of bytes.
fn dp4a(facts: &DeviceFacts) -> Route {
    if (facts.sm.major, facts.sm.minor) < (6, 1) {
        return Route::Absent { why: format!("{} has no dp4a", facts.sm) };
    }
    Route::Native { by: "dp4a".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique() {
        for one in PATHS {
            assert_eq!(path(one.id), Some(one));
        }
    }
}
