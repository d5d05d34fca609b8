//! Built images of the GPU kernels: which there are, and which one a device runs.
//!
//! `build-kernels` compiles and packs them, and the program carries the packs as they are committed. Those of a family are packed as one, so
//! that a device unpacks little more than it runs; the table of them is Rust, so that nothing is parsed when the program starts.

mod class;
mod driver;
mod embedded;
mod pick;

pub use class::{CLASSES, class_of};
pub use driver::{Isa, RELEASES, Release, cuda_text};
pub use embedded::{
    Entry, Image, ImageKind, Pack, Usage, by_bytes, by_sha256, images, ptx, ptx_for,
};
pub use pick::{Candidate, How, Pick, is_tegra, pick, pick_among};
