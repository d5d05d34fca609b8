//! What one asker of the machine looks like. Every provider runs on its own thread; threads and
//! deadlines belong to the source, so a provider may block.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::driver::Driver;
use crate::gpu::Gpu;
use crate::host::Host;
use crate::notice::Notice;
use crate::process::{GpuProcess, Process};

/// What a provider may know of the others when it is asked.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Time since this provider was last asked; zero the first time.
    pub since_last: Duration,
    /// Whether values that no summary shows may be as old as a turn of their device.
    pub brief: bool,
    /// Processes of the latest [`GpuSection`].
    pub gpu_processes: Vec<GpuProcess>,
}

/// What NVML knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuSection {
    /// Versions and state.
    pub driver: Driver,
    /// Devices in NVML's order.
    pub gpus: Vec<Gpu>,
    /// Processes on them.
    pub processes: Vec<GpuProcess>,
    /// What the user should know.
    pub notices: Vec<Notice>,
}

/// What the host knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostSection {
    /// CPU, memory, load.
    pub host: Host,
    /// [`Context::gpu_processes`], each with what the host knows of it.
    pub processes: Vec<Process>,
    /// What the user should know.
    pub notices: Vec<Notice>,
}

/// The part of a frame one provider fills.
#[derive(Clone, Debug, PartialEq)]
pub enum Section {
    /// From NVML.
    Gpu(Box<GpuSection>),
    /// From the host.
    Host(Box<HostSection>),
}

/// One asker of the machine.
pub trait Provider: Send {
    /// Stable name for threads, `doctor` and late marks.
    fn name(&self) -> &'static str;

    /// Does what the first poll would otherwise do and needs no context for. May block.
    fn prepare(&mut self) {}

    /// Asks once. May block; must not panic, and reports every failure inside the section.
    fn poll(&mut self, context: &Context) -> Section;
}
