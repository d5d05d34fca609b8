//! GPUs as the NVIDIA management library (NVML) tells of them.
//!
//! Decisions: the library is loaded at run time and in the first poll, so that a machine without it opens as
//! fast as one with it. Nothing is asked of a runtime-suspended GPU. What is read how often is a table
//! (`readers.rs`); expensive questions are asked of one device per poll, in turn. A device is known by its UUID, so it
//! keeps its history when NVML counts anew. Rejected: NVML's event sets, which need a thread of their own and
//! tell nothing that the next poll does not.

mod blocks;
mod enumerate;
mod error;
mod events;
mod gpm;
mod links;
mod lists;
mod mig;
mod notices;
mod pci;
pub(crate) mod plausible;
mod probe;
mod processes;
mod raw;
mod readers;
mod session;
mod slot;
mod temperature;
mod throttle;
mod visit;
mod watch;
mod words;
mod workers;

pub use readers::read_at;
pub use watch::{Look, Strained, Watch};

use std::path::PathBuf;
use std::time::Duration;

use nvml_wrapper::error::NvmlError;

use self::pci::PciGpu;
use self::session::{Round, Session};
use self::slot::Slot;
use self::visit::Answer;
use self::workers::Workers;
use crate::catalogue::enrich;
use crate::driver::{Driver, DriverState, Versions};
use crate::notice::Notice;
use crate::provider::{Context, GpuSection, Provider, Section};

/// Where to look, and how often to look again.
#[derive(Clone, Debug)]
pub struct NvmlOptions {
    /// The library to load; where it usually is, if not given.
    pub library: Option<PathBuf>,
    /// Root of sysfs.
    pub sysfs_root: PathBuf,
    /// Root of procfs.
    pub proc_root: PathBuf,
    /// Time from a failed start, or the loss of the driver, to the next try; doubled while it fails, up to a minute.
    pub retry: Duration,
    /// How long the other GPUs wait for one that does not answer.
    pub patience: Duration,
    /// Whether the catalogue adds what no driver tells. It takes milliseconds to read, and memory.
    pub catalogue: bool,
}

impl Default for NvmlOptions {
    fn default() -> Self {
        Self {
            library: None,
            sysfs_root: "/sys".into(),
            proc_root: "/proc".into(),
            retry: Duration::from_secs(5),
            // One whose links and counters are due takes some 80 ms.
            patience: Duration::from_millis(200),
            catalogue: true,
        }
    }
}

/// Asks NVML for GPUs, their values and their processes.
pub struct NvmlProvider {
    options: NvmlOptions,
    session: Option<Session>,
    workers: Workers<Answer>,
    state: DriverState,
    slots: Vec<Slot>,
    bus: Vec<PciGpu>,
    polls: u64,
    /// Time left until the next try to start.
    wait: Duration,
    /// How long to wait after the next failure.
    patience: Duration,
}

impl NvmlProvider {
    /// A provider that has not touched anything yet.
    pub fn new(options: NvmlOptions) -> Self {
        Self {
            patience: options.retry,
            workers: Workers::new(options.patience),
            options,
            session: None,
            state: DriverState::Starting,
            slots: Vec::new(),
            bus: Vec::new(),
            polls: 0,
            wait: Duration::ZERO,
        }
    }

    /// Which GPUs there are and sleep, every poll; whether others came or went, now and then.
    fn look_at_bus(&mut self) {
        if !self.polls.is_multiple_of(readers::TURN) {
            return self.bus.iter_mut().for_each(PciGpu::refresh);
        }
        let now = pci::scan(&self.options.sysfs_root);
        let changed = !now.iter().map(|gpu| gpu.address).eq(self.bus.iter().map(|gpu| gpu.address));
        if changed && self.polls > 0 {
            // NVML counts devices when it is initialised.
            self.close();
            self.wait = Duration::ZERO;
        }
        self.bus = now;
    }

    fn all_sleep(&self) -> bool {
        !self.bus.is_empty() && self.bus.iter().all(|gpu| gpu.suspended)
    }

