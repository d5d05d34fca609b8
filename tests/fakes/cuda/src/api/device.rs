//! The driver and its devices.

use std::ffi::{c_char, c_int, c_uint};

use super::{exports, put, put_text, text};
use crate::attributes::attribute;
use crate::boards::bus;
use crate::codes::{INVALID_DEVICE, INVALID_VALUE};
use crate::driver::Driver;

fn address(driver: &mut Driver, device: c_int) -> Result<String, u32> {
    Ok(format!("0000:{:02X}:00.0", bus(driver.board(device)?.seat.board)))
}

/// The 16 bytes of a UUID.
fn uuid(driver: &mut Driver, device: c_int, of_instance: bool) -> Result<[u8; 16], u32> {
    let seat = driver.board(device)?.seat;
    let instance = seat.instance.filter(|_| of_instance);
    let text = seat.model.uuid(seat.board, instance);
    let digits: String = text.chars().skip(4).filter(char::is_ascii_hexdigit).collect();
    let bytes = u128::from_str_radix(&digits, 16).map_err(|_| INVALID_DEVICE)?;
    Ok(bytes.to_be_bytes())
}

exports! { driver;
    cuInit(flags: c_uint) { driver.start(flags) }
    cuDriverGetVersion(version: *mut c_int) { put(version, driver.scenario.driver as c_int) }
    cuDeviceGetCount(count: *mut c_int) { put(count, driver.boards.len() as c_int) }
    cuDeviceGet(device: *mut c_int, ordinal: c_int) {
        driver.board(ordinal)?;
        put(device, ordinal)
    }
    cuDeviceGetName(name: *mut c_char, room: c_int, device: c_int) {
        let seat = driver.board(device)?.seat;
        let instance = seat.instance.map_or(String::new(), |it| format!(" {}", it.name));
        put_text(name, room, &format!("{}{instance}", seat.model.name))
    }
    cuDeviceGetUuid(place: *mut [u8; 16], device: c_int) { put(place, uuid(driver, device, false)?) }
    cuDeviceGetUuid_v2(place: *mut [u8; 16], device: c_int) { put(place, uuid(driver, device, true)?) }
    cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) {
        put(bytes, driver.board(device)?.memory.total() as usize)
    }
    cuDeviceGetAttribute(value: *mut c_int, number: c_uint, device: c_int) {
        let seat = driver.board(device)?.seat;
        let known = attribute(number, &seat, driver.scenario.mode);
        if known.is_none() {
            driver.tell(format!("device attribute {number} is not simulated"));
        }
        put(value, known.ok_or(INVALID_VALUE)?)
    }
    cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) {
        let cc = driver.board(device)?.seat.model.cc;
        put(major, cc.0)?;
        put(minor, cc.1)
    }
    cuDeviceGetPCIBusId(place: *mut c_char, room: c_int, device: c_int) {
        put_text(place, room, &address(driver, device)?)
    }
    cuDeviceGetByPCIBusId(device: *mut c_int, wanted: *const c_char) {
        let wanted = text(wanted)?.to_ascii_uppercase();
        let short = |address: &str| {
            let (domain, rest) = address.split_once(':')?;
            (u32::from_str_radix(domain, 16).ok()? == 0).then(|| rest.to_owned())
        };
        let wanted = short(&wanted).ok_or(INVALID_VALUE)?;
        let count = driver.boards.len() as c_int;
        let found = (0..count).find(|device| {
            address(driver, *device).is_ok_and(|it| short(&it).as_ref() == Some(&wanted))
        });
        put(device, found.ok_or(INVALID_DEVICE)?)
    }
    cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) {
        driver.board(device)?;
        driver.board(peer)?;
        put(can, 0)
    }
    cuDevicePrimaryCtxRetain(context: *mut crate::table::Handle, device: c_int) {
        let retained = driver.retain_primary(device)?;
        put(context, retained)
    }
    cuDevicePrimaryCtxRelease_v2(device: c_int) { driver.release_primary(device, false) }
    cuDevicePrimaryCtxReset_v2(device: c_int) { driver.release_primary(device, true) }
    cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) {
        driver.board(device)?.primary.flags = flags;
        Ok(())
    }
    cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int) {
        let primary = &driver.board(device)?.primary;
        put(flags, primary.flags)?;
        put(active, c_int::from(primary.context.is_some()))
    }
}
