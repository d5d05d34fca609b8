//! An allocator that counts: how much memory one input takes is part of what is checked.
//!
//! Unsafe because the trait [`GlobalAlloc`] is. Every request goes on to the system's allocator unchanged; only sizes are added up.
#![expect(unsafe_code, reason = "an allocator can be written in no other way")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Most bytes a thread may hold. A request beyond it fails, so that the process ends and the machine goes on.
const MOST: isize = 4 << 30;

thread_local! {
    /// Bytes this thread holds. What another thread gives back for it is missing, so that it may be below zero.
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// The system's allocator with a count of bytes for each thread.
pub struct Counting;

/// Begins a new peak of this thread and returns how many bytes it holds.
pub(crate) fn begin() -> isize {
    PEAK.set(LIVE.get());
    LIVE.get()
}

/// Most bytes this thread held since [`begin`].
pub(crate) fn peak() -> isize {
    PEAK.get()
}

fn add(bytes: usize) -> bool {
    // A layout is never larger than `isize::MAX`.
    let live = LIVE.get().saturating_add(bytes as isize);
    if live > MOST {
        return false;
    }
    LIVE.set(live);
    PEAK.set(PEAK.get().max(live));
    true
}

// SAFETY: each method hands its arguments to the system's allocator, under the same contract, and returns what that returns, or null.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !add(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !add(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - layout.size() as isize);
        // SAFETY: the pointer came from the system's allocator with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}
