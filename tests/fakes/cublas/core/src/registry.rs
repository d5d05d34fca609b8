use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

/// Things a program holds by an opaque pointer, which is never the address of anything and never given twice.
pub struct Registry<T> {
    items: Mutex<(usize, BTreeMap<usize, T>)>,
}

impl<T: Clone> Registry<T> {
    /// An empty one.
    pub const fn new() -> Self {
        Self { items: Mutex::new((0, BTreeMap::new())) }
    }

    fn with<R>(&self, act: impl FnOnce(&mut usize, &mut BTreeMap<usize, T>) -> R) -> R {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        let (made, items) = &mut *items;
        act(made, items)
    }

    /// Keeps a thing and gives its pointer.
    pub fn insert(&self, item: T) -> *mut c_void {
        self.with(|made, items| {
            *made += 1;
            items.insert(*made << 8, item);
            std::ptr::without_provenance_mut(*made << 8)
        })
    }

    /// The thing behind a pointer.
    pub fn get(&self, pointer: *const c_void) -> Option<T> {
        self.with(|_, items| items.get(&pointer.addr()).cloned())
    }

    /// Changes the thing behind a pointer.
    pub fn change<R>(&self, pointer: *const c_void, act: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.with(|_, items| items.get_mut(&pointer.addr()).map(act))
    }

    /// Forgets a thing.
    pub fn remove(&self, pointer: *const c_void) -> Option<T> {
        self.with(|_, items| items.remove(&pointer.addr()))
    }
}

impl<T: Clone> Default for Registry<T> {
    fn default() -> Self {
        Self::new()
    }
}
