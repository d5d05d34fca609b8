//! NVIDIA's own products of matrices, to find out what they take: cuBLAS and cuBLASLt of a file that somebody chose.
//!
//! Which copy is loaded decides the answer, so the path is the caller's; looking for it by name alone, as cudarc does, would ask a
//! library that nobody uses. Calls are the C interface's, one product each, on operands whose extents were checked against the
//! buffers they lie in. A library that crashes or hangs takes the process with it: this belongs into a child.

mod handle;
mod library;
mod product;
mod status;

pub use handle::{Blas, Prepared, Workspace};
pub use product::{Compute, Kind, Product};
pub use status::{BLAS_STATUSES, BlasError, blas_status};
