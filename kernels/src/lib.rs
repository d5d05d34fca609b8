//! What can be computed: compute capabilities, number formats, the micro decoder and its CPU kernels.
//!
//! The package depends on nothing else of warpscope.

pub mod cpu;
pub mod cuda;
mod dtype;
pub mod gpu;
pub mod image;
pub mod model;
mod named;
mod rounding;
mod sm;
mod text_serde;

pub use dtype::{DTYPES, Dtype};
pub use rounding::{nearest_bf16, nearest_f16};
pub use sm::{ParseSmError, Sm, Suffix};
