//! One file per kernel family: its kernels, how they are launched, and the cases that prove them.

pub mod alu;
pub mod attn;
pub mod clock;
pub mod elementwise;
pub mod gemm;
pub mod gemv;
pub mod mem;
pub mod nf4;
mod number;
mod operand;
mod route;
pub(in crate::gpu) mod stream;
pub mod stream_k;
pub mod token;
pub mod w4;

use super::GpuKernel;

/// Every kernel, family by family.
pub fn kernels() -> impl Iterator<Item = &'static GpuKernel> {
    let families: [&[GpuKernel]; 9] = [
        alu::KERNELS,
        attn::KERNELS,
        gemm::KERNELS,
        gemv::KERNELS,
        elementwise::KERNELS,
        mem::KERNELS,
        nf4::KERNELS,
        token::KERNELS,
        w4::KERNELS,
    ];
    families.into_iter().flatten()
}
