//! Modules and libraries.

use std::ffi::{c_char, c_uint, c_void};

use super::{exports, put, text};
use crate::codes::{FILE_NOT_FOUND, INVALID_VALUE};
use crate::driver::{Answer, Driver};
use crate::image::{Refusal, take};
use crate::table::Handle;

/// `CUjit_option` that are heeded: the time it took, and the logs with their sizes.
const WALL_TIME: c_uint = 2;
const INFO_LOG: c_uint = 3;
const ERROR_LOG: c_uint = 5;

/// The options of a load.
#[derive(Clone, Copy)]
struct Options {
    count: c_uint,
    names: *mut c_uint,
    values: *mut *mut c_void,
}

impl Options {
    const NONE: Self = Self { count: 0, names: std::ptr::null_mut(), values: std::ptr::null_mut() };

    /// Where the value of an option lies.
    ///
    /// # Safety
    ///
    /// Both lists have as many entries as the count says.
    unsafe fn value(self, wanted: c_uint) -> Option<*mut *mut c_void> {
        // SAFETY: by the contract.
        let name = |at: &usize| unsafe { self.names.add(*at).read() } == wanted;
        let at = (0..self.count as usize).find(name)?;
        // SAFETY: likewise.
        Some(unsafe { self.values.add(at) })
    }

    /// Fills a log, whose size is the next option, and says how much of it was filled.
    ///
    /// # Safety
    ///
    /// As `value`, and the log has room for its size.
    unsafe fn log(self, log: c_uint, text: &str) -> Answer {
        // SAFETY: by the contract.
        unsafe {
            let (Some(place), Some(size)) = (self.value(log), self.value(log + 1)) else {
                return Ok(());
            };
            let room = i32::try_from((*size).addr()).unwrap_or(i32::MAX);
            let filled = if text.is_empty() { 0 } else { (text.len() + 1).min(room as usize) };
            if room > 0 {
                super::put_text((*place).cast(), room, text)?;
            }
            put(size, std::ptr::without_provenance_mut(filled))
        }
    }
}

/// Loads, writes the logs, and gives the module.
///
/// # Safety
///
/// The options are as the driver API says.
unsafe fn load(
    driver: &mut Driver,
    image: Result<Vec<u8>, u32>,
    options: Options,
) -> Result<Handle, u32> {
    if options.count > 0 && (options.names.is_null() || options.values.is_null()) {
        return Err(INVALID_VALUE);
    }
    let loaded = driver.load(&image?);
    let why = loaded.as_ref().err().map_or("", |refusal: &Refusal| refusal.why.as_str());
    // SAFETY: by the contract.
    unsafe {
        options.log(INFO_LOG, "")?;
        options.log(ERROR_LOG, why)?;
        if let Some(time) = options.value(WALL_TIME) {
            put(time.cast::<f32>(), 0.0)?;
        }
    }
    let why = why.to_owned();
    loaded.map_err(|refusal| {
        if !why.is_empty() {
            driver.tell(format!("not loaded, {}: {why}", refusal.code));
        }
        refusal.code
    })
}

exports! { driver;
    cuModuleLoadData(module: *mut Handle, image: *const c_void) {
        let loaded = load(driver, take(image), Options::NONE)?;
        put(module, loaded)
    }
    cuModuleLoadDataEx(module: *mut Handle, image: *const c_void, count: c_uint, names: *mut c_uint, values: *mut *mut c_void) {
        let loaded = load(driver, take(image), Options { count, names, values })?;
        put(module, loaded)
    }
    cuModuleLoadFatBinary(module: *mut Handle, image: *const c_void) {
        let loaded = load(driver, take(image), Options::NONE)?;
        put(module, loaded)
    }
    cuModuleLoad(module: *mut Handle, path: *const c_char) {
        let image = std::fs::read(text(path)?).map_err(|_| FILE_NOT_FOUND);
        let loaded = load(driver, image, Options::NONE)?;
        put(module, loaded)
    }
    cuModuleUnload(module: Handle) { driver.unload(module) }
    cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char) {
        let found = driver.function(module, text(name)?)?;
        put(function, found)
    }
    cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, module: Handle, name: *const c_char) {
        let global = driver.global(module, text(name)?)?;
        if !address.is_null() {
            put(address, global.0)?;
        }
        if bytes.is_null() { Ok(()) } else { put(bytes, global.1) }
    }
    cuModuleGetLoadingMode(mode: *mut c_uint) { put(mode, 1) }

    cuLibraryLoadData(
        library: *mut Handle, code: *const c_void,
        names: *mut c_uint, values: *mut *mut c_void, count: c_uint,
        _library_names: *mut c_uint, _library_values: *mut *mut c_void, _library_count: c_uint,
    ) {
        // Loaded once for its errors; each context loads it again when it asks for the module.
        let image = take(code)?;
        let module = load(driver, Ok(image.clone()), Options { count, names, values })?;
        driver.unload(module)?;
        let loaded = driver.load_library(image);
        put(library, loaded)
    }
    cuLibraryUnload(library: Handle) { driver.unload_library(library) }
    cuLibraryGetModule(module: *mut Handle, library: Handle) {
        let found = driver.module_of(library)?;
        put(module, found)
    }
    cuLibraryGetKernel(kernel: *mut Handle, library: Handle, name: *const c_char) {
        let module = driver.module_of(library)?;
        let found = driver.function(module, text(name)?)?;
        put(kernel, found)
    }
    cuKernelGetFunction(function: *mut Handle, kernel: Handle) {
        driver.functions.get(kernel)?;
        put(function, kernel)
    }
}
