//! What speaks against measuring on a device: who and what is there besides the benchmark.

use std::fmt;

use warpscope_probes::gpu::Presence;
use warpscope_probes::process::{Process, ProcessKind};
use warpscope_probes::{Frame, Gpu};

use crate::worker::TimingMode;
use crate::worker::gpu::tier;

/// Utilization up to which a GPU counts as idle, percent.
const IDLE_PCT: f32 = 1.0;
/// Power above the idle minimum that still counts as idle, as a factor.
const IDLE_POWER: f64 = 1.1;

/// Why the benchmark keeps away from a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocker {
    /// Nothing is behind it, or it sleeps, or it is lost.
    NotThere(&'static str),
    /// The driver does not answer in time.
    Late,
    /// The machine runs on battery.
    Battery,
    /// It is cut into instances.
    Mig,
    /// It is shared with virtual machines.
    Virtual(String),
    /// Another context would be refused, or would make the next one fail.
    ComputeMode(String),
    /// Somebody computes on it.
    Process(u32),
    /// It is in use by nobody who is listed.
    Busy(u64),
    /// Nobody can tell whether it is in use.
    Unreadable(&'static str),
    /// It draws more than when idle.
    Power,
    /// The memory in use changes.
    MemoryMoves,
    /// Too little memory is free.
    Memory(u64),
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotThere(how) => write!(f, "{how}"),
            Self::Late => f.write_str("the driver is late"),
            Self::Battery => f.write_str("on battery"),
            Self::Mig => f.write_str("cut into MIG instances"),
            Self::Virtual(mode) => write!(f, "virtualised ({mode})"),
            Self::ComputeMode(mode) => {
                write!(f, "compute mode {mode}: a context here would lock others out")
            }
            Self::Process(pid) => write!(f, "busy: process {pid} computes on it"),
            Self::Busy(percent) => write!(f, "busy: {percent}% in use"),
            Self::Unreadable(what) => {
                write!(f, "{what} cannot be read, so it is unknown whether it is idle")
            }
            Self::Power => f.write_str("busy: it draws more than when idle"),
            Self::MemoryMoves => f.write_str("busy: its memory in use changes"),
            Self::Memory(free) => write!(f, "only {} MiB of its memory are free", free >> 20),
        }
    }
}

/// One GPU at one moment, as far as the benchmark is concerned.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// What forbids to begin, the first in order of weight; utilization and power count only while the benchmark itself rests.
    pub blocker: Option<Blocker>,
    /// What forbids to go on while the benchmark's own work is part of the readings.
    pub contention: Option<Blocker>,
    /// Power draw, watts.
    pub power_w: Option<f64>,
    /// Memory in use, bytes.
    pub used_bytes: Option<u64>,
    /// Whether processes may be hidden, so that memory and power must tell.
    pub blind: bool,
    /// What the benchmark may take, bytes.
    pub memory_bytes: u64,
}

impl Conditions {
    /// Whether the power is that of rest.
    pub(super) fn rests(&self, idle_w: Option<f64>) -> bool {
        self.power_w.zip(idle_w).is_none_or(|(now, idle)| now <= idle * IDLE_POWER)
    }
}

/// The CPU: a laptop that is unplugged is left alone.
impl From<&Frame> for Conditions {
    fn from(frame: &Frame) -> Self {
        let blocker = is_on_battery(frame).then_some(Blocker::Battery);
        Self { contention: blocker.clone(), blocker, ..Self::default() }
    }
}

