//! Device memory with its accounts: what the board has, what others hold, what contexts cost, what was allocated.
//!
//! The bytes lie with the interpreter, which never gives an address twice and leaves gaps. Variables of modules are there
//! too, and are not counted.

use std::collections::BTreeMap;

use crate::codes::{INVALID_VALUE, OUT_OF_MEMORY};
use crate::scenario::Seat;

/// What a context costs. Real ones take 107 to 555 MiB, more on boards with more multiprocessors.
const CONTEXT: u64 = 300 << 20;
const ALIGNMENT: u64 = 512;

/// Memory of one board.
pub(crate) struct Memory {
    total: u64,
    others: u64,
    contexts: u64,
    used: u64,
    /// Sizes and contexts of allocations.
    owned: BTreeMap<u64, (u64, usize)>,
    /// The bytes.
    pub(crate) device: ptx_interpreter::Memory,
}

impl Memory {
    pub(crate) fn new(number: usize, seat: &Seat, others_percent: u64) -> Self {
        let mib = seat.instance.map_or(seat.model.memory_mib, |instance| instance.memory_mib);
        // The stand-in NVML counts a hundredth as reserved; CUDA's total leaves that out.
        let whole = mib << 20;
        let total = whole - whole / 100;
        let device = ptx_interpreter::Memory::from_address((number as u64 + 1) << 41);
        let others = total / 100 * others_percent;
        Self { total, others, contexts: 0, used: 0, owned: BTreeMap::new(), device }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// What this process holds, with its contexts.
    pub(crate) fn held(&self) -> u64 {
        self.contexts * CONTEXT + self.used
    }

    pub(crate) fn free_bytes(&self) -> u64 {
        (self.total - self.others).saturating_sub(self.held())
    }

    /// Takes what a context costs, if there is so much.
    pub(crate) fn open_context(&mut self) -> Option<()> {
        (self.free_bytes() >= CONTEXT).then(|| self.contexts += 1)
    }

    /// Gives back what a context cost and held; names what it had not freed.
    pub(crate) fn close_context(&mut self, context: usize) -> Vec<(u64, u64)> {
        self.contexts -= 1;
        let leaked = self.owned.iter().filter(|piece| piece.1.1 == context);
        let leaked: Vec<_> = leaked.map(|(at, (bytes, _))| (*at, *bytes)).collect();
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
        let address = self.device.allocate(bytes);
        self.used += size;
        self.owned.insert(address, (bytes as u64, context));
        Ok(address)
    }

    /// Frees an allocation. Anything but its beginning is an invalid value, so freeing twice is too.
    pub(crate) fn free(&mut self, address: u64) -> Result<(), u32> {
        let (bytes, _) = self.owned.remove(&address).ok_or(INVALID_VALUE)?;
        self.used -= bytes.next_multiple_of(ALIGNMENT);
        self.device.free(address);
        Ok(())
    }

    /// The allocation an address lies in: its beginning and size.
    pub(crate) fn piece(&self, address: u64) -> Option<(u64, usize)> {
        self.device.piece(address)
    }

    /// The bytes behind an address, which must lie in one allocation.
    pub(crate) fn bytes(&mut self, address: u64, size: usize) -> Result<&mut [u8], u32> {
        self.device.bytes_mut(address, size).ok_or(INVALID_VALUE)
    }
}
