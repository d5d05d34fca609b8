//! The NVML calls the wrapper does not offer, or offers with a loss.
//!
//! With `lists.rs` the only file of the provider with raw calls. Each goes through the function table the wrapper
//! loaded, so a symbol an old driver lacks is an error here as everywhere else, never a crash.

#![expect(unsafe_code, reason = "NVML is a C library; these calls have no safe wrapper")]

use std::mem::ManuallyDrop;
use std::sync::Arc;

use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper::event::EventSet;
use nvml_wrapper::gpm::GpmSample;
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings::{
    nvmlEventSet_t, nvmlFieldValue_t, nvmlGpmSample_t, nvmlMarginTemperature_t, nvmlMemory_t,
};

use super::plausible;
use super::readers::newer_or_older;

/// Calls a function of NVML by name on a device, its results in zeroed out-parameters.
macro_rules! query {
    ($device:expr, $function:ident, $($out:ident : $ty:ty),+) => {{
        let device: &Device<'_> = $device;
        let function = nvml_sym(device.nvml().lib().$function.as_ref())?;
        $(let mut $out: $ty = Default::default();)+
        // SAFETY: the handle belongs to the library the function was loaded from, which is initialised as long
        // as the device borrows it; every out-parameter is a live, writable place of the type NVML declares.
        nvml_try(unsafe { function(device.handle(), $(&raw mut $out),+) })?;
        Ok(($($out),+))
    }};
}

/// Why clocks are where they are, every bit as NVML gives it; by the older name where the newer is missing.
pub(super) fn clock_event_reasons(device: &Device<'_>) -> Result<u64, NvmlError> {
    let newer = || query!(device, nvmlDeviceGetCurrentClocksEventReasons, mask: u64);
    let older = || query!(device, nvmlDeviceGetCurrentClocksThrottleReasons, mask: u64);
    newer_or_older(newer(), older)
}

/// JPEG engine utilization in percent.
pub(super) fn jpeg_utilization(device: &Device<'_>) -> Result<u32, NvmlError> {
    query!(device, nvmlDeviceGetJpgUtilization, percent: u32, _period_us: u32)
        .map(|both: (u32, u32)| both.0)
}

/// Optical-flow engine utilization in percent.
pub(super) fn ofa_utilization(device: &Device<'_>) -> Result<u32, NvmlError> {
    query!(device, nvmlDeviceGetOfaUtilization, percent: u32, _period_us: u32)
        .map(|both: (u32, u32)| both.0)
}

/// Degrees left to the board's temperature limit.
pub(super) fn margin_temperature(device: &Device<'_>) -> Result<i32, NvmlError> {
    let function = nvml_sym(device.nvml().lib().nvmlDeviceGetMarginTemperature.as_ref())?;
    // `NVML_STRUCT_VERSION`: the size, and the number of the layout in the highest byte.
    let version = size_of::<nvmlMarginTemperature_t>() as u32 | 1 << 24;
    let mut margin = nvmlMarginTemperature_t { version, marginTemperature: 0 };
    // SAFETY: as in `query!`; the structure is NVML's own, and says its version.
    nvml_try(unsafe { function(device.handle(), &raw mut margin) })?;
    Ok(margin.marginTemperature)
}

/// Remapped memory rows of a GPU with row remapping.
#[derive(Clone, Copy, Debug)]
pub(super) struct RemappedRows {
    pub(super) corrected: u32,
    pub(super) uncorrected: u32,
    pub(super) pending: bool,
    pub(super) failed: bool,
}

/// Rows remapped so far, and whether more wait or failed.
pub(super) fn remapped_rows(device: &Device<'_>) -> Result<RemappedRows, NvmlError> {
    let rows: Result<(u32, u32, u32, u32), NvmlError> = query!(device, nvmlDeviceGetRemappedRows,
        corrected: u32, uncorrected: u32, pending: u32, failed: u32);
    let (corrected, uncorrected, pending, failed) = rows?;
    let (pending, failed) = (plausible::switch(pending)?, plausible::switch(failed)?);
    Ok(RemappedRows { corrected, uncorrected, pending, failed })
}

/// GPU instance id of a MIG device.
pub(super) fn gpu_instance_id(device: &Device<'_>) -> Result<u32, NvmlError> {
    query!(device, nvmlDeviceGetGpuInstanceId, id: u32)
}

/// Compute instance id of a MIG device.
pub(super) fn compute_instance_id(device: &Device<'_>) -> Result<u32, NvmlError> {
    query!(device, nvmlDeviceGetComputeInstanceId, id: u32)
}

/// Total, free and used memory as drivers before R510 give it: what is reserved counts as used.
pub(super) fn memory_info_v1(device: &Device<'_>) -> Result<(u64, u64, u64), NvmlError> {
    let function = nvml_sym(device.nvml().lib().nvmlDeviceGetMemoryInfo.as_ref())?;
    let mut memory = nvmlMemory_t { total: 0, free: 0, used: 0 };
    // SAFETY: as in `query!`; the structure is NVML's own.
    nvml_try(unsafe { function(device.handle(), &raw mut memory) })?;
    Ok((memory.total, memory.free, memory.used))
}

