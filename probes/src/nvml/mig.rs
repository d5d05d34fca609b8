//! MIG instances of a GPU.

use nvml_wrapper::Device;

use super::probe::Probe;
use super::slot::Slot;
use super::{lists, plausible, raw};
use crate::gpu::MigInstance;
use crate::text::printable;
use crate::units::Bytes;

/// Every instance, when MIG is on.
pub(super) fn instances(probe: &Probe<'_>, slot: &mut Slot) {
    const MOST: u32 = 64;
    if probe.device().is_none() {
        return;
    }
    let enabled = slot.gpu.identity.mig_mode.value() == Some(&true);
    let most = if enabled { probe.find(|d| d.mig_device_count()).unwrap_or(0) } else { 0 };
    let most = slot.capped("MIG instances", most, MOST);
    // Indices may have gaps: instances come and go.
    slot.gpu.mig = (0..most)
        .filter_map(|index| Some(instance(index, &probe.find(|d| d.mig_device_by_index(index))?)))
        .collect();
}

fn instance(index: u32, device: &Device<'_>) -> MigInstance {
    let attributes = device.attributes().ok();
    let memory = device.memory_info().ok().filter(|it| plausible::memory(it.total).is_ok());
    let shape = attributes
        .as_ref()
        .filter(|it| plausible::memory(it.memory_size_mb << 20).is_ok())
        .map(|it| (it.gpu_instance_slice_count, it.memory_size_mb));
    MigInstance {
        index,
        name: profile(&lists::name(device).unwrap_or_default(), shape),
        uuid: lists::uuid(device).ok().map(|uuid| printable(&uuid)),
        gpu_instance: raw::gpu_instance_id(device).ok(),
        compute_instance: raw::compute_instance_id(device).ok(),
        sm_count: attributes.and_then(|it| plausible::few(it.multiprocessor_count).ok()),
        memory_total_bytes: memory.as_ref().map(|it| Bytes(it.total)),
        memory_used_bytes: memory.and_then(|it| plausible::part(it.used, it.total).ok()),
    }
}

/// `MIG 3g.40gb`: the end of the driver's name, or made from slices and memory where the name lacks it.
fn profile(name: &str, shape: Option<(u32, u64)>) -> String {
    match (name.rfind("MIG "), shape) {
        (Some(at), _) => printable(&name[at..]),
        (None, Some((slices, mib))) => format!("MIG {slices}g.{}gb", mib.div_ceil(1024)),
        (None, None) => "MIG".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_named_as_nvidia_smi_names_it() {
        assert_eq!(profile("NVIDIA H100 80GB HBM3 MIG 3g.40gb", None), "MIG 3g.40gb");
        assert_eq!(profile("NVIDIA A100-SXM4-40GB", Some((1, 4864))), "MIG 1g.5gb");
        assert_eq!(profile("", None), "MIG");
    }
}
