//! Recorded runs: samples, run logs, and the statistics that compare them.

pub mod compare;
pub mod journal;
pub mod noise;
pub mod points;
pub(crate) mod statistics;
pub(crate) mod threshold;
