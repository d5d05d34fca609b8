//! K40 to K43 and what else joins the parts of a decoder.

use crate::gpu::GpuKernel;

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[];
