use warpscope_kernels::cuda::blas::{Compute, Kind};
use warpscope_kernels::gpu::Shape;

use crate::worker::protocol::PathDtype;

/// A column of the table of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// 16-bit product by the vendor's.
    Gemm16,
    /// Product of 8-bit integers or fp8 by the vendor's.
    Gemm8,
    /// Product of fp8 by the vendor's as inference asks for it: shorter sums, bf16 results. Ours computes more, so nothing is to be reached.
    Gemm8AsUsed,
    /// 16-bit weights, one token, by the bandwidth of reading.
    Gemv16,
    /// 4-bit weights, one token.
    W4One,
    /// 4-bit weights, sixteen tokens.
    W4Sixteen,
    /// 4-bit weights, one token, 8192 × 8192, in microseconds.
    W4Time,
    /// NF4 weights, one token.
    Nf4One,
    /// Causal attention by the own product.
    Attention,
    /// Decoding with 16-bit weights by the bandwidth of reading.
    Decode16,
    /// Decoding with 4-bit weights.
    Decode4,
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// A kernel at a size; on a fake device at the other, for an interpreter takes its time.
    Kernel {
        /// Kernel: `gemm.f16`.
        id: &'static str,
        /// The size.
        shape: Shape,
        /// The size on a fake device.
        small: Shape,
        /// Whether weights are in the second-level cache, instead of a copy that was not touched for long.
        resident: bool,
    },
    /// One token of the micro decoder, the large model.
    Decoder(PathDtype),
}

/// What it is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// The same product by cuBLASLt.
    Vendor(ByVendor),
    /// Reading memory.
    Read,
    /// Another kernel of ours.
    Kernel(&'static str, Shape),
    /// Nothing: its time is the figure.
    Nothing,
}

/// What cuBLASLt is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByVendor {
    /// Format of the factors.
    pub from: Kind,
    /// Format of the result.
    pub to: Kind,
    /// What is computed in.
    pub compute: Compute,
    /// Whether sums of fp8 may be short.
    pub fast_sums: bool,
}

/// Something to be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goal {
    /// Stable id: `gemm.bf16.8192`.
    pub id: &'static str,
    /// What is timed.
    pub own: Own,
    /// What it is held against.
    pub against: Against,
    /// Where to find floor and target.
    pub measure: Measure,
}

const fn sized(m: u32, n: u32, k: u32, group: u32) -> Shape {
    Shape { m, n, k, group, context: 0 }
}

const fn cube(id: &'static str, kernel: &'static str, side: u32, by: ByVendor) -> Goal {
    let (shape, small) = (sized(side, side, side, 0), sized(64, 64, 64, 0));
    let as_used = by.fast_sums || matches!((by.from, by.to), (Kind::E4m3, Kind::Bf16));
    Goal {
        id,
        own: Own::Kernel { id: kernel, shape, small, resident: false },
        against: Against::Vendor(by),
        measure: match by.from {
            _ if as_used => Measure::Gemm8AsUsed,
            Kind::I8 | Kind::E4m3 => Measure::Gemm8,
            _ => Measure::Gemm16,
        },
    }
}

/// Weights read once, 200 MB and more, so that no cache holds them.
const fn stream(
    id: &'static str,
    kernel: &'static str,
    (m, n, group): (u32, u32, u32),
    measure: Measure,
) -> Goal {
    let (shape, small) = (sized(m, n, 8192, group), sized(m, 64, 512, group));
    let own = Own::Kernel { id: kernel, shape, small, resident: false };
    Goal { id, own, against: Against::Read, measure }
}

const fn attention(id: &'static str, kernel: &'static str, product: &'static str) -> Goal {
    let (shape, small) = (sized(4096, 0, 128, 0), sized(32, 0, 128, 0));
    Goal {
        id,
        own: Own::Kernel { id: kernel, shape, small, resident: false },
        against: Against::Kernel(product, sized(4096, 4096, 4096, 0)),
        measure: Measure::Attention,
    }
}

const fn layer(id: &'static str, resident: bool) -> Goal {
    let (shape, small) = (sized(1, 8192, 8192, 128), sized(1, 64, 512, 128));
    Goal {
        id,
        own: Own::Kernel { id: "w4.f16", shape, small, resident },
        against: Against::Nothing,
        measure: Measure::W4Time,
    }
}

const fn decode(id: &'static str, dtype: PathDtype, measure: Measure) -> Goal {
    Goal { id, own: Own::Decoder(dtype), against: Against::Read, measure }
}

