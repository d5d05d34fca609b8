use warpscope_kernels::gpu::family::kernels;
use warpscope_kernels::gpu::{GpuKernel, MachineError, Route, run_case};

use super::job::{On, note};
use crate::worker::child::{Emit, Trouble};
use crate::worker::protocol::{CaseReport, Globs, WorkerEvent};

/// Runs the conformance cases of kernels, and says what became of each.
pub(super) fn run(on: &mut On<'_>, globs: &Globs, emit: &mut Emit<'_>) -> Result<(), Trouble> {
    for kernel in kernels().filter(|kernel| globs.matches(kernel.id)) {
        if !matches!((kernel.route)(on.machine.facts()), Route::Absent { .. }) {
            one(on, kernel, emit)?;
        }
    }
    Ok(())
}

fn one(on: &mut On<'_>, kernel: &GpuKernel, emit: &mut Emit<'_>) -> Result<(), Trouble> {
    for case in (kernel.cases)(on.machine.facts()) {
        match run_case(on.machine, &case) {
            Ok(outcome) => emit(WorkerEvent::Case(CaseReport {
                kernel: kernel.id.to_owned(),
                case: case.name,
                error: outcome.error,
                wrong: outcome.wrong,
                note: outcome.note,
            }))?,
            Err(error) => {
                // Without an image no other case can do better.
                let rest_fails = matches!(error, MachineError::NoImage { .. });
                note(on, emit, format!("self-test of {}, {}", kernel.id, case.name), error)?;
                if rest_fails {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}
