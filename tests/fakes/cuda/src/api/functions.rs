//! Functions, occupancy, launches.

use std::ffi::{c_int, c_uint, c_void};

use ptx_interpreter::{TENSOR_MAP_ALIGNMENT, Tensor};

use super::{exports, put};
use crate::codes::{INVALID_VALUE, NOT_SUPPORTED};
use crate::driver::{Answer, Driver};
use crate::launch::Launch;
use crate::stream::Work;
use crate::table::Handle;

/// `CUlaunchConfig`.
#[repr(C)]
pub(crate) struct LaunchConfig {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    stream: Handle,
    attributes: *mut LaunchAttribute,
    count: c_uint,
}

/// `CUlaunchAttribute`: a number, and a value of 64 bytes.
#[repr(C)]
pub(crate) struct LaunchAttribute {
    id: c_uint,
    pad: [u8; 4],
    value: [u64; 8],
}

/// Launch attributes that change nothing the interpreter shows: none, stream serialisation, priority.
const HARMLESS: [c_uint; 3] = [0, 6, 8];
/// A cluster, of which one block is none.
const CLUSTER: c_uint = 4;

/// Bytes of an element by `CUtensorMapDataType`.
const ELEMENTS: [u32; 13] = [1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4];
/// Bytes by `CUtensorMapSwizzle`.
const SWIZZLES: [u32; 4] = [0, 32, 64, 128];

/// Entries of the parameter `extra`.
const EXTRA_END: usize = 0;
const EXTRA_BUFFER: usize = 1;
const EXTRA_SIZE: usize = 2;

