//! Loads, stores, atomics and asynchronous copies.

use super::hands::Hands;
use super::registers::{Registers, lanes_of};
use super::shared::Who;
use super::warp::{Flight, Warp};
use crate::decode::{generic_base, space_of_address};
use crate::fault::{Done, FaultKind, Trouble};
use crate::lanes::{Lanes, Longs, WARP};
use crate::memory::Memory;
use crate::numerics::exact::Rounding;
use crate::numerics::float::{Modifiers, add_f32, add_f64};
use crate::parse::syntax::Space;
use crate::program::{Access, Address, AsyncCopy, Atom, Atomic, Element, Place};

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
fn by_space(space: Space, addresses: &mut Longs, active: u32) -> Vec<(Space, u32)> {
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

fn stray(memory: &Memory, address: u64, size: usize, lane: usize, verb: &str) -> Box<Trouble> {
    let what = format!("{verb} {size} bytes at 0x{address:x}, {}", memory.describe(address));
    Trouble::at(FaultKind::Bounds, lane, what)
}

fn check_aligned(address: u64, size: usize, lane: usize) -> Done {
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
        Who { warp: self.number, lane, line, strong }
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
                        let who = Who { warp: self.number, lane, line, strong: access.strong };
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

    pub(super) fn atomic(
        &mut self,
        atomic: &Atomic,
        active: u32,
        line: u32,
        hands: &mut Hands<'_>,
    ) -> Done {
        let mut addresses = self.registers.addresses(&atomic.address);
        let operand = self.registers.wide(atomic.operand);
        let second = atomic.second.map_or([0; WARP], |second| self.registers.wide(second));
        let size = usize::from(atomic.bytes);
        let mut old = [0; WARP];
        for (space, lanes) in by_space(atomic.address.space, &mut addresses, active) {
            for lane in lanes_of(lanes) {
                let address = addresses[lane];
                let place = match space {
                    Space::Shared => {
                        let who = self.who(lane, line, true);
                        hands.shared.read(address, size, who)?;
                        hands.shared.write(address, size, who)?
                    }
                    Space::Local | Space::Param => {
                        let what = "an atomic outside global and shared memory";
                        return Err(Trouble::at(FaultKind::Bounds, lane, what));
                    }
                    Space::Generic | Space::Global | Space::Const => {
                        check_aligned(address, size, lane)?;
                        if hands.memory.writable(address, size).is_none() {
                            return Err(stray(hands.memory, address, size, lane, "updates"));
                        }
                        hands.memory.writable(address, size).unwrap_or_default()
                    }
                };
                let mut bytes = [0; 8];
                bytes[..size].copy_from_slice(place);
                old[lane] = u64::from_le_bytes(bytes);
                let flush = space != Space::Shared;
                let new = updated(atomic, old[lane], operand[lane], second[lane], flush);
                place.copy_from_slice(&new.to_le_bytes()[..size]);
            }
        }
        if let Some(place) = atomic.old {
            self.registers.set_wide(place, &old, active);
        }
        Ok(())
    }

    pub(super) fn async_copy(
        &mut self,
        copy: &AsyncCopy,
        active: u32,
        line: u32,
        hands: &mut Hands<'_>,
    ) -> Done {
        let (to, from) = (self.registers.addresses(&copy.to), self.registers.addresses(&copy.from));
        let ignore = copy.ignore.map_or(0, |test| self.registers.test(test));
        let size = usize::from(copy.bytes);
        for lane in lanes_of(active) {
            let asked = copy
                .source_bytes
                .map_or(size, |register| self.registers.word(register)[lane] as usize);
            if asked > size {
                let what = format!("copies {asked} of {size} bytes");
                return Err(Trouble::at(FaultKind::Bounds, lane, what));
            }
            let reads = if ignore >> lane & 1 == 1 { 0 } else { asked };
            let mut bytes = [0; 16];
            if reads > 0 {
                check_aligned(from[lane], size, lane)?;
                let memory = &*hands.memory;
                let source = memory.bytes(from[lane], reads);
                let source =
                    source.ok_or_else(|| stray(memory, from[lane], reads, lane, "copies"))?;
                bytes[..reads].copy_from_slice(source);
            }
            hands.shared.send(to[lane], &bytes[..size], self.who(lane, line, false))?;
            let flights = &mut self.flights[lane];
            flights.all.push(Flight { address: to[lane], bytes: copy.bytes, group: flights.open });
        }
        Ok(())
    }

    pub(super) fn async_commit(&mut self, active: u32) {
        for lane in lanes_of(active) {
            self.flights[lane].open += 1;
        }
    }

    /// Copies land whose group is not among the last so many committed; all copies without a number.
    pub(super) fn async_wait(&mut self, groups: Option<u32>, active: u32, hands: &mut Hands<'_>) {
        for lane in lanes_of(active) {
            let flights = &mut self.flights[lane];
            let landed = groups.map_or(u32::MAX, |groups| flights.open.saturating_sub(groups));
            flights.all.retain(|flight| {
                let lands = flight.group < landed;
                if lands {
                    hands.shared.land(flight.address, usize::from(flight.bytes));
                }
                !lands
            });
        }
    }
}

/// The new value of an atomic. Global binary32 sums flush subnormals, shared ones keep them (PTX ISA, `atom`).
fn updated(atomic: &Atomic, old: u64, x: u64, y: u64, flush: bool) -> u64 {
    let rn = Modifiers { rounding: Rounding::Nearest, flush, saturate: false, relu: false };
    let wide = atomic.bytes == 8;
    let signed = |x: u64| if wide { x as i64 } else { i64::from(x as u32 as i32) };
    match atomic.kind {
        Atom::Add => old.wrapping_add(x),
        Atom::Min => old.min(x),
        Atom::Max => old.max(x),
        Atom::MinSigned => signed(old).min(signed(x)) as u64,
        Atom::MaxSigned => signed(old).max(signed(x)) as u64,
        Atom::And => old & x,
        Atom::Or => old | x,
        Atom::Xor => old ^ x,
        Atom::Exchange => x,
        Atom::CompareSwap => {
            if old == x {
                y
            } else {
                old
            }
        }
        Atom::Increment => {
            if old >= x {
                0
            } else {
                old + 1
            }
        }
        Atom::Decrement => {
            if old == 0 || old > x {
                x
            } else {
                old - 1
            }
        }
        Atom::AddF32 => add_f32(old as u32, x as u32, rn).into(),
        Atom::AddF64 => add_f64(old, x, Rounding::Nearest),
        Atom::Add16(Lanes::Binary32(add)) => {
            let mut sum = [0; WARP];
            add(&[old as u32; WARP], &[x as u32; WARP], &mut sum);
            sum[0].into()
        }
        Atom::Add16(_) => old,
    }
}
