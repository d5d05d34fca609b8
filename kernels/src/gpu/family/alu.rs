//! K02: register-only instruction peaks.

use crate::gpu::GpuKernel;

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[];
