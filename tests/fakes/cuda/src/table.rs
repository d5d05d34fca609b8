//! Handles: what a program holds of contexts, modules, streams and the rest.

use std::collections::BTreeMap;
use std::ffi::c_void;

use crate::codes::INVALID_HANDLE;

/// An opaque pointer of the driver API. Never the address of anything.
pub(crate) type Handle = *mut c_void;

/// Things of one kind by handle. A handle is never given twice, so one that is out of date is noticed.
pub(crate) struct Table<T> {
    kind: usize,
    made: usize,
    items: BTreeMap<usize, T>,
}

impl<T> Table<T> {
    /// An empty table; `kind` tells its handles from those of others.
    pub(crate) const fn new(kind: usize) -> Self {
        Self { kind, made: 0, items: BTreeMap::new() }
    }

    pub(crate) fn insert(&mut self, item: T) -> Handle {
        self.made += 1;
        let address = self.kind << 40 | self.made << 4;
        self.items.insert(address, item);
        std::ptr::without_provenance_mut(address)
    }

    pub(crate) fn get(&self, handle: Handle) -> Result<&T, u32> {
        self.items.get(&handle.addr()).ok_or(INVALID_HANDLE)
    }

    pub(crate) fn get_mut(&mut self, handle: Handle) -> Result<&mut T, u32> {
        self.items.get_mut(&handle.addr()).ok_or(INVALID_HANDLE)
    }

    pub(crate) fn remove(&mut self, handle: Handle) -> Result<T, u32> {
        self.items.remove(&handle.addr()).ok_or(INVALID_HANDLE)
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items.values_mut()
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.items.retain(|_, item| keep(item));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_out_of_date_or_of_another_kind_is_noticed() {
        let (mut ones, mut others) = (Table::new(1), Table::new(2));
        let one = ones.insert('a');
        let other = others.insert('b');
        assert_eq!(ones.get(one), Ok(&'a'));
        assert_eq!(ones.get(other), Err(INVALID_HANDLE));
        assert_eq!(ones.remove(one), Ok('a'));
        let again = ones.insert('c');
        assert_eq!((ones.get(one), ones.get(again)), (Err(INVALID_HANDLE), Ok(&'c')));
    }
}
