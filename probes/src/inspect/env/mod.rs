//! Environments on this machine and what is installed in them.

mod inventory;

pub use inventory::{CudaLibrary, EnvKind, Environment, Inventory, Library, Package, Unreadable};
