//! The kernels as data.

use super::dense;
use super::paths::{Awq, Bf16, EightBits, F16, GemmBf16, GemmF16};
use crate::Dtype::Int4Weight;
use crate::gpu::GpuKernel;
use crate::gpu::family::stream::kernel;

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[
    kernel::<F16>("4-bit weights, fp16 activations", "w4", Int4Weight),
    kernel::<Bf16>("4-bit weights, bf16 activations", "w4", Int4Weight),
    kernel::<Awq>("4-bit weights with zero points, fp16 sums", "w4", Int4Weight),
    kernel::<EightBits>("4-bit weights, 8-bit activations", "w4", Int4Weight),
    kernel::<GemmF16>("4-bit weights, many tokens of fp16", "w4_gemm", Int4Weight),
    kernel::<GemmBf16>("4-bit weights, many tokens of bf16", "w4_gemm", Int4Weight),
    dense::WIDENING,
    dense::GENERATION,
];
