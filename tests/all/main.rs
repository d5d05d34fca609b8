//! One integration binary: everything that needs the whole program.

mod fake;
mod nvml;
