//! The third level of evidence: kernels and library calls run on the device itself, each with what it settles.
//!
//! Everything here runs in a child process: a probe may fault, hang or be killed, and that is its answer.

mod report;

pub use report::{Answer, ProbeReport};
