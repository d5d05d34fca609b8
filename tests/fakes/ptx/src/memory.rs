//! Device memory: allocations far apart, at addresses such as a driver gives, never given twice.
//!
//! So a stray address hits a gap and a stale one nothing. Rejected: one flat array, where a kernel that runs over the end of a buffer finds the next.

use std::cell::Cell;
use std::collections::HashMap;

use crate::module::Module;

/// Where the first allocation lies, unless asked otherwise.
const FIRST: u64 = 0x7f00_0000_0000;
/// Alignment of allocations, as of CUDA's.
const ALIGNMENT: u64 = 512;
/// Bytes between two allocations that belong to nobody.
const GAP: u64 = 64 << 10;

/// Memory of a device.
#[derive(Debug)]
pub struct Memory {
    pieces: Vec<Piece>,
    /// Index of the piece found last.
    last: Cell<usize>,
    next: u64,
    /// Where the variables of modules lie, by the module's number and theirs.
    variables: HashMap<(u64, usize), u64>,
}

#[derive(Debug)]
struct Piece {
    start: u64,
    bytes: Vec<u8>,
    /// Kernels may not write it.
    constant: bool,
}

impl Default for Memory {
    fn default() -> Self {
        Self::from_address(FIRST)
    }
}

impl Memory {
    /// Memory whose first allocation lies at an address, so that several devices of a process have different ones.
    pub fn from_address(first: u64) -> Self {
        let next = first.next_multiple_of(ALIGNMENT);
        Self { pieces: Vec::new(), last: Cell::new(0), next, variables: HashMap::new() }
    }

    /// Takes zeroed bytes and gives their address, aligned to 512 bytes. No bytes are one byte of address, and none to use.
    pub fn allocate(&mut self, bytes: usize) -> u64 {
        self.place(vec![0; bytes], false)
    }

    fn place(&mut self, bytes: Vec<u8>, constant: bool) -> u64 {
        let start = self.next;
        self.next += (bytes.len() as u64).max(1).next_multiple_of(ALIGNMENT) + GAP;
        self.pieces.push(Piece { start, bytes, constant });
        start
    }

    /// Gives an allocation back by the address it was given; `false` where no allocation begins there.
    pub fn free(&mut self, address: u64) -> bool {
        match self.pieces.binary_search_by_key(&address, |piece| piece.start) {
            Ok(index) => {
                self.pieces.remove(index);
                true
            }
            Err(_) => false,
        }
    }

    /// The allocation an address lies in: where it begins and its size.
    pub fn piece(&self, address: u64) -> Option<(u64, usize)> {
        let piece = &self.pieces[self.find(address, 1)?];
        Some((piece.start, piece.bytes.len()))
    }

    /// Bytes at an address, which must lie in one allocation.
    pub fn bytes(&self, address: u64, size: usize) -> Option<&[u8]> {
        let piece = &self.pieces[self.find(address, size)?];
        let at = (address - piece.start) as usize;
        Some(&piece.bytes[at..at + size])
    }

    /// Bytes at an address to write, as the host does: also what kernels may not.
    pub fn bytes_mut(&mut self, address: u64, size: usize) -> Option<&mut [u8]> {
        let index = self.find(address, size)?;
        let piece = &mut self.pieces[index];
        let at = (address - piece.start) as usize;
        Some(&mut piece.bytes[at..at + size])
    }

    /// Bytes at an address that a kernel writes.
    pub(crate) fn writable(&mut self, address: u64, size: usize) -> Option<&mut [u8]> {
        let index = self.find(address, size)?;
        let piece = &mut self.pieces[index];
        let at = (address - piece.start) as usize;
        if piece.constant { None } else { Some(&mut piece.bytes[at..at + size]) }
    }

    /// Index of the piece that holds so many bytes at an address.
    #[inline]
    fn find(&self, address: u64, size: usize) -> Option<usize> {
        let holds = |piece: &Piece| {
            let at = address.wrapping_sub(piece.start);
            at < piece.bytes.len() as u64 && size as u64 <= piece.bytes.len() as u64 - at
        };
        let last = self.last.get();
        if self.pieces.get(last).is_some_and(holds) {
            return Some(last);
        }
        let index = self.pieces.partition_point(|piece| piece.start <= address).checked_sub(1)?;
        holds(&self.pieces[index]).then(|| {
            self.last.set(index);
            index
        })
    }

    /// What lies near an address, for a message.
    pub(crate) fn describe(&self, address: u64) -> String {
        let Some(index) =
            self.pieces.partition_point(|piece| piece.start <= address).checked_sub(1)
        else {
            return "below every allocation".to_owned();
        };
        let piece = &self.pieces[index];
        let (at, size) = (address - piece.start, piece.bytes.len());
        match () {
            () if at >= GAP + size as u64 => "far from every allocation".to_owned(),
            () if piece.constant => format!("at byte {at} of {size} that kernels may not write"),
            () => format!("at byte {at} of an allocation of {size}"),
        }
    }

    /// Gives the variables of a module their places, once; a launch does so where nobody did before.
    pub fn load(&mut self, module: &Module) {
        let id = module.id();
        let placed = module.variables().iter().enumerate().filter(|(_, variable)| variable.placed);
        let placed: Vec<usize> = placed.map(|(index, _)| index).collect();
        if placed.first().is_none_or(|first| self.variables.contains_key(&(id, *first))) {
            return;
        }
        for index in &placed {
            let variable = &module.variables()[*index];
            let mut bytes = vec![0; variable.bytes as usize];
            bytes[..variable.initial.len()].copy_from_slice(&variable.initial);
            let address = self.place(bytes, !variable.writable);
            self.variables.insert((id, *index), address);
        }
        for index in &placed {
            for (offset, target) in &module.variables()[*index].pointers {
                let target = self.variable(module, *target as usize);
                let at = self.variable(module, *index) + u64::from(*offset);
                if let Some(place) = self.bytes_mut(at, 8) {
                    place.copy_from_slice(&target.to_le_bytes());
                }
            }
        }
    }

    /// Gives the memory of a module's variables back.
    pub fn unload(&mut self, module: &Module) {
        let gone: Vec<u64> = self
            .variables
            .iter()
            .filter(|(key, _)| key.0 == module.id())
            .map(|row| *row.1)
            .collect();
        self.variables.retain(|key, _| key.0 != module.id());
        for address in gone {
            self.free(address);
        }
    }

    /// Where a variable of a loaded module lies, and its size.
    pub fn global(&self, module: &Module, name: &str) -> Option<(u64, usize)> {
        let index = module.variables().iter().position(|variable| variable.name == name)?;
        let address = self.variables.get(&(module.id(), index))?;
        Some((*address, module.variables()[index].bytes as usize))
    }

    /// Where a variable lies; 0 where it is not loaded.
    pub(crate) fn variable(&self, module: &Module, index: usize) -> u64 {
        self.variables.get(&(module.id(), index)).copied().unwrap_or_default()
    }
}
