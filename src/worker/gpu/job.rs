use warpscope_kernels::gpu::MachineError;

use super::session::DeviceSession;
use crate::worker::child::{Emit, Trouble};
use crate::worker::protocol::{WorkerEvent, WorkerFailure};

/// What a job works on.
pub(super) struct On<'a> {
    /// UUID of the device.
    pub(super) uuid: &'a str,
    /// The device.
    pub(super) machine: &'a mut dyn DeviceSession,
    /// Clock of its multiprocessors now, MHz.
    pub(super) clock: &'a dyn Fn() -> Option<f64>,
    /// Whether a long measurement has warmed it up.
    pub(super) warm: &'a mut bool,
    /// Highest clock of any sample since the device was acquired, MHz.
    pub(super) best_mhz: &'a mut Option<f64>,
    /// Whether something ran long enough in this job for the clock to have risen.
    pub(super) ramped: bool,
}

/// Notes what one part of a job could not do. The job goes on unless it was stopped or the context is lost.
pub(super) fn note(
    on: &On<'_>,
    emit: &mut Emit<'_>,
    what: String,
    error: MachineError,
) -> Result<(), Trouble> {
    if error == MachineError::Stopped || on.machine.ended().is_some() {
        return Err(Trouble::Machine { what, error });
    }
    Ok(emit(WorkerEvent::Failed(WorkerFailure { what, error }))?)
}
