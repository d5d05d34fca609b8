//! Where frames come from and where they go: sources, sinks, files.

pub mod sink;
pub mod source;
