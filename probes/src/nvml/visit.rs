//! What is asked of one device in one go, by a thread that may be left alone with it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

use super::error::{Meaning, meaning};
use super::pci::PciAddress;
use super::probe::{Probe, Target};
use super::readers::Due;
use super::slot::Slot;
use super::{error, events, lists, readers};
use crate::Reading;
use crate::gpu::{Gpu, Presence};
use crate::text::printable;

/// What a call to a device returns.
pub(super) enum Answer {
    /// The device at a place, if there is one, in this library. An error is the driver's, not the device's.
    Found(Arc<Nvml>, Result<Option<Found>, NvmlError>),
    /// The values of a device.
    Read(Box<Visit>),
}

/// Where a device may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) index: u32,
    /// As far as the kernel tells.
    pub(super) address: Option<PciAddress>,
    /// Whether to ask by address: asking by index would wake a device that sleeps.
    pub(super) by_address: bool,
}

impl Place {
    /// Whether the slot is that of the device here.
    pub(super) fn is_of(&self, slot: &Slot) -> bool {
        match (self.address, slot.address) {
            (Some(here), Some(there)) => here == there,
            _ => self.index == slot.gpu.index,
        }
    }
}

/// A device as enumeration finds it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) index: u32,
    pub(super) uuid: Option<String>,
    pub(super) address: Option<PciAddress>,
}

/// Asks who is there.
pub(super) fn find(nvml: &Nvml, place: Place) -> Result<Option<Found>, NvmlError> {
    let device = match place.address.filter(|_| place.by_address) {
        Some(address) => nvml.device_by_pci_bus_id(address.to_string()),
        None => nvml.device_by_index(place.index),
    };
    let device = match device {
        Err(why) if meaning(&why) == Meaning::DriverGone => return Err(why),
        Err(NvmlError::NotFound | NvmlError::InvalidArg) => return Ok(None),
        other => other.ok(),
    };
    let index = device.as_ref().filter(|_| place.by_address).and_then(|it| it.index().ok());
    let uuid = device.as_ref().and_then(|it| lists::uuid(it).ok()).map(|uuid| printable(&uuid));
    let own = || lists::pci_info(device.as_ref()?).ok()?.address.parse().ok();
    let address = if place.by_address { place.address } else { own() };
    Ok(Some(Found { index: index.unwrap_or(place.index), uuid, address }))
}

/// How often a device that is slow shows what was read of it so far.
const LONG: Duration = Duration::from_millis(250);

/// What a thread has read so far of a device, for those who wait for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress(Arc<Mutex<Option<Gpu>>>);

impl Progress {
    fn leave(&self, gpu: &Gpu) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(gpu.clone());
    }

    /// What was left since last asked.
    pub(super) fn take(&self) -> Option<Gpu> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// One reading of a device.
pub(super) struct Visit {
    pub(super) slot: Slot,
    pub(super) nvml: Arc<Nvml>,
    /// What is to be read besides what always is.
    pub(super) due: Due,
    /// Time since the device was last read.
    pub(super) since_last: Duration,
    /// Where what was read so far is left, when it takes long.
    pub(super) progress: Progress,
    /// How it went; an error is the driver's.
    pub(super) result: Result<Met, NvmlError>,
}

/// Who answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Met {
    /// The device of the slot, or nobody.
    Same,
    /// Another device has its index now.
    Another,
}

impl Visit {
    /// Reads what is due.
    pub(super) fn make(mut self) -> Self {
        self.result = self.read();
        self
    }

    fn read(&mut self) -> Result<Met, NvmlError> {
        let Self { slot, nvml, due, since_last, progress, .. } = self;
        events::take(slot);
        let target = match nvml.device_by_index(slot.gpu.index) {
            Ok(device) => Target::Device(device, nvml),
            Err(why) => match meaning(&why) {
                Meaning::DriverGone => return Err(why),
                Meaning::Lost => {
                    if slot.gpu.presence != Presence::Lost {
                        slot.lose(&why);
                    }
                    return Ok(Met::Same);
                }
                _ => Target::Absent(error::reading(&why)),
            },
        };
        let probe = Probe::new(target, *since_last);
        if slot.gpu.presence == Presence::Lost {
            match probe.text(lists::uuid) {
                Reading::Value(uuid) if uuid == slot.gpu.key => {}
                Reading::Value(_) => return Ok(Met::Another),
                _ => return Ok(Met::Same),
            }
        }
        let mut shown = Instant::now();
        readers::read_due(&probe, slot, *due, |slot| {
            // Of a device that hangs in its first reading, what it answered before is all that can be shown.
            if !slot.identified || shown.elapsed() >= LONG {
                shown = Instant::now();
                progress.leave(&slot.gpu);
            }
        });
        let answers = probe.device().is_some();
        match probe.into_trouble() {
            Some(why) if meaning(&why) == Meaning::DriverGone => return Err(why),
            Some(why) => slot.lose(&why),
            None => {
                slot.gpu.presence = Presence::Present;
                slot.identified = answers;
            }
        }
        Ok(Met::Same)
    }
}
