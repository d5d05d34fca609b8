//! Shared memory of a block, and who touched which part of it when.
//!
//! Time is a count of synchronisations of the block. Every warp knows up to when it is in step with every other (with itself: by `bar.warp.sync`), and
//! every part of memory remembers its last write and the reads since. An access that is not in step with what it collides with is a race, whatever the
//! order in which the interpreter happened to run the warps. Rejected: comparing results of several schedules, which finds what it stumbles over.
//!
//! Reads by many lanes since a write are kept as a set of warps and one time, that of the last; with named barriers among some of the warps this can
//! only err towards a fault. Shuffles and votes order nothing: PTX promises no memory order of them.

use super::registers::lanes_of;
use crate::fault::{Done, FaultKind, Trouble};

/// Warps of the largest block.
pub(crate) const WARPS: usize = 32;
/// Time of a write that is on its way.
const IN_FLIGHT: u32 = u32::MAX;
/// Who reads, where many do.
const MANY: u16 = 0x7fff;
/// Set where an access was volatile or atomic.
const STRONG: u16 = 0x8000;

/// The last write to a part of memory, and the reads since.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// 0: never.
    written: u32,
    /// 0: not since it was written.
    read: u32,
    writer: u16,
    reader: u16,
    /// Warps that read, where many lanes did.
    readers: u32,
    write_line: u32,
    read_line: u32,
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
    fn number(self) -> u16 {
        (self.warp * 32 + self.lane) as u16
    }

    fn flagged(self) -> u16 {
        self.number() | if self.strong { STRONG } else { 0 }
    }
}

/// Up to when a warp is in step with every warp.
pub(crate) type Known = [u32; WARPS];

/// Shared memory of a block.
#[derive(Debug)]
pub(crate) struct Shared {
    bytes: Vec<u8>,
    cells: Vec<Cell>,
    /// Bytes of a part: no access of the program is smaller or less aligned.
    shift: u32,
    warps: usize,
    now: u32,
    known: [Known; WARPS],
    /// The least of what a warp knows.
    least: Known,
}

impl Shared {
    pub(crate) fn new(bytes: usize, granule: u32, warps: usize) -> Self {
        let shift = granule.trailing_zeros();
        Self {
            bytes: vec![0; bytes],
            cells: vec![Cell::default(); bytes.div_ceil(1 << shift)],
            shift,
            warps,
            now: 1,
            known: [[1; WARPS]; WARPS],
            least: [1; WARPS],
        }
    }

    /// As a new block finds it.
    pub(crate) fn clear(&mut self) {
        self.cells.fill(Cell::default());
        self.now = 1;
        self.known = [[1; WARPS]; WARPS];
        self.least = [1; WARPS];
    }

