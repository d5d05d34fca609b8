//! NVML from its initialisation to its end, and the devices found in that time.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml, cuda_driver_version_major, cuda_driver_version_minor};

use super::error;
use super::pci::{PciAddress, PciGpu};
use super::probe::{Probe, Target, Trouble};
use super::readers;
use super::slot::Slot;
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

/// One initialised NVML.
pub(super) struct Session {
    nvml: Nvml,
    pub(super) versions: Versions,
    polls: u64,
    /// Devices at the last enumeration; none asks for another.
    count: Option<u32>,
}

/// What one poll needs besides the devices.
pub(super) struct Round<'a> {
    /// GPUs of the driver on the bus; empty without sysfs.
    pub(super) pci: &'a [PciGpu],
    /// Time since the last poll.
    pub(super) since_last: Duration,
}

/// A device as enumeration finds it.
struct Found {
    index: u32,
    uuid: Option<String>,
    address: Option<PciAddress>,
}

impl Session {
    /// Loads and initialises NVML from the given library, or from where it usually is.
    pub(super) fn open(library: Option<&Path>) -> Result<Self, NvmlError> {
        let nvml = start(library)?;
        let versions = versions(&nvml);
        Ok(Self { nvml, versions, polls: 0, count: None })
    }

    /// Reads what is due of every device, and tells how many NVML counts. An error ends the session.
    pub(super) fn poll(
        &mut self,
        slots: &mut Vec<Slot>,
        round: &Round<'_>,
    ) -> Result<u32, NvmlError> {
        let count = self.nvml.device_count()?;
        if self.count != Some(count) || out_of_step(slots, round.pci) {
            self.enumerate(slots, count, round.pci)?;
            self.count = Some(count);
        }
        let total = slots.len();
        for (position, slot) in slots.iter_mut().enumerate() {
            if slot.gpu.presence != Presence::Suspended {
                self.read(slot, readers::is_turn(self.polls, position, total), round.since_last)?;
            }
        }
        self.polls += 1;
        Ok(count)
    }

    /// Frees what devices keep of this NVML, and shuts it down.
    pub(super) fn close(self, slots: &mut [Slot]) {
        slots.iter_mut().for_each(|slot| slot.gpm.release(&self.nvml));
    }

    fn read(&mut self, slot: &mut Slot, turn: bool, since_last: Duration) -> Result<(), NvmlError> {
        let target = match self.nvml.device_by_index(slot.gpu.index) {
            Ok(device) => Target::Device(device),
            Err(why) => match Trouble::of(&why) {
                Some(Trouble::DriverGone(_)) => return Err(why),
                Some(Trouble::Lost) => {
                    if slot.gpu.presence != Presence::Lost {
                        slot.lose(&why);
                    }
                    return Ok(());
                }
                None => Target::Absent(error::reading(&why)),
            },
        };
        let probe = Probe::new(target, since_last);
        if slot.gpu.presence == Presence::Lost {
            match probe.text(|d| d.uuid()) {
                Reading::Value(uuid) if uuid == slot.gpu.key => {}
                Reading::Value(_) => {
                    self.count = None;
                    return Ok(());
                }
                _ => return Ok(()),
            }
        }
        readers::read_due(&probe, slot, turn);
        match probe.trouble() {
            Some(trouble @ Trouble::DriverGone(_)) => return Err(trouble.error()),
            Some(trouble @ Trouble::Lost) => slot.lose(&trouble.error()),
            None => {
                slot.gpu.presence = Presence::Present;
                slot.identified = probe.device().is_some();
            }
        }
        Ok(())
    }

    /// Finds every device anew and gives each its slot: by UUID, so that a key never moves to another board.
    fn enumerate(
        &self,
        slots: &mut Vec<Slot>,
        count: u32,
        pci: &[PciGpu],
    ) -> Result<(), NvmlError> {
        let found = self.find(count, pci)?;
        let mut old = std::mem::take(slots);
        slots.extend(found.iter().map(|found| claim(&mut old, found)));
        slots.extend(asleep(&mut old, pci));
        for mut gone in old {
            gone.lose(&NvmlError::GpuLost);
            slots.push(gone);
        }
        arrange(slots);
        Ok(())
    }

