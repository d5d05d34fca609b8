//! A fleet of frames: machines that are read one by one.

use super::build::Names;
use super::order::natural;
use super::{Fleet, Machine, Member, State};
use crate::gpu::{CLOCK_REASONS, Presence, Vitals};
use crate::process::Process;
use crate::xid::{self, XidCount};
use crate::{Field, Frame, Gpu};

/// Readings that are shown of all machines.
const FIELDS: &[&str] = &[
    "util_gpu_pct",
    "memory_used_bytes",
    "memory_total_bytes",
    "power_w",
    "temperature_c",
    "ecc_uncorrected_aggregate",
    "rows_failed",
];

impl Fleet {
    /// The machines of these frames, by name and how they do.
    pub fn of<'a>(frames: impl IntoIterator<Item = (&'a Frame, &'a str, State)>) -> Self {
        let mut fleet = Self::default();
        let fields = Vitals::FIELDS.iter().filter(|field| FIELDS.contains(&field.key));
        let fields: Vec<&Field<Vitals>> = fields.collect();
        fleet.columns = fields.iter().map(|field| (field.key, Vec::new())).collect();
        fleet.columns.extend(["clock_reasons", "xid", "up"].map(|field| (field, Vec::new())));
        let (mut models, mut owners) = (Names::default(), Names::default());
        let mut frames: Vec<_> = frames.into_iter().collect();
        frames.sort_by_cached_key(|frame| natural(frame.1));
        for (frame, name, state) in frames {
            fleet.at = fleet.at.max(frame.at);
            let from = fleet.gpus.len();
            let real = || frame.gpus.iter().filter(|gpu| gpu.presence != Presence::WhatIf);
            for gpu in real() {
                fleet.gpus.push(Member {
                    machine: fleet.machines.len(),
                    index: Some(gpu.index),
                    key: gpu.key.clone(),
                    uuid: gpu.identity.uuid.last().cloned(),
                    model: models.place(gpu.identity.name.last().map_or("", String::as_str)),
                    owner: owner(frame, gpu).map(|owner| owners.place(&owner)),
                    seen: frame.at,
                });
                let values = fields.iter().map(|field| (field.number)(&gpu.vitals));
                let values: Vec<_> =
                    values.chain([reasons(gpu), newest_xid(gpu), up(gpu)]).collect();
                for ((_, column), value) in fleet.columns.iter_mut().zip(values) {
                    column.push(value);
                }
            }
            let version = &frame.driver.versions;
            fleet.machines.push(Machine {
                name: name.to_owned(),
                driver: version.driver.last().cloned(),
                cuda: version.cuda.last().cloned(),
                state,
                seen: frame.at,
                gpus: from..fleet.gpus.len(),
            });
        }
        (fleet.models, fleet.owners) = (models.into_list(), owners.into_list());
        fleet
    }
}

/// NVML's mask of what holds the clocks.
fn reasons(gpu: &Gpu) -> Option<f64> {
    let active = gpu.throttle.active.value()?;
    let bits = CLOCK_REASONS.iter().filter(|row| active.contains(&row.1));
    Some(bits.fold(0, |mask, row| mask | row.0) as f64)
}

/// Whether it answers, where that is known: one that sleeps is not asked.
fn up(gpu: &Gpu) -> Option<f64> {
    match gpu.presence {
        Presence::Present => Some(1.0),
        Presence::Lost => Some(0.0),
        Presence::Starting | Presence::Suspended | Presence::WhatIf => None,
    }
}

/// The newest Xid error that no program causes.
fn newest_xid(gpu: &Gpu) -> Option<f64> {
    let hardware = |one: &&XidCount| xid::blame(one.xid) == xid::Blame::Hardware;
    gpu.xids.iter().rev().find(hardware).map(|one| one.xid as f64)
}

/// The user whose process holds most of a GPU.
fn owner(frame: &Frame, gpu: &Gpu) -> Option<String> {
    let bytes = |process: &&Process| process.usage.gpu_memory_bytes.last().map_or(0, |it| it.0);
    let here = frame.processes.iter().filter(|process| process.gpu == gpu.key);
    here.max_by_key(bytes)?.host.user.last().cloned()
}
