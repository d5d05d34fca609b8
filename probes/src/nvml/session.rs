//! NVML from its initialisation to its end, and the devices found in that time.

use std::ffi::OsStr;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;

use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Nvml, cuda_driver_version_major, cuda_driver_version_minor};

use super::events::Events;
use super::gpm::Gpm;
use super::pci::PciGpu;
use super::readers::Due;
use super::slot::Slot;
use super::visit::{Answer, Met, Progress, Visit};
use super::workers::{Outcome, Ticket, Workers};
use super::{enumerate, error, lists, plausible, visit};
use crate::Reading;
use crate::driver::Versions;
use crate::gpu::Presence;
use crate::text::printable;

/// Where the library may be, first match wins: by the loader's own rules, then where WSL, NixOS and Colab keep it.
const LIBRARIES: &[&str] = &[
    if cfg!(windows) { "nvml.dll" } else { "libnvidia-ml.so.1" },
    "/usr/lib/wsl/lib/libnvidia-ml.so.1",
    "/run/opengl-driver/lib/libnvidia-ml.so.1",
    "/usr/lib64-nvidia/libnvidia-ml.so.1",
];

/// The most GPUs asked for: eight times as many as the largest machine has.
pub(super) const MOST_GPUS: u32 = 256;

type Outcomes = Vec<(Ticket, Outcome<Answer>)>;

/// One initialised NVML.
pub(super) struct Session {
    nvml: Arc<Nvml>,
    pub(super) versions: Versions,
    polls: u64,
    /// Devices at the last enumeration; none asks for another.
    count: Option<u32>,
    /// Devices the library counts.
    pub(super) claimed: u32,
}

/// What one poll needs besides the devices.
pub(super) struct Round<'a> {
    /// GPUs of the driver on the bus; empty without sysfs.
    pub(super) pci: &'a [PciGpu],
    /// Threads that ask the devices.
    pub(super) workers: &'a mut Workers<Answer>,
    /// Whether a summary is all that is wanted of every poll.
    pub(super) brief: bool,
}

impl Session {
    /// Loads and initialises NVML from the given library, or from where it usually is.
    pub(super) fn open(library: Option<&Path>) -> Result<Self, NvmlError> {
        let nvml = Arc::new(start(library)?);
        let versions = versions(&nvml);
        Ok(Self { nvml, versions, polls: 0, count: None, claimed: 0 })
    }

    /// Reads what is due of every device that answers, and tells how many NVML counts. An error ends the session.
    pub(super) fn poll(
        &mut self,
        slots: &mut Vec<Slot>,
        round: &mut Round<'_>,
    ) -> Result<u32, NvmlError> {
        self.claimed = self.nvml.device_count()?;
        let count = self.claimed.min(MOST_GPUS);
        self.welcome(slots, round.workers.returned())?;
        if self.count != Some(count) || enumerate::out_of_step(slots, round.pci) {
            self.enumerate(slots, count, round)?;
            self.count = Some(count);
        }
        self.read(slots, round);
        self.welcome(slots, round.workers.returned())?;
        self.polls += 1;
        Ok(count)
    }

    /// Frees what devices keep of this NVML. It is shut down when no call is under way in it.
    pub(super) fn close(self, slots: &mut [Slot]) {
        for slot in slots {
            slot.gpm = Gpm::default();
            slot.events = Events::default();
        }
    }

    /// Has every device read that is not away with an earlier call.
    fn read(&self, slots: &mut [Slot], round: &mut Round<'_>) {
        let Round { workers, brief, .. } = round;
        let total = slots.len();
        for (position, slot) in slots.iter_mut().enumerate() {
            if slot.gpu.presence == Presence::Suspended || slot.away.is_some() {
                continue;
            }
            let progress = Progress::default();
            let visit = Visit {
                progress: progress.clone(),
                due: Due::of(self.polls, (position, total), *brief),
                since_last: slot.asked,
                slot: slot.lend(),
                nvml: Arc::clone(&self.nvml),
                result: Ok(Met::Same),
            };
            slot.wait_for(workers.submit(move || Answer::Read(Box::new(visit.make()))), progress);
        }
        workers.settle();
    }

