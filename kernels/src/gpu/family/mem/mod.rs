//! K01, K44–K46: memory bandwidth, data, and scans.
//!
//! Counts and hashes are sums of integers, so that they are the same in every order and need no second pass.

mod bandwidth;
mod cases;
mod finite;
mod hash;
mod noise;
mod reference;
mod scan;

pub use bandwidth::{copy, found_bytes, read, triad};
pub use finite::{Finite, REPORT_BYTES, add_finite, finite};
pub use hash::{HASH_BYTES, hash, hash_of};
pub use noise::{noise, noise_bytes};
pub use reference::{Precision, Sample, reference};
pub use scan::clear;

use crate::gpu::GpuKernel;

/// The kernels of the family.
pub const KERNELS: &[GpuKernel] = &[
    bandwidth::READ,
    bandwidth::COPY,
    bandwidth::TRIAD,
    cases::FINITE,
    cases::HASH,
    cases::NOISE,
    cases::DOUBLE,
    cases::PAIRS,
];
