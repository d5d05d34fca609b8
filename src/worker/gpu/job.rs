use warpscope_kernels::gpu::MachineError;

use super::session::DeviceSession;
use super::{autotune, decode, goals, probing, range, selftest, timing};
use crate::worker::child::{Emit, Trouble};
use crate::worker::protocol::{Command, WorkerEvent, WorkerFailure};

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
}

/// Does a job on a device that is held.
pub(super) fn perform(job: &Command, on: &mut On<'_>, emit: &mut Emit<'_>) -> Result<(), Trouble> {
    match job {
        Command::Selftest { kernels } => selftest::run(on, kernels, emit),
        Command::Kernel(timing) => timing::run(on, timing, emit),
        Command::Autotune(timing) => autotune::run(on, timing, emit),
        Command::Decode { .. } => decode::run(on, job, emit),
        Command::Range { paths } => range::run(on, paths, emit),
        Command::Goal { id, cublas } => goals::run(on, id, cublas, emit),
        Command::Probe { ids, cublas } => probing::run(on, ids, cublas, emit),
        _ => {
            let why = "this build has no such job".to_owned();
            Err(Trouble::of(job, MachineError::Refused { why }))
        }
    }
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