    /// Puts every slot in its place that comes back from a call. A call that panicked panics here.
    fn welcome(&mut self, slots: &mut Vec<Slot>, outcomes: Outcomes) -> Result<(), NvmlError> {
        let mut result = Ok(());
        let mut panic = None;
        for (ticket, outcome) in outcomes {
            let at = slots.iter().position(|slot| slot.waits_for(ticket));
            match (at, outcome) {
                (Some(at), Ok(Answer::Found(nvml, Ok(Some(found)))))
                    if Arc::ptr_eq(&nvml, &self.nvml) =>
                {
                    enumerate::settle(slots, at, &found);
                }
                (Some(at), Ok(Answer::Read(visit))) if Arc::ptr_eq(&visit.nvml, &self.nvml) => {
                    slots[at].take_back(visit.slot);
                    match visit.result {
                        Ok(Met::Same) => {}
                        Ok(Met::Another) => self.count = None,
                        Err(why) => result = Err(why),
                    }
                }
                (at, outcome) => {
                    at.into_iter().for_each(|at| slots[at].away = None);
                    self.count = None;
                    panic = outcome.err().or(panic);
                }
            }
        }
        match panic {
            Some(payload) => resume_unwind(payload),
            None => result,
        }
    }

    /// Finds every device anew and gives each its slot: by UUID, so that a key never moves to another board. A device
    /// that does not answer keeps the slot that was there.
    fn enumerate(
        &mut self,
        slots: &mut Vec<Slot>,
        count: u32,
        round: &mut Round<'_>,
    ) -> Result<(), NvmlError> {
        let mut asked = Vec::new();
        for place in enumerate::places(count, round.pci) {
            if !slots.iter().any(|slot| slot.away.is_some() && place.is_of(slot)) {
                let nvml = Arc::clone(&self.nvml);
                let find = move || {
                    let found = visit::find(&nvml, place);
                    Answer::Found(nvml, found)
                };
                asked.push((round.workers.submit(find), place));
            }
        }
        round.workers.settle();
        let (mut found, mut others) = (Vec::new(), Vec::new());
        let mut result = Ok(());
        for (ticket, outcome) in round.workers.returned() {
            let own = asked.iter().position(|asked| asked.0 == ticket);
            match (own.map(|own| asked.swap_remove(own)), outcome) {
                (Some(_), Ok(Answer::Found(_, Ok(device)))) => found.extend(device),
                (Some(_), Ok(Answer::Found(_, Err(why)))) => result = Err(why),
                (_, outcome) => others.push((ticket, outcome)),
            }
        }
        result = result.and(self.welcome(slots, others));
        result?;
        enumerate::assign(slots, found, asked, round.pci);
        Ok(())
    }
}

/// Loads and initialises NVML, from where it usually is unless a library is given.
pub(super) fn start(library: Option<&Path>) -> Result<Nvml, NvmlError> {
    match library {
        Some(path) => load(path.as_os_str()),
        None => load_usual(),
    }
}

fn load(library: &OsStr) -> Result<Nvml, NvmlError> {
    Nvml::builder().lib_path(library).init()
}

/// The first library that loads; the first error otherwise, as the later places are special cases.
fn load_usual() -> Result<Nvml, NvmlError> {
    let mut tries = LIBRARIES.iter().map(|library| load(OsStr::new(library)));
    let first = tries.next().unwrap_or(Err(NvmlError::LibraryNotFound));
    let missing = |why: &NvmlError| matches!(why, NvmlError::LibloadingError(_));
    match first {
        Err(why) if missing(&why) => {
            tries.find(|next| !matches!(next, Err(other) if missing(other))).unwrap_or(Err(why))
        }
        other => other,
    }
}

fn versions(nvml: &Nvml) -> Versions {
    let text = |answer: Result<String, NvmlError>| match answer {
        Ok(text) => Reading::Value(printable(&text)),
        Err(why) => error::reading(&why),
    };
    let dotted = |version| {
        format!("{}.{}", cuda_driver_version_major(version), cuda_driver_version_minor(version))
    };
    Versions {
        driver: text(lists::driver_version(nvml)),
        cuda: text(nvml.sys_cuda_driver_version().and_then(plausible::cuda_version).map(dotted)),
        nvml: text(lists::library_version(nvml)),
    }
}
