//! Recorded runs: samples, run logs, and the statistics that compare them.

pub mod compare;
pub mod live;
pub mod noise;
pub mod run_log;
pub mod samples;
pub(crate) mod statistics;
