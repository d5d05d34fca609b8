//! Launches with attributes: `cuLaunchKernelEx`.
//!
//! cudarc has these structures only for CUDA 11.8 and newer, and the version it is built for is that of the oldest driver; so they are declared here,
//! as NVIDIA's header lays them out.

use std::ffi::c_uint;

use cudarc::driver::sys::CUstream;

use crate::gpu::Launch;

/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`
const EARLY: c_uint = 6;

/// `CUlaunchAttribute`: a number, and a value of 64 bytes whose first say yes or no.
#[repr(C)]
pub(super) struct Attribute {
    id: c_uint,
    pad: [u8; 4],
    value: [u64; 8],
}

/// `CUlaunchConfig`
#[repr(C)]
pub(super) struct Config {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: CUstream,
    attributes: *mut Attribute,
    count: c_uint,
}

impl Attribute {
    /// The launch may start before the one in front of it has ended.
    pub(super) const fn early() -> Self {
        // The first four bytes are what counts, on a host that puts the lowest first; every host of a GPU of NVIDIA's does.
        Self { id: EARLY, pad: [0; 4], value: [1, 0, 0, 0, 0, 0, 0, 0] }
    }
}

impl Config {
    /// A launch into a stream with an attribute, which must outlive it.
    pub(super) fn new(launch: &Launch, stream: CUstream, attribute: &mut Attribute) -> Self {
        let Launch { grid, block, shared_bytes, .. } = *launch;
        Self { grid, block, shared: shared_bytes, stream, attributes: attribute, count: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of `cuda.h` on 64-bit systems.
    #[test]
    fn structures_are_as_large_as_cuda_declares_them() {
        assert_eq!((size_of::<Config>(), size_of::<Attribute>()), (56, 72));
    }
}
