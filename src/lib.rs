//! warpscope: what every GPU can run, why not the rest, and how fast it really is.
//!
//! Arrows: `kernels ← probes ← text ← engine, runs, widgets ← store, worker ← tuner ← io ← config ← features ← shell ← commands ← main`.

pub mod commands;
pub mod config;
pub mod engine;
pub mod features;
pub mod io;
pub mod runs;
pub mod shell;
pub mod store;
pub mod text;
pub mod tuner;
pub mod widgets;
pub mod worker;
