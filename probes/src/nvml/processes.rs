//! Processes on a device: three lists and a usage table, joined by pid.

use std::cmp::Reverse;
use std::time::{Duration, SystemTime};

use nvml_wrapper::Device;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper_sys::bindings::nvmlProcessUtilizationSample_t as Sample;

use super::error::checked;
use super::lists::{Listed, MOST_LISTED, ProcessInfo};
use super::probe::Probe;
use super::slot::Slot;
use super::{lists, plausible};
use crate::Reading;
use crate::process::{GpuProcess, ProcessKind, Usage};
use crate::units::Percent;

type List = fn(&Device<'_>) -> Result<Listed<ProcessInfo>, NvmlError>;

const LISTS: [(ProcessKind, &str, List); 3] = [
    (ProcessKind::Compute, "compute processes", lists::computing),
    (ProcessKind::Graphics, "graphics processes", lists::drawing),
    (ProcessKind::Mps, "MPS processes", lists::sharing),
];

/// Which lists have something to tell.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    /// Whether every list is to be asked for next, those that were empty too.
    every: bool,
    computing: Vec<u32>,
    /// Whether each had entries.
    held: [bool; LISTS.len()],
}

/// Has every list asked for.
pub(super) fn want_every_list(_: &Probe<'_>, slot: &mut Slot) {
    slot.lists.every = true;
}

/// Who holds something on the device; with MIG on, in which instance. Lists that were empty are asked for again when the one of
/// computing processes changed, or when everything is wanted.
pub(super) fn list(probe: &Probe<'_>, slot: &mut Slot) {
    slot.processes.clear();
    slot.gpu.processes_failed = None;
    if probe.device().is_none() {
        return;
    }
    let instances: Vec<_> = match slot.gpu.mig.as_slice() {
        [] => vec![None],
        mig => mig.iter().map(|instance| Some(instance.index)).collect(),
    };
    let mut before = std::mem::take(&mut slot.lists);
    for (at, list) in LISTS.iter().enumerate() {
        if at == 0 || before.every || before.held[at] {
            let told = instances.iter().map(|mig| add(probe, slot, *mig, list));
            slot.lists.held[at] = told.fold(false, |any, told| any | told);
        }
        if at == 0 {
            slot.lists.computing = slot.processes.iter().map(|process| process.pid).collect();
            before.every |= slot.lists.computing != before.computing;
        }
    }
    if slot.gpu.mig.is_empty() && !slot.processes.is_empty() {
        let usage = probe.ask(recent_usage);
        if let Some(samples) = usage.value() {
            slot.capped("process samples", samples.claimed, MOST_LISTED);
        }
        let usage = usage.map(|samples| samples.items);
        slot.processes.iter_mut().for_each(|process| process.usage = used(process, &usage));
    }
    slot.processes.iter_mut().for_each(|process| process.gpu.clone_from(&slot.gpu.key));
}

