//! The micro decoder on a GPU: M0 shows what a number format does to a language model, M1 how fast it is.
//!
//! Both are the decoder of [`crate::model`], operation by operation and rounding by rounding, built from the launches of
//! the kernel families and recorded as two graphs: one for the prompt, one for every further token, whose position the
//! kernels read from device memory. M0 looks at every stored tensor for numbers that are not finite, in M1 nothing but
//! the model runs: there a token is a chain of fewer, fused launches, which M0 cannot have, since it looks at what they would not store.

mod chain;
mod found;
mod layout;
mod memory;
mod numeric;
mod path;
mod plan;
mod product;
mod step;
#[cfg(test)]
mod tests;
mod throughput;
mod upload;

pub use numeric::{Length, Numeric, numeric};
pub use path::{PATHS, Path, Storage, Sums, path};
pub use throughput::{Throughput, Timed, sample_in_order, throughput, throughput_of};
