//! The kernels as data.

use super::paths::{Awq, Bf16, EightBits, F16, GemmBf16, GemmF16};
use super::{dense, hopper};
use crate::gpu::GpuKernel;
use crate::gpu::family::route::{FEW_BF16, FEW_F16, MMA_BF16, MMA_F16, Step, Support, route};
use crate::gpu::family::stream::kernel;
use crate::{Dtype, Sm};

/// fp16 sums.
const AWQ_STEPS: &[Step] = &[(Sm::new(6, 0), Support::Native("fma.f16x2"))];

/// Activations in eight bits.
const DP4A_STEPS: &[Step] = &[(Sm::new(6, 1), Support::Native("dp4a"))];

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[
    kernel::<F16>("4-bit weights, fp16 activations", "w4", Dtype::Int4Weight, |facts| {
        route(FEW_F16, facts)
    }),
    kernel::<Bf16>("4-bit weights, bf16 activations", "w4", Dtype::Int4Weight, |facts| {
        route(FEW_BF16, facts)
    }),
    kernel::<Awq>("4-bit weights with zero points, fp16 sums", "w4", Dtype::Int4Weight, |facts| {
        route(AWQ_STEPS, facts)
    }),
    kernel::<EightBits>("4-bit weights, 8-bit activations", "w4", Dtype::Int4Weight, |facts| {
        route(DP4A_STEPS, facts)
    }),
    kernel::<GemmF16>(
        "4-bit weights, many tokens of fp16",
        "w4_gemm",
        Dtype::Int4Weight,
        |facts| hopper::route(facts).unwrap_or_else(|| route(MMA_F16, facts)),
    ),
    kernel::<GemmBf16>(
        "4-bit weights, many tokens of bf16",
        "w4_gemm",
        Dtype::Int4Weight,
        |facts| hopper::route(facts).unwrap_or_else(|| route(MMA_BF16, facts)),
    ),
    dense::WIDENING,
    dense::GENERATION,
];
