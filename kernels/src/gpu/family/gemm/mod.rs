//! K10 to K17: matrix products Y = X·Wᵀ.
//!
//! A block computes a tile of Y; there are several sizes of tiles, see `choose`. Where they are too few, or a few too many, for the
//! multiprocessors, blocks of 16-bit products share tiles: slabs of k are shared out evenly (stream-K), and partial sums added up in fp32.

macro_rules! entries {
    ($base:literal: $($tile:literal)*) => { &[$(($tile, concat!($base, "_", $tile))),*] };
}

mod cases;
mod choose;
mod dispatch;
mod hopper;
mod launch;
mod product;
mod registry;
mod skinny;
#[cfg(test)]
pub(in crate::gpu::family) mod tests;
mod tile;

pub(super) use hopper::has_wgmma;
pub use launch::{launch, launch_through, workspace_bytes};
pub use product::Product;
pub use registry::KERNELS;

pub use super::stream::{Formats, Operands};
pub use super::stream_k::Workspace;
use crate::gpu::Element;

/// The largest relative error that the self-test allows the kernel of this id.
pub fn limit(id: &str) -> Option<f64> {
    product::ROWS.iter().find(|row| row.id == id).map(|row| cases::limit(row.product))
}

/// How the kernel of this id stores results.
pub fn output(id: &str) -> Option<Element> {
    product::ROWS.iter().find(|row| row.id == id).map(|row| row.output)
}
