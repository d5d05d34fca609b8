//! Contexts.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

use super::{exports, put};
use crate::codes::{INVALID_CONTEXT, INVALID_VALUE};
use crate::driver::stack;
use crate::table::Handle;

/// Priorities of streams: the least, then the greatest.
const PRIORITIES: (c_int, c_int) = (0, -5);

exports! { driver;
    cuCtxCreate_v2(context: *mut Handle, flags: c_uint, device: c_int) {
        let made = driver.make_context(device, flags)?;
        driver.push_current(made)?;
        put(context, made)
    }
    cuCtxCreate_v3(context: *mut Handle, affinity: *mut c_void, count: c_int, flags: c_uint, device: c_int) {
        if !affinity.is_null() || count != 0 {
            return Err(crate::codes::NOT_SUPPORTED);
        }
        let made = driver.make_context(device, flags)?;
        driver.push_current(made)?;
        put(context, made)
    }
    cuCtxCreate_v4(context: *mut Handle, params: *mut c_void, flags: c_uint, device: c_int) {
        if !params.is_null() {
            return Err(crate::codes::NOT_SUPPORTED);
        }
        let made = driver.make_context(device, flags)?;
        driver.push_current(made)?;
        put(context, made)
    }
    cuCtxDestroy_v2(context: Handle) { driver.end_context(context) }
    cuCtxGetCurrent(context: *mut Handle) {
        let current = stack(|stack| stack.last().copied()).unwrap_or(0);
        put(context, std::ptr::without_provenance_mut(current))
    }
    cuCtxSetCurrent(context: Handle) { driver.set_current(context) }
    cuCtxPushCurrent_v2(context: Handle) { driver.push_current(context) }
    cuCtxPopCurrent_v2(context: *mut Handle) {
        let popped = stack(Vec::pop).ok_or(INVALID_CONTEXT)?;
        if context.is_null() { Ok(()) } else { put(context, std::ptr::without_provenance_mut(popped)) }
    }
    cuCtxGetDevice(device: *mut c_int) { put(device, driver.current()?.1 as c_int) }
    cuCtxGetFlags(flags: *mut c_uint) {
        let (context, _) = driver.current()?;
        put(flags, driver.contexts.get(context)?.flags)
    }
    cuCtxGetApiVersion(context: Handle, version: *mut c_uint) {
        if !context.is_null() {
            driver.contexts.get(context).map_err(|_| INVALID_CONTEXT)?;
        }
        put(version, 3020)
    }
    cuCtxGetId(context: Handle, id: *mut c_ulonglong) {
        let context = if context.is_null() { driver.current()?.0 } else { context };
        driver.contexts.get(context).map_err(|_| INVALID_CONTEXT)?;
        put(id, context.addr() as c_ulonglong)
    }
    cuCtxSynchronize() {
        driver.current()?;
        driver.forbid_while_capturing()
    }
    cuCtxGetLimit(value: *mut usize, limit: c_uint) { put(value, *driver.limit(limit)?) }
    cuCtxSetLimit(limit: c_uint, value: usize) {
        *driver.limit(limit)? = value;
        Ok(())
    }
    cuCtxGetCacheConfig(config: *mut c_uint) {
        driver.current()?;
        put(config, 0)
    }
    cuCtxSetCacheConfig(config: c_uint) {
        driver.current()?;
        if config > 3 { Err(INVALID_VALUE) } else { Ok(()) }
    }
    cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        driver.current()?;
        if !least.is_null() {
            put(least, PRIORITIES.0)?;
        }
        if greatest.is_null() { Ok(()) } else { put(greatest, PRIORITIES.1) }
    }
}
