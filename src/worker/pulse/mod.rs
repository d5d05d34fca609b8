//! When the live benchmark may use a GPU: only one that nobody else uses, briefly, within a budget. Pure: time comes in as a parameter.
//!
//! `Off → Armed → Pulse → Cool`. Kernels of different processes do not overlap but take turns, so the only mode that disturbs nobody
//! is to run where there is nobody. Running at low priority beside others was rejected: priorities order streams of one process only.

mod around;
mod course;

pub use around::{Around, Hindrance, around};
pub use course::{Allowance, Course, Cue, IDLE, Order, Stage, Wish};
