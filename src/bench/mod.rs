//! The micro-inference benchmark: plan and statistics (pure), the child that computes, and what it says.

mod report;

pub use report::{BenchEvent, BenchState, Ceiling, FirstBad, Hello, PathDtype, PathReport};

/// Number of the event format.
pub const BENCH_SCHEMA: u32 = 1;
