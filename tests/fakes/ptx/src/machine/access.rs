//! Loads and stores, in every space.

use super::hands::Hands;
use super::registers::{Registers, lanes_of};
use super::shared::Who;
use super::warp::Warp;
use crate::decode::{generic_base, space_of_address};
use crate::fault::{Done, FaultKind, Trouble};
use crate::lanes::{Longs, WARP};
use crate::memory::Memory;
use crate::parse::syntax::Space;
use crate::program::{Access, Address, Element, Place};

impl Registers<'_> {
    pub(super) fn addresses(&self, address: &Address) -> Longs {
        let mut all = self.wide(address.base);
        for one in &mut all {
            *one = one.wrapping_add(address.offset as u64);
        }
        all
    }
}

/// The lanes of a mask by the space their addresses lie in, with addresses in that space.
pub(super) fn by_space(space: Space, addresses: &mut Longs, active: u32) -> Vec<(Space, u32)> {
    if space != Space::Generic {
        return vec![(space, active)];
    }
    let mut found: Vec<(Space, u32)> = Vec::new();
    for lane in lanes_of(active) {
        let space = space_of_address(addresses[lane]);
        addresses[lane] = addresses[lane].wrapping_sub(generic_base(space));
        match found.iter_mut().find(|row| row.0 == space) {
            Some(row) => row.1 |= 1 << lane,
            None => found.push((space, 1 << lane)),
        }
    }
    found
}

pub(super) fn stray(
    memory: &Memory,
    address: u64,
    size: usize,
    lane: usize,
    verb: &str,
) -> Box<Trouble> {
    let what = format!("{verb} {size} bytes at 0x{address:x}, {}", memory.describe(address));
    Trouble::at(FaultKind::Bounds, lane, what)
}

pub(super) fn check_aligned(address: u64, size: usize, lane: usize) -> Done {
    if address & (size as u64 - 1) == 0 {
        return Ok(());
    }
    let what = format!("{size} bytes at 0x{address:x}, which is no multiple of {size}");
    Err(Trouble::at(FaultKind::Misaligned, lane, what))
}

/// A range of a small memory, checked.
fn range(
    address: u64,
    size: usize,
    all: usize,
    lane: usize,
    of: &str,
) -> Done<std::ops::Range<usize>> {
    check_aligned(address, size, lane)?;
    if address.checked_add(size as u64).is_none_or(|end| end > all as u64) {
        let what = format!("{size} bytes at byte {address} of {all} of {of}");
        return Err(Trouble::at(FaultKind::Bounds, lane, what));
    }
    Ok(address as usize..address as usize + size)
}

/// What lanes read or write, one after the other: up to 32 bytes each.
type Raw = [[u8; 32]; WARP];

fn part<const N: usize>(raw: &[u8; 32], at: usize) -> [u8; N] {
    let mut part = [0; N];
    part.copy_from_slice(&raw[at..at + N]);
    part
}

/// An element at an offset of every lane's bytes, extended to so many bits.
fn gather(raw: &Raw, at: usize, element: Element, bits: u32) -> Longs {
    let mut values = [0; WARP];
    let lanes = values.iter_mut().zip(raw);
    match element.bytes {
        1 => lanes.for_each(|(value, raw)| *value = raw[at].into()),
        2 => lanes.for_each(|(value, raw)| *value = u16::from_le_bytes(part(raw, at)).into()),
        4 => lanes.for_each(|(value, raw)| *value = u32::from_le_bytes(part(raw, at)).into()),
        _ => lanes.for_each(|(value, raw)| *value = u64::from_le_bytes(part(raw, at))),
    }
    let own = 8 * u32::from(element.bytes);
    if element.signed && own < bits {
        let (unused, keep) = (64 - own, u64::MAX >> (64 - bits));
        for value in &mut values {
            *value = ((*value << unused) as i64 >> unused) as u64 & keep;
        }
    }
    values
}