/// Adds the processes of a device, or of one instance of it, that are in one list. Whether there is more to tell than that there are none.
fn add(
    probe: &Probe<'_>,
    slot: &mut Slot,
    mig: Option<u32>,
    list: &(ProcessKind, &'static str, List),
) -> bool {
    let (kind, what, ask) = *list;
    let room = slot.gpu.vitals.memory_total_bytes.value().map_or(u64::MAX, |total| total.0);
    let found = probe.ask(|device| match mig {
        None => ask(device),
        Some(index) => ask(&device.mig_device_by_index(index)?),
    });
    let why = failure(&found, kind);
    let has_failed = why.is_some();
    slot.gpu.processes_failed = slot.gpu.processes_failed.take().or(why);
    let Reading::Value(found) = found else { return has_failed };
    slot.capped(what, found.claimed, MOST_LISTED);
    let is_empty = found.items.is_empty();
    join(&mut slot.processes, found.items, kind, mig, room);
    !is_empty
}

/// Why a list is not known. Lists that not every driver has may be missing.
fn failure(list: &Reading<Listed<ProcessInfo>>, kind: ProcessKind) -> Option<String> {
    match list {
        Reading::Value(_) => None,
        Reading::Unsupported if kind != ProcessKind::Compute => None,
        Reading::Unsupported => Some("the driver does not list them".to_owned()),
        Reading::Denied => Some("permission denied".to_owned()),
        Reading::Late(_) => Some("no answer in time".to_owned()),
        Reading::Failed(why) => Some(why.to_string()),
    }
}

/// Adds one list to those found so far: a pid that is in several is one process.
fn join(
    all: &mut Vec<GpuProcess>,
    found: Vec<ProcessInfo>,
    kind: ProcessKind,
    mig: Option<u32>,
    room: u64,
) {
    for info in found {
        let held = Reading::of(info.memory);
        let memory = checked(held, |bytes| plausible::part(bytes, room));
        match all.iter_mut().find(|process| process.pid == info.pid && process.mig == mig) {
            Some(known) => {
                known.kind = both(known.kind, kind);
                if known.usage.gpu_memory_bytes.value().is_none() {
                    known.usage.gpu_memory_bytes = memory;
                }
            }
            None => all.push(GpuProcess {
                pid: info.pid,
                gpu: String::new(),
                mig,
                kind,
                usage: Usage { gpu_memory_bytes: memory, ..Usage::default() },
            }),
        }
    }
}

fn both(a: ProcessKind, b: ProcessKind) -> ProcessKind {
    match (a, b) {
        (a, b) if a == b => a,
        (ProcessKind::Mps, _) | (_, ProcessKind::Mps) => ProcessKind::Mps,
        _ => ProcessKind::ComputeAndGraphics,
    }
}

/// The newest sample of each process that used the device in the last second: the driver samples a few times a second. That there is none is
/// told as an error.
pub(super) fn recent_usage(device: &Device<'_>) -> Result<Listed<Sample>, NvmlError> {
    const BACK: Duration = Duration::from_secs(1);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let since = u64::try_from(now.saturating_sub(BACK).as_micros()).unwrap_or(u64::MAX);
    match lists::process_samples(device, since) {
        Ok(Listed { items, claimed }) => Ok(Listed { items: newest(items, since), claimed }),
        Err(NvmlError::NotFound) => Ok(Listed { items: Vec::new(), claimed: 0 }),
        Err(why) => Err(why),
    }
}

/// The newest sample of each process. NVML hands out older ones than it was asked for (github.com/Syllo/nvtop/issues/110).
fn newest(mut samples: Vec<Sample>, since: u64) -> Vec<Sample> {
    samples.retain(|sample| sample.timeStamp > since);
    samples.sort_by_key(|sample| (sample.pid, Reverse(sample.timeStamp)));
    samples.dedup_by_key(|sample| sample.pid);
    samples
}

/// What its sample says of a process. NVML leaves out processes that used nothing in the time asked for,
/// so with samples supported, none for a pid is a measured zero.
fn used(process: &GpuProcess, samples: &Reading<Vec<Sample>>) -> Usage {
    let own = samples.value().into_iter().flatten().find(|it| it.pid == process.pid);
    let of = |part: fn(&Sample) -> u32| match samples {
        Reading::Value(_) => checked(own.map_or(0, part).into(), plausible::percent),
        absent => absent.clone().map(|_| Percent(0.0)),
    };
    Usage {
        gpu_memory_bytes: process.usage.gpu_memory_bytes.clone(),
        sm_pct: of(|it| it.smUtil),
        memory_pct: of(|it| it.memUtil),
        encoder_pct: of(|it| it.encUtil),
        decoder_pct: of(|it| it.decUtil),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Bytes;

    /// Memory of the device.
    const ROOM: u64 = 100;

    fn info(pid: u32, memory: Option<u64>) -> ProcessInfo {
        ProcessInfo { pid, memory }
    }

    #[test]
    fn a_pid_in_two_lists_is_one_process_of_both_kinds() {
        let mut all = Vec::new();
        join(&mut all, vec![info(7, Some(10)), info(8, None)], ProcessKind::Compute, None, ROOM);
        join(
            &mut all,
            vec![info(7, Some(20)), info(8, Some(5))],
            ProcessKind::Graphics,
            None,
            ROOM,
        );
        join(&mut all, vec![info(8, None)], ProcessKind::Mps, None, ROOM);
        let brief: Vec<_> = all
            .iter()
            .map(|it| (it.pid, it.kind, it.usage.gpu_memory_bytes.value().copied()))
            .collect();
        assert_eq!(
            brief,
            [
                (7, ProcessKind::ComputeAndGraphics, Some(Bytes(10))),
                (8, ProcessKind::Mps, Some(Bytes(5)))
            ]
        );
    }

    #[test]
    fn memory_the_driver_cannot_tell_is_not_zero() {
        let mut all = Vec::new();
        join(&mut all, vec![info(7, None)], ProcessKind::Graphics, None, ROOM);
        assert_eq!(all[0].usage.gpu_memory_bytes, Reading::Unsupported);
        join(&mut all, vec![info(8, Some(ROOM + 1))], ProcessKind::Graphics, None, ROOM);
        assert!(matches!(all[1].usage.gpu_memory_bytes, Reading::Failed(_)), "more than there is");
    }

    #[test]
    fn the_newest_sample_counts_and_none_is_zero_only_where_samples_are_offered() {
        let sample = |pid, at, sm| Sample {
            pid,
            timeStamp: at,
            smUtil: sm,
            memUtil: 1,
            encUtil: 0,
            decUtil: 101,
        };
        let samples = vec![sample(7, 5, 50), sample(7, 9, 90), sample(8, 9, 3), sample(9, 4, 70)];
        let samples = Reading::Value(newest(samples, 4));
        let process = |pid| GpuProcess { pid, ..GpuProcess::default() };
        assert_eq!(used(&process(7), &samples).sm_pct, Percent(90.0).into());
        assert!(
            matches!(used(&process(7), &samples).decoder_pct, Reading::Failed(_)),
            "101 percent"
        );
        assert_eq!(used(&process(9), &samples).sm_pct, Percent(0.0).into());
        assert_eq!(used(&process(7), &Reading::Unsupported).sm_pct, Reading::Unsupported);
    }
}
