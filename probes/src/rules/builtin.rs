//! The rule files compiled into the program, as the build script turned them into JSON.

/// Name and text of every file in `probes/rules/`, in the order of the screen, which `probes/rules.txt` has: what people start first, then the
/// libraries of kernels it calls, torch and Triton, the libraries and tools of CUDA, the driver and the GPU, and models.
pub(super) const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/rules.rs"));
