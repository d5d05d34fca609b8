//! Events. Their time is simulated: it comes from the interpreter's instruction counts.

use std::ffi::c_uint;

use super::{exports, put};
use crate::codes::{INVALID_HANDLE, INVALID_VALUE};
use crate::driver::Driver;
use crate::stream::{Event, Work};
use crate::table::Handle;

/// Flags: blocking wait, no timing, between processes.
const DISABLE_TIMING: c_uint = 2;
const KNOWN: c_uint = 7;

/// Milliseconds from one event to another.
fn elapsed(driver: &Driver, start: Handle, end: Handle) -> Result<f32, u32> {
    driver.current()?;
    let at = |event| {
        let event: &Event = driver.events.get(event)?;
        event.at.filter(|_| event.times).ok_or(INVALID_HANDLE)
    };
    Ok(((at(end)? - at(start)?) / 1e6) as f32)
}

exports! { driver;
    cuEventCreate(event: *mut Handle, flags: c_uint) {
        let (context, _) = driver.current()?;
        if flags > KNOWN {
            return Err(INVALID_VALUE);
        }
        let times = flags & DISABLE_TIMING == 0;
        put(event, driver.events.insert(Event { context: context.addr(), times, at: None }))
    }
    cuEventRecord(event: Handle, stream: Handle) {
        driver.events.get(event)?;
        driver.submit(stream, Work::Record { event: event.addr() })
    }
    cuEventRecordWithFlags(event: Handle, stream: Handle, _flags: c_uint) {
        driver.events.get(event)?;
        driver.submit(stream, Work::Record { event: event.addr() })
    }
    cuEventQuery(event: Handle) {
        driver.current()?;
        driver.events.get(event).map(drop)
    }
    cuEventSynchronize(event: Handle) {
        driver.current()?;
        driver.events.get(event).map(drop)
    }
    cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle) {
        put(milliseconds, elapsed(driver, start, end)?)
    }
    cuEventElapsedTime_v2(milliseconds: *mut f32, start: Handle, end: Handle) {
        put(milliseconds, elapsed(driver, start, end)?)
    }
    cuEventDestroy_v2(event: Handle) { driver.events.remove(event).map(drop) }
}