    /// Every device that may be asked. By index, which asks each; so while one sleeps, by address of the others.
    fn find(&self, count: u32, pci: &[PciGpu]) -> Result<Vec<Found>, NvmlError> {
        if !pci.iter().any(|gpu| gpu.suspended) {
            return (0..count)
                .map(|index| found(index, None, self.nvml.device_by_index(index)))
                .collect();
        }
        let awake = pci.iter().enumerate().filter(|(_, gpu)| !gpu.suspended);
        awake
            .map(|(rank, gpu)| (rank, gpu, self.nvml.device_by_pci_bus_id(gpu.address.to_string())))
            .filter(|(.., device)| {
                !matches!(device, Err(NvmlError::NotFound | NvmlError::InvalidArg))
            })
            .map(|(rank, gpu, device)| {
                let index = device.as_ref().ok().and_then(|device| device.index().ok());
                found(index.unwrap_or(rank as u32), Some(gpu.address), device)
            })
            .collect()
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
        driver: text(nvml.sys_driver_version()),
        cuda: text(nvml.sys_cuda_driver_version().map(dotted)),
        nvml: text(nvml.sys_nvml_version()),
    }
}

fn found(
    index: u32,
    address: Option<PciAddress>,
    device: Result<Device<'_>, NvmlError>,
) -> Result<Found, NvmlError> {
    let device = match device {
        Err(why) if matches!(Trouble::of(&why), Some(Trouble::DriverGone(_))) => return Err(why),
        other => other.ok(),
    };
    let uuid = device.as_ref().and_then(|it| it.uuid().ok()).map(|uuid| printable(&uuid));
    let own = || device.as_ref()?.pci_info().ok()?.bus_id.parse().ok();
    Ok(Found { index, uuid, address: address.or_else(own) })
}

/// The slot this device had before, or a new one.
fn claim(old: &mut Vec<Slot>, found: &Found) -> Slot {
    let by_uuid = |slot: &Slot| found.uuid.as_ref() == Some(&slot.gpu.key);
    let by_address = |slot: &Slot| found.address.is_some() && slot.address == found.address;
    let by_index = |slot: &Slot| found.uuid.is_none() && slot.gpu.index == found.index;
    let known = old
        .iter()
        .position(by_uuid)
        .or_else(|| {
            old.iter().position(|slot| slot.gpu.key.starts_with("pci:") && by_address(slot))
        })
        .or_else(|| old.iter().position(by_index));
    let key = || match (&found.uuid, found.address) {
        (Some(uuid), _) => uuid.clone(),
        (None, Some(address)) => format!("pci:{address}"),
        (None, None) => format!("nvml:{}", found.index),
    };
    let mut slot = match known {
        Some(position) => old.swap_remove(position),
        None => Slot::new(found.index, key()),
    };
    slot.gpu.index = found.index;
    slot.address = found.address.or(slot.address);
    if let Some(uuid) = &found.uuid {
        slot.gpu.key.clone_from(uuid);
        slot.gpu.presence = Presence::Starting;
    }
    slot.identified = false;
    slot
}

/// Slots of the devices that sleep; called with no NVML at all when every one does.
pub(super) fn asleep(old: &mut Vec<Slot>, pci: &[PciGpu]) -> Vec<Slot> {
    let sleepers = pci.iter().enumerate().filter(|(_, gpu)| gpu.suspended);
    sleepers
        .map(|(rank, gpu)| match old.iter().position(|slot| slot.address == Some(gpu.address)) {
            Some(position) => {
                let mut slot = old.swap_remove(position);
                slot.suspend();
                slot
            }
            None => Slot::suspended(rank as u32, gpu),
        })
        .collect()
}

/// NVML's order, and CUDA's: ordinals follow the address, whatever NVML's index is.
pub(super) fn arrange(slots: &mut [Slot]) {
    slots.sort_by_key(|slot| slot.gpu.index);
    let mut addresses: Vec<_> = slots.iter().filter_map(|slot| slot.address).collect();
    addresses.sort_unstable();
    for slot in slots {
        let rank = addresses.iter().position(|address| slot.address == Some(*address));
        slot.gpu.identity.cuda_ordinal =
            rank.map_or(Reading::Unsupported, |rank| (rank as u32).into());
    }
}

/// Whether a device fell asleep or woke since it got its slot.
fn out_of_step(slots: &[Slot], pci: &[PciGpu]) -> bool {
    let sleeps = |address: Option<PciAddress>| {
        pci.iter().any(|gpu| gpu.suspended && Some(gpu.address) == address)
    };
    slots.iter().any(|slot| (slot.gpu.presence == Presence::Suspended) != sleeps(slot.address))
        || pci
            .iter()
            .any(|gpu| gpu.suspended && !slots.iter().any(|slot| slot.address == Some(gpu.address)))
}
