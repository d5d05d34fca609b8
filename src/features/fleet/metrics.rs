//! What a map can show.

use warpscope_probes::fleet::Fleet;

use super::problems;
use crate::widgets::theme::Ramp;

/// A value of each GPU.
pub(super) struct Metric {
    /// Its name, with the unit.
    pub(super) title: &'static str,
    /// The value of a GPU.
    pub(super) value: fn(&Fleet, usize) -> Option<f64>,
    /// Its share of the most it can be.
    pub(super) share: fn(f64) -> f64,
    /// Its colours.
    pub(super) ramp: Ramp,
    /// What stands for a machine: the mean of its GPUs, or the highest.
    pub(super) takes_highest: bool,
}

/// Temperature at which the colours begin, and at which they end.
const COOL: f64 = 30.0;
const HOT: f64 = 90.0;
/// Watts at which the colours end: what a board of today draws.
const MUCH: f64 = 700.0;

/// Every one, in the order of the key.
pub(super) const METRICS: &[Metric] = &[
    Metric {
        title: "utilization %",
        value: |fleet, gpu| fleet.value("util_gpu_pct", gpu),
        share: |value| value / 100.0,
        ramp: Ramp::Load,
        takes_highest: false,
    },
    Metric {
        title: "memory %",
        value: |fleet, gpu| {
            let used = fleet.value("memory_used_bytes", gpu)?;
            fleet.memory_total(gpu).filter(|total| *total > 0.0).map(|total| 100.0 * used / total)
        },
        share: |value| value / 100.0,
        ramp: Ramp::Memory,
        takes_highest: false,
    },
    Metric {
        title: "temperature",
        value: |fleet, gpu| fleet.value("temperature_c", gpu),
        share: |value| (value - COOL) / (HOT - COOL),
        ramp: Ramp::Temperature,
        takes_highest: true,
    },
    Metric {
        title: "power W",
        value: |fleet, gpu| fleet.value("power_w", gpu),
        share: |value| value / MUCH,
        ramp: Ramp::Load,
        takes_highest: false,
    },
    Metric {
        title: "problems",
        value: |fleet, gpu| Some(problems::of(fleet, gpu).map_or(0.0, |problem| problem.weight)),
        share: |weight| weight / problems::HEAVIEST,
        ramp: Ramp::Temperature,
        takes_highest: true,
    },
];
