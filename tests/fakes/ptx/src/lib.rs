//! Executes PTX on the CPU, for tests.

mod decode;
mod devices;
mod error;
mod fault;
mod interpreter;
mod lanes;
mod machine;
mod memory;
mod module;
pub mod numerics;
mod parse;
mod program;

pub use devices::{device, devices};
pub use error::PtxError;
pub use fault::{Fault, FaultKind};
pub use interpreter::{Images, Interpreter};
pub use machine::{Limits, Outcome, launch};
pub use memory::Memory;
pub use module::{Entry, Module, Param};