const fn by(from: Kind, to: Kind, compute: Compute) -> ByVendor {
    ByVendor { from, to, compute, fast_sums: false }
}

const F16: ByVendor = by(Kind::F16, Kind::F16, Compute::F32);
const BF16: ByVendor = by(Kind::Bf16, Kind::Bf16, Compute::F32);
const S8: ByVendor = by(Kind::I8, Kind::I32, Compute::I32);
const E4M3: ByVendor = by(Kind::E4m3, Kind::F32, Compute::F32);
const E4M3_FAST: ByVendor = ByVendor { fast_sums: true, ..E4M3 };
const E4M3_BF16: ByVendor = by(Kind::E4m3, Kind::Bf16, Compute::F32);
/// What `torch._scaled_mm` and Transformer Engine's forward pass ask for.
const E4M3_FAST_BF16: ByVendor = ByVendor { fast_sums: true, ..E4M3_BF16 };

/// Everything to be reached, in the order in which it is measured.
pub const GOALS: &[Goal] = &[
    cube("gemm.bf16.2048", "gemm.bf16", 2048, BF16),
    cube("gemm.bf16.4096", "gemm.bf16", 4096, BF16),
    cube("gemm.bf16.8192", "gemm.bf16", 8192, BF16),
    cube("gemm.f16.2048", "gemm.f16", 2048, F16),
    cube("gemm.f16.4096", "gemm.f16", 4096, F16),
    cube("gemm.f16.8192", "gemm.f16", 8192, F16),
    cube("gemm.e4m3.4096", "gemm.e4m3", 4096, E4M3),
    cube("gemm.e4m3.8192", "gemm.e4m3", 8192, E4M3),
    cube("gemm.e4m3.8192.fast", "gemm.e4m3", 8192, E4M3_FAST),
    cube("gemm.e4m3.8192.bf16", "gemm.e4m3", 8192, E4M3_BF16),
    cube("gemm.e4m3.8192.fast.bf16", "gemm.e4m3", 8192, E4M3_FAST_BF16),
    cube("gemm.s8.4096", "gemm.s8", 4096, S8),
    cube("gemm.s8.8192", "gemm.s8", 8192, S8),
    stream("gemv.f16", "gemv.f16", (1, 28_672, 0), Measure::Gemv16),
    stream("gemv.bf16", "gemv.bf16", (1, 28_672, 0), Measure::Gemv16),
    stream("w4.f16.m1", "w4.f16", (1, 57_344, 128), Measure::W4One),
    stream("w4.bf16.m1", "w4.bf16", (1, 57_344, 128), Measure::W4One),
    stream("w4.f16.m16", "w4.f16", (16, 57_344, 128), Measure::W4Sixteen),
    layer("w4.f16.8192.cold", false),
    layer("w4.f16.8192.cached", true),
    stream("nf4.f16.m1", "nf4.f16", (1, 57_344, 64), Measure::Nf4One),
    attention("attn.bf16.4096", "attn.prefill.bf16", "gemm.bf16"),
    attention("attn.f16.4096", "attn.prefill.f16", "gemm.f16"),
    decode("decode.bf16", PathDtype::Bf16, Measure::Decode16),
    decode("decode.int4", PathDtype::Int4, Measure::Decode4),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use warpscope_kernels::gpu::family::kernels;

    use super::*;

    #[test]
    fn every_goal_has_a_name_of_its_own_and_kernels_that_exist() {
        let ids: BTreeSet<&str> = GOALS.iter().map(|goal| goal.id).collect();
        assert_eq!(ids.len(), GOALS.len());
        let exists = |id: &str| kernels().any(|kernel| kernel.id == id);
        for goal in GOALS {
            if let Own::Kernel { id, .. } = goal.own {
                assert!(exists(id), "{}", goal.id);
            }
            if let Against::Kernel(id, _) = goal.against {
                assert!(exists(id), "{}", goal.id);
            }
        }
    }

    /// By hand: 57 344 × 8192 weights of four bits are 235 MB.
    #[test]
    fn what_is_held_against_memory_is_200_megabytes() {
        for goal in GOALS.iter().filter(|goal| goal.against == Against::Read) {
            let Own::Kernel { id, shape, .. } = goal.own else { continue };
            let bits = if id.starts_with("gemv") { 16 } else { 4 };
            let bytes = u64::from(shape.n) * u64::from(shape.k) * bits / 8;
            assert!(bytes >= 200_000_000, "{}: {bytes}", goal.id);
        }
    }
}
