//! NVIDIA GPUs as the kernel sees them on the PCI bus.
//!
//! Any NVML call on a runtime-suspended GPU wakes it, so sysfs is asked first: reading it wakes nothing.
//! Without sysfs (another system, some containers) there is nothing to protect, and the list is empty.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a device sits: domain, bus, device and function. Ordered as CUDA orders by PCI bus id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PciAddress {
    domain: u32,
    bus: u8,
    device: u8,
    function: u8,
}

impl fmt::Display for PciAddress {
    /// As NVML and nvidia-smi print it: `00000000:3B:00.0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08X}:{:02X}:{:02X}.{:X}", self.domain, self.bus, self.device, self.function)
    }
}

impl FromStr for PciAddress {
    type Err = ();

    /// Reads the kernel's form with a domain of four digits and NVML's with eight.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (rest, function) = text.rsplit_once('.').ok_or(())?;
        let mut parts = rest.split(':');
        let (Some(domain), Some(bus), Some(device), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(());
        };
        let byte = |part| u8::from_str_radix(part, 16).map_err(|_| ());
        Ok(Self {
            domain: u32::from_str_radix(domain, 16).map_err(|_| ())?,
            bus: byte(bus)?,
            device: byte(device)?,
            function: byte(function)?,
        })
    }
}

/// One GPU bound to the NVIDIA driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PciGpu {
    pub(super) address: PciAddress,
    pub(super) device_id: u32,
    pub(super) subsystem_id: Option<u32>,
    /// Whether the kernel has put it to sleep.
    pub(super) suspended: bool,
    /// Whether the kernel may: servers keep their GPUs on.
    may_sleep: bool,
    folder: PathBuf,
}

impl PciGpu {
    fn read(folder: PathBuf) -> Option<Self> {
        const NVIDIA: u32 = 0x10de;
        const DISPLAY: u32 = 0x03;
        let address = folder.file_name()?.to_str()?.parse().ok()?;
        if hex(&folder, "vendor")? != NVIDIA || hex(&folder, "class")? >> 16 != DISPLAY {
            return None;
        }
        let subsystem = hex(&folder, "subsystem_device").zip(hex(&folder, "subsystem_vendor"));
        let mut gpu = Self {
            address,
            device_id: hex(&folder, "device")?,
            subsystem_id: subsystem.map(|(device, vendor)| (device << 16) | (vendor & 0xffff)),
            suspended: false,
            may_sleep: word(&folder, "power/control").is_none_or(|control| control != "on"),
            folder,
        };
        gpu.refresh();
        Some(gpu)
    }

    /// Asks again whether it sleeps.
    pub(super) fn refresh(&mut self) {
        self.suspended = self.may_sleep
            && word(&self.folder, "power/runtime_status")
                .is_some_and(|it| it == "suspended" || it == "suspending");
    }
}

fn word(folder: &Path, file: &str) -> Option<String> {
    Some(fs::read_to_string(folder.join(file)).ok()?.trim().to_owned())
}

fn hex(folder: &Path, file: &str) -> Option<u32> {
    u32::from_str_radix(word(folder, file)?.trim_start_matches("0x"), 16).ok()
}

/// Every GPU of the NVIDIA driver, by address. One bound to another driver (nouveau, vfio-pci) or to none
/// is none that NVML could wake.
pub(super) fn scan(sysfs_root: &Path) -> Vec<PciGpu> {
    let Ok(entries) = fs::read_dir(sysfs_root.join("bus/pci/drivers/nvidia")) else {
        return Vec::new();
    };
    let mut gpus: Vec<_> = entries.filter_map(|entry| PciGpu::read(entry.ok()?.path())).collect();
    gpus.sort_by_key(|gpu| gpu.address);
    gpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_an_address_are_one() {
        let kernel: PciAddress = "0000:3b:00.0".parse().expect("kernel form");
        let nvml: PciAddress = "00000000:3B:00.0".parse().expect("NVML form");
        assert_eq!(kernel, nvml);
        assert_eq!(kernel.to_string(), "00000000:3B:00.0");
        assert!(kernel < "0001:01:00.0".parse().expect("another domain"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "pci0000:00",
            "0000:00:00",
            "0000:100:00.0",
            "x:00:00.0",
            "0:0:0:0.0",
            "..",
            "é:1:2.3",
        ] {
            assert_eq!(text.parse::<PciAddress>(), Err(()), "{text}");
        }
    }

    #[test]
    fn a_machine_without_sysfs_has_an_empty_list() {
        assert_eq!(scan(Path::new("/nonexistent")), []);
    }
}
