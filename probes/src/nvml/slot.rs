//! One GPU between two polls: its state as last read, and what the next poll needs of this one.

use std::time::Duration;

use nvml_wrapper::error::NvmlError;

use super::events::Events;
use super::gpm::Gpm;
use super::links::Counters;
use super::pci::{PciAddress, PciGpu};
use super::probe::{Probe, Target};
use super::processes::Lists;
use super::readers;
use super::throttle::Watched;
use super::visit::Progress;
use super::workers::Ticket;
use crate::gpu::{Gpu, Presence};
use crate::process::{GpuProcess, Usage};

/// One GPU between two polls.
///
/// While a thread reads the device it owns the slot, and a copy with what was last known stays behind.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) gpu: Gpu,
    /// The call it is away with; only in the copy that stays behind.
    pub(super) away: Option<Away>,
    /// Whether the device answered in this poll.
    pub(super) fresh: bool,
    /// Time since the device was last asked.
    pub(super) asked: Duration,
    pub(super) address: Option<PciAddress>,
    /// Whether its identity has been read since it last appeared.
    pub(super) identified: bool,
    /// Number of fans; one where the driver cannot count them.
    pub(super) fans: u32,
    /// Clock reasons over the time they were watched.
    pub(super) watched: Watched,
    pub(super) lists: Lists,
    /// NVLink byte counters of the last poll.
    pub(super) counters: Option<Counters>,
    pub(super) gpm: Gpm,
    pub(super) events: Events,
    pub(super) processes: Vec<GpuProcess>,
    claims: Vec<Claim>,
}

/// More of something than a device can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) what: &'static str,
    pub(super) count: u32,
    pub(super) most: u32,
}

/// A call that has not returned.
#[derive(Debug)]
pub(super) struct Away {
    ticket: Ticket,
    progress: Progress,
    /// When it last left some progress, as time since it was asked.
    answered: Option<Duration>,
    /// Whether its answer no longer counts: the device fell asleep or was lost meanwhile.
    outdated: bool,
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
        slot.place(pci);
        slot.suspend();
        slot
    }

    /// Fills in what the kernel knows of a device that cannot be asked.
    pub(super) fn place(&mut self, pci: &PciGpu) {
        self.address = Some(pci.address);
        self.gpu.identity.pci_bus_id = pci.address.to_string().into();
        self.gpu.identity.pci_device_id = pci.device_id.into();
        if let Some(subsystem) = pci.subsystem_id {
            self.gpu.identity.pci_subsystem_id = subsystem.into();
        }
    }

    /// Takes the slot out for a thread, and leaves a copy with what was last known.
    pub(super) fn lend(&mut self) -> Self {
        let copy = Self {
            gpu: self.gpu.clone(),
            fresh: self.fresh,
            address: self.address,
            processes: self.processes.clone(),
            fans: self.fans,
            claims: self.claims.clone(),
            ..Self::default()
        };
        std::mem::replace(self, copy)
    }

    /// Notes the call that must return before the device is asked again.
    pub(super) fn wait_for(&mut self, ticket: Ticket, progress: Progress) {
        self.away = Some(Away { ticket, progress, answered: None, outdated: false });
    }

    /// Whether this is the call the slot is away with.
    pub(super) fn waits_for(&self, ticket: Ticket) -> bool {
        self.away.as_ref().is_some_and(|away| away.ticket == ticket)
    }

    /// Puts the slot back in the place of its copy, unless what it says is no longer true.
    pub(super) fn take_back(&mut self, mut lent: Self) {
        if self.away.take().is_some_and(|away| away.outdated) {
            return;
        }
        self.place_as_here(&mut lent.gpu);
        lent.asked = self.asked;
        lent.fresh = true;
        *self = lent;
    }

    /// How many things to ask for where the library counts so many; that it counts too many is kept to be shown.
    pub(super) fn capped(&mut self, what: &'static str, count: u32, most: u32) -> u32 {
        self.claims.retain(|claim| claim.what != what);
        if count > most {
            self.claims.push(Claim { what, count, most });
        }
        count.min(most)
    }

    /// What the library counts too many of.
    pub(super) fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// Lets time pass up to this poll.
    pub(super) fn pass(&mut self, since_last: Duration) {
        self.fresh = false;
        self.asked = if self.away.is_some() { self.asked + since_last } else { since_last };
    }

    /// Gives another reading of the device the numbers it has here.
    fn place_as_here(&self, gpu: &mut Gpu) {
        gpu.index = self.gpu.index;
        gpu.identity.cuda_ordinal = self.gpu.identity.cuda_ordinal.clone();
    }

    /// Time since the device last answered while it is away; `None` as long as it has not answered at all.
    pub(super) fn silence(&self) -> Option<Duration> {
        Some(self.asked.saturating_sub(self.away.as_ref()?.answered?))
    }

    /// Whether it shows what an earlier poll read.
    pub(super) fn is_late(&self) -> bool {
        self.away.is_some() && !self.fresh
    }

    /// Takes what a slow device has answered so far, and marks what it shows as late.
    pub(super) fn make_late(&mut self) {
        if let Some(away) = self.away.as_mut().filter(|away| !away.outdated)
            && let Some(mut gpu) = away.progress.take()
        {
            away.answered = Some(self.asked);
            self.place_as_here(&mut gpu);
            gpu.presence = Presence::Present;
            self.gpu = gpu;
        }
        self.gpu.make_late();
        for process in &mut self.processes {
            Usage::FIELDS.iter().for_each(|field| (field.make_late)(&mut process.usage));
        }
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

    /// Drops what is true only while the device answers. GPM samples go with their session.
    fn forget(&mut self) {
        if let Some(away) = &mut self.away {
            away.outdated = true;
        }
        self.identified = false;
        self.counters = None;
        self.processes.clear();
        self.gpu.processes_failed = None;
        self.gpu.nvlinks.clear();
        self.gpu.mig.clear();
        self.gpu.throttle.violations.clear();
    }
}
