//! What is installed here, read from the files themselves: nothing is imported or run.
//!
//! Two halves: [`binary`] says which GPUs the device code inside a file can run on; [`mod@env`] says which environments and packages there
//! are, which binaries belong to them, and which CUDA libraries they would load.

pub mod binary;
pub mod env;
mod survey;

pub use survey::{Damage, EnvironmentScan, ScanProgress, Scanner};
