//! What this program and its workers tell each other: one JSON object a line, commands to a worker's stdin, events from its stdout.
//!
//! Both ends are the same program file, so the format needs no compatibility of its own; results in it also stand in `bench --json` and in
//! journals, and their keys stay.

mod command;
mod event;
mod glob;
mod goal;
mod gpu_report;
mod lines;
mod os_paths;
mod sampling;

pub use command::{Acquire, Command, ModelSize, Timing, TimingMode};
pub use event::{Ceiling, FirstBad, Hello, PathReport, PathSamples, WorkerEvent};
pub use glob::Globs;
pub use goal::{ArmReport, GoalReport, JudgedGoal, Strain};
pub use gpu_report::{
    AutotuneRun, Candidate, CaseReport, DeviceHere, Holding, KernelReport, LeftOut, ListedGoal,
    ListedKernel, Listing, RangeReport, SkippedWork, Turn, TurnClocks, WorkerFailure,
};
pub use lines::{LINE_MAX, LineError, Lines, next_line, parse, to_line, write};
pub use sampling::{Convergence, SampleClocks, StopReason};
/// Number formats of the micro decoder, by the names users give them.
pub use warpscope_kernels::cpu::Format as PathDtype;
pub use warpscope_probes::live::ProbeReport;

/// Number of the event format.
pub const BENCH_SCHEMA: u32 = 1;
