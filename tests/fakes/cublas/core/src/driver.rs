//! The stand-in driver, found as programs find it. Another driver is refused: nothing here could run on it.
#![expect(unsafe_code, reason = "the driver is a C library, found by name")]

use std::ffi::{CStr, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::sync::LazyLock;

use crate::product::Product;
use crate::rules::Place;
use crate::scenario::{Effect, Scenario};
use crate::status::{Answer, EXECUTION_FAILED, NOT_INITIALIZED};

/// How the driver shows device memory to work that it runs: `None` where there is none.
type Find = unsafe extern "C" fn(*mut c_void, u64, usize) -> *mut u8;

/// What the driver passes to work.
#[repr(C)]
struct Look {
    state: *mut c_void,
    find: Find,
}

type Run = unsafe extern "C" fn(*const c_void, *const Look) -> c_uint;
type Release = unsafe extern "C" fn(*mut c_void);
type Submit = unsafe extern "C" fn(*mut c_void, Run, Release, *mut c_void, u64) -> c_uint;
type ContextDevice = unsafe extern "C" fn(*mut c_int) -> c_uint;
type DeviceAttribute = unsafe extern "C" fn(*mut c_int, c_uint, c_int) -> c_uint;
type DriverVersion = unsafe extern "C" fn(*mut c_int) -> c_uint;

/// Functions of the stand-in driver.
struct Driver {
    submit: Submit,
    device: ContextDevice,
    attribute: DeviceAttribute,
    version: DriverVersion,
}

/// Device memory, as work sees it.
pub struct Memory<'a> {
    find: Box<dyn FnMut(u64, usize) -> *mut u8 + 'a>,
    borrowed: PhantomData<&'a mut [u8]>,
}

impl Memory<'_> {
    /// The bytes behind an address, if they lie in one allocation.
    pub fn bytes(&mut self, address: u64, size: usize) -> Option<&mut [u8]> {
        if size == 0 {
            return Some(&mut []);
        }
        let start = (self.find)(address, size);
        // SAFETY: where it is not null, there are so many bytes, which nobody else touches while `self` is borrowed.
        (!start.is_null()).then(|| unsafe { std::slice::from_raw_parts_mut(start, size) })
    }
}

#[cfg(test)]
impl<'a> Memory<'a> {
    /// Memory of pieces at addresses.
    pub(crate) fn of<const N: usize>(pieces: [(u64, &'a mut [u8]); N]) -> Self {
        let mut pieces = pieces;
        let find = move |address: u64, size: usize| {
            let inside = |piece: &&mut (u64, &'a mut [u8])| {
                let at = address.checked_sub(piece.0);
                at.is_some_and(|at| at as usize + size <= piece.1.len())
            };
            pieces.iter_mut().find(inside).map_or(std::ptr::null_mut(), |piece| {
                piece.1[(address - piece.0) as usize..].as_mut_ptr()
            })
        };
        Self { find: Box::new(find), borrowed: PhantomData }
    }
}

/// The scenario, read once.
pub static SCENARIO: LazyLock<Scenario> = LazyLock::new(Scenario::here);

static DRIVER: LazyLock<Option<Driver>> = LazyLock::new(load);

fn load() -> Option<Driver> {
    // SAFETY: the name ends in 0.
    let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_LAZY) };
    if library.is_null() {
        return None;
    }
    let find = |name: &CStr| {
        // SAFETY: the library was opened; the name ends in 0.
        let found = unsafe { libc::dlsym(library, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    };
    let Some(submit) = find(c"warpscope_library_work") else {
        eprintln!("stand-in cuBLAS: this libcuda is not the stand-in");
        return None;
    };
    let (device, attribute) = (find(c"cuCtxGetDevice")?, find(c"cuDeviceGetAttribute")?);
    let version = find(c"cuDriverGetVersion")?;
    // SAFETY: these are the types of the functions of these names in the stand-in driver.
    unsafe {
        Some(Driver {
            submit: std::mem::transmute::<*mut c_void, Submit>(submit),
            device: std::mem::transmute::<*mut c_void, ContextDevice>(device),
            attribute: std::mem::transmute::<*mut c_void, DeviceAttribute>(attribute),
            version: std::mem::transmute::<*mut c_void, DriverVersion>(version),
        })
    }
}

/// The library's version and the device of the current context. A driver from before the library's major version is none.
pub fn place() -> Result<Place, u32> {
    const MAJOR: c_uint = 75;
    const MINOR: c_uint = 76;
    let driver = DRIVER.as_ref().ok_or(NOT_INITIALIZED)?;
    let (mut device, mut major, mut minor, mut cuda) = (0, 0, 0, 0);
    // SAFETY: each writes one integer.
    let codes = unsafe {
        [
            (driver.version)(&raw mut cuda),
            (driver.device)(&raw mut device),
            (driver.attribute)(&raw mut major, MAJOR, device),
            (driver.attribute)(&raw mut minor, MINOR, device),
        ]
    };
    let version = SCENARIO.version;
    if codes != [0; 4] || version / 10_000 > cuda as u32 / 1000 {
        return Err(NOT_INITIALIZED);
    }
    Ok(Place { version, cc: (major as u32, minor as u32) })
}

/// Puts a product into a stream of the driver, whose handle is no address but a number. A context that has died shows as a failed execution.
pub fn submit(stream: usize, product: Product) -> Answer {
    unsafe extern "C" fn run(product: *const c_void, look: *const Look) -> c_uint {
        // SAFETY: the driver passes back what it was given, and its own means to look at memory, for the call.
        let (product, look) = unsafe { (&*product.cast::<Product>(), &*look) };
        // SAFETY: the driver's own function with its own state.
        let find = |address, size| unsafe { (look.find)(look.state, address, size) };
        let mut memory = Memory { find: Box::new(find), borrowed: PhantomData };
        product.compute(&mut memory).err().unwrap_or(0)
    }
    unsafe extern "C" fn release(product: *mut c_void) {
        // SAFETY: it was made by `Box::into_raw`, and the driver releases it once.
        drop(unsafe { Box::from_raw(product.cast::<Product>()) });
    }
    let driver = DRIVER.as_ref().ok_or(NOT_INITIALIZED)?;
    let operations = product.operations();
    let work = Box::into_raw(Box::new(product)).cast();
    let stream = std::ptr::without_provenance_mut(stream);
    // SAFETY: `work` lives until the driver releases it, at most once.
    let code = unsafe { (driver.submit)(stream, run, release, work, operations) };
    if code == 0 { Ok(()) } else { Err(EXECUTION_FAILED) }
}

/// Does what the scenario does to a call. Comes back where it does nothing.
pub fn strike(function: &str, product: Option<&Product>) -> Answer {
    match SCENARIO.effect(function, product) {
        None => Ok(()),
        Some(Effect::Status(status)) => Err(status),
        Some(Effect::Hang) => loop {
            std::thread::park();
        },
        Some(Effect::Crash) => {
            // SAFETY: raising a signal has no conditions.
            unsafe { libc::raise(libc::SIGILL) };
            Err(EXECUTION_FAILED)
        }
    }
}
