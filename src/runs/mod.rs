//! TODO

pub mod compare;
pub mod journal;
pub mod noise;
pub mod points;
pub(crate) mod statistics;
pub(crate) mod threshold;
