//! NVLink: throughput from the driver's byte counters every poll, the links themselves now and then.

use nvml_wrapper::enum_wrappers::nv_link::ErrorCounter;
use nvml_wrapper::sys_exports::field_id::{
    NVML_FI_DEV_MEMORY_TEMP, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX,
    NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, NVML_FI_DEV_POWER_INSTANT,
};

use super::error::{checked, same_absence};
use super::probe::Probe;
use super::raw::{self, FieldValue};
use super::slot::Slot;
use super::{lists, plausible};
use crate::Reading;
use crate::gpu::NvLink;
use crate::text::printable;
use crate::units::BytesPerSecond;

/// Scope of a link field that means all links together.
const ALL_LINKS: u32 = u32::MAX;

/// `NVML_POWER_SCOPE_GPU`: the board, not the module or the memory alone.
const GPU_SCOPE: u32 = 0;

/// KiB moved over all links since the driver was loaded, at a time of the driver's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counters {
    at_us: i64,
    rx_kib: u64,
    tx_kib: u64,
}

/// NVLink throughput, memory temperature and instant power: one call for the fields that have no function of their own.
pub(super) fn counters(probe: &Probe<'_>, slot: &mut Slot) {
    let fields = probe.ask(|d| {
        raw::field_values(
            d,
            [
                (NVML_FI_DEV_MEMORY_TEMP, 0),
                (NVML_FI_DEV_POWER_INSTANT, GPU_SCOPE),
                (NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, ALL_LINKS),
                (NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, ALL_LINKS),
            ],
        )
    });
    let before = slot.counters.take();
    let at_us = fields.value().and_then(|fields| fields.last()).map_or(0, |field| field.at_us);
    let [memory, power, rx, tx] = apart(fields, |field| probe.ask(|_| field.number));
    let [rx, tx] = [rx, tx].map(|counter| checked(counter, plausible::events));
    if let (Reading::Value(rx_kib), Reading::Value(tx_kib)) = (&rx, &tx) {
        slot.counters = Some(Counters { at_us, rx_kib: *rx_kib, tx_kib: *tx_kib });
    }
    let elapsed = before.map(|before| (before, at_us.saturating_sub(before.at_us) as f64 / 1e6));
    let vitals = &mut slot.gpu.vitals;
    vitals.temperature_memory_c = checked(memory, plausible::memory_celsius);
    vitals.power_instant_w = checked(power, plausible::drawn_milliwatts);
    vitals.nvlink_rx_bps = rate(rx, elapsed.map(|(before, seconds)| (before.rx_kib, seconds)));
    vitals.nvlink_tx_bps = rate(tx, elapsed.map(|(before, seconds)| (before.tx_kib, seconds)));
}

/// Each field as a reading of its own.
pub(super) fn apart<T, const N: usize>(
    fields: Reading<[FieldValue; N]>,
    read: impl Fn(FieldValue) -> Reading<T>,
) -> [Reading<T>; N] {
    match fields {
        Reading::Value(fields) => fields.map(read),
        absent => {
            let absent = absent.map(|_| ());
            std::array::from_fn(|_| same_absence(&absent))
        }
    }
}

/// Bytes per second between two readings of a KiB counter; late until there are two, or after a reset.
fn rate(now: Reading<u64>, before: Option<(u64, f64)>) -> Reading<BytesPerSecond> {
    let Reading::Value(now) = now else { return now.map(|_| BytesPerSecond(0.0)) };
    match before {
        Some((then, elapsed_s)) if elapsed_s > 0.0 && now >= then => {
            plausible::link_rate((now - then) as f64 * 1024.0 / elapsed_s)
                .map_or(Reading::Late(None), Reading::Value)
        }
        _ => Reading::Late(None),
    }
}

const ERRORS: [ErrorCounter; 4] = [
    ErrorCounter::DlReplay,
    ErrorCounter::DlRecovery,
    ErrorCounter::DlCrcFlit,
    ErrorCounter::DlCrcData,
];

/// Every link of the device: NVML has no list, so they are asked in order until one is not there.
pub(super) fn states(probe: &Probe<'_>, slot: &mut Slot) {
    const MOST: u32 = 64;
    if probe.device().is_none() {
        return;
    }
    slot.gpu.nvlinks = (0..MOST).map_while(|link| state(probe, link)).collect();
}

fn state(probe: &Probe<'_>, link: u32) -> Option<NvLink> {
    let active = probe.find(|d| d.link_wrapper_for(link).is_active())?;
    let found = NvLink { link, active, version: None, remote: None, errors: None };
    if !active {
        return Some(found);
    }
    let errors =
        ERRORS.map(|counter| probe.find(|d| d.link_wrapper_for(link).error_counter(counter)));
    Some(NvLink {
        version: probe.find(|d| d.link_wrapper_for(link).version().and_then(plausible::link)),
        remote: probe.find(|d| lists::link_end(d, link)).map(|pci| printable(&pci.address)),
        errors: errors
            .iter()
            .flatten()
            .copied()
            .reduce(u64::saturating_add)
            .filter(|count| plausible::events(*count).is_ok()),
        ..found
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_two_counts_and_time_between_them() {
        assert_eq!(rate(3000.into(), Some((1000, 2.0))), BytesPerSecond(1_024_000.0).into());
        assert_eq!(rate(3000.into(), None), Reading::Late(None));
        assert_eq!(rate(3000.into(), Some((1000, 0.0))), Reading::Late(None));
        assert_eq!(
            rate(10.into(), Some((1000, 1.0))),
            Reading::Late(None),
            "the counter was reset"
        );
        assert_eq!(rate(Reading::Unsupported, Some((1000, 1.0))), Reading::Unsupported);
    }
}
