//! What is true on this machine: readings, frames, the providers that fill them, and the fact tables.
//!
//! Providers may block and may fail; what they return is plain data. Nothing here draws or decides.

pub mod bounded;
pub mod catalogue;
pub mod driver;
pub mod errors;
pub mod fleet;
pub mod frame;
pub mod gpu;
pub mod host;
pub mod host_provider;
pub mod inspect;
pub mod live;
pub mod model;
mod notice;
pub mod nvidia_smi;
pub mod nvml;
pub mod private;
pub mod process;
pub mod provider;
pub mod reading;
pub mod releases;
pub mod rules;
pub mod text;
mod time;
pub mod trust;
pub mod units;
pub mod xid;

pub use frame::{Frame, Origin, SCHEMA};
pub use gpu::Gpu;
pub use notice::{Notice, Severity};
pub use reading::{Absence, Field, Reading};
pub use time::Timestamp;
pub use units::Scalar;
