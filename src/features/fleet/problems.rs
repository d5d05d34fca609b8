//! What can be wrong with a GPU of a fleet, the worst first.

use warpscope_probes::fleet::{Fleet, State};
use warpscope_probes::gpu::CLOCK_REASONS;
use warpscope_probes::xid;

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Problem {
    /// How bad it is.
    pub(super) weight: f64,
    /// A word to filter by.
    pub(super) word: &'static str,
    /// In words.
    pub(super) text: String,
}

/// The weight of the worst.
pub(super) const HEAVIEST: f64 = 10.0;
/// Hotter is worth a look.
const HOT: f64 = 87.0;
/// Less is idle, in per cent.
const IDLE: f64 = 1.0;
/// An idle GPU that holds a larger share of its memory keeps others from it.
const HELD: f64 = 0.1;

type Check = fn(&Fleet, usize) -> Option<String>;

/// Every problem with its word.
pub(super) const PROBLEMS: &[(f64, &str, Check)] = &[
    (HEAVIEST, "lost", |fleet, gpu| {
        let machine = &fleet.machines[fleet.gpus[gpu].machine];
        let is_alone = machine.state != State::Lost;
        let words = if is_alone { "does not answer" } else { "has stopped sending" };
        (fleet.state(gpu) == State::Lost).then(|| words.to_owned())
    }),
    (9.0, "remap", |fleet, gpu| {
        let failed = fleet.value("rows_failed", gpu)? > 0.0;
        failed.then(|| "row remap failed, replace it".to_owned())
    }),
    (8.0, "xid", |fleet, gpu| {
        let xid = fleet.value("xid", gpu).filter(|xid| *xid > 0.0)? as u64;
        (xid::blame(xid) == xid::Blame::Hardware).then(|| xid::words(xid))
    }),
    (7.0, "ecc", |fleet, gpu| {
        let count = fleet.value("ecc_uncorrected_aggregate", gpu).filter(|count| *count > 0.0)?;
        Some(format!("{count:.0} uncorrectable memory errors"))
    }),
    (6.0, "late", |fleet, gpu| {
        let machine = &fleet.machines[fleet.gpus[gpu].machine];
        let age = fleet.at.seconds_since(machine.seen);
        (machine.state == State::Late).then(|| format!("values are {age:.0} s old"))
    }),
    (5.0, "throttled", |fleet, gpu| {
        let mask = fleet.value("clock_reasons", gpu)? as u64;
        let words = CLOCK_REASONS.iter().filter(|row| mask & row.0 != 0 && row.3 && row.0 != POWER);
        let words: Vec<&str> = words.map(|row| row.2).collect();
        (!words.is_empty()).then(|| format!("throttled: {}", words.join(", ")))
    }),
    (4.0, "hot", |fleet, gpu| {
        let degrees = fleet.value("temperature_c", gpu).filter(|degrees| *degrees >= HOT)?;
        Some(format!("{degrees:.0} degrees Celsius"))
    }),
    (2.0, "idle", |fleet, gpu| {
        let used = fleet.value("memory_used_bytes", gpu)?;
        let held = used / fleet.memory_total(gpu).filter(|total| *total > 0.0)?;
        let is_idle = fleet.value("util_gpu_pct", gpu)? < IDLE && held > HELD;
        is_idle.then(|| format!("idle, holds {:.0}% of its memory", 100.0 * held))
    }),
];

/// The power limit is reached by every GPU that works well.
const POWER: u64 = 0x4;

/// The worst that is wrong with a GPU.
pub(super) fn of(fleet: &Fleet, gpu: usize) -> Option<Problem> {
    PROBLEMS.iter().find_map(|(weight, word, check)| {
        check(fleet, gpu).map(|text| Problem { weight: *weight, word, text })
    })
}
