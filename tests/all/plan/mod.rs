//! Plans against published measurements and reports.

mod dimensions;
mod draw;
mod edges;
mod memory;
mod properties;
mod reports;
mod speeds;
