//! Shared memory of one block, and who touched which part of it when.
//!
//! Time is a count of synchronisations. Every warp knows up to when it is in step with every other (with itself: by `bar.warp.sync`), and every part
//! of memory remembers its last write and the reads since. An access that is not in step with what it collides with is a race, whatever the order in
//! which the interpreter happened to run the warps. Rejected: comparing results of several schedules, which finds what it stumbles over.
//!
//! Reads by many lanes since a write are kept as a set of warps and one time, that of the last, which with named barriers among some of the warps can
//! only err towards a fault; where there are engines beside the warps, a time for each of them. Shuffles and votes order nothing: PTX promises no
//! memory order of them.

use super::clocks::{Agents, Clocks, View};
use super::registers::lanes_of;
use crate::fault::{Done, FaultKind, Trouble};

/// Time of a write that is on its way.
pub(super) const IN_FLIGHT: u32 = u32::MAX;
/// Who reads, where many do.
pub(super) const MANY: u16 = 0x7fff;
/// Set where an access was volatile or atomic.
pub(super) const STRONG: u16 = 0x8000;
/// Who writes where an `mbarrier` lies.
pub(super) const BARRIER: u16 = 0x7ffe;

/// The last write to a part of memory, and the reads since.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    /// 0: never.
    pub(super) written: u32,
    /// 0: not since it was written.
    pub(super) read: u32,
    pub(super) writer: u16,
    pub(super) reader: u16,
    /// Warps that read, where many lanes did.
    pub(super) readers: u32,
    pub(super) write_line: u32,
    pub(super) read_line: u32,
}

/// Who accesses, and at what line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Who {
    pub(crate) warp: usize,
    pub(crate) lane: usize,
    pub(crate) line: u32,
    /// Volatile or atomic: does not race with its like.
    pub(crate) strong: bool,
}

impl Who {
    pub(super) fn number(self) -> u16 {
        (self.warp * 32 + self.lane) as u16
    }

    fn flagged(self) -> u16 {
        self.number() | if self.strong { STRONG } else { 0 }
    }
}

/// Shared memory of a block.
#[derive(Debug)]
pub(crate) struct Window {
    pub(super) bytes: Vec<u8>,
    pub(super) cells: Vec<Cell>,
    /// Where there are engines: when each warp and each engine that reads last read a part.
    pub(super) exact: Vec<u32>,
    /// Bytes of a part: no access of the program is smaller or less aligned.
    pub(super) shift: u32,
    pub(super) rank: usize,
    pub(super) agents: Agents,
}

impl Window {
    pub(crate) fn new(bytes: usize, granule: u32, rank: usize, agents: Agents) -> Self {
        let shift = granule.trailing_zeros();
        let parts = bytes.div_ceil(1 << shift);
        let exact = if agents.engines { parts * (agents.warps + agents.readers()) } else { 0 };
        Self {
            bytes: vec![0; bytes],
            cells: vec![Cell::default(); parts],
            exact: vec![0; exact],
            shift,
            rank,
            agents,
        }
    }

    /// As a new block finds it.
    pub(crate) fn clear(&mut self) {
        self.cells.fill(Cell::default());
        self.exact.fill(0);
    }

    /// Number of a warp of this block, if it is one.
    #[inline]
    pub(super) fn local(&self, agent: usize) -> Option<usize> {
        agent.checked_sub(self.rank * self.agents.warps).filter(|warp| *warp < self.agents.warps)
    }

    /// Where the times of a part begin.
    #[inline]
    pub(super) fn times(&self, index: usize) -> usize {
        index * (self.agents.warps + self.agents.readers())
    }

    /// The range of an access, if it lies inside and is aligned.
    pub(super) fn range(
        &self,
        address: u64,
        size: usize,
        lane: usize,
    ) -> Done<std::ops::Range<usize>> {
        let all = self.bytes.len() as u64;
        if address.checked_add(size as u64).is_none_or(|end| end > all) {
            let what = format!("{size} bytes at {address} of {all} bytes of shared memory");
            return Err(Trouble::at(FaultKind::Bounds, lane, what));
        }
        if !address.is_multiple_of(size as u64) {
            let what = format!("{size} bytes at byte {address} of shared memory");
            return Err(Trouble::at(FaultKind::Misaligned, lane, what));
        }
        let at = address as usize;
        Ok(at..at + size)
    }

    /// Reads bytes.
    #[inline]
    pub(crate) fn read(
        &mut self,
        clocks: &Clocks,
        address: u64,
        size: usize,
        who: Who,
    ) -> Done<&[u8]> {
        let range = self.range(address, size, who.lane)?;
        let view = clocks.view(who.warp);
        for index in range.start >> self.shift..=(range.end - 1) >> self.shift {
            self.note_read(view, index, who)?;
        }
        Ok(&self.bytes[range])
    }

    /// Writes bytes.
    #[inline]
    pub(crate) fn write(
        &mut self,
        clocks: &Clocks,
        address: u64,
        size: usize,
        who: Who,
    ) -> Done<&mut [u8]> {
        let range = self.range(address, size, who.lane)?;
        let view = clocks.view(who.warp);
        for index in range.start >> self.shift..=(range.end - 1) >> self.shift {
            self.note_write(view, index, who)?;
        }
        Ok(&mut self.bytes[range])
    }

