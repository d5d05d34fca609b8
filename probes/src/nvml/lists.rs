//! Texts and lists whose length the library says, and is not believed.
//!
//! The wrapper allocates what the library counts, and reads texts to wherever they end; so these calls are made here,
//! through the function table it loaded, with buffers of our own size.

#![expect(unsafe_code, reason = "NVML is a C library; the safe wrapper trusts its counts")]

use std::ffi::{CStr, c_char};

use nvml_wrapper::enum_wrappers::device::RetirementCause;
use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings::{
    nvmlPciInfo_t, nvmlProcessInfo_t, nvmlProcessUtilizationSample_t,
    nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE,
};

use super::error::absurd;
use super::readers::newer_or_older;

/// Room for any text of NVML's: its longest, names and UUIDs, have 96.
const TEXT: usize = 96;

/// Calls a function that writes a text.
macro_rules! text {
    ($library:expr, $function:ident $(, $handle:expr)?) => {{
        let function = nvml_sym($library.lib().$function.as_ref())?;
        let mut room = [0; TEXT];
        // SAFETY: the handle, where there is one, belongs to the library the function was loaded from, which is
        // initialised as long as it is borrowed; `room` has the length that is given.
        nvml_try(unsafe { function($($handle,)? room.as_mut_ptr(), TEXT as u32) })?;
        ended(&room)
    }};
}

/// The text in a buffer; one that does not end in it is none.
fn ended(room: &[c_char]) -> Result<String, NvmlError> {
    let bytes: Vec<u8> = room.iter().flat_map(|c| c.to_ne_bytes()).collect();
    let text = CStr::from_bytes_until_nul(&bytes).map_err(|_| absurd())?;
    Ok(text.to_str()?.to_owned())
}

/// Version of the driver.
pub(super) fn driver_version(nvml: &Nvml) -> Result<String, NvmlError> {
    text!(nvml, nvmlSystemGetDriverVersion)
}

/// Version of the library.
pub(super) fn library_version(nvml: &Nvml) -> Result<String, NvmlError> {
    text!(nvml, nvmlSystemGetNVMLVersion)
}

/// Product name.
pub(super) fn name(device: &Device<'_>) -> Result<String, NvmlError> {
    text!(device.nvml(), nvmlDeviceGetName, device.handle())
}

/// Identifier of the board, or of a MIG instance.
pub(super) fn uuid(device: &Device<'_>) -> Result<String, NvmlError> {
    text!(device.nvml(), nvmlDeviceGetUUID, device.handle())
}

/// Version of the video BIOS.
pub(super) fn vbios_version(device: &Device<'_>) -> Result<String, NvmlError> {
    text!(device.nvml(), nvmlDeviceGetVbiosVersion, device.handle())
}

/// Part number of the board.
pub(super) fn board_part_number(device: &Device<'_>) -> Result<String, NvmlError> {
    text!(device.nvml(), nvmlDeviceGetBoardPartNumber, device.handle())
}

/// What is at one end of a bus or a link.
#[derive(Clone, Debug)]
pub(super) struct PciInfo {
    pub(super) address: String,
    /// Device in the high half, vendor in the low one.
    pub(super) device_id: u32,
    pub(super) subsystem_id: u32,
}

/// Calls a function that describes a PCI device.
macro_rules! pci {
    ($device:expr, $function:ident $(, $link:expr)?) => {{
        let function = nvml_sym($device.nvml().lib().$function.as_ref())?;
        // SAFETY: a C structure of integers and arrays of them, for which all zeroes is a value.
        let mut info: nvmlPciInfo_t = unsafe { std::mem::zeroed() };
        // SAFETY: as in `text!`.
        nvml_try(unsafe { function($device.handle(), $($link,)? &raw mut info) })?;
        let (device_id, subsystem_id) = (info.pciDeviceId, info.pciSubSystemId);
        Ok(PciInfo { address: ended(&info.busId)?, device_id, subsystem_id })
    }};
}

/// Where the device is on the bus.
pub(super) fn pci_info(device: &Device<'_>) -> Result<PciInfo, NvmlError> {
    pci!(device, nvmlDeviceGetPciInfo_v3)
}

/// What is at the other end of an NVLink.
pub(super) fn link_end(device: &Device<'_>, link: u32) -> Result<PciInfo, NvmlError> {
    pci!(device, nvmlDeviceGetNvLinkRemotePciInfo_v2, link)
}

/// A list, and how long the library says it is.
#[derive(Clone, Debug)]
pub(super) struct Listed<T> {
    pub(super) items: Vec<T>,
    pub(super) claimed: u32,
}

/// The most items of a list there is room for: more than the processes and samples of any GPU.
pub(super) const MOST_LISTED: u32 = 4096;

