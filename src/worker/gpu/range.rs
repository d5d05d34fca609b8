use warpscope_kernels::gpu::headroom::probes;

use super::job::{On, note};
use crate::worker::child::{Emit, Trouble};
use crate::worker::protocol::{Globs, RangeReport, WorkerEvent};

/// Tries how far each path reaches that the device has.
pub(super) fn run(on: &mut On<'_>, globs: &Globs, emit: &mut Emit<'_>) -> Result<(), Trouble> {
    for probe in probes().filter(|probe| globs.matches(probe.path())) {
        if probe.absent(on.machine.facts()).is_some() {
            continue;
        }
        match probe.run(on.machine) {
            Ok(found) => emit(WorkerEvent::Range(RangeReport {
                path: found.path.to_owned(),
                kernel: found.kernel.to_owned(),
                first_bad_log2: found.first_bad_log2,
                tried_log2: found.tried_log2,
                survives_cancelling: Some(found.survives_cancelling),
            }))?,
            Err(error) => note(on, emit, format!("dynamic range of {}", probe.path()), error)?,
        }
    }
    Ok(())
}
