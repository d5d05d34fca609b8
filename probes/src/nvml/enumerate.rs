//! Which devices there are, and which slot is whose.

use nvml_wrapper::error::NvmlError;

use super::pci::{PciAddress, PciGpu};
use super::slot::Slot;
use super::visit::{Found, Place, Progress};
use super::workers::Ticket;
use crate::Reading;
use crate::gpu::Presence;

/// Every place to ask. By index, which asks each device; so while one sleeps, by address of the others.
pub(super) fn places(count: u32, pci: &[PciGpu]) -> Vec<Place> {
    let by_address = pci.iter().any(|gpu| gpu.suspended);
    let awake = (0..).zip(pci).filter(|(_, gpu)| !gpu.suspended);
    if by_address {
        return awake
            .map(|(index, gpu)| Place { index, address: Some(gpu.address), by_address })
            .collect();
    }
    // NVML counts in the order of the addresses; only where it counts as many as the kernel is that one to one.
    let known = if pci.len() == count as usize { pci } else { &[] };
    let address = |index: u32| known.get(index as usize).map(|gpu| gpu.address);
    (0..count).map(|index| Place { index, address: address(index), by_address }).collect()
}

/// Gives every device its slot: those that answered, those that are `silent`, and those that sleep.
pub(super) fn assign(
    slots: &mut Vec<Slot>,
    mut found: Vec<Found>,
    silent: Vec<(Ticket, Place)>,
    pci: &[PciGpu],
) {
    found.sort_by_key(|found| (found.uuid.is_none(), found.index));
    let (away, mut old): (Vec<_>, Vec<_>) =
        std::mem::take(slots).into_iter().partition(|slot| slot.away.is_some());
    slots.extend(away);
    slots.extend(found.iter().map(|found| claim(&mut old, found)));
    for (ticket, place) in silent {
        let mut slot =
            claim(&mut old, &Found { index: place.index, uuid: None, address: place.address });
        if let Some(gpu) = pci.iter().find(|gpu| place.address == Some(gpu.address)) {
            slot.place(gpu);
        }
        slot.wait_for(ticket, Progress::default());
        slots.push(slot);
    }
    slots.extend(asleep(&mut old, pci));
    // One that never answered was a guess, and leaves nothing to show.
    old.retain(|slot| slot.gpu.presence != Presence::Starting);
    for mut gone in old {
        gone.lose(&NvmlError::GpuLost);
        slots.push(gone);
    }
    arrange(slots);
}

/// Gives a device its slot that was found after its time, when the slot at `at` already held its place.
pub(super) fn settle(slots: &mut Vec<Slot>, at: usize, found: &Found) {
    let mut held = slots.swap_remove(at);
    held.away = None;
    let known = slots.iter().position(|slot| found.uuid.as_ref() == Some(&slot.gpu.key));
    let mut old = vec![known.map_or(held, |known| slots.swap_remove(known))];
    slots.push(claim(&mut old, found));
    arrange(slots);
}

/// The slot this device had before, or a new one.
fn claim(old: &mut Vec<Slot>, found: &Found) -> Slot {
    let by_uuid = |slot: &Slot| found.uuid.as_ref() == Some(&slot.gpu.key);
    let by_address = |slot: &Slot| {
        found.address.is_some()
            && slot.address == found.address
            && (found.uuid.is_none() || slot.gpu.key.starts_with("pci:"))
    };
    let by_index = |slot: &Slot| {
        slot.gpu.index == found.index && (found.uuid.is_none() || slot.gpu.key.starts_with("nvml:"))
    };
    let known = old
        .iter()
        .position(by_uuid)
        .or_else(|| old.iter().position(by_address))
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
pub(super) fn out_of_step(slots: &[Slot], pci: &[PciGpu]) -> bool {
    let sleeps = |address: Option<PciAddress>| {
        pci.iter().any(|gpu| gpu.suspended && Some(gpu.address) == address)
    };
    slots.iter().any(|slot| (slot.gpu.presence == Presence::Suspended) != sleeps(slot.address))
        || pci
            .iter()
            .any(|gpu| gpu.suspended && !slots.iter().any(|slot| slot.address == Some(gpu.address)))
}
