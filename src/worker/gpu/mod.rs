//! GPUs as devices: what a worker runs on one, and who else is there.
//!
//! All of CUDA happens in the worker. A fault there (a kernel that strays, a driver that crashes or hangs, a panic) is evidence
//! with a sentence of its own; the worker's memory goes with it. Jobs are written against
//! [`Machine`](warpscope_kernels::gpu::Machine), so tests run them on an interpreter.

mod autotune;
#[cfg(test)]
mod clock_tests;
mod contention;
mod decode;
mod device;
mod evidence;
#[cfg(test)]
mod fake;
mod goals;
mod job;
mod listing;
mod meter;
mod operands;
mod probing;
mod proof;
mod range;
mod selftest;
mod session;
mod stopping;
mod strain;
#[cfg(test)]
mod tests;
mod timing;
mod worker;

pub use contention::ContentionProbe;
pub use device::CudaOpener;
pub use probing::ProbeRound;
pub use session::{DeviceSession, TIERS, tier};
pub(crate) use timing::median_rate;
pub use timing::size;
pub use worker::{GpuDevice, Opened, Opener};
