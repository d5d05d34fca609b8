//! What a GPU computes: kernels as data, their conformance cases, and the one trait through which they run.
//!
//! Everything here is written once against [`Machine`]: the device, and in tests an interpreter of the same PTX. What
//! differs between the two is not the kernels' business, so a case that holds on one is the very case run on the other.

mod case;
pub mod decoder;
pub mod family;
pub mod forensics;
pub mod headroom;
mod kernel;
mod machine;
mod recomputed;
mod shape;
mod variant;

pub use case::{Case, CaseOutcome, Content, Element, Expect, Judge, run_case, run_case_keeping};
pub use kernel::{GpuKernel, Limiter, Route, Work};
pub use machine::{
    Arg, BufferId, DeviceFacts, GraphId, Launch, Machine, MachineError, Nanoseconds, Plan, Sampled,
    Slot, TensorElement, TensorMap,
};
pub use recomputed::{Recomputed, recomputed};
pub use shape::Shape;
pub use variant::{MOST_VARIANTS, TunedConfig, TunedConfigs, Variant};
