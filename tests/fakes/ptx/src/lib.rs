//! Executes PTX on the CPU, for tests.

pub mod numerics;
