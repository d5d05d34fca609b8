//! Device memory with its accounts: what the board has, what others hold, what contexts cost, what was allocated.
//!
//! Addresses are never given twice, and between two allocations lies a gap: a pointer out of date or out of bounds is noticed.

use std::collections::BTreeMap;

use crate::codes::{INVALID_VALUE, OUT_OF_MEMORY};
use crate::scenario::Seat;

/// What a context costs. Real ones take 107 to 555 MiB, more on boards with more multiprocessors.
const CONTEXT: u64 = 300 << 20;
const ALIGNMENT: u64 = 512;
const GAP: u64 = 64 << 10;

/// Memory of one board.
pub(crate) struct Memory {
    total: u64,
    others: u64,
    contexts: u64,
    used: u64,
    next: u64,
    pieces: BTreeMap<u64, Piece>,
}

struct Piece {
    context: usize,
    bytes: Vec<u8>,
}

impl Memory {
    pub(crate) fn new(number: usize, seat: &Seat, others_percent: u64) -> Self {
        let mib = seat.instance.map_or(seat.model.memory_mib, |instance| instance.memory_mib);
        // The stand-in NVML counts a hundredth as reserved; CUDA's total leaves that out.
        let whole = mib << 20;
        let total = whole - whole / 100;
        let next = (number as u64 + 1) << 41;
        let others = total / 100 * others_percent;
        Self { total, others, contexts: 0, used: 0, next, pieces: BTreeMap::new() }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn free_bytes(&self) -> u64 {
        (self.total - self.others).saturating_sub(self.contexts * CONTEXT + self.used)
    }

    /// Takes what a context costs, if there is so much.
    pub(crate) fn open_context(&mut self) -> Option<()> {
        (self.free_bytes() >= CONTEXT).then(|| self.contexts += 1)
    }

    /// Gives back what a context cost and held; names what it had not freed.
    pub(crate) fn close_context(&mut self, context: usize) -> Vec<(u64, usize)> {
        self.contexts -= 1;
        let leaked = self.pieces.iter().filter(|piece| piece.1.context == context);
        let leaked: Vec<_> = leaked.map(|(at, piece)| (*at, piece.bytes.len())).collect();
        for (address, _) in &leaked {
            let _ = self.free(*address);
        }
        leaked
    }

    pub(crate) fn allocate(&mut self, context: usize, bytes: usize) -> Result<u64, u32> {
        if bytes == 0 {
            return Err(INVALID_VALUE);
        }
        let size = (bytes as u64).checked_next_multiple_of(ALIGNMENT).ok_or(OUT_OF_MEMORY)?;
        if size > self.free_bytes() {
            return Err(OUT_OF_MEMORY);
        }
        let address = self.next;
        self.next += size + GAP;
        self.used += size;
        self.pieces.insert(address, Piece { context, bytes: vec![0; bytes] });
        Ok(address)
    }

    /// Frees an allocation. Anything but its beginning is an invalid value, so freeing twice is too.
    pub(crate) fn free(&mut self, address: u64) -> Result<(), u32> {
        let piece = self.pieces.remove(&address).ok_or(INVALID_VALUE)?;
        self.used -= (piece.bytes.len() as u64).next_multiple_of(ALIGNMENT);
        Ok(())
    }

    /// The allocation an address lies in: its beginning and size.
    pub(crate) fn piece(&self, address: u64) -> Option<(u64, usize)> {
        let (start, piece) = self.pieces.range(..=address).next_back()?;
        let inside = address - start < piece.bytes.len() as u64;
        inside.then_some((*start, piece.bytes.len()))
    }

    /// The bytes behind an address, which must lie in one allocation.
    pub(crate) fn bytes(&mut self, address: u64, size: usize) -> Result<&mut [u8], u32> {
        let (start, _) = self.piece(address).ok_or(INVALID_VALUE)?;
        let piece = self.pieces.get_mut(&start).ok_or(INVALID_VALUE)?;
        let at = (address - start) as usize;
        let end = at.checked_add(size).ok_or(INVALID_VALUE)?;
        piece.bytes.get_mut(at..end).ok_or(INVALID_VALUE)
    }
}
