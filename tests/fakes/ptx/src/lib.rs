//! Executes PTX on the CPU, for tests.
