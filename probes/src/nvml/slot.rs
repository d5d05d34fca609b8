//! One GPU between two polls: its state as last read, and what the next poll needs of this one.

use std::time::Duration;

use nvml_wrapper::error::NvmlError;

use super::gpm::Gpm;
use super::links::Counters;
use super::pci::{PciAddress, PciGpu};
use super::probe::{Probe, Target};
use super::readers;
use crate::gpu::{Gpu, Presence};
use crate::process::GpuProcess;

/// One GPU between two polls.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) gpu: Gpu,
    pub(super) address: Option<PciAddress>,
    /// Whether its identity has been read since it last appeared.
    pub(super) identified: bool,
    /// Number of fans; one where the driver cannot count them.
    pub(super) fans: u32,
    /// Seconds the clock reasons have been watched.
    pub(super) watched_s: f64,
    /// NVLink byte counters of the last poll.
    pub(super) counters: Option<Counters>,
    pub(super) gpm: Gpm,
    pub(super) processes: Vec<GpuProcess>,
}

impl Slot {
    /// A device nobody has asked anything yet.
    pub(super) fn new(index: u32, key: String) -> Self {
        let mut slot =
            Self { gpu: Gpu { index, key, ..Gpu::default() }, fans: 1, ..Self::default() };
        readers::read_all(&Probe::new(Target::NotAsked, Duration::ZERO), &mut slot);
        slot
    }

    /// A device that sleeps and must not be asked.
    pub(super) fn suspended(index: u32, pci: &PciGpu) -> Self {
        let mut slot = Self::new(index, format!("pci:{}", pci.address));
        slot.address = Some(pci.address);
        slot.gpu.identity.pci_bus_id = pci.address.to_string().into();
        slot.gpu.identity.pci_device_id = pci.device_id.into();
        if let Some(subsystem) = pci.subsystem_id {
            slot.gpu.identity.pci_subsystem_id = subsystem.into();
        }
        slot.suspend();
        slot
    }

    /// Keeps what was last known of a device that fell asleep.
    pub(super) fn suspend(&mut self) {
        self.gpu.presence = Presence::Suspended;
        self.gpu.make_late();
        self.forget();
    }

    /// Marks a device lost: what it was stays, every value says why it failed.
    pub(super) fn lose(&mut self, why: &NvmlError) {
        let identity = self.gpu.identity.clone();
        readers::read_all(&Probe::absent(why), self);
        if identity.name.last().is_some() {
            self.gpu.identity = identity;
        }
        self.gpu.presence = Presence::Lost;
        self.forget();
    }

    /// Drops what is true only while the device answers. GPM samples are the session's to free.
    fn forget(&mut self) {
        self.identified = false;
        self.counters = None;
        self.processes.clear();
    }
}
