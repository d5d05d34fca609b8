use warpscope_kernels::gpu::family::kernels;
use warpscope_kernels::gpu::{GpuKernel, MachineError, Route, run_case};

use super::glob::Globs;
use super::job::{On, Say, Trouble, note};
use crate::worker::{BenchEvent, CaseReport};

/// Runs the conformance cases of kernels, and says what became of each.
pub(super) fn run(on: &mut On<'_>, globs: &Globs, say: &mut Say<'_>) -> Result<(), Trouble> {
    for kernel in kernels().filter(|kernel| globs.matches(kernel.id)) {
        if !matches!((kernel.route)(on.machine.facts()), Route::Absent { .. }) {
            one(on, kernel, say)?;
        }
    }
    Ok(())
}

fn one(on: &mut On<'_>, kernel: &GpuKernel, say: &mut Say<'_>) -> Result<(), Trouble> {
    for case in (kernel.cases)(on.machine.facts()) {
        match run_case(on.machine, &case) {
            Ok(outcome) => say(BenchEvent::Case(CaseReport {
                kernel: kernel.id.to_owned(),
                case: case.name,
                error: outcome.error,
                wrong: outcome.wrong,
            }))?,
            Err(error) => {
                // Without an image no other case can do better.
                let rest_fails = matches!(error, MachineError::NoImage { .. });
                note(on, say, format!("self-test of {}, {}", kernel.id, case.name), error)?;
                if rest_fails {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}
