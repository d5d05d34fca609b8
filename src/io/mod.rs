//! Where frames come from and where they go: sources, sinks, files.

pub mod metrics;
pub mod sink;
pub mod source;
