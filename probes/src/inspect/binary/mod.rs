//! Device code inside binaries: which targets it was built for, container by container, and which GPUs load it.
//!
//! Pure parsers over bytes: a [`Source`] is read by position, headers only, and no length is believed before it is checked. Asking
//! NVIDIA's own tool was rejected: it is part of the toolkit, takes seconds per library, and does not see code kept as data.

mod ar;
mod cache;
mod collect;
mod contents;
mod coverage;
mod cpu;
mod cubin;
mod data;
mod elf;
mod fatbin;
mod file;
mod image;
mod inflate;
mod load;
mod missing;
mod pe;
mod ptx;
mod scan;
mod source;
#[cfg(test)]
mod tests;
mod zip;

pub use cache::Cache;
pub use contents::Format;
pub use coverage::Coverage;
pub use cpu::Cpu;
pub use file::{ScanError, Why, scan_file, scan_source};
pub use image::{Compression, Form, Image, ImageKind, Target, is_tegra};
pub use inflate::Inflated;
pub use load::{Load, Reach, Reason, loads};
pub use missing::{Missing, missing_kernels};
pub use scan::{Count, Scan, Shape, Size, Summary};
pub use source::{OnDisk, Section, Source};
