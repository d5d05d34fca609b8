//! K20: 16-bit and fp32 matrix-vector products.

use crate::gpu::GpuKernel;

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[];