/// Asks how long a list is, then for the list, with room for a few that are added meanwhile. No function writes more than
/// there is room for.
fn listed<T: Clone>(
    blank: T,
    read: impl Fn(*mut u32, *mut T) -> u32,
) -> Result<Listed<T>, NvmlError> {
    const HEADROOM: u32 = 5;
    let mut claimed = 0;
    let code = read(&raw mut claimed, std::ptr::null_mut());
    counted(code)?;
    // Success without room means that the list is empty, whatever its length is said to be.
    if claimed == 0 || (code == 0 && claimed > MOST_LISTED) {
        return Ok(Listed { items: Vec::new(), claimed });
    }
    let room = claimed.saturating_add(HEADROOM).min(MOST_LISTED);
    let mut items = vec![blank; room as usize];
    let mut filled = room;
    nvml_try(read(&raw mut filled, items.as_mut_ptr()))?;
    // Nobody knows what a library wrote that says it wrote more than it could; not more than it announced.
    let written = if filled <= room { filled } else { claimed };
    items.truncate(if written <= room { written as usize } else { 0 });
    Ok(Listed { items, claimed: claimed.max(filled) })
}

/// Asked for nothing but its length, a list that is not empty does not fit.
fn counted(code: u32) -> Result<(), NvmlError> {
    if code == nvmlReturn_enum_NVML_ERROR_INSUFFICIENT_SIZE { Ok(()) } else { nvml_try(code) }
}

/// A process, and the bytes it holds; `None` where the driver cannot tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProcessInfo {
    pub(super) pid: u32,
    pub(super) memory: Option<u64>,
}

macro_rules! processes {
    ($device:expr, $function:ident) => {{
        let function = nvml_sym($device.nvml().lib().$function.as_ref())?;
        let blank =
            nvmlProcessInfo_t { pid: 0, usedGpuMemory: 0, gpuInstanceId: 0, computeInstanceId: 0 };
        let read = |count, place| {
            // SAFETY: as in `text!`; the places are `listed`'s.
            unsafe { function($device.handle(), count, place) }
        };
        let list = listed(blank, read)?;
        Ok(Listed { items: list.items.iter().map(process).collect(), claimed: list.claimed })
    }};
}

fn process(info: &nvmlProcessInfo_t) -> ProcessInfo {
    let known = info.usedGpuMemory != u64::MAX;
    ProcessInfo { pid: info.pid, memory: known.then_some(info.usedGpuMemory) }
}

/// Processes that compute.
pub(super) fn computing(device: &Device<'_>) -> Result<Listed<ProcessInfo>, NvmlError> {
    let newer = || processes!(device, nvmlDeviceGetComputeRunningProcesses_v3);
    newer_or_older(newer(), || processes!(device, nvmlDeviceGetComputeRunningProcesses_v2))
}

/// Processes that draw.
pub(super) fn drawing(device: &Device<'_>) -> Result<Listed<ProcessInfo>, NvmlError> {
    let newer = || processes!(device, nvmlDeviceGetGraphicsRunningProcesses_v3);
    newer_or_older(newer(), || processes!(device, nvmlDeviceGetGraphicsRunningProcesses_v2))
}

/// Processes that compute by way of the Multi-Process Service.
pub(super) fn sharing(device: &Device<'_>) -> Result<Listed<ProcessInfo>, NvmlError> {
    processes!(device, nvmlDeviceGetMPSComputeRunningProcesses_v3)
}

/// What processes used of the device, a sample each.
pub(super) fn process_samples(
    device: &Device<'_>,
    since_us: u64,
) -> Result<Listed<nvmlProcessUtilizationSample_t>, NvmlError> {
    let function = nvml_sym(device.nvml().lib().nvmlDeviceGetProcessUtilization.as_ref())?;
    let blank = nvmlProcessUtilizationSample_t {
        pid: 0,
        timeStamp: 0,
        smUtil: 0,
        memUtil: 0,
        encUtil: 0,
        decUtil: 0,
    };
    // SAFETY: as in `text!`; the places are `listed`'s.
    listed(blank, |count, place| unsafe { function(device.handle(), place, count, since_us) })
}

/// How many pages were retired for this cause; the pages themselves are not asked for.
pub(super) fn retired_pages(device: &Device<'_>, cause: RetirementCause) -> Result<u32, NvmlError> {
    let function = nvml_sym(device.nvml().lib().nvmlDeviceGetRetiredPages.as_ref())?;
    let mut count = 0;
    // SAFETY: as in `text!`; with a count of zero no page is written.
    counted(unsafe {
        function(device.handle(), cause.as_c(), &raw mut count, std::ptr::null_mut())
    })?;
    Ok(count)
}
