//! Fuzz targets for every reader of outside data, and a runner for them on stable Rust.
//!
//! [`targets::TARGETS`] is the table: a target is a name, the inputs to start from and a function that asserts what must hold of any
//! bytes. [`runner`] mutates the inputs and keeps those that show new behaviour. Stable Rust has no coverage instrumentation, so the
//! feedback is what a reader gives back: the shape of its values and of its errors, collected in a [`Trace`].

mod archive;
pub mod memory;
mod mutate;
mod random;
pub mod runner;
mod seeds;
pub mod targets;
mod trace;

pub use trace::Trace;
