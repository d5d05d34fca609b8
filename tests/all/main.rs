//! One integration binary: everything that needs the whole program.

mod arrows;
mod bench;
mod bench_screen;
mod cli;
mod compare;
mod configs;
#[cfg(target_os = "linux")]
mod fake;
mod frames;
mod gates;
#[cfg(target_os = "linux")]
mod goals;
#[cfg(target_os = "linux")]
mod gpu;
mod history;
#[cfg(target_os = "linux")]
mod inspect;
mod judges;
#[cfg(target_os = "linux")]
mod nvml;
#[cfg(target_os = "linux")]
mod probe;
mod properties;
#[cfg(target_os = "linux")]
mod pty;
#[cfg(target_os = "linux")]
mod record;
mod score;
mod screens;
mod screenshots;
#[cfg(target_os = "linux")]
mod simulated;
mod synthetic;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(target_os = "linux")]
mod tune;
#[cfg(target_os = "linux")]
mod tune_cuda;
mod verdicts;