/// Copies the parameters as the kernel declares them.
///
/// # Safety
///
/// `params` is null or has a pointer to the value of every parameter; `extra` is null or a list that ends.
unsafe fn parameters(
    driver: &Driver,
    function: Handle,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<Vec<u8>, u32> {
    let declared = &driver.functions.get(function)?.entry.params;
    let size = declared.last().map_or(0, |param| param.offset + param.size);
    let mut bytes = vec![0; size];
    if !extra.is_null() {
        // SAFETY: passed on from the caller.
        return unsafe { packed(extra, size, !params.is_null()) };
    }
    if size > 0 && params.is_null() {
        return Err(INVALID_VALUE);
    }
    for (at, param) in declared.iter().enumerate() {
        // SAFETY: by the contract there are as many pointers as parameters, each to its value.
        let from = unsafe { params.add(at).read() }.cast::<u8>();
        if from.is_null() {
            return Err(INVALID_VALUE);
        }
        let place = &mut bytes[param.offset..][..param.size];
        // SAFETY: likewise.
        unsafe { std::ptr::copy_nonoverlapping(from, place.as_mut_ptr(), param.size) };
    }
    Ok(bytes)
}

/// Parameters that come in one buffer.
///
/// # Safety
///
/// `extra` is a list of names and values that ends, and names a buffer of the size it names.
unsafe fn packed(extra: *mut *mut c_void, size: usize, both: bool) -> Result<Vec<u8>, u32> {
    let (mut buffer, mut given) = (std::ptr::null::<u8>(), 0);
    for at in (0..6).step_by(2) {
        // SAFETY: by the contract the list goes on until its end.
        match unsafe { extra.add(at).read() }.addr() {
            EXTRA_END => break,
            // SAFETY: every name has a value.
            EXTRA_BUFFER => buffer = unsafe { extra.add(at + 1).read() }.cast(),
            // SAFETY: every name has a value, here the place of a size.
            EXTRA_SIZE => given = unsafe { *extra.add(at + 1).read().cast::<usize>() },
            _ => return Err(INVALID_VALUE),
        }
    }
    if both || given < size || buffer.is_null() {
        return Err(INVALID_VALUE);
    }
    // SAFETY: the buffer has `given` bytes, which are enough.
    Ok(unsafe { std::slice::from_raw_parts(buffer, size) }.to_vec())
}

/// # Safety
///
/// As `parameters`.
unsafe fn launch(
    driver: &mut Driver,
    config: &LaunchConfig,
    function: Handle,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Answer {
    driver.current()?;
    // SAFETY: passed on from the caller.
    let params = unsafe { parameters(driver, function, params, extra)? };
    let LaunchConfig { grid, block, shared, stream, .. } = *config;
    let launch = Launch { function: function.addr(), grid, block, shared, params };
    // SAFETY: a launch names no host memory.
    unsafe { driver.submit(stream, Work::Launch(launch)) }
}

/// # Safety
///
/// The list has as many entries as the configuration says.
unsafe fn check_attributes(config: &LaunchConfig) -> Answer {
    for at in 0..config.count as usize {
        // SAFETY: by the contract.
        let attribute = unsafe { &*config.attributes.add(at) };
        let lone = [1 | 1 << 32, 1];
        let harmless = HARMLESS.contains(&attribute.id)
            || (attribute.id == CLUSTER
                && attribute.value[0] == lone[0]
                && attribute.value[1] & 0xffff_ffff == lone[1]);
        if !harmless {
            return Err(NOT_SUPPORTED);
        }
    }
    Ok(())
}

exports! { driver;
    cuFuncGetAttribute(value: *mut c_int, attribute: c_uint, function: Handle) {
        put(value, driver.functions.get(function)?.attribute(attribute).ok_or(INVALID_VALUE)?)
    }
    cuFuncSetAttribute(function: Handle, attribute: c_uint, value: c_int) {
        driver.set_function(function, attribute, value)
    }
    cuFuncSetCacheConfig(function: Handle, config: c_uint) {
        driver.functions.get(function)?;
        if config > 3 { Err(INVALID_VALUE) } else { Ok(()) }
    }
    cuFuncGetModule(module: *mut Handle, function: Handle) {
        let of = driver.functions.get(function)?.module;
        put(module, std::ptr::without_provenance_mut(of))
    }
    cuFuncGetParamInfo(function: Handle, index: usize, offset: *mut usize, size: *mut usize) {
        let param = driver.functions.get(function)?.entry.params.get(index).ok_or(INVALID_VALUE)?;
        put(offset, param.offset)?;
        if size.is_null() { Ok(()) } else { put(size, param.size) }
    }
    cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut c_int, function: Handle, threads: c_int, dynamic: usize) {
        let (_, board) = driver.current()?;
        let function = driver.functions.get(function)?;
        let threads = u32::try_from(threads).ok().filter(|count| *count > 0).ok_or(INVALID_VALUE)?;
        put(blocks, driver.boards[board].occupancy(function, threads, dynamic) as c_int)
    }
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: *mut c_int, function: Handle, threads: c_int, dynamic: usize, _flags: c_uint) {
        let (_, board) = driver.current()?;
        let function = driver.functions.get(function)?;
        let threads = u32::try_from(threads).ok().filter(|count| *count > 0).ok_or(INVALID_VALUE)?;
        put(blocks, driver.boards[board].occupancy(function, threads, dynamic) as c_int)
    }
    cuLaunchKernel(
        function: Handle, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
        shared: c_uint, stream: Handle, params: *mut *mut c_void, extra: *mut *mut c_void,
    ) {
        let (grid, block) = ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]);
        let config = LaunchConfig { grid, block, shared, stream, attributes: std::ptr::null_mut(), count: 0 };
        launch(driver, &config, function, params, extra)
    }
    cuTensorMapEncodeTiled(
        map: *mut c_void, element: c_uint, rank: c_uint, address: *mut c_void, sizes: *const u64, strides: *const u64, tile: *const c_uint,
        steps: *const c_uint, interleave: c_uint, swizzle: c_uint, promotion: c_uint, fill: c_uint,
    ) {
        driver.current()?;
        if rank != 2 || interleave != 0 || promotion > 3 || fill > 1 {
            return Err(if (1..=5).contains(&rank) { NOT_SUPPORTED } else { INVALID_VALUE });
        }
        if map.is_null() || !map.addr().is_multiple_of(TENSOR_MAP_ALIGNMENT) || [sizes.is_null(), strides.is_null(), tile.is_null(), steps.is_null()].contains(&true) {
            return Err(INVALID_VALUE);
        }
        if [*steps, *steps.add(1)] != [1; 2] {
            return Err(NOT_SUPPORTED);
        }
        let tensor = Tensor {
            address: address.addr() as u64,
            element: *ELEMENTS.get(element as usize).ok_or(INVALID_VALUE)?,
            size: [*sizes, *sizes.add(1)],
            row_bytes: *strides,
            tile: [*tile, *tile.add(1)],
            swizzle: *SWIZZLES.get(swizzle as usize).ok_or(INVALID_VALUE)?,
        };
        if let Err(why) = tensor.check() {
            driver.tell(format!("no tensor map of {why}"));
            return Err(INVALID_VALUE);
        }
        put(map.cast(), tensor.encode())
    }
    cuLaunchKernelEx(config: *const LaunchConfig, function: Handle, params: *mut *mut c_void, extra: *mut *mut c_void) {
        if config.is_null() {
            return Err(INVALID_VALUE);
        }
        check_attributes(&*config)?;
        launch(driver, &*config, function, params, extra)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of `cuda.h` on 64-bit systems.
    #[test]
    fn structures_are_as_large_as_cuda_declares_them() {
        assert_eq!((size_of::<LaunchConfig>(), size_of::<LaunchAttribute>()), (56, 72));
    }
}
