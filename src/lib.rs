//! warpscope: what every GPU can run, why not the rest, and how fast it really is.
//!
//! Arrows: `kernels ← probes ← engine, store, bench ← source, sink, cli ← app ← ui ← main`.

pub mod app;
pub mod bench;
pub mod cli;
pub mod config;
pub mod engine;
pub mod sink;
pub mod source;
pub mod store;
pub mod ui;
