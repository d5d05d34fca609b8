//! Asynchronous copies, which land when they are waited for.

use super::access::{check_aligned, stray};
use super::hands::Hands;
use super::registers::lanes_of;
use super::warp::{Flight, Warp};
use crate::fault::{Done, FaultKind, Trouble};
use crate::program::AsyncCopy;

impl Warp<'_> {
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
