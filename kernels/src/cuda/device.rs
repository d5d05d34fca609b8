//! What the driver says of a device.
#![expect(unsafe_code, reason = "asks libcuda, which writes its answers through pointers")]

use std::ffi::{CStr, c_char, c_int};

use cudarc::driver::sys::{CUdevice, CUdevice_attribute as Attribute, CUuuid};

use super::driver::Driver;
use crate::Sm;
use crate::gpu::{DeviceFacts, MachineError};

/// One device of a driver that was started.
#[derive(Clone, Copy)]
pub(super) struct Device {
    pub(super) handle: CUdevice,
}

impl Device {
    /// Every device that is visible.
    pub(super) fn all(driver: &Driver) -> Result<Vec<Self>, MachineError> {
        let mut count = 0;
        // SAFETY: `count` is written.
        unsafe { driver.device_count(&raw mut count) }?;
        (0..count).map(|ordinal| Self::at(driver, ordinal)).collect()
    }

    fn at(driver: &Driver, ordinal: c_int) -> Result<Self, MachineError> {
        let mut handle = 0;
        // SAFETY: `handle` is written.
        unsafe { driver.device(&raw mut handle, ordinal) }?;
        Ok(Self { handle })
    }

    /// Its UUID as NVML and `CUDA_VISIBLE_DEVICES` write it. The driver says only by the name whether it is a MIG instance.
    pub(super) fn uuid(self, driver: &Driver) -> Result<String, MachineError> {
        let mut uuid = CUuuid { bytes: [0; 16] };
        // SAFETY: `uuid` is written.
        unsafe { driver.device_uuid(&raw mut uuid, self.handle) }?;
        // Characters of C have a sign on x86 and none on ARM.
        let bytes = uuid.bytes.map(|byte| byte.to_ne_bytes()[0]);
        Ok(uuid_text(is_instance(&self.name(driver)?), bytes))
    }

    /// One attribute by its number.
    pub(super) fn attribute(self, driver: &Driver, number: i32) -> Result<i32, MachineError> {
        let mut value = 0;
        // SAFETY: `value` is written; a number the driver does not know is an error.
        unsafe { driver.device_attribute(&raw mut value, number, self.handle) }?;
        Ok(value)
    }

    /// What kernels need to know.
    pub(super) fn facts(self, driver: &Driver) -> Result<DeviceFacts, MachineError> {
        let ask = |attribute: Attribute| self.attribute(driver, attribute as i32);
        let count = |attribute| ask(attribute).map(|value| u32::try_from(value).unwrap_or(0));
        let major = ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let shared_per_block = count(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK)?;
        let optin = Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        Ok(DeviceFacts {
            name: self.name(driver)?,
            sm: compute_capability(major, minor)?,
            sms: count(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            shared_per_block,
            shared_per_block_optin: count(optin)?.max(shared_per_block),
            l2_bytes: count(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
            memory_bytes: self.memory(driver)?,
            driver_cuda: driver_version(driver)?,
            simulated: driver.simulated,
            tuned: crate::gpu::TunedConfigs::default(),
        })
    }

    fn name(self, driver: &Driver) -> Result<String, MachineError> {
        let mut name = [0 as c_char; 256];
        // SAFETY: one byte less than the array has is offered, so a zero stands behind whatever is written.
        unsafe { driver.device_name(name.as_mut_ptr(), name.len() as c_int - 1, self.handle) }?;
        // SAFETY: the array ends with a zero.
        let text = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy();
        Ok(text.chars().filter(|c| !c.is_control()).collect())
    }

    fn memory(self, driver: &Driver) -> Result<u64, MachineError> {
        let mut bytes = 0;
        // SAFETY: `bytes` is written.
        unsafe { driver.device_memory(&raw mut bytes, self.handle) }?;
        Ok(bytes as u64)
    }
}

/// Starts the driver.
pub(super) fn start(driver: &Driver) -> Result<(), MachineError> {
    // SAFETY: zero is the only value of the flags.
    unsafe { driver.init(0) }
}

/// CUDA version of the driver, `12080` for 12.8; works before it is started.
pub(super) fn driver_version(driver: &Driver) -> Result<u32, MachineError> {
    let mut version = 0;
    // SAFETY: `version` is written.
    unsafe { driver.driver_version(&raw mut version) }?;
    Ok(u32::try_from(version).unwrap_or(0))
}

fn compute_capability(major: i32, minor: i32) -> Result<Sm, MachineError> {
    match (u8::try_from(major), u8::try_from(minor)) {
        (Ok(major), Ok(minor @ 0..=9)) => Ok(Sm::new(major, minor)),
        _ => Err(MachineError::refused(format!(
            "the driver gives {major}.{minor} as compute capability"
        ))),
    }
}

/// Whether a name is that of a MIG instance: `NVIDIA A100-SXM4-40GB MIG 1g.5gb`.
fn is_instance(name: &str) -> bool {
    name.contains(" MIG ")
}

/// `GPU-` or `MIG-` and the bytes in the usual groups.
fn uuid_text(instance: bool, bytes: [u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let groups = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    format!("{}-{}", if instance { "MIG" } else { "GPU" }, groups.join("-"))
}

/// Whether two texts name the same device: `GPU-` and `MIG-` do not count, nor does case.
pub(super) fn same_uuid(one: &str, other: &str) -> bool {
    fn bare(uuid: &str) -> &str {
        uuid.strip_prefix("GPU-").or_else(|| uuid.strip_prefix("MIG-")).unwrap_or(uuid)
    }
    bare(one).eq_ignore_ascii_case(bare(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The form of `nvidia-smi -L`.
    #[test]
    fn uuids_are_written_as_nvml_does() {
        let bytes = std::array::from_fn(|at| at as u8 * 0x11);
        let text = uuid_text(is_instance("NVIDIA H200"), bytes);
        assert_eq!(text, "GPU-00112233-4455-6677-8899-aabbccddeeff");
        let instance = uuid_text(is_instance("NVIDIA A100-SXM4-40GB MIG 1g.5gb"), bytes);
        assert_eq!(instance, text.replacen("GPU", "MIG", 1));
        assert!(same_uuid(&text, "MIG-00112233-4455-6677-8899-AABBCCDDEEFF"));
        assert!(!same_uuid(&text, "GPU-10112233-4455-6677-8899-aabbccddeeff"));
    }

    #[test]
    fn a_compute_capability_that_cannot_be_is_refused() {
        assert_eq!(compute_capability(12, 1), Ok(Sm::new(12, 1)));
        for (major, minor) in [(-1, 0), (7, 10), (300, 0)] {
            assert!(compute_capability(major, minor).is_err());
        }
    }
}
