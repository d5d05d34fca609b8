//! Who holds how much: every buffer against the cap.

use std::collections::BTreeMap;

use crate::gpu::{BufferId, MachineError, Slot};

/// What allocations are rounded up to.
const GRAIN: u64 = 256;

/// Buffers with what backs each, and how many bytes they are together.
pub(super) struct Accounts<B> {
    cap: u64,
    held: u64,
    next: u32,
    buffers: BTreeMap<BufferId, (B, u64)>,
}

impl<B> Accounts<B> {
    /// None yet, and so many bytes at most.
    pub(super) fn new(cap: u64) -> Self {
        Self { cap, held: 0, next: 0, buffers: BTreeMap::new() }
    }

    /// Bytes held.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// Bytes that may be.
    pub(super) fn cap(&self) -> u64 {
        self.cap
    }

    /// Sets how many may be.
    pub(super) fn set_cap(&mut self, cap: u64) {
        self.cap = cap;
    }

    /// The size a buffer of so many bytes takes, if there is room for it.
    pub(super) fn admit(&self, bytes: u64) -> Result<u64, MachineError> {
        let size = bytes.max(1).checked_next_multiple_of(GRAIN);
        let total = size.and_then(|size| self.held.checked_add(size));
        match (size, total) {
            (Some(size), Some(total)) if total <= self.cap => Ok(size),
            (_, total) => {
                let asked = total.unwrap_or(u64::MAX);
                Err(MachineError::OverCap { asked, cap: self.cap })
            }
        }
    }

    /// Enters a buffer of a size that was admitted.
    pub(super) fn enter(&mut self, backing: B, size: u64) -> BufferId {
        let id = BufferId(self.next);
        self.next += 1;
        self.held += size;
        self.buffers.insert(id, (backing, size));
        id
    }

    /// Strikes a buffer.
    pub(super) fn strike(&mut self, buffer: BufferId) -> Result<B, MachineError> {
        let (backing, size) = self.buffers.remove(&buffer).ok_or_else(|| unknown(buffer))?;
        self.held -= size;
        Ok(backing)
    }

    /// What backs a place, which has at least so many bytes behind it.
    pub(super) fn find(&self, slot: Slot, bytes: u64) -> Result<&B, MachineError> {
        let (backing, size) = self.buffers.get(&slot.buffer).ok_or_else(|| unknown(slot.buffer))?;
        let end = slot.offset.checked_add(bytes);
        if end.is_some_and(|end| end <= *size) {
            return Ok(backing);
        }
        let (offset, buffer) = (slot.offset, slot.buffer.0);
        Err(MachineError::refused(format!(
            "{bytes} bytes at {offset} pass the end of buffer {buffer} at {size}"
        )))
    }
}

fn unknown(buffer: BufferId) -> MachineError {
    MachineError::refused(format!("there is no buffer {}", buffer.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_cap_holds_to_the_byte() {
        let mut accounts = Accounts::new(1024);
        assert_eq!(accounts.admit(1025), Err(MachineError::OverCap { asked: 1280, cap: 1024 }));
        assert_eq!(accounts.admit(0), Ok(256));
        let size = accounts.admit(769).expect("as much as there is");
        let buffer = accounts.enter((), size);
        assert_eq!((accounts.held(), accounts.admit(1).is_err()), (1024, true));
        accounts.strike(buffer).expect("is held");
        assert_eq!(accounts.held(), 0);
        assert!(accounts.strike(buffer).is_err(), "twice");
        assert!(accounts.admit(u64::MAX).is_err());
    }

    #[test]
    fn places_are_inside_their_buffer() {
        let mut accounts = Accounts::new(4096);
        let buffer = accounts.enter('b', 512);
        let at = |offset| Slot { buffer, offset };
        assert_eq!(accounts.find(at(0), 512), Ok(&'b'));
        assert_eq!(accounts.find(at(512), 0), Ok(&'b'));
        for (offset, bytes) in [(0, 513), (512, 1), (513, 0), (u64::MAX, 2)] {
            assert!(accounts.find(at(offset), bytes).is_err(), "{offset} {bytes}");
        }
        let other = Slot { buffer: BufferId(9), offset: 0 };
        assert!(accounts.find(other, 0).is_err());
    }

    proptest! {
        /// What is held is the sum of what is entered, and never passes the cap.
        #[test]
        fn held_is_the_sum(steps in proptest::collection::vec((any::<bool>(), 0_u64..4000), 0..60)) {
            let mut accounts = Accounts::new(16 << 10);
            let mut live: Vec<(BufferId, u64)> = Vec::new();
            for (take, number) in steps {
                if take {
                    if let Ok(size) = accounts.admit(number) {
                        live.push((accounts.enter((), size), size));
                    }
                } else if !live.is_empty() {
                    let (buffer, _) = live.swap_remove(number as usize % live.len());
                    accounts.strike(buffer).expect("is held");
                }
                let sum: u64 = live.iter().map(|(_, size)| size).sum();
                prop_assert_eq!(accounts.held(), sum);
                prop_assert!(sum <= accounts.cap());
            }
        }
    }
}