    /// What lies there, unnoticed: to see whether lanes of one instruction write the same.
    pub(crate) fn peek(&self, address: u64, size: usize) -> &[u8] {
        &self.bytes[address as usize..address as usize + size]
    }

    /// Writes bytes that are on their way until [`Window::land`].
    pub(crate) fn send(&mut self, clocks: &Clocks, address: u64, bytes: &[u8], who: Who) -> Done {
        self.write(clocks, address, bytes.len(), who)?.copy_from_slice(bytes);
        for index in self.cells_of(address, bytes.len()) {
            self.cells[index].written = IN_FLIGHT;
        }
        Ok(())
    }

    /// Bytes that were on their way have been waited for by the lane that sent them.
    pub(crate) fn land(&mut self, now: u32, address: u64, size: usize) {
        for index in self.cells_of(address, size) {
            self.cells[index].written = now;
        }
    }

    pub(super) fn cells_of(&self, address: u64, size: usize) -> std::ops::RangeInclusive<usize> {
        let at = address as usize;
        at >> self.shift..=(at + size - 1) >> self.shift
    }

    #[inline]
    fn note_read(&mut self, view: View<'_>, index: usize, who: Who) -> Done {
        let cell = self.cells[index];
        if cell.written == 0 || cell.written == IN_FLIGHT {
            return Err(self.bad_read(index, who));
        }
        let known = view.known;
        let writer = cell.writer & !STRONG;
        let in_order = cell.written < known[usize::from(writer) >> 5]
            || writer == who.number()
            || who.strong && cell.writer & STRONG != 0;
        if !in_order {
            return Err(self.bad_read(index, who));
        }
        // Of reads from other blocks nothing is kept.
        let Some(local) = self.local(who.warp) else { return Ok(()) };
        let reader = cell.reader & !STRONG;
        let alone = cell.read < view.least
            || match reader {
                MANY => lanes_of(cell.readers)
                    .all(|warp| self.last_read(index, warp) < known[self.agent(warp)]),
                reader => cell.read < known[usize::from(reader) >> 5],
            };
        let cell = &mut self.cells[index];
        match reader {
            _ if alone => cell.reader = who.flagged(),
            MANY => {
                cell.readers |= 1 << local;
                cell.reader &= who.flagged() | !STRONG;
            }
            reader if reader == who.number() => cell.reader &= who.flagged() | !STRONG,
            reader => {
                let first = usize::from(reader >> 5) - self.rank * self.agents.warps;
                cell.readers = 1 << first | 1 << local;
                cell.reader = MANY | cell.reader & who.flagged() & STRONG;
            }
        }
        cell.read = view.now;
        cell.read_line = who.line;
        if self.agents.engines {
            let time = self.times(index) + local;
            self.exact[time] = view.now;
        }
        Ok(())
    }

    fn agent(&self, warp: usize) -> usize {
        self.rank * self.agents.warps + warp
    }

    /// When a warp of a set of readers last read a part.
    fn last_read(&self, index: usize, warp: usize) -> u32 {
        if self.agents.engines {
            self.exact[self.times(index) + warp]
        } else {
            self.cells[index].read
        }
    }

    /// Checks a write by a warp, or by an engine it tells to, against what was done before.
    #[inline]
    pub(super) fn check_write(&self, view: View<'_>, index: usize, who: Who) -> Done {
        let cell = &self.cells[index];
        let known = view.known;
        let last = usize::from(cell.writer & !STRONG);
        let unordered = || {
            cell.written >= known[last >> 5]
                && last != usize::from(who.number())
                && !(who.strong && cell.writer & STRONG != 0)
        };
        if cell.written == IN_FLIGHT || cell.written != 0 && unordered() {
            return Err(self.bad_write(index, who));
        }
        if cell.read >= view.least && !(who.strong && cell.reader & STRONG != 0) {
            let reader = cell.reader & !STRONG;
            let races = match reader {
                MANY => lanes_of(cell.readers)
                    .any(|warp| self.last_read(index, warp) >= known[self.agent(warp)]),
                reader => reader != who.number() && cell.read >= known[usize::from(reader) >> 5],
            };
            if races {
                return Err(self.write_after_read(index, who));
            }
        }
        for engine in 0..self.agents.readers() {
            let read = self.exact[self.times(index) + self.agents.warps + engine];
            if read >= known[self.agents.reader(self.rank, engine)] && read != 0 {
                return Err(self.write_under_engine(index, read == IN_FLIGHT, who));
            }
        }
        Ok(())
    }

    #[inline]
    fn note_write(&mut self, view: View<'_>, index: usize, who: Who) -> Done {
        self.check_write(view, index, who)?;
        self.set_written(index, view.now, who.flagged(), who.line);
        Ok(())
    }

    #[inline]
    pub(super) fn set_written(&mut self, index: usize, now: u32, writer: u16, line: u32) {
        self.cells[index] = Cell { written: now, writer, write_line: line, ..Cell::default() };
    }
}
