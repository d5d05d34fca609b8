//! The GPU's side of the benchmark: one child process per device, what it is asked, and who watches it.
//!
//! All of CUDA happens in the child. A fault there (a kernel that strays, a driver that crashes or hangs, a panic) is evidence
//! with a sentence of its own; the child's memory goes with it. Jobs are written against
//! [`Machine`](warpscope_kernels::gpu::Machine), so tests run them on an interpreter.

mod child;
mod contest;
mod decode;
mod device;
mod ending;
mod glob;
mod goals;
mod headroom;
mod held;
mod job;
mod lookout;
mod meter;
mod operands;
mod paths;
mod probing;
mod process;
mod proof;
mod request;
mod selftest;
mod supervisor;
mod timing;
#[cfg(test)]
mod toy;

pub use child::{GpuEnd, Opened, Opener, run_gpu_child};
pub use device::CudaOpener;
pub use ending::{CONTEXT_LOST, Ending, signal_name};
pub use glob::Globs;
pub use held::{Held, TIERS, tier};
pub use lookout::Eyes;
pub use probing::ProbeRound;
pub use process::{GPU_ARGUMENT, Told, converse, gpu_command};
pub use request::{Burst, Hold, Request, Size, Timing};
pub use supervisor::{Action, Death, Event, Limits, Next, Supervisor};
pub(crate) use timing::fastest;
pub use timing::size;
