//! Answers that fill several fields at once.

use nvml_wrapper::Device;
use nvml_wrapper::error::NvmlError;

use super::error::checked;
use super::pci::PciAddress;
use super::probe::Probe;
use super::readers::newer_or_older;
use super::slot::Slot;
use super::{lists, plausible, raw};
use crate::Reading;
use crate::text::printable;
use crate::units::*;

/// PCI address and ids.
pub(super) fn pci(probe: &Probe<'_>, slot: &mut Slot) {
    let info = probe.ask(lists::pci_info);
    let address = info.value().and_then(|info| info.address.parse::<PciAddress>().ok());
    slot.address = address.or(slot.address);
    let identity = &mut slot.gpu.identity;
    identity.pci_device_id = info.clone().map(|info| info.device_id >> 16);
    identity.pci_subsystem_id = info.clone().map(|info| info.subsystem_id);
    identity.pci_bus_id = info.map(|info| {
        address.map_or_else(|| printable(&info.address), |address| address.to_string())
    });
}

/// GPU and memory-controller utilization.
pub(super) fn utilization(probe: &Probe<'_>, slot: &mut Slot) {
    let both = probe.ask(|d| d.utilization_rates());
    slot.gpu.vitals.util_gpu_pct = checked(both.clone(), |both| plausible::percent(both.gpu));
    slot.gpu.vitals.util_memory_pct = checked(both, |both| plausible::percent(both.memory));
}

/// Total, used, free and reserved memory, what is reserved apart where the driver tells it apart.
pub(super) fn memory(probe: &Probe<'_>, slot: &mut Slot) {
    let memory = probe.ask(|d| {
        let newer = d.memory_info().map(|m| (m.total, m.free, m.used, Some(m.reserved)));
        newer_or_older(newer, || {
            raw::memory_info_v1(d).map(|(total, free, used)| (total, free, used, None))
        })
    });
    let memory = checked(memory, |m| plausible::memory(m.0).map(|_| m));
    let vitals = &mut slot.gpu.vitals;
    vitals.memory_total_bytes = memory.clone().map(|m| Bytes(m.0));
    vitals.memory_free_bytes = checked(memory.clone(), |m| plausible::part(m.1, m.0));
    vitals.memory_used_bytes = checked(memory.clone(), |m| plausible::part(m.2, m.0));
    vitals.memory_reserved_bytes = match memory {
        Reading::Value((.., None)) => Reading::Unsupported,
        other => checked(other, |m| plausible::part(m.3.unwrap_or_default(), m.0)),
    };
}

/// The BAR1 aperture.
pub(super) fn bar1(probe: &Probe<'_>, slot: &mut Slot) {
    let bar1 = probe.ask(|d| {
        let bar1 = d.bar1_memory_info()?;
        plausible::memory(bar1.total).map(|_| bar1)
    });
    slot.gpu.vitals.bar1_total_bytes = bar1.clone().map(|it| Bytes(it.total));
    slot.gpu.vitals.bar1_used_bytes = checked(bar1, |it| plausible::part(it.used, it.total));
}

/// How many fans there are to ask.
pub(super) fn fan_count(probe: &Probe<'_>, slot: &mut Slot) {
    const MOST: u32 = 16;
    let count = probe.find(|d| d.num_fans()).unwrap_or(1);
    slot.fans = slot.capped("fans", count, MOST);
}

/// Speed of the fastest of the fans that answer, in percent.
pub(super) fn fan_percent(probe: &Probe<'_>, slot: &mut Slot) {
    let percents = fastest(probe, slot.fans, |device, fan| device.fan_speed(fan));
    slot.gpu.vitals.fan_pct = checked(percents, plausible::fan_percent);
}

/// The same in revolutions per minute.
pub(super) fn fan_rpm(probe: &Probe<'_>, slot: &mut Slot) {
    let speeds = fastest(probe, slot.fans, |device, fan| device.fan_speed_rpm(fan));
    slot.gpu.vitals.fan_rpm = checked(speeds, plausible::rpm);
}

fn fastest(
    probe: &Probe<'_>,
    fans: u32,
    ask: impl Fn(&Device<'_>, u32) -> Result<u32, NvmlError>,
) -> Reading<u32> {
    // NVML calls the number of a fan that is not there a wrong argument; a board cooled by its chassis has none.
    let ask = |device: &Device<'_>, fan| {
        ask(device, fan).map_err(|why| match why {
            NvmlError::InvalidArg => NvmlError::NotSupported,
            other => other,
        })
    };
    (1..fans).fold(probe.ask(|device| ask(device, 0)), |fastest, fan| {
        faster(fastest, |probe| probe.ask(|device| ask(device, fan)), probe)
    })
}

/// Asks one more fan, unless the first already told that there is no answer.
fn faster(
    fastest: Reading<u32>,
    next: impl FnOnce(&Probe<'_>) -> Reading<u32>,
    probe: &Probe<'_>,
) -> Reading<u32> {
    match fastest {
        Reading::Value(a) => match next(probe) {
            Reading::Value(b) => Reading::Value(a.max(b)),
            _ => Reading::Value(a),
        },
        absent => absent,
    }
}

/// Row remapping.
pub(super) fn remapped_rows(probe: &Probe<'_>, slot: &mut Slot) {
    let rows = probe.ask(raw::remapped_rows);
    let vitals = &mut slot.gpu.vitals;
    vitals.rows_remapped_corrected = checked(rows.clone(), |rows| plausible::few(rows.corrected));
    vitals.rows_remapped_uncorrected =
        checked(rows.clone(), |rows| plausible::few(rows.uncorrected));
    vitals.rows_pending = rows.clone().map(|rows| rows.pending);
    vitals.rows_failed = rows.map(|rows| rows.failed);
}
