//! TODO

pub mod sink;
pub mod source;
