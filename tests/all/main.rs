//! One integration binary: everything that needs the whole program.

mod bench;
mod fake;
mod nvml;
