//! The micro-inference benchmark: plan and statistics (pure), the child that computes, and what it says.
//!
//! All arithmetic runs in a child process: a fault, a hang or a kill there is shown by the parent and survived, and the
//! memory of the model goes when the child goes.

mod budget;
pub mod children;
pub mod compare;
mod events;
pub mod goals;
pub mod gpu;
mod gpu_report;
pub mod journal;
pub mod noise;
mod options;
mod path;
pub mod picks;
pub mod points;
pub mod pulse;
mod report;
mod statistics;
mod threshold;
pub mod tune;
pub mod ways;
mod worker;

pub use budget::Budget;
pub use events::{EventError, Events, parse_event};
pub use options::{DEVICES, Mode, OptionError, WorkerOptions, worker_command};
pub use report::{
    BenchEvent, BenchState, CaseReport, Ceiling, Contest, DeviceHere, FirstBad, HeadroomReport,
    Hello, Holding, KernelReport, LeftOut, PathDtype, PathReport, PathSamples, ProbeReport, Rival,
    SkippedWork, Turn, WorkerFailure,
};
pub use statistics::{Spread, Window};
pub use threshold::Thresholds;
pub use worker::run_worker;

/// Number of the event format.
pub const BENCH_SCHEMA: u32 = 1;
