//! The third level of evidence: kernels and library calls run on the device itself, each with what it settles.
//!
//! Everything here runs in a child process: a probe may fault, hang or be killed, and that is its answer. Probes are rows of a table; a
//! probe asks what a rule claims, in the way a framework would, and compares the result bit by bit. What it finds of the machine's
//! state (memory that ran out, a device that was lost) is told and is no evidence.

mod block;
mod found;
mod gate;
mod libraries;
mod load;
mod mechanics;
mod product;
mod rate;
mod report;
mod run;
mod shared;
mod store;
mod table;

pub use gate::{Element, Exchange, InstructionProbe, Layout, Tile, Words, exchange};
pub use libraries::CublasCopies;
pub use load::Load;
pub use product::{Call, Grid, Lie, Trial};
pub use rate::{Loop, Rate};
pub use report::{Answer, ProbeReport};
pub use run::{Bench, Setting};
pub use store::Store;
pub use table::{Probe, Subject, probe, probes};

/// As much of a digest as a person compares.
fn short(sha256: &str) -> &str {
    sha256.get(..12).unwrap_or(sha256)
}
