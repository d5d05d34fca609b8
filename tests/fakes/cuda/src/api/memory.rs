//! Memory: of the device, and of the host as the driver gives it.

use std::alloc::Layout;
use std::ffi::{c_int, c_uchar, c_uint, c_ushort, c_void};

use super::{exports, put};
use crate::codes::{INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY};
use crate::driver::{Answer, Driver};
use crate::faults::Place;
use crate::stream::Work;
use crate::table::Handle;

type DevicePtr = u64;

fn allocate(driver: &mut Driver, bytes: usize) -> Result<DevicePtr, u32> {
    let (context, board) = driver.current()?;
    driver.forbid_while_capturing()?;
    driver.pass(&Place::Alloc)?;
    driver.boards[board].memory.allocate(context.addr(), bytes)
}

fn free(driver: &mut Driver, address: DevicePtr) -> Answer {
    let memory = &mut driver.here()?.memory;
    if address == 0 { Ok(()) } else { memory.free(address) }
}

fn host_layout(bytes: usize) -> Result<Layout, u32> {
    let sized = (bytes > 0).then(|| Layout::from_size_align(bytes, 4096).ok()).flatten();
    sized.ok_or(INVALID_VALUE)
}

fn host_allocate(driver: &mut Driver, bytes: usize) -> Result<*mut c_void, u32> {
    driver.current()?;
    driver.forbid_while_capturing()?;
    let layout = host_layout(bytes)?;
    // SAFETY: the layout is not empty.
    let place = unsafe { std::alloc::alloc_zeroed(layout) };
    if place.is_null() {
        return Err(OUT_OF_MEMORY);
    }
    driver.host.insert(place.addr(), bytes);
    Ok(place.cast())
}

fn host_free(driver: &mut Driver, place: *mut c_void) -> Answer {
    let bytes = driver.host.remove(&place.addr()).ok_or(INVALID_VALUE)?;
    // SAFETY: it was allocated by `host_allocate` with this layout, and is freed once.
    unsafe { std::alloc::dealloc(place.cast(), host_layout(bytes)?) };
    Ok(())
}

/// Work that the host waits for, in the stream that all others heed.
///
/// # Safety
///
/// Host memory that the work names must be there.
unsafe fn now(driver: &mut Driver, work: Work) -> Answer {
    driver.forbid_while_capturing()?;
    // SAFETY: passed on from the caller.
    unsafe { driver.submit(std::ptr::null_mut(), work) }
}

fn fill<const N: usize>(to: DevicePtr, pattern: [u8; N], count: usize) -> Result<Work, u32> {
    let aligned = to.is_multiple_of(N as u64);
    aligned.then(|| Work::Fill { to, pattern: pattern.to_vec(), count }).ok_or(INVALID_VALUE)
}

/// `CUpointer_attribute`, as far as it makes sense here.
///
/// # Safety
///
/// `data` shows room for the attribute's value.
unsafe fn pointer_attribute(
    driver: &mut Driver,
    data: *mut c_void,
    attribute: c_uint,
    address: DevicePtr,
) -> Answer {
    let (context, board) = driver.current()?;
    let (start, size) = driver.boards[board].memory.piece(address).ok_or(INVALID_VALUE)?;
    // SAFETY: by the contract the value has the type the attribute's number names.
    unsafe {
        match attribute {
            1 => put(data.cast(), context),
            2 => put(data.cast(), 2_u32),
            3 => put(data.cast(), address),
            8 => put(data.cast(), 0_u32),
            9 => put(data.cast(), board as c_int),
            11 => put(data.cast(), start),
            12 => put(data.cast(), size),
            13 => put(data.cast(), 1_u32),
            _ => Err(NOT_SUPPORTED),
        }
    }
}

