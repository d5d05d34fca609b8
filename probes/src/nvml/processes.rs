//! Processes on a device: three lists and a usage table, joined by pid.

use std::time::{Duration, SystemTime};

use nvml_wrapper::Device;
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::{ProcessInfo, ProcessUtilizationSample};

use super::probe::Probe;
use super::readers::{newer_or_older, percent};
use super::slot::Slot;
use crate::Reading;
use crate::process::{GpuProcess, ProcessKind, Usage};
use crate::units::{Bytes, Percent};

type List = fn(&Device<'_>) -> Result<Vec<ProcessInfo>, NvmlError>;

const LISTS: [(ProcessKind, List); 3] = [
    (ProcessKind::Compute, |d| {
        newer_or_older(d.running_compute_processes(), || d.running_compute_processes_v2())
    }),
    (ProcessKind::Graphics, |d| {
        newer_or_older(d.running_graphics_processes(), || d.running_graphics_processes_v2())
    }),
    (ProcessKind::Mps, |d| d.mps_running_compute_processes()),
];

/// Who holds something on the device; with MIG on, in which instance.
pub(super) fn list(probe: &Probe<'_>, slot: &mut Slot) {
    slot.processes.clear();
    if probe.device().is_none() {
        return;
    }
    if slot.gpu.mig.is_empty() {
        let usage = probe.ask(|d| recent_usage(d, probe.since_last));
        for (kind, ask) in LISTS {
            let found = probe.find(ask).unwrap_or_default();
            join(&mut slot.processes, found, kind, None);
        }
        slot.processes.iter_mut().for_each(|process| process.usage = used(process, &usage));
    } else {
        for index in slot.gpu.mig.iter().map(|instance| instance.index) {
            for (kind, ask) in LISTS {
                let found = probe.find(|d| ask(&d.mig_device_by_index(index)?)).unwrap_or_default();
                join(&mut slot.processes, found, kind, Some(index));
            }
        }
    }
    slot.processes.iter_mut().for_each(|process| process.gpu.clone_from(&slot.gpu.key));
}

/// Adds one list to those found so far: a pid that is in several is one process.
fn join(all: &mut Vec<GpuProcess>, found: Vec<ProcessInfo>, kind: ProcessKind, mig: Option<u32>) {
    for info in found {
        let memory = match info.used_gpu_memory {
            UsedGpuMemory::Used(bytes) => Reading::Value(Bytes(bytes)),
            UsedGpuMemory::Unavailable => Reading::Unsupported,
        };
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

/// Usage samples not older than the last poll, or a second: the driver samples a few times a second.
fn recent_usage(
    device: &Device<'_>,
    since_last: Duration,
) -> Result<Vec<ProcessUtilizationSample>, NvmlError> {
    const SAMPLING: Duration = Duration::from_secs(1);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let since = now.saturating_sub(since_last.max(SAMPLING));
    match device.process_utilization_stats(u64::try_from(since.as_micros()).unwrap_or(u64::MAX)) {
        Err(NvmlError::NotFound) => Ok(Vec::new()),
        other => other,
    }
}

/// The newest sample of a process. NVML leaves out processes that used nothing in the time asked for,
/// so with samples supported, none for a pid is a measured zero.
fn used(process: &GpuProcess, samples: &Reading<Vec<ProcessUtilizationSample>>) -> Usage {
    let of = |part: fn(&ProcessUtilizationSample) -> u32| match samples {
        Reading::Value(samples) => {
            let newest =
                samples.iter().filter(|it| it.pid == process.pid).max_by_key(|it| it.timestamp);
            Reading::Value(newest.map_or(Percent(0.0), |sample| percent(part(sample))))
        }
        absent => absent.clone().map(|_| Percent(0.0)),
    };
    Usage {
        gpu_memory_bytes: process.usage.gpu_memory_bytes.clone(),
        sm_pct: of(|it| it.sm_util),
        memory_pct: of(|it| it.mem_util),
        encoder_pct: of(|it| it.enc_util),
        decoder_pct: of(|it| it.dec_util),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(pid: u32, used_gpu_memory: UsedGpuMemory) -> ProcessInfo {
        ProcessInfo { pid, used_gpu_memory, gpu_instance_id: None, compute_instance_id: None }
    }

    #[test]
    fn a_pid_in_two_lists_is_one_process_of_both_kinds() {
        let mut all = Vec::new();
        join(
            &mut all,
            vec![info(7, UsedGpuMemory::Used(10)), info(8, UsedGpuMemory::Unavailable)],
            ProcessKind::Compute,
            None,
        );
        join(
            &mut all,
            vec![info(7, UsedGpuMemory::Used(20)), info(8, UsedGpuMemory::Used(5))],
            ProcessKind::Graphics,
            None,
        );
        join(&mut all, vec![info(8, UsedGpuMemory::Unavailable)], ProcessKind::Mps, None);
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
        join(&mut all, vec![info(7, UsedGpuMemory::Unavailable)], ProcessKind::Graphics, None);
        assert_eq!(all[0].usage.gpu_memory_bytes, Reading::Unsupported);
    }

    #[test]
    fn the_newest_sample_counts_and_none_is_zero_only_where_samples_are_offered() {
        let sample = |pid, timestamp, sm_util| ProcessUtilizationSample {
            pid,
            timestamp,
            sm_util,
            mem_util: 1,
            enc_util: 0,
            dec_util: 0,
        };
        let samples = Reading::Value(vec![sample(7, 5, 50), sample(7, 9, 90), sample(8, 9, 3)]);
        let process = |pid| GpuProcess { pid, ..GpuProcess::default() };
        assert_eq!(used(&process(7), &samples).sm_pct, Percent(90.0).into());
        assert_eq!(used(&process(9), &samples).sm_pct, Percent(0.0).into());
        assert_eq!(used(&process(7), &Reading::Unsupported).sm_pct, Reading::Unsupported);
    }
}
