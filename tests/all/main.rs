//! One integration binary: everything that needs the whole program.

mod arrows;
mod bench;
mod bench_screen;
#[cfg(target_os = "linux")]
mod children;
mod cli;
mod compare;
mod completions;
mod configs;
mod cycles;
#[cfg(target_os = "linux")]
mod docs;
mod explain;
mod explain_healthy;
mod explain_statuses;
#[cfg(all(target_os = "linux", feature = "remote"))]
mod exporter;
mod fake;
#[cfg(target_os = "linux")]
mod files;
mod fixes;
mod fleet;
mod frames;
mod gates;
#[cfg(target_os = "linux")]
mod goals;
#[cfg(target_os = "linux")]
mod gpu;
mod history;
#[cfg(target_os = "linux")]
mod hostile;
#[cfg(target_os = "linux")]
mod hosts;
#[cfg(target_os = "linux")]
mod inspect;
#[cfg(target_os = "linux")]
mod inspect_processes;
mod judges;
mod models;
#[cfg(target_os = "linux")]
mod nvml;
mod plan;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod processes;
mod properties;
#[cfg(target_os = "linux")]
mod pty;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
mod record_alone;
#[cfg(target_os = "linux")]
mod record_ends;
#[cfg(target_os = "linux")]
mod recording;
mod releases;
mod score;
mod screens;
mod screenshots;
#[cfg(target_os = "linux")]
mod simulated;
mod skip;
mod structure;
mod synthetic;
#[cfg(target_os = "linux")]
mod terminal;
mod tree;
#[cfg(target_os = "linux")]
mod trust;
#[cfg(target_os = "linux")]
mod tune;
#[cfg(target_os = "linux")]
mod tune_cuda;
mod verdicts;
mod words;
