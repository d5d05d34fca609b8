//! Streams and their capture.

use std::ffi::{c_int, c_uint, c_ulonglong};

use super::{exports, put};
use crate::codes::{CAPTURE_IMPLICIT, CAPTURE_UNSUPPORTED, INVALID_VALUE};
use crate::driver::Driver;
use crate::stream::{Stream, Work};
use crate::table::Handle;

fn create(driver: &mut Driver, flags: c_uint, priority: c_int) -> Result<Handle, u32> {
    let (context, _) = driver.current()?;
    if flags > 1 {
        return Err(INVALID_VALUE);
    }
    // Priorities beyond the range are brought into it.
    let priority = priority.clamp(-5, 0);
    Ok(driver.streams.insert(Stream { context: context.addr(), flags, priority, capture: None }))
}

/// `CUstreamCaptureStatus`.
fn status(driver: &Driver, stream: Handle) -> Result<c_uint, u32> {
    driver.check_stream(stream)?;
    let capture = driver.streams.get(stream).ok().and_then(|stream| stream.capture.as_ref());
    Ok(capture.map_or(0, |capture| 1 + c_uint::from(capture.invalid)))
}

exports! { driver;
    cuStreamCreate(stream: *mut Handle, flags: c_uint) {
        let made = create(driver, flags, 0)?;
        put(stream, made)
    }
    cuStreamCreateWithPriority(stream: *mut Handle, flags: c_uint, priority: c_int) {
        let made = create(driver, flags, priority)?;
        put(stream, made)
    }
    cuStreamDestroy_v2(stream: Handle) { driver.streams.remove(stream).map(drop) }
    cuStreamGetFlags(stream: Handle, flags: *mut c_uint) {
        driver.check_stream(stream)?;
        put(flags, driver.streams.get(stream).map_or(0, |stream| stream.flags))
    }
    cuStreamGetPriority(stream: Handle, priority: *mut c_int) {
        driver.check_stream(stream)?;
        put(priority, driver.streams.get(stream).map_or(0, |stream| stream.priority))
    }
    cuStreamGetCtx(stream: Handle, context: *mut Handle) {
        driver.check_stream(stream)?;
        put(context, driver.current()?.0)
    }
    cuStreamQuery(stream: Handle) { driver.synchronize(stream) }
    cuStreamSynchronize(stream: Handle) { driver.synchronize(stream) }
    cuStreamWaitEvent(stream: Handle, event: Handle, _flags: c_uint) {
        driver.events.get(event)?;
        driver.submit(stream, Work::Wait)
    }
    cuStreamBeginCapture_v2(stream: Handle, mode: c_uint) { driver.begin_capture(stream, mode) }
    cuStreamEndCapture(stream: Handle, graph: *mut Handle) {
        let made = driver.end_capture(stream);
        put(graph, made.unwrap_or(std::ptr::null_mut()))?;
        made.map(drop)
    }
    cuStreamIsCapturing(stream: Handle, place: *mut c_uint) {
        let status = status(driver, stream)?;
        put(place, status)
    }
    cuStreamGetCaptureInfo(stream: Handle, place: *mut c_uint, id: *mut c_ulonglong) {
        let status = status(driver, stream)?;
        if status == 0 && stream.is_null() && driver.forbid_while_capturing() == Err(CAPTURE_UNSUPPORTED) {
            return Err(CAPTURE_IMPLICIT);
        }
        put(place, status)?;
        if id.is_null() { Ok(()) } else { put(id, if status == 1 { stream.addr() as c_ulonglong } else { 0 }) }
    }
}
