//! The kernels as data.

use super::paths::{Awq, Bf16, EightBits, F16, GemmBf16, GemmF16};
use super::{dense, hopper};
use crate::gpu::GpuKernel;
use crate::gpu::family::route::{Step, Support, route};
use crate::gpu::family::stream::kernel;
use crate::{Dtype, Sm};

/// fp16 activations.
const F16_STEPS: &[Step] = &[
    (Sm::new(6, 0), Support::Native("fma.f32")),
    (Sm::new(7, 5), Support::Native("mma.m16n8k8")),
    (Sm::new(8, 0), Support::Native("mma.m16n8k16")),
];

/// bf16 activations.
const BF16_STEPS: &[Step] = &[
    (Sm::new(6, 0), Support::Emulated("fp32 and integer rounding: bf16 begins with sm_80")),
    (Sm::new(8, 0), Support::Native("mma.m16n8k16")),
];

/// Many tokens of fp16.
const GEMM_F16_STEPS: &[Step] = &[
    (Sm::new(7, 5), Support::Native("mma.m16n8k8")),
    (Sm::new(8, 0), Support::Native("mma.m16n8k16")),
];

/// Many tokens of bf16.
const GEMM_BF16_STEPS: &[Step] = &[(Sm::new(8, 0), Support::Native("mma.m16n8k16"))];

/// fp16 sums.
const AWQ_STEPS: &[Step] = &[(Sm::new(6, 0), Support::Native("fma.f16x2"))];

/// Activations in eight bits.
const DP4A_STEPS: &[Step] = &[(Sm::new(6, 1), Support::Native("dp4a"))];

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[
    kernel::<F16>("4-bit weights, fp16 activations", "w4", Dtype::Int4Weight, |facts| {
        route(F16_STEPS, facts)
    }),
    kernel::<Bf16>("4-bit weights, bf16 activations", "w4", Dtype::Int4Weight, |facts| {
        route(BF16_STEPS, facts)
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
        |facts| hopper::route(facts).unwrap_or_else(|| route(GEMM_F16_STEPS, facts)),
    ),
    kernel::<GemmBf16>(
        "4-bit weights, many tokens of bf16",
        "w4_gemm",
        Dtype::Int4Weight,
        |facts| hopper::route(facts).unwrap_or_else(|| route(GEMM_BF16_STEPS, facts)),
    ),
    dense::WIDENING,
    dense::GENERATION,
];
