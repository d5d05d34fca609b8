use super::{Catalogue, Part};
use crate::gpu::{Gpu, Identity, Presence, Vitals};
use crate::reading::Reading;
use crate::units::{Bits, Bytes, BytesPerSecond, Watts};

/// What is looked at on a machine without a GPU, as requests to [`Catalogue::parse_request`].
pub const DEFAULT_WHAT_IF: &[&str] = &["GTX 1060", "V100", "T4", "RTX 2080 Ti", "A10", "H200"];

/// A GPU that is not there, as the catalogue knows it; `ordinal` is its place in the what-if list.
///
/// Its memory is what the driver of such a board shows: a T4 is sold with 16 GB and shows 15 360 MiB. Power limits are the board power a new product comes
/// with. The highest clocks stay absent: GeForce cards run above the boost clock they are sold with.
/// Whatever would have to be measured is absent.
pub fn what_if(part: &Part, ordinal: u32) -> Gpu {
    let key = format!("what-if:{}#{ordinal}", part.slug());
    let arch = Catalogue::load().arch(part.sm);
    let cores = arch.and_then(|arch| arch.rates.get(&super::Peak::Fp32));
    let identity = Identity {
        name: part.market_name.clone().into(),
        pci_device_id: part.pci_ids.first().map_or(Reading::Unsupported, |id| id.0.into()),
        architecture: arch.map_or(Reading::Unsupported, |arch| arch.family.clone().into()),
        sm: part.sm.into(),
        sm_count: part.sms.into(),
        cuda_cores: cores.map_or(Reading::Unsupported, |rate| (part.sms * *rate as u32).into()),
        memory_type: part.memory_type.clone().into(),
        memory_bus_bit: Bits(part.bus_bits).into(),
        memory_bandwidth_bps: BytesPerSecond(part.bandwidth_gbs * 1e9).into(),
        ..Identity::default()
    };
    let vitals = Vitals {
        memory_total_bytes: Bytes(part.visible_bytes()).into(),
        power_limit_w: Watts(part.tdp_w).into(),
        power_limit_default_w: Watts(part.tdp_w).into(),
        ..Vitals::default()
    };
    Gpu { index: ordinal, key, presence: Presence::WhatIf, identity, vitals, ..Gpu::default() }
}

/// Fills in what the driver of a real GPU does not tell: memory type, and the SM count where NVML
/// has no answer.
///
/// Known by PCI device id alone, never by name, and only where every product with that id agrees.
/// A value, a denial or an error of the driver stays.
pub fn enrich(gpu: &mut Gpu) {
    let Some(id) = gpu.identity.pci_device_id.value() else { return };
    let is_known =
        gpu.identity.memory_type.value().is_some() && gpu.identity.sm_count.value().is_some();
    if gpu.presence == Presence::WhatIf || is_known {
        return;
    }
    let parts = Catalogue::load().by_pci_id(*id);
    fill(&mut gpu.identity.memory_type, &parts, |part| part.memory_type.clone());
    fill(&mut gpu.identity.sm_count, &parts, |part| part.sms);
}

fn fill<T: PartialEq>(reading: &mut Reading<T>, parts: &[&Part], fact: impl Fn(&Part) -> T) {
    let mut facts = parts.iter().map(|part| fact(part));
    if let (Reading::Unsupported, Some(first)) = (&*reading, facts.next())
        && facts.all(|other| other == first)
    {
        *reading = Reading::Value(first);
    }
}
