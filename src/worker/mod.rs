//! The micro-inference benchmark: plan and statistics (pure), the child that computes, and what it says.
//!
//! All arithmetic runs in a child process: a fault, a hang or a kill there is shown by the parent and survived, and the
//! memory of the model goes when the child goes.

mod budget;
pub mod children;
mod cpu;
mod events;
pub mod goals;
pub mod gpu;
mod gpu_report;
mod options;
mod path;
pub mod picks;
pub mod pulse;
mod report;
pub mod ways;

pub use crate::runs::statistics::{Spread, Window};
pub use crate::runs::threshold::Thresholds;
pub use crate::worker::cpu::run_worker;
pub use budget::Budget;
pub use events::{EventError, Events, parse_event};
pub use options::{DEVICES, Mode, OptionError, WorkerOptions, worker_command};
pub use report::{
    BenchEvent, BenchState, CaseReport, Ceiling, Contest, DeviceHere, FirstBad, HeadroomReport,
    Hello, Holding, KernelReport, LeftOut, PathDtype, PathReport, PathSamples, ProbeReport, Rival,
    SkippedWork, Turn, WorkerFailure,
};

/// Number of the event format.
pub const BENCH_SCHEMA: u32 = 1;