    /// The range of an access, if it lies inside and is aligned.
    fn range(&self, address: u64, size: usize, lane: usize) -> Done<std::ops::Range<usize>> {
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
    pub(crate) fn read(&mut self, address: u64, size: usize, who: Who) -> Done<&[u8]> {
        let range = self.range(address, size, who.lane)?;
        for index in range.start >> self.shift..=(range.end - 1) >> self.shift {
            self.note_read(index, who)?;
        }
        Ok(&self.bytes[range])
    }

    /// Writes bytes.
    #[inline]
    pub(crate) fn write(&mut self, address: u64, size: usize, who: Who) -> Done<&mut [u8]> {
        let range = self.range(address, size, who.lane)?;
        for index in range.start >> self.shift..=(range.end - 1) >> self.shift {
            self.note_write(index, who)?;
        }
        Ok(&mut self.bytes[range])
    }

    /// What lies there, unnoticed: to see whether lanes of one instruction write the same.
    pub(crate) fn peek(&self, address: u64, size: usize) -> &[u8] {
        &self.bytes[address as usize..address as usize + size]
    }

    /// Writes bytes that are on their way until [`Shared::land`].
    pub(crate) fn send(&mut self, address: u64, bytes: &[u8], who: Who) -> Done {
        self.write(address, bytes.len(), who)?.copy_from_slice(bytes);
        for index in self.cells_of(address, bytes.len()) {
            self.cells[index].written = IN_FLIGHT;
        }
        Ok(())
    }

    /// Bytes that were on their way have been waited for by the lane that sent them.
    pub(crate) fn land(&mut self, address: u64, size: usize) {
        for index in self.cells_of(address, size) {
            self.cells[index].written = self.now;
        }
    }

    fn cells_of(&self, address: u64, size: usize) -> std::ops::RangeInclusive<usize> {
        let at = address as usize;
        at >> self.shift..=(at + size - 1) >> self.shift
    }

    #[inline]
    fn note_read(&mut self, index: usize, who: Who) -> Done {
        let cell = &mut self.cells[index];
        let known = &self.known[who.warp];
        let writer = cell.writer & !STRONG;
        let in_order = cell.written < known[usize::from(writer) >> 5]
            || writer == who.number()
            || who.strong && cell.writer & STRONG != 0;
        if !in_order || cell.written == 0 || cell.written == IN_FLIGHT {
            return Err(self.bad_read(index, who));
        }
        let reader = cell.reader & !STRONG;
        let alone = cell.read < self.least[who.warp]
            || match reader {
                MANY => lanes_of(cell.readers).all(|warp| cell.read < known[warp]),
                reader => cell.read < known[usize::from(reader) >> 5],
            };
        match reader {
            _ if alone => cell.reader = who.flagged(),
            MANY => {
                cell.readers |= 1 << who.warp;
                cell.reader &= who.flagged() | !STRONG;
            }
            reader if reader == who.number() => cell.reader &= who.flagged() | !STRONG,
            reader => {
                cell.readers = 1 << (reader >> 5) | 1 << who.warp;
                cell.reader = MANY | cell.reader & who.flagged() & STRONG;
            }
        }
        cell.read = self.now;
        cell.read_line = who.line;
        Ok(())
    }

    #[inline]
    fn note_write(&mut self, index: usize, who: Who) -> Done {
        let cell = &mut self.cells[index];
        let known = &self.known[who.warp];
        let last = usize::from(cell.writer & !STRONG);
        let unordered = cell.written >= known[last >> 5]
            && last != usize::from(who.number())
            && !(who.strong && cell.writer & STRONG != 0);
        if cell.written == IN_FLIGHT || cell.written != 0 && unordered {
            return Err(self.bad_write(index, who));
        }
        if cell.read >= self.least[who.warp] && !(who.strong && cell.reader & STRONG != 0) {
            let reader = cell.reader & !STRONG;
            let races = match reader {
                MANY => lanes_of(cell.readers).any(|warp| cell.read >= known[warp]),
                reader => reader != who.number() && cell.read >= known[usize::from(reader) >> 5],
            };
            if races {
                return Err(self.write_after_read(index, who));
            }
        }
        let line = who.line;
        *cell =
            Cell { written: self.now, writer: who.flagged(), write_line: line, ..Cell::default() };
        Ok(())
    }

    /// Threads have numbers in messages: those of their warp and lane.
    fn thread(number: u16) -> String {
        let number = number & !STRONG;
        format!("lane {} of warp {}", number & 31, number >> 5)
    }

    fn place(&self, index: usize) -> String {
        format!("byte {} of shared memory", index << self.shift)
    }

    #[cold]
    fn bad_read(&self, index: usize, who: Who) -> Box<Trouble> {
        let (cell, place) = (self.cells[index], self.place(index));
        let (line, writer) = (cell.write_line, Self::thread(cell.writer));
        let (kind, what) = match cell.written {
            0 => (FaultKind::Uninitialised, format!("reads {place}, which nobody wrote")),
            IN_FLIGHT => (
                FaultKind::InFlight,
                format!(
                    "reads {place}, which the asynchronous copy of line {line} by {writer} may not have reached"
                ),
            ),
            _ => (
                FaultKind::Race,
                format!(
                    "reads {place}, which {writer} wrote in line {line} with no barrier between"
                ),
            ),
        };
        Trouble::at(kind, who.lane, what)
    }

    #[cold]
    fn bad_write(&self, index: usize, who: Who) -> Box<Trouble> {
        let (cell, place) = (self.cells[index], self.place(index));
        let (line, writer) = (cell.write_line, Self::thread(cell.writer));
        let (kind, what) = match cell.written {
            IN_FLIGHT => (
                FaultKind::InFlight,
                format!(
                    "writes {place}, which the asynchronous copy of line {line} by {writer} may be writing"
                ),
            ),
            _ => (
                FaultKind::Race,
                format!(
                    "writes {place}, which {writer} wrote in line {line} with no barrier between"
                ),
            ),
        };
        Trouble::at(kind, who.lane, what)
    }

    #[cold]
    fn write_after_read(&self, index: usize, who: Who) -> Box<Trouble> {
        let (cell, place) = (self.cells[index], self.place(index));
        let reader = match cell.reader & !STRONG {
            MANY => "another lane".to_owned(),
            reader => Self::thread(reader),
        };
        let what = format!(
            "writes {place}, which {reader} read in line {} with no barrier between",
            cell.read_line
        );
        Trouble::at(FaultKind::Race, who.lane, what)
    }

    /// The lanes of a warp are in step with each other.
    pub(crate) fn sync_warp(&mut self, warp: usize) {
        self.now += 1;
        self.known[warp][warp] = self.now;
        self.note_least(warp);
    }

    /// A warp arrives at a barrier: what it knows, and when.
    pub(crate) fn arrive(&mut self, warp: usize) -> Known {
        let mut known = self.known[warp];
        self.now += 1;
        known[warp] = self.now;
        known
    }

    /// Warps leave a barrier knowing what all knew who arrived.
    pub(crate) fn leave(&mut self, arrived: &[Known], waiting: impl Iterator<Item = usize>) {
        self.now += 1;
        for warp in waiting {
            for known in arrived {
                for (mine, theirs) in self.known[warp].iter_mut().zip(known) {
                    *mine = (*mine).max(*theirs);
                }
            }
            self.known[warp][warp] = self.now;
            self.note_least(warp);
        }
    }

    /// All warps of the block have met: nothing that was before can race.
    pub(crate) fn meet(&mut self) {
        self.now += 1;
        self.known = [[self.now; WARPS]; WARPS];
        self.least = [self.now; WARPS];
    }

    fn note_least(&mut self, warp: usize) {
        self.least[warp] = self.known[warp][..self.warps].iter().copied().min().unwrap_or_default();
    }
}
