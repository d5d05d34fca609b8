//! K21, K23, K26: 4-bit weights in groups.

use crate::gpu::GpuKernel;

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[];
