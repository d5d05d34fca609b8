//! Built images of the GPU kernels: which there are, and which one a device runs.

mod class;

pub use class::{CLASSES, class_of};
