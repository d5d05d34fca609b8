//! Xid errors of one device, as NVML reports them while they happen.

use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;

use super::probe::Probe;
use super::raw::KeptEvents;
use super::slot::Slot;
use crate::{Reading, xid};

/// What is known of a device's events.
#[derive(Debug, Default)]
pub(super) enum Events {
    /// Not asked for.
    #[default]
    Unknown,
    /// Not offered; not asked for again.
    Unsupported,
    /// Reported from now on.
    Watched(KeptEvents),
}

/// Asks for the device's Xid errors, unless they are reported already.
pub(super) fn watch(probe: &Probe<'_>, slot: &mut Slot) {
    let (Events::Unknown, Some(nvml)) = (&slot.events, probe.library()) else { return };
    let set = probe.ask(|device| {
        let set = nvml.create_event_set()?;
        device.register_events(EventTypes::CRITICAL_XID_ERROR, set).map_err(|why| why.error)
    });
    slot.events = match set {
        Reading::Value(set) => Events::Watched(KeptEvents::keep(set, nvml)),
        Reading::Unsupported => Events::Unsupported,
        _ => Events::Unknown,
    };
}

/// Notes what was reported since last asked. It asks the driver and not the device, so that a device just lost still
/// tells why.
pub(super) fn take(slot: &mut Slot) {
    /// Reports taken at once, at most.
    const MOST: usize = 16;
    let Events::Watched(set) = &slot.events else { return };
    for _ in 0..MOST {
        match set.set().wait(0) {
            Ok(event) => {
                let code = event.event_data.map(|xid| match xid {
                    XidError::Value(xid) => xid,
                    XidError::Unknown => 999,
                });
                code.into_iter().for_each(|code| xid::note(&mut slot.gpu.xids, code));
            }
            Err(NvmlError::Timeout) => return,
            Err(_) => {
                slot.events = Events::Unknown;
                return;
            }
        }
    }
}
