//! Environments on this machine and what is installed in them.
//!
//! Everything is read from files. Asking each interpreter would be simpler and exact, but it takes seconds each, runs other people's
//! code, and cannot look into an image or at an environment that no longer starts.

mod conda;
mod cuda;
mod disk;
pub(crate) mod elf;
mod find;
mod image;
mod inventory;
mod ld_cache;
mod links;
mod marker;
mod metadata;
mod native;
mod packages;
mod places;
mod priority;
mod process;
mod program;
mod progress;
mod recognise;
mod requirement;
mod search;
mod sweep;
mod tree;

#[cfg(test)]
mod tests;

pub use cuda::{DriverServes, builds as cuda_builds, driver_serves};
pub use image::{Image, ImageError, ImageFile, Packing, read_image, stream_image};
pub use inventory::{
    CudaLibrary, EnvKind, Environment, Inventory, Library, Package, ProcessUse, Searched,
    Unreadable,
};
pub use metadata::normalized;
pub use places::Places;
pub use priority::yield_disk;
pub use progress::{Progress, Seen};
pub use sweep::{Sweep, find};
