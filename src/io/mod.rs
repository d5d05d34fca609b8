//! Where frames come from and where they go: sources, sinks, files.

pub(crate) mod machine;
pub(crate) mod memory;
pub mod metrics;
pub mod recordings;
pub mod sink;
pub mod source;
