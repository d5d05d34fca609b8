use std::io;

use warpscope_kernels::gpu::MachineError;

use super::held::Held;
use super::request::Request;
use super::{contest, decode, goals, headroom, probing, selftest, timing};
use crate::worker::{BenchEvent, WorkerFailure};

/// Says something to the parent.
pub(super) type Say<'a> = dyn FnMut(BenchEvent) -> io::Result<()> + 'a;

/// Why a job ended early.
pub(super) enum Trouble {
    /// The machine did not do something.
    Machine {
        /// What, for a sentence.
        what: String,
        /// Why not.
        error: MachineError,
    },
    /// Somebody else is on the device.
    Away(String),
    /// Nobody hears what is said.
    Output(io::Error),
}

impl Trouble {
    /// A job that failed as a whole.
    pub(super) fn of(job: &Request, error: MachineError) -> Self {
        Self::Machine { what: job.to_string(), error }
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// What a job works on.
pub(super) struct On<'a> {
    /// UUID of the device.
    pub(super) uuid: &'a str,
    /// The device.
    pub(super) machine: &'a mut dyn Held,
    /// Clock of its multiprocessors now, MHz.
    pub(super) clock: &'a dyn Fn() -> Option<f64>,
    /// Whether a long measurement has warmed it up.
    pub(super) warm: &'a mut bool,
}

/// Does a job on a device that is held.
pub(super) fn perform(job: &Request, on: &mut On<'_>, say: &mut Say<'_>) -> Result<(), Trouble> {
    match job {
        Request::Selftest { kernels } => selftest::run(on, kernels, say),
        Request::Kernel(timing) => timing::run(on, timing, say),
        Request::Variants(timing) => contest::run(on, timing, say),
        Request::Decode { .. } => decode::run(on, job, say),
        Request::Headroom { paths } => headroom::run(on, paths, say),
        Request::Goal { id, cublas } => goals::run(on, id, cublas, say),
        Request::Probe { ids, cublas } => probing::run(on, ids, cublas, say),
        _ => {
            let why = "this build has no such job".to_owned();
            Err(Trouble::of(job, MachineError::Refused { why }))
        }
    }
}

/// Notes what one part of a job could not do. The job goes on unless it was stopped or the context is lost.
pub(super) fn note(
    on: &On<'_>,
    say: &mut Say<'_>,
    what: String,
    error: MachineError,
) -> Result<(), Trouble> {
    if error == MachineError::Stopped || on.machine.ended().is_some() {
        return Err(Trouble::Machine { what, error });
    }
    Ok(say(BenchEvent::Failed(WorkerFailure { what, error }))?)
}