/// Looks at one GPU of a frame; `own` are the benchmark's processes.
pub fn conditions(frame: &Frame, gpu: &Gpu, own: &[u32]) -> Conditions {
    let processes: Vec<&Process> =
        frame.processes.iter().filter(|p| p.gpu == gpu.key && !own.contains(&p.pid)).collect();
    let free = gpu.vitals.memory_free_bytes.value().map(|bytes| bytes.0);
    let memory_bytes = free.and_then(|free| tier(free, TimingMode::Burst)).unwrap_or(0);
    let always = standing(frame, gpu)
        .or_else(|| somebody(&processes))
        .or_else(|| free.filter(|_| memory_bytes == 0).map(Blocker::Memory));
    Conditions {
        blocker: always.clone().or_else(|| in_use(gpu)),
        contention: always.or_else(|| working(&processes)),
        power_w: gpu.vitals.power_w.value().map(|watts| watts.0),
        used_bytes: gpu.vitals.memory_used_bytes.value().map(|bytes| bytes.0),
        blind: frame.host.machine.container.value().is_some(),
        memory_bytes,
    }
}

/// What forbids it whatever anybody does on it.
fn standing(frame: &Frame, gpu: &Gpu) -> Option<Blocker> {
    let identity = &gpu.identity;
    let text = |reading: &warpscope_probes::Reading<String>| reading.last().cloned();
    match gpu.presence {
        Presence::Present => {}
        Presence::Suspended => return Some(Blocker::NotThere("it sleeps, and is not woken")),
        Presence::WhatIf => return Some(Blocker::NotThere("what-if: there is no such GPU here")),
        _ => return Some(Blocker::NotThere("it does not answer")),
    }
    if is_on_battery(frame) {
        return Some(Blocker::Battery);
    }
    if identity.mig_mode.last() == Some(&true) {
        return Some(Blocker::Mig);
    }
    if let Some(mode) =
        text(&identity.vgpu_mode).filter(|mode| mode != "none" && mode != "pass_through")
    {
        return Some(Blocker::Virtual(mode));
    }
    match text(&identity.compute_mode) {
        Some(mode) if mode == "default" => None,
        Some(mode) => Some(Blocker::ComputeMode(mode)),
        None => Some(Blocker::Unreadable("the compute mode")),
    }
}

fn is_on_battery(frame: &Frame) -> bool {
    frame.host.machine.on_battery.last() == Some(&true)
}

/// Somebody else's compute context. A desktop draws on its GPU all day: graphics alone counts by what it uses.
fn somebody(processes: &[&Process]) -> Option<Blocker> {
    let computing = |p: &&&Process| p.kind != ProcessKind::Graphics;
    processes.iter().find(computing).map(|process| Blocker::Process(process.pid))
}

/// A process that draws and is at work.
fn working(processes: &[&Process]) -> Option<Blocker> {
    let busy = |p: &&&Process| p.usage.sm_pct.value().is_some_and(|percent| percent.0 > IDLE_PCT);
    processes.iter().find(busy).map(|process| Blocker::Process(process.pid))
}

/// Whether anything runs, where that includes nothing of ours.
fn in_use(gpu: &Gpu) -> Option<Blocker> {
    match gpu.vitals.util_gpu_pct.value() {
        Some(percent) if percent.0 <= IDLE_PCT => None,
        Some(percent) => Some(Blocker::Busy(percent.0.ceil() as u64)),
        None if gpu.vitals.util_gpu_pct.last().is_some() => Some(Blocker::Late),
        None => Some(Blocker::Unreadable("its utilization")),
    }
}

#[cfg(test)]
mod tests {
    use warpscope_probes::Reading;
    use warpscope_probes::units::{Bytes, Percent, Watts};

    use super::*;

    fn idle() -> (Frame, Gpu) {
        let mut gpu = Gpu { key: "GPU-1".into(), presence: Presence::Present, ..Gpu::default() };
        gpu.identity.compute_mode = Reading::Value("default".into());
        gpu.identity.mig_mode = Reading::Value(false);
        gpu.vitals.util_gpu_pct = Reading::Value(Percent(0.0));
        gpu.vitals.memory_free_bytes = Reading::Value(Bytes(70 << 30));
        gpu.vitals.power_w = Reading::Value(Watts(70.0));
        (Frame::default(), gpu)
    }

