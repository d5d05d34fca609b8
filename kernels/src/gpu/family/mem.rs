//! K01, K44 to K46: bandwidth, noise, finite counts, references, hashes.

use crate::gpu::GpuKernel;

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[];