exports! { driver;
    cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let memory = &driver.here()?.memory;
        put(free, memory.free_bytes() as usize)?;
        put(total, memory.total() as usize)
    }
    cuMemAlloc_v2(place: *mut DevicePtr, bytes: usize) {
        let address = allocate(driver, bytes)?;
        put(place, address)
    }
    cuMemAllocAsync(place: *mut DevicePtr, bytes: usize, stream: Handle) {
        driver.check_stream(stream)?;
        let address = allocate(driver, bytes)?;
        put(place, address)
    }
    cuMemFree_v2(address: DevicePtr) { free(driver, address) }
    cuMemFreeAsync(address: DevicePtr, stream: Handle) {
        driver.check_stream(stream)?;
        free(driver, address)
    }
    cuMemAllocManaged(_place: *mut DevicePtr, _bytes: usize, _flags: c_uint) { Err(NOT_SUPPORTED) }
    cuMemGetAddressRange_v2(start: *mut DevicePtr, size: *mut usize, address: DevicePtr) {
        let piece = driver.here()?.memory.piece(address).ok_or(crate::codes::NOT_FOUND)?;
        if !start.is_null() {
            put(start, piece.0)?;
        }
        if size.is_null() { Ok(()) } else { put(size, piece.1) }
    }
    cuMemAllocHost_v2(place: *mut *mut c_void, bytes: usize) { put(place, host_allocate(driver, bytes)?) }
    cuMemHostAlloc(place: *mut *mut c_void, bytes: usize, _flags: c_uint) { put(place, host_allocate(driver, bytes)?) }
    cuMemFreeHost(place: *mut c_void) { host_free(driver, place) }
    cuMemHostGetDevicePointer_v2(_address: *mut DevicePtr, _place: *mut c_void, _flags: c_uint) { Err(NOT_SUPPORTED) }
    cuMemHostRegister_v2(_place: *mut c_void, _bytes: usize, _flags: c_uint) { Err(NOT_SUPPORTED) }
    cuMemHostUnregister(_place: *mut c_void) { Err(NOT_SUPPORTED) }
    cuPointerGetAttribute(data: *mut c_void, attribute: c_uint, address: DevicePtr) {
        pointer_attribute(driver, data, attribute, address)
    }

    cuMemcpyHtoD_v2(to: DevicePtr, from: *const c_void, bytes: usize) { now(driver, Work::upload(to, from, bytes)) }
    cuMemcpyDtoH_v2(to: *mut c_void, from: DevicePtr, bytes: usize) { now(driver, Work::download(to, from, bytes)) }
    cuMemcpyDtoD_v2(to: DevicePtr, from: DevicePtr, bytes: usize) { now(driver, Work::Copy { to, from, bytes }) }
    cuMemcpyHtoDAsync_v2(to: DevicePtr, from: *const c_void, bytes: usize, stream: Handle) {
        driver.submit(stream, Work::upload(to, from, bytes))
    }
    cuMemcpyDtoHAsync_v2(to: *mut c_void, from: DevicePtr, bytes: usize, stream: Handle) {
        driver.submit(stream, Work::download(to, from, bytes))
    }
    cuMemcpyDtoDAsync_v2(to: DevicePtr, from: DevicePtr, bytes: usize, stream: Handle) {
        driver.submit(stream, Work::Copy { to, from, bytes })
    }
    cuMemsetD8_v2(to: DevicePtr, value: c_uchar, count: usize) { now(driver, fill(to, [value], count)?) }
    cuMemsetD16_v2(to: DevicePtr, value: c_ushort, count: usize) { now(driver, fill(to, value.to_le_bytes(), count)?) }
    cuMemsetD32_v2(to: DevicePtr, value: c_uint, count: usize) { now(driver, fill(to, value.to_le_bytes(), count)?) }
    cuMemsetD8Async(to: DevicePtr, value: c_uchar, count: usize, stream: Handle) {
        driver.submit(stream, fill(to, [value], count)?)
    }
    cuMemsetD16Async(to: DevicePtr, value: c_ushort, count: usize, stream: Handle) {
        driver.submit(stream, fill(to, value.to_le_bytes(), count)?)
    }
    cuMemsetD32Async(to: DevicePtr, value: c_uint, count: usize, stream: Handle) {
        driver.submit(stream, fill(to, value.to_le_bytes(), count)?)
    }
}
