//! Plans against published measurements and reports.

mod dimensions;
mod draw;
mod memory;
mod properties;
mod reports;
mod speeds;
