//! NVML's enumerations in the words of this program, and what follows from a compute capability.

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::{Brand, ComputeMode};
use nvml_wrapper::error::NvmlError;
use warpscope_kernels::Sm;

/// The brand as printed on the box.
pub(super) fn brand(brand: Brand) -> &'static str {
    match brand {
        Brand::Unknown => "unknown",
        Brand::Quadro => "Quadro",
        Brand::Tesla => "Tesla",
        Brand::NVS => "NVS",
        Brand::GRID => "GRID",
        Brand::GeForce => "GeForce",
        Brand::Titan => "Titan",
        Brand::VApps => "NVIDIA vApps",
        Brand::VPC => "NVIDIA vPC",
        Brand::VCS => "NVIDIA vCS",
        Brand::VWS => "NVIDIA vWS",
        Brand::CloudGaming => "NVIDIA Cloud Gaming",
        Brand::VGaming => "NVIDIA vGaming",
        Brand::QuadroRTX => "Quadro RTX",
        Brand::NvidiaRTX => "NVIDIA RTX",
        Brand::Nvidia => "NVIDIA",
        Brand::GeForceRTX => "GeForce RTX",
        Brand::TitanRTX => "Titan RTX",
    }
}

/// Who may compute on the device.
pub(super) fn compute_mode(mode: ComputeMode) -> &'static str {
    match mode {
        ComputeMode::Default => "default",
        ComputeMode::ExclusiveThread => "exclusive_thread",
        ComputeMode::Prohibited => "prohibited",
        ComputeMode::ExclusiveProcess => "exclusive_process",
    }
}

/// How the device is shared with virtual machines.
#[cfg(target_os = "linux")]
pub(super) fn virtualization(device: &Device<'_>) -> Result<String, NvmlError> {
    use nvml_wrapper::enum_wrappers::device::GpuVirtualizationMode as Mode;
    let word = match device.virtualization_mode()? {
        Mode::Bare => "none",
        Mode::PassThrough => "pass_through",
        Mode::Vgpu => "vgpu",
        Mode::HostVgpu => "host_vgpu",
        Mode::HostVsga => "host_vsga",
    };
    Ok(word.to_owned())
}

/// The wrapper asks this on Linux only.
#[cfg(not(target_os = "linux"))]
pub(super) fn virtualization(_device: &Device<'_>) -> Result<String, NvmlError> {
    Err(NvmlError::NotSupported)
}

/// CUDA cores (FP32 lanes) of one SM by compute capability; nothing for one that is not known.
///
/// From the arithmetic throughput table of the CUDA C++ Programming Guide: 32-bit floating-point
/// results per clock and SM.
pub(super) fn cores_per_sm(sm: Sm) -> Option<u32> {
    match (sm.major, sm.minor) {
        (3, _) => Some(192),
        (6, 0) | (7, _) | (8, 0) => Some(64),
        (5 | 6 | 8 | 9 | 10 | 11 | 12, _) => Some(128),
        _ => None,
    }
}
