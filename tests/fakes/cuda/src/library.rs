//! Work of other libraries on device memory: the stand-in cuBLAS hands its products over as real ones hand over kernels,
//! so that they can be captured, and end a context where their memory is not there.

use std::ffi::c_void;

use crate::driver::{Answer, Driver};

/// How device memory is shown to work: null where there is none.
pub(crate) type Find = unsafe extern "C" fn(*mut c_void, u64, usize) -> *mut u8;

/// What work is passed.
#[repr(C)]
pub(crate) struct Look {
    state: *mut c_void,
    find: Find,
}

pub(crate) type Run = unsafe extern "C" fn(*const c_void, *const Look) -> u32;
pub(crate) type Release = unsafe extern "C" fn(*mut c_void);

/// Work that a library handed over, released when neither a stream nor a graph holds it.
#[derive(Debug)]
pub(crate) struct LibraryWork {
    pub(crate) run: Run,
    pub(crate) release: Release,
    /// The library's own, as a number, for a stream may be another thread's.
    pub(crate) data: usize,
    /// What it costs in simulated time.
    pub(crate) operations: u64,
}

impl LibraryWork {
    fn data(&self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.data)
    }
}

impl Drop for LibraryWork {
    fn drop(&mut self) {
        // SAFETY: who handed the work over said that it can be released once, from any thread.
        unsafe { (self.release)(self.data()) };
    }
}

impl Driver {
    /// Does work of a library. What it finds wrong spoils the board, as a kernel's fault does.
    pub(crate) fn run_library(&mut self, board: usize, work: &LibraryWork) -> Answer {
        if let Some(answer) = self.doom(board) {
            return answer;
        }
        unsafe extern "C" fn find(state: *mut c_void, address: u64, size: usize) -> *mut u8 {
            // SAFETY: the state is the memory that was passed along, for as long as the work runs.
            let memory = unsafe { &mut *state.cast::<crate::memory::Memory>() };
            memory.bytes(address, size).map_or(std::ptr::null_mut(), <[u8]>::as_mut_ptr)
        }
        let state = (&raw mut self.boards[board].memory).cast();
        // SAFETY: by the contract of who handed it over; nothing else touches the memory meanwhile.
        let code = unsafe { (work.run)(work.data(), &Look { state, find }) };
        if code == 0 {
            self.boards[board].execute(work.operations);
            return Ok(());
        }
        self.spoil(board, code, "a library's product")
    }
}
