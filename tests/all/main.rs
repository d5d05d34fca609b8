//! One integration binary: everything that needs the whole program.

mod arrows;
mod bench;
#[cfg(target_os = "linux")]
mod fake;
#[cfg(target_os = "linux")]
mod nvml;