    fn process(pid: u32, kind: ProcessKind) -> Process {
        Process { pid, gpu: "GPU-1".into(), kind, ..Process::default() }
    }

    type Change = fn(&mut Frame, &mut Gpu);

    #[test]
    fn an_idle_gpu_is_free_and_every_sign_of_use_is_heeded() {
        let (frame, gpu) = idle();
        let free = conditions(&frame, &gpu, &[]);
        assert_eq!((free.blocker, free.contention, free.memory_bytes), (None, None, 256 << 20));
        let table: &[(Change, &str)] = &[
            (|_, g| g.presence = Presence::WhatIf, "what-if: there is no such GPU here"),
            (|_, g| g.presence = Presence::Suspended, "it sleeps, and is not woken"),
            (|f, _| f.host.machine.on_battery = Reading::Value(true), "on battery"),
            (|_, g| g.identity.mig_mode = Reading::Value(true), "cut into MIG instances"),
            (
                |_, g| g.identity.vgpu_mode = Reading::Value("host_vgpu".into()),
                "virtualised (host_vgpu)",
            ),
            (
                |_, g| g.identity.compute_mode = Reading::Value("exclusive_process".into()),
                "compute mode exclusive_process: a context here would lock others out",
            ),
            (
                |_, g| g.identity.compute_mode = Reading::Unsupported,
                "the compute mode cannot be read, so it is unknown whether it is idle",
            ),
            (
                |f, _| f.processes.push(process(41, ProcessKind::Compute)),
                "busy: process 41 computes on it",
            ),
            (
                |f, _| f.processes.push(process(42, ProcessKind::Mps)),
                "busy: process 42 computes on it",
            ),
            (|_, g| g.vitals.util_gpu_pct = Reading::Value(Percent(1.2)), "busy: 2% in use"),
            (
                |_, g| g.vitals.util_gpu_pct = Reading::Unsupported,
                "its utilization cannot be read, so it is unknown whether it is idle",
            ),
            (
                |_, g| g.vitals.memory_free_bytes = Reading::Value(Bytes((1 << 30) + 5)),
                "only 1024 MiB of its memory are free",
            ),
        ];
        for (change, want) in table {
            let (mut frame, mut gpu) = idle();
            change(&mut frame, &mut gpu);
            let told = conditions(&frame, &gpu, &[]).blocker.map(|why| why.to_string());
            assert_eq!(told.as_deref(), Some(*want));
        }
    }

    #[test]
    fn own_work_and_a_resting_desktop_are_no_blocker() {
        let (mut frame, mut gpu) = idle();
        frame.processes.push(process(7, ProcessKind::Compute));
        frame.processes.push(process(8, ProcessKind::Graphics));
        gpu.vitals.util_gpu_pct = Reading::Value(Percent(90.0));
        assert_eq!(conditions(&frame, &gpu, &[7]).contention, None);
        frame.processes[1].usage.sm_pct = Reading::Value(Percent(12.0));
        assert_eq!(conditions(&frame, &gpu, &[7]).contention, Some(Blocker::Process(8)));
        frame.processes[1].gpu = "GPU-2".into();
        assert_eq!(
            conditions(&frame, &gpu, &[7]).contention,
            None,
            "another GPU is another matter"
        );
    }

    #[test]
    fn the_memory_shrinks_with_the_free_memory() {
        let memory = |free: Reading<Bytes>| {
            let (frame, mut gpu) = idle();
            gpu.vitals.memory_free_bytes = free;
            conditions(&frame, &gpu, &[]).memory_bytes
        };
        for (free_mib, memory_mib) in
            [(4000, 256), (1024 + 200, 128), (1024 + 64, 64), (1024 + 40, 32), (1024, 0)]
        {
            let free = Reading::Value(Bytes(free_mib << 20));
            assert_eq!(memory(free), memory_mib << 20, "{free_mib}");
        }
        assert_eq!(memory(Reading::Unsupported), 0, "unknown is not free");
    }
}
