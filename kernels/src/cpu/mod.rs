//! Matrix kernels for the CPU, chosen when the program runs, by what the CPU can do.
//!
//! A build with `-C target-cpu=native` was rejected: one binary must be fast on every machine. Each format has a portable
//! kernel, which is the oracle of the others.

mod aligned;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod ceiling;
#[cfg(test)]
mod conformance;
mod elementwise;
mod feature;
mod format;
mod gemm;
mod interruption;
mod matrix;
mod narrow;
#[cfg(test)]
mod narrow_conformance;
mod pages;
mod portable;
mod priority;
mod registry;
mod team;

pub use aligned::Aligned;
pub use ceiling::{
    BF16_LOOPS, CleanPasses, FMA_LOOPS, FmaLoop, READ_LOOPS, READ_TRIES, ReadLoop, ReadTest,
    fastest_fma, fastest_read, fma_flop_per_s, last_level_cache_bytes, read_bytes_per_s,
};
pub use elementwise::{attend, rms_norm, rotate, swiglu};
pub use feature::{FEATURES, Feature};
pub use format::{FORMATS, Format, Storage};
pub use gemm::{GEMMS, GemmSpec, TILE, from_tile, pick_gemm, to_tiles};
pub use interruption::interruptions;
pub use matrix::{Int4, Matrix, Weights};
pub use narrow::{BF16_GEMMS, Bf16Gemm, Tiles, pick_bf16_gemm};
pub use priority::{nice, set_nice};
pub use registry::{Gemv, KERNELS, KernelSpec, pick};
pub use team::Team;
