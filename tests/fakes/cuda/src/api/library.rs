//! The way for the stand-in cuBLAS. No driver has it.

use std::ffi::c_void;
use std::sync::Arc;

use super::exports;
use crate::library::{LibraryWork, Release, Run};
use crate::stream::Work;
use crate::table::Handle;

exports! { driver;
    warpscope_library_work(stream: Handle, run: Run, release: Release, data: *mut c_void, operations: u64) {
        let work = LibraryWork { run, release, data: data.expose_provenance(), operations };
        driver.submit(stream, Work::Library(Arc::new(work)))
    }
}
