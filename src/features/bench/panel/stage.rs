//! Where the benchmark of a GPU stands, and why, in words.

use std::time::Duration;

use crate::features::bench::gpu::GpuBench;
use crate::widgets::format;
use crate::widgets::theme::Role;
use crate::worker::pulse::{IDLE, Stage};

/// The stage in one word, and its colour.
pub(crate) fn word(bench: &GpuBench) -> (&'static str, Role) {
    match bench.stage() {
        Stage::Off(_) => ("PAUSED", Role::Paused),
        Stage::Armed { .. } => ("ARMED", Role::Info),
        Stage::Pulse { .. } => ("PULSE", Role::Good),
        Stage::Cool { .. } => ("COOL", Role::Muted),
    }
}

/// Why, and what comes next.
pub(crate) fn why(bench: &GpuBench, now: Duration) -> String {
    match bench.stage() {
        Stage::Off(why) => why.clone(),
        Stage::Armed { since } => {
            let idle = now.saturating_sub(*since);
            if idle >= IDLE {
                return "idle; waits for its turn".to_owned();
            }
            format!("idle for {} of {} s", idle.as_secs(), IDLE.as_secs())
        }
        Stage::Pulse { since } => {
            let measures = format::duration(now.saturating_sub(*since).as_secs_f64());
            format!("measuring for {measures}")
        }
        Stage::Cool { until, why } => {
            let rest = format::duration(until.saturating_sub(now).as_secs_f64());
            format!("{why}; again in {rest}")
        }
    }
}