impl Warp<'_> {
    pub(super) fn who(&self, lane: usize, line: u32, strong: bool) -> Who {
        Who { warp: self.agent, lane, line, strong }
    }

    /// Bytes of one thread's local memory.
    fn local_bytes(&self) -> usize {
        self.local.len() / WARP
    }

    pub(super) fn load(
        &mut self,
        access: &Access,
        active: u32,
        line: u32,
        hands: &mut Hands<'_>,
    ) -> Done {
        let mut addresses = self.registers.addresses(&access.address);
        let step = usize::from(access.element.bytes);
        let size = step * access.places.len();
        let mut raw: Raw = [[0; 32]; WARP];
        for (space, lanes) in by_space(access.address.space, &mut addresses, active) {
            for lane in lanes_of(lanes) {
                let address = addresses[lane];
                let bytes = match space {
                    Space::Shared => {
                        let who = self.who(lane, line, access.strong);
                        hands.shared.read(address, size, who)?
                    }
                    Space::Local => {
                        let all = self.local_bytes();
                        let range = range(address, size, all, lane, "local memory")?;
                        &self.local[lane * all..][range]
                    }
                    Space::Param => {
                        let range = range(address, size, hands.params.len(), lane, "parameters")?;
                        &hands.params[range]
                    }
                    Space::Generic | Space::Global | Space::Const => {
                        check_aligned(address, size, lane)?;
                        let memory = &*hands.memory;
                        memory
                            .bytes(address, size)
                            .ok_or_else(|| stray(memory, address, size, lane, "reads"))?
                    }
                };
                raw[lane][..size].copy_from_slice(bytes);
            }
        }
        for (index, place) in access.places.iter().enumerate() {
            match *place {
                Some(Place::Word(register)) if step == 4 => {
                    let mut value = [0; WARP];
                    for (value, raw) in value.iter_mut().zip(&raw) {
                        *value = u32::from_le_bytes(part(raw, index * step));
                    }
                    self.registers.set_word(register, &value, active);
                }
                Some(place) => {
                    let value = gather(&raw, index * step, access.element, access.bits);
                    self.registers.set_wide(place, &value, active);
                }
                None => {}
            }
        }
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        access: &Access,
        active: u32,
        line: u32,
        hands: &mut Hands<'_>,
    ) -> Done {
        let mut addresses = self.registers.addresses(&access.address);
        let step = usize::from(access.element.bytes);
        let size = step * access.places.len();
        let mut raw: Raw = [[0; 32]; WARP];
        for (index, place) in access.places.iter().enumerate() {
            let Some(place) = place else { continue };
            for (raw, value) in raw.iter_mut().zip(self.registers.wide(*place)) {
                raw[index * step..][..step].copy_from_slice(&value.to_le_bytes()[..step]);
            }
        }
        for (space, lanes) in by_space(access.address.space, &mut addresses, active) {
            for lane in lanes_of(lanes) {
                let (address, bytes) = (addresses[lane], &raw[lane][..size]);
                match space {
                    Space::Shared => {
                        let who = self.who(lane, line, access.strong);
                        self.store_shared(&addresses, &raw, size, who, hands)?;
                    }
                    Space::Local => {
                        let all = self.local_bytes();
                        let range = range(address, size, all, lane, "local memory")?;
                        self.local[lane * all..][range].copy_from_slice(bytes);
                    }
                    Space::Param => {
                        let what = "writes the parameters of the kernel";
                        return Err(Trouble::at(FaultKind::Bounds, lane, what));
                    }
                    Space::Generic | Space::Global | Space::Const => {
                        check_aligned(address, size, lane)?;
                        match hands.memory.writable(address, size) {
                            Some(place) => place.copy_from_slice(bytes),
                            None => return Err(stray(hands.memory, address, size, lane, "writes")),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Lanes of one instruction may write the same bytes to one place.
    fn store_shared(
        &self,
        addresses: &Longs,
        raw: &Raw,
        size: usize,
        who: Who,
        hands: &mut Hands<'_>,
    ) -> Done {
        let (address, bytes) = (addresses[who.lane], &raw[who.lane][..size]);
        match hands.shared.write(address, size, who) {
            Ok(place) => place.copy_from_slice(bytes),
            Err(trouble) => {
                let twin = |lane: usize| addresses[lane] == address && raw[lane][..size] == *bytes;
                let again = (0..who.lane).any(twin) && hands.shared.peek(address, size) == bytes;
                if trouble.kind != FaultKind::Race || !again {
                    return Err(trouble);
                }
            }
        }
        Ok(())
    }
}
