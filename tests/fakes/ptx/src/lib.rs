//! Executes PTX on the CPU, for tests.

mod decode;
mod error;
mod fault;
mod lanes;
mod machine;
mod memory;
mod module;
pub mod numerics;
mod parse;
mod program;

pub use error::PtxError;
pub use fault::{Fault, FaultKind};
pub use machine::{Limits, Outcome, launch};
pub use memory::Memory;
pub use module::{Entry, Module, Param};