    /// Every GPU sleeps: nothing is asked, and NVML not even started.
    fn leave_asleep(&mut self) {
        self.state = DriverState::AllSuspended;
        let mut old = std::mem::take(&mut self.slots);
        self.slots = enumerate::asleep(&mut old, &self.bus);
        self.slots.append(&mut old);
        enumerate::arrange(&mut self.slots);
    }

    fn ask(&mut self, context: &Context) {
        if self.session.is_none() {
            self.wait = self.wait.saturating_sub(context.since_last);
            if !self.wait.is_zero() {
                return;
            }
            match Session::open(self.options.library.as_deref()) {
                Ok(session) => self.session = Some(session),
                Err(why) => return self.fail(&why),
            }
        }
        let Some(session) = &mut self.session else { return };
        let mut round = Round { pci: &self.bus, workers: &mut self.workers, brief: context.brief };
        match session.poll(&mut self.slots, &mut round) {
            Ok(0) if !self.bus.iter().any(|gpu| gpu.suspended) => {
                self.close();
                self.state = DriverState::NoDevice;
                self.try_later();
            }
            Ok(_) => {
                self.state = DriverState::Ready;
                self.patience = self.options.retry;
            }
            Err(why) => self.fail(&why),
        }
    }

    /// NVML did not start, or is gone: says why, and tries again later.
    fn fail(&mut self, why: &NvmlError) {
        self.close();
        self.slots.iter_mut().for_each(|slot| slot.lose(why));
        self.state = error::driver_state(why, &self.options.proc_root);
        self.try_later();
    }

    /// Loading the library costs milliseconds, so a machine that stays without a driver is asked ever more rarely.
    fn try_later(&mut self) {
        const LONGEST: Duration = Duration::from_secs(60);
        self.wait = self.patience;
        self.patience = (self.patience * 2).min(LONGEST);
    }

    fn close(&mut self) {
        if let Some(session) = self.session.take() {
            session.close(&mut self.slots);
        }
    }

    fn section(&self) -> GpuSection {
        let versions = self
            .session
            .as_ref()
            .map_or_else(Versions::default, |session| session.versions.clone());
        GpuSection {
            driver: Driver { status: self.state.clone(), versions },
            gpus: self.slots.iter().map(|slot| slot.gpu.clone()).collect(),
            processes: self.slots.iter().flat_map(|slot| slot.processes.iter().cloned()).collect(),
            notices: self.notices(),
        }
    }

    /// Without the driver every GPU is lost, and one reason says it all.
    fn notices(&self) -> Vec<Notice> {
        match self.state.explain() {
            Some(notice) => vec![notice],
            None => {
                let others_live = self.slots.iter().any(|slot| slot.fresh);
                let claimed = self.session.as_ref().map_or(0, |session| session.claimed);
                let each = self.slots.iter().flat_map(|slot| notices::about(slot, others_live));
                notices::too_many_gpus(claimed).into_iter().chain(each).collect()
            }
        }
    }
}

impl Provider for NvmlProvider {
    fn name(&self) -> &'static str {
        "nvml"
    }

    fn poll(&mut self, context: &Context) -> Section {
        self.look_at_bus();
        self.slots.iter_mut().for_each(|slot| slot.pass(context.since_last));
        if self.all_sleep() {
            self.leave_asleep();
        } else {
            self.ask(context);
        }
        self.slots.iter_mut().filter(|slot| slot.is_late()).for_each(Slot::make_late);
        // Not at first sight: it would be waited for.
        if self.options.catalogue && self.polls > 0 {
            let fresh = self.slots.iter_mut().filter(|slot| slot.fresh);
            fresh.for_each(|slot| enrich(&mut slot.gpu));
        }
        self.polls += 1;
        Section::Gpu(Box::new(self.section()))
    }
}

impl Drop for NvmlProvider {
    fn drop(&mut self) {
        self.close();
    }
}
