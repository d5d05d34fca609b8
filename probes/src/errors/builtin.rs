//! The files compiled into the program, as the build script turned them into JSON.

/// Name and text of every file in `probes/errors/`.
pub(super) const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/errors.rs"));