/// One field value: the number and the driver's own clock in microseconds.
#[derive(Debug)]
pub(super) struct FieldValue {
    pub(super) number: Result<u64, NvmlError>,
    /// The same where it may be below zero.
    pub(super) signed: Result<i32, NvmlError>,
    pub(super) at_us: i64,
}

/// Asks for several numbered fields in one call, each with its scope; the wrapper cannot name a scope.
pub(super) fn field_values<const N: usize>(
    device: &Device<'_>,
    ids: [(u32, u32); N],
) -> Result<[FieldValue; N], NvmlError> {
    let function = nvml_sym(device.nvml().lib().nvmlDeviceGetFieldValues.as_ref())?;
    let mut values = ids.map(|(field, scope)| {
        // SAFETY: a C structure of integers and a union of numbers, for which all zeroes is a value.
        let mut value: nvmlFieldValue_t = unsafe { std::mem::zeroed() };
        value.fieldId = field;
        value.scopeId = scope;
        value
    });
    let count = i32::try_from(N).map_err(|_| NvmlError::InvalidArg)?;
    // SAFETY: as in `query!`; `values` has `count` elements.
    nvml_try(unsafe { function(device.handle(), count, values.as_mut_ptr()) })?;
    Ok(values.map(|value| FieldValue {
        number: field_number(&value),
        signed: field_signed(&value),
        at_us: value.timestamp,
    }))
}

/// Whether there is a value. A driver that does not know a field may call its number a wrong argument.
fn answered(field: &nvmlFieldValue_t) -> Result<(), NvmlError> {
    nvml_try(field.nvmlReturn).map_err(|why| match why {
        NvmlError::InvalidArg => NvmlError::NotSupported,
        other => other,
    })
}

fn field_number(field: &nvmlFieldValue_t) -> Result<u64, NvmlError> {
    answered(field)?;
    // SAFETY: every member is a plain number within the union's zeroed eight bytes, so that any may be read;
    // which one means something is what `valueType` says.
    unsafe {
        match field.valueType {
            1 => Ok(u64::from(field.value.uiVal)),
            2 | 3 => Ok(field.value.ullVal),
            4 => u64::try_from(field.value.sllVal).map_err(|_| NvmlError::UnexpectedVariant(4)),
            other => Err(NvmlError::UnexpectedVariant(other)),
        }
    }
}

/// A number that may be negative, whatever type the driver says it has.
fn field_signed(field: &nvmlFieldValue_t) -> Result<i32, NvmlError> {
    answered(field)?;
    // SAFETY: as above.
    unsafe {
        match field.valueType {
            1 => Ok(field.value.uiVal.cast_signed()),
            4 => i32::try_from(field.value.sllVal).map_err(|_| NvmlError::UnexpectedVariant(4)),
            5 => Ok(field.value.siVal),
            other => Err(NvmlError::UnexpectedVariant(other)),
        }
    }
}

/// A GPM sample kept from one poll to the next, which the wrapper's borrowed type cannot be.
#[derive(Debug)]
pub(super) struct KeptSample {
    handle: nvmlGpmSample_t,
    nvml: Arc<Nvml>,
}

// SAFETY: an opaque handle to memory of the library, which any one thread at a time may use.
unsafe impl Send for KeptSample {}

impl KeptSample {
    /// Takes a sample of this library out of the wrapper's lifetime. The library stays until the sample is freed.
    pub(super) fn keep(sample: GpmSample<'_>, nvml: &Arc<Nvml>) -> Self {
        Self { handle: sample.into_handle(), nvml: Arc::clone(nvml) }
    }

    /// The sample, to be compared with another.
    pub(super) fn sample(&self) -> ManuallyDrop<GpmSample<'_>> {
        // SAFETY: the handle came from `keep`, which took its ownership; this one never frees it.
        ManuallyDrop::new(unsafe { GpmSample::from_handle(&self.nvml, self.handle) })
    }
}

/// A set of events kept from one poll to the next, which the wrapper's borrowed type cannot be.
#[derive(Debug)]
pub(super) struct KeptEvents {
    handle: nvmlEventSet_t,
    nvml: Arc<Nvml>,
}

// SAFETY: an opaque handle to memory of the library, which any one thread at a time may use.
unsafe impl Send for KeptEvents {}

impl KeptEvents {
    /// Takes a set of this library out of the wrapper's lifetime. The library stays until the set is freed.
    pub(super) fn keep(set: EventSet<'_>, nvml: &Arc<Nvml>) -> Self {
        let set = ManuallyDrop::new(set);
        // SAFETY: the set is not dropped, so that the handle has one owner, this one.
        Self { handle: unsafe { set.handle() }, nvml: Arc::clone(nvml) }
    }

    /// The set, to be waited for.
    pub(super) fn set(&self) -> ManuallyDrop<EventSet<'_>> {
        // SAFETY: the handle came from `keep`, which took its ownership; this one never frees it.
        ManuallyDrop::new(unsafe { EventSet::new(self.handle, &self.nvml) })
    }
}

impl Drop for KeptEvents {
    fn drop(&mut self) {
        drop(ManuallyDrop::into_inner(self.set()));
    }
}

impl Drop for KeptSample {
    fn drop(&mut self) {
        drop(ManuallyDrop::into_inner(self.sample()));
    }
}
