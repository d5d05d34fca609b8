//! Where a board slows down and shuts down. From Ada and Hopper on that is reported as T.Limit, an offset in degrees to a limit that only the board
//! knows, by numbered fields; the call that told temperatures is deprecated since, and is asked only where there are no such fields.

use nvml_wrapper::enum_wrappers::device::TemperatureThreshold;

use super::error::checked;
use super::probe::Probe;
use super::readers::celsius;
use super::slot::Slot;
use super::{links, plausible, raw};
use crate::Reading;
use crate::units::Celsius;

/// `NVML_FI_DEV_TEMPERATURE_*_TLIMIT`: shutdown, slowdown, memory's maximum, maximum.
const FIELDS: [(u32, u32); 4] = [(193, 0), (194, 0), (195, 0), (196, 0)];

/// All limits of a board.
pub(super) fn limits(probe: &Probe<'_>, slot: &mut Slot) {
    let fields = probe.ask(|device| raw::field_values(device, FIELDS));
    let [shutdown, slowdown, memory, most] =
        links::apart(fields, |field| checked(probe.ask(|_| field.signed), plausible::tlimit));
    let known = [&shutdown, &slowdown, &most].iter().any(|limit| limit.value().is_some());
    let threshold = |which| -> Reading<Celsius> {
        if known {
            return Reading::Unsupported;
        }
        probe.ask(|device| device.temperature_threshold(which).and_then(celsius))
    };
    let vitals = &mut slot.gpu.vitals;
    vitals.temperature_slowdown_c = threshold(TemperatureThreshold::Slowdown);
    vitals.temperature_shutdown_c = threshold(TemperatureThreshold::Shutdown);
    vitals.temperature_max_c = threshold(TemperatureThreshold::GpuMax);
    vitals.tlimit_shutdown_c = shutdown;
    vitals.tlimit_slowdown_c = slowdown;
    vitals.tlimit_memory_max_c = memory;
    vitals.tlimit_max_c = most;
}
