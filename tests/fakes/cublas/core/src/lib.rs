//! What the stand-ins of cuBLAS and cuBLASLt share: which products a device supports ([`rules`]), the products themselves
//! ([`product`]), what goes wrong on request ([`scenario`]), and the way to the stand-in driver ([`driver`]).
//!
//! Products are computed in the driver's memory and in its streams, so they can be captured into graphs and die with a
//! context. Linking against the driver was rejected: programs load both by name, in either order.

#![cfg(target_os = "linux")]

pub mod driver;
pub mod kinds;
pub mod matrix;
pub mod product;
mod registry;
pub mod rules;
pub mod scenario;
pub mod status;

pub use product::Product;
pub use registry::Registry;
