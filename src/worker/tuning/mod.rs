//! Variants of kernels chosen by measurement: who wins, and where that is remembered. Pure.
//!
//! Nothing is chosen unasked: a benchmark that tunes itself at its first run stalls, and measures something else the second time.

mod cache;
mod choice;
mod situation;

pub use cache::{Entry, Kept, Lookup, PICKS_SCHEMA, TuningCache};
pub use choice::{Choice, Judged, choose};
pub use situation::{Clocks, Situation};
