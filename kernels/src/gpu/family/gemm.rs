//! K10 to K17: matrix products.

use crate::gpu::GpuKernel;

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[];
